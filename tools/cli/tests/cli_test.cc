// The program as a user runs it: exit statuses, one-line errors, files left behind, golden outputs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "program.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace {

namespace fs = std::filesystem;

using qtx::cli::Contents;
using qtx::cli::Outcome;

class Qtx : public qtx::cli::Program {};

TEST_F(Qtx, ConvertsChecksRunsAndEqualsTheGoldenOutput) {
  const fs::path network = Network("aww");
  ASSERT_EQ(Run("convert " + (network / "source.tflite").string() + " -o " + Path("m.onnx")).status,
            0);
  EXPECT_EQ(Run("check " + Path("m.onnx")).status, 0);
  const Outcome run = Run("run " + Path("m.onnx") + " --arithmetic tflite --input " +
                          (network / "normal/input_0.npy").string() + " --output-dir " + Path("o"));
  ASSERT_EQ(run.status, 0) << run.err;
  const auto written = fs::directory_iterator(Path("o"))->path();
  const std::string golden = Contents(network / "normal/builtin_output_0.npy");
  const std::string output = Contents(written);
  ASSERT_GE(golden.size(), 12U);
  EXPECT_EQ(output.substr(output.size() - 12), golden.substr(golden.size() - 12));  // int8[1, 12]
}

// Names of TFLite values reach 2000 characters; '/' and ':' both become '_'.
TEST_F(Qtx, WritesOutputsWhoseNamesNoFileSystemTakes) {
  using namespace qtx;  // NOLINT(google-build-using-namespace)
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  format::TensorType type;
  type.elem_type = format::ElementType::kFloat;
  type.shape = format::ToShape(format::Dims{1});
  model.graph.inputs = {{.name = "x", .type = type}};
  for (const std::string& name : {std::string(2000, 'n'), std::string("a/b"), std::string("a:b")}) {
    model.graph.outputs.push_back({.name = name, .type = type});
    model.graph.nodes.push_back({.op_type = "Identity", .inputs = {"x"}, .outputs = {name}});
  }
  Write("m.onnx", *model.Serialize());
  Write("x.npy", std::string("\x93NUMPY\x01\0v\0", 10) +
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" +
                     std::string(60, ' ') + "\n" + std::string("\0\0\0\0", 4));
  const Outcome run =
      Run("run " + Path("m.onnx") + " --input " + Path("x.npy") + " --output-dir " + Path("o"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(fs::exists(Path("o/" + std::string(200, 'n') + "#0.npy")));
  EXPECT_TRUE(fs::exists(Path("o/a_b#1.npy")));
  EXPECT_TRUE(fs::exists(Path("o/a_b#2.npy")));
}

// tflite.S11: no clause states TFLite's HARD_SWISH.
TEST_F(Qtx, SaysWhichNodesNoClauseStates) {
  using namespace qtx;  // NOLINT(google-build-using-namespace)
  format::TensorType type;
  type.elem_type = format::ElementType::kFloat;
  type.shape = format::ToShape(format::Dims{2});
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.inputs = {{.name = "x", .type = type}};
  model.graph.outputs = {{.name = "y", .type = type}};
  model.graph.nodes = {{.name = "h", .op_type = "HardSwish", .inputs = {"x"}, .outputs = {"y"}}};
  fs::create_directories(Path("suite"));
  const std::string file = Write("suite/m.onnx", *model.Serialize());
  const format::Tensor x = *format::MakeTensor(format::ElementType::kFloat, {2});
  const std::string run = "run " + file + " --input " + Write("x.npy", *format::ToNpy(x)) +
                          " --output-dir " + Path("o") + " --arithmetic ";
  const std::string says =
      "'tflite' states no HardSwish of FLOAT to FLOAT: computed as in exact [tflite.S11]";
  EXPECT_EQ(Run(run + "tflite").err, "graph.node[0] 'h': " + says + "\n");
  EXPECT_EQ(Run(run + "exact").err, "");
  EXPECT_NE(Run(run + "tflite --json -").out.find("\"says\": \"" + says), std::string::npos);
  const std::string convert = "convert " + file + " --to tflite -o " + Path("m.tflite");
  EXPECT_NE(Run(convert).out.find("changed graph.node[0] 'h' arithmetic: " + says),
            std::string::npos);
  Write("suite/a.yaml",
        "{id: n, spec: hard_swish.S1, why: w, model: m.onnx, inputs: {x: {type: float, data: [0.0, "
        "3.0]}}, "
        "expect: {y: {type: float, data: [0.0, 3.0]}}, arithmetics: [exact, tflite]}");
  const std::string validate = "validate --backend reference --suite " + Path("suite");
  EXPECT_NE(Run(validate).out.find("  n @tflite: graph.node[0] 'h': " + says), std::string::npos);
  EXPECT_NE(Run(validate + " --json -").out.find("\"unmodelled\":[\"graph.node[0] 'h': " + says),
            std::string::npos);
}

// Stored 1, 2 and 3 at scale 1 are 1/2, 1 and 3/2 at scale 2: two ties.
TEST_F(Qtx, CountsWhatTheExactFallbackDecided) {
  using namespace qtx;  // NOLINT(google-build-using-namespace)
  const auto type = [](float scale) {
    format::TensorType result;
    result.elem_type = format::ElementType::kInt8Q;
    result.shape = format::ToShape(format::Dims{3});
    result.quantization.emplace();
    result.quantization->scale = {scale};
    return result;
  };
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.inputs = {{.name = "x", .type = type(1)}};
  model.graph.outputs = {{.name = "y", .type = type(2)}};
  model.graph.nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"y"}}};
  Write("m.onnx", *model.Serialize());
  format::Tensor x = *format::MakeTensor(format::ElementType::kInt8, {3});
  x.bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  Write("x.npy", *format::ToNpy(x));
  const std::string run =
      "run " + Path("m.onnx") + " --input " + Path("x.npy") + " --output-dir " + Path("o");
  const Outcome counted = Run(run + " --counters --json -");
  ASSERT_EQ(counted.status, 0) << counted.err;
  EXPECT_EQ(counted.err, "rounded 3 results, 2 by the exact fallback\n");
  EXPECT_NE(counted.out.find("\"exact_fallbacks\": 2"), std::string::npos) << counted.out;
  EXPECT_EQ(Run(run).err, "");
}

// NumPy has no 4-bit floats, and integers are not codes of them.
TEST_F(Qtx, TakesNoIntegersForAFloatOfFourBits) {
  using namespace qtx;  // NOLINT(google-build-using-namespace)
  format::TensorType type;
  type.elem_type = format::ElementType::kFloat4E2M1Q;
  type.shape = format::ToShape(format::Dims{2});
  type.quantization.emplace();
  type.quantization->scale = {1};
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.inputs = {{.name = "x", .type = type}};
  model.graph.outputs = {{.name = "y", .type = type}};
  model.graph.nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"y"}}};
  Write("m.onnx", *model.Serialize());
  Write("x.npy", *format::ToNpy(*format::MakeTensor(format::ElementType::kInt8, {2})));
  const Outcome run = Run("run " + Path("m.onnx") + " --input " + Path("x.npy"));
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(IsOneLine(run.err)) << run.err;
  EXPECT_NE(run.err.find("found elements of type INT8, expected FLOAT4E2M1 or FLOAT"),
            std::string::npos)
      << run.err;
}

TEST_F(Qtx, ConvertingAgainGivesTheModelOfTheSuite) {
  for (const auto& entry : fs::directory_iterator(Network(""))) {
    if (!entry.is_directory()) continue;
    const std::string source = (entry.path() / "source.tflite").string();
    ASSERT_EQ(Run("convert " + source + " -o " + Path("m.onnx")).status, 0) << source;
    EXPECT_TRUE(Contents(Path("m.onnx")) == Contents(entry.path() / "model.onnx")) << source;
  }
}

TEST_F(Qtx, WritesTheKindThatTheOutputIsNamedFor) {
  const std::string model = Network("aww") + "/model.onnx";
  ASSERT_EQ(Run("convert " + model + " -o " + Path("a.tflite")).status, 0);
  EXPECT_EQ(Contents(Path("a.tflite")).substr(4, 4), "TFL3");  // the flatbuffer's identifier
  ASSERT_EQ(Run("convert " + model + " -o " + Path("a.onnx")).status, 0);
  EXPECT_TRUE(Contents(Path("a.onnx")) == Contents(model));
  for (const std::string& command :
       {"convert " + model + " -o " + Path("b.json"),  // ONNX Runtime's or a table
        "convert " + model + " --to qdq -o " + Path("b.tflite"),
        "lower " + model + " -o " + Path("b.tflite"), "lift " + model + " -o " + Path("b.csv")}) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find("a name for"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(Path("b.tflite")));
}

TEST_F(Qtx, RefusesEveryTruncationOfANetworkWithOneLine) {
  const std::string whole = Contents(Network("aww") + "/source.tflite");
  for (std::size_t length = 0; length < whole.size(); length += whole.size() / 16) {
    const std::string file = Write("cut.tflite", whole.substr(0, length));
    const Outcome outcome = Run("convert " + file + " -o " + Path("never.onnx"));
    EXPECT_EQ(outcome.status, 3) << length;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_FALSE(fs::exists(Path("never.onnx")));
  }
}

TEST_F(Qtx, NamesTheInputOfTheSuitesToolsThatIsMissing) {
  const std::string file = Write("file", "");
  const std::string backend = " --backend reference ";
  for (const std::string& command :
       {"identify" + backend + "--suite " + file, "power --suite " + Path("none"),
        "power --filter zero_padding --onnx-node-tests " + file + " --suite " + file,
        "shrink" + backend + "--model " + file + " --input x=" + file + " -o " + Path("never"),
        "shrink" + backend + "--model " + Path("none") + " --input x=y -o " + Path("never"),
        "shrink" + backend + "--case a --suite " + Path("none") + " -o " + Path("never"),
        "report merge " + Path("none")}) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.status, 3) << command << "\n" << outcome.err;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_FALSE(fs::exists(Path("never")));
  }
}

TEST_F(Qtx, NamesTheFileThatIsMissingEmptyOrForeign) {
  const std::string files[] = {Path("missing.onnx"), Write("empty.onnx", ""),
                               Write("foreign.onnx", "%PDF-1.7 not a model\n")};
  for (const std::string& file : files) {
    for (const std::string& command :
         {"check " + file, "inspect " + file, "run " + file,
          "lower " + file + " -o " + Path("never"), "convert " + file + " -o " + Path("never")}) {
      const Outcome outcome = Run(command);
      EXPECT_EQ(outcome.status, 3) << command;
      EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
      EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
      EXPECT_FALSE(fs::exists(Path("never")));
    }
  }
}

TEST_F(Qtx, RefusesAnInputOfTheWrongShape) {
  // 12 int8 values are no [1, 49, 10, 1] input: the golden output stands in for it.
  const std::string input = Network("aww") + "/normal/builtin_output_0.npy";
  const Outcome outcome = Run("run " + Network("aww") + "/model.onnx --input " + input);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
}

TEST_F(Qtx, RefusesABadSuite) {
  fs::create_directories(Path("suite"));
  Write("suite/bad.yaml", "id: [unclosed\n");
  const Outcome outcome = Run("validate --backend reference --suite " + Path("suite"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
  EXPECT_NE(outcome.err.find("bad.yaml"), std::string::npos) << outcome.err;
}

TEST_F(Qtx, ReportsWrongUsageWithStatusTwoAndOneLine) {
  const std::string model = Network("aww") + "/model.onnx";
  const std::string run = "run " + model + " --input " + Network("aww") + "/normal/input_0.npy";
  const std::string wrong[] = {"",
                               "frobnicate",
                               "convert only_an_input",
                               "convert " + model + " --from word -o " + Path("never"),
                               "run " + model,
                               run + " --arithmetic none",
                               run + " --node-arithmetic none",
                               run + " --node-arithmetic softmax=none",
                               run + " --node-arithmetic none=exact",
                               run + " --backend x86 --node-arithmetic none=exact",
                               run + " --profile none",
                               run + " --backend x86 --profile litert-x86",
                               "validate --profile none",
                               run + " --backend none",
                               run + " --backend x86 --counters",
                               "validate --backend none",
                               "validate --backend \"cmd:'open\"",
                               "validate --backend cmd:",
                               "validate --level none",
                               "validate --jobs 0",
                               "validate --timeout 0",
                               "validate --timeout soon",
                               "validate --memory-limit 0",
                               "validate --frobnicate",
                               "validate --arithmetic none",
                               "validate --backend faulty:no_such_fault",
                               "validate --backend reference:profile=",
                               "validate --backend reference:profile=no_such_profile",
                               "bench --profile no_such_profile",
                               "validate --backend x86:kernels=no_such_kernels",
                               "validate --backend x86:threads=0",
                               "serve --backend x86:thread=1",
                               "power --filter no_such_fault",
                               "power --mutants",
                               "validate --shard 3/2",
                               "validate --shard 1",
                               "serve",
                               "serve --backend none",
                               "report",
                               "report merge",
                               "report merge a.json --json",
                               "convert a.onnx -o never --opset 6",
                               "lower a.onnx -o never --opset 29",
                               "lift a.onnx -o never --opset 0",
                               "validate --filter 'none/*'",
                               "validate --arithmetic none --filter 'add/*'"};
  const std::string suite = " --suite " QTX_SOURCE_DIR "/conformance/cases/ops/abs";
  for (const std::string& arguments : wrong) {
    const Outcome outcome = Run(arguments + (arguments.starts_with("validate") ? suite : ""));
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_FALSE(fs::exists(Path("never")));
  }
}

TEST_F(Qtx, ABackendThatDiesIsACrashAndTheRunGoesOn) {
  const Outcome outcome =
      Run("validate --backend 'cmd:false' --backend reference --filter 'add/*' --json -");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("crash"), std::string::npos) << outcome.out;
}

TEST_F(Qtx, NamesTheFileOfValidateThatIsMissingOrForeign) {
  const std::string foreign = Write("foreign", "my thesis");
  for (const std::string& arguments :
       {"validate --suite " + Path("none"), "validate --expected-failures " + Path("none"),
        "validate --filter 'add/*' --expected-failures " + foreign,
        "validate --filter 'add/*' --resume " + foreign, "report merge " + foreign}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.status, 3) << arguments;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
  }
  EXPECT_EQ(Contents(foreign), "my thesis");
}

TEST_F(Qtx, SaysItsVersionAndCommit) {
  EXPECT_TRUE(std::regex_match(
      Run("--version").out,
      std::regex(
          R"([0-9]+\.[0-9]+\.[0-9]+ \(commit ([0-9a-f]{40}(-dirty)?|unknown)\)\nfeatures:( [a-z-]+)+\n)")));
}

// Without what differs between two runs of the same: provenance and times.
std::string Results(const std::string& json) {
  const std::string results = json.substr(json.find("\"suite\":"));
  return std::regex_replace(results, std::regex(R"("seconds":[0-9.e-]+)"), "");
}

TEST_F(Qtx, MergesShardsToTheReportOfTheWholeRun) {
  const std::string run =
      "validate --backend reference --backend x86 --filter 'mul/*' --filter 'models/aww*' --json ";
  ASSERT_EQ(Run(run + Path("whole.json")).status, 0);
  std::string parts;
  const std::vector<std::string> environment = {
      "TEST_TOTAL_SHARDS=2 TEST_SHARD_INDEX=1",
      "TEST_TOTAL_SHARDS=5 TEST_SHARD_INDEX=1 TEST_SHARD_STATUS_FILE=" + Path("touched"),
      "GTEST_TOTAL_SHARDS=5 GTEST_SHARD_INDEX=2",
      "SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_ID=10 SLURM_ARRAY_TASK_MIN=4 "
      "SLURM_ARRAY_TASK_STEP=2",
      "JOB_COMPLETIONS=5 JOB_COMPLETION_INDEX=4"};
  for (std::size_t i = 0; i < environment.size(); ++i) {
    const std::string part = Path("part" + std::to_string(i) + ".json");
    ASSERT_EQ(Run(run + part + (i == 0 ? " --shard 1/5" : ""), environment[i]).status, 0);
    parts += " " + part;
  }
  EXPECT_TRUE(fs::exists(Path("touched")));
  ASSERT_EQ(Run("report merge" + parts + " --json " + Path("merged.json")).status, 0);
  EXPECT_TRUE(Results(Contents(Path("merged.json"))) == Results(Contents(Path("whole.json"))));
  EXPECT_EQ(Results(Run("report merge --json -" + parts).out),
            Results(Contents(Path("merged.json"))));
}

TEST_F(Qtx, RunsNothingAndSucceedsInAShardThatIsEmpty) {
  const Outcome outcome = Run("validate --backend x86 --filter 'add/*' --shard 1000/1000");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(Qtx, RefusesAHalfOrWrongShardOfTheEnvironment) {
  for (const char* environment :
       {"TEST_TOTAL_SHARDS=3", "GTEST_SHARD_INDEX=0", "TEST_TOTAL_SHARDS=0 TEST_SHARD_INDEX=0",
        "GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=3", "GTEST_TOTAL_SHARDS=x GTEST_SHARD_INDEX=1",
        "SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1",
        "JOB_COMPLETION_INDEX=0"}) {
    const Outcome outcome = Run("validate --filter 'add/*'", environment);
    EXPECT_EQ(outcome.status, 2) << environment;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
  }
}

// Killed when it has some hundred results, and again with a line cut in two.
TEST_F(Qtx, ResumesAKilledRunWithoutLosingOrRepeatingACase) {
  const std::string run = "validate --backend reference --jobs 1 --filter 'c*' --json ";
  ASSERT_EQ(Run(run + Path("whole.json")).status, 0);
  const std::string journal = Path("journal");
  const auto lines = [&] { return std::ranges::count(Contents(journal), '\n'); };
  for (const std::ptrdiff_t target : {200, 500}) {
    const std::string command = std::string(QTX_PROGRAM) + " " + run + Path("never.json") +
                                " --resume " + journal + " >" + Path("out") + " 2>&1 & echo $! >" +
                                Path("pid");
    ASSERT_EQ(std::system(command.c_str()), 0);
    for (int i = 0; i < 60'000 && lines() < target; ++i) usleep(1000);
    ASSERT_EQ(kill(std::stoi(Contents(Path("pid"))), SIGKILL), 0);
    usleep(200'000);  // until its lock on the journal is gone
    EXPECT_FALSE(fs::exists(Path("never.json"))) << "it was done before it was killed";
    EXPECT_GE(lines(), target);
    fs::resize_file(journal, fs::file_size(journal) - 5);
  }
  const std::string kept = Contents(journal).substr(0, Contents(journal).rfind('\n') + 1);
  ASSERT_EQ(Run(run + Path("resumed.json") + " --resume " + journal).status, 0);
  EXPECT_TRUE(Contents(journal).starts_with(kept));
  EXPECT_TRUE(Results(Contents(Path("resumed.json"))) == Results(Contents(Path("whole.json"))));
  std::set<std::string> keys;
  std::istringstream text(Contents(journal));
  for (std::string line; std::getline(text, line);) keys.insert(line.substr(0, 30));
  EXPECT_EQ(std::ssize(keys), lines());
}

// The backend hangs, and is in a process group that the signal is not sent to.
TEST_F(Qtx, LeavesNoBackendBehindWhenItIsStopped) {
  Write("hang", "echo $$ >" + Path("child") + "; exec sleep 1000");
  const std::string command = std::string(QTX_PROGRAM) +
                              " validate --sandbox off --backend 'cmd:sh " + Path("hang") + "' >" +
                              Path("out") + " 2>&1 & echo $! >" + Path("pid");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto wait_for = [](const auto& condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) usleep(1000);
    return condition();
  };
  ASSERT_TRUE(wait_for([&] { return Contents(Path("child")).ends_with('\n'); }));
  const pid_t child = std::stoi(Contents(Path("child")));
  EXPECT_EQ(kill(child, 0), 0);
  ASSERT_EQ(kill(std::stoi(Contents(Path("pid"))), SIGTERM), 0);
  // Dead, whether or not the system's first process has collected it.
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  EXPECT_TRUE(wait_for(
      [&] { return kill(child, 0) != 0 || Contents(stat).find(") Z ") != std::string::npos; }));
}

TEST_F(Qtx, IsolatesBuiltInBackends) {
  const std::string run =
      "validate --backend reference --backend x86 --filter 'mul/*' --filter 'models/aww*' --json ";
  ASSERT_EQ(Run(run + Path("inside.json")).status, 0);
  ASSERT_EQ(Run(run + Path("outside.json") + " --isolate").status, 0);
  EXPECT_TRUE(Results(Contents(Path("inside.json"))) == Results(Contents(Path("outside.json"))));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take terabytes
// How much memory a thread takes depends on the system: with some limit it is too little.
TEST_F(Qtx, ValidateEndsInOneLineWhereAThreadHasNoMemory) {
  for (const char* kibibytes : {"150000", "200000", "250000"}) {
    const Outcome outcome = Run("validate --isolate --jobs 16 --backend reference --filter 'abs/*'",
                                "ulimit -v " + std::string(kibibytes) + ";");
    if (outcome.status == 0) continue;
    if (outcome.err.empty()) {  // a backend had none, which is a crash of its case
      EXPECT_EQ(outcome.status, 1) << outcome.out;
      EXPECT_TRUE(outcome.out.find("std::bad_alloc") != std::string::npos ||
                  outcome.out.find("not enough memory") != std::string::npos)
          << outcome.out;
      continue;
    }
    EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
  }
}
#endif

TEST_F(Qtx, WarnsOfExpectedFailuresThatNoCaseMatches) {
  const std::string list = Write("list.txt", "gone/case  # was renamed\n");
  const std::string run =
      "validate --backend reference --filter 'add/*' --expected-failures " + list;
  const Outcome warned = Run(run);
  EXPECT_EQ(warned.status, 0);
  EXPECT_NE(warned.out.find("list.txt:1: gone/case"), std::string::npos) << warned.out;
  EXPECT_EQ(Run(run + " --strict-expectations").status, 1);
  EXPECT_NE(Run(run + " --json -").out.find("\"stale_expectations\":[\"" + list),
            std::string::npos);
}

// `script` gives a command a terminal.
TEST_F(Qtx, ShowsProgressOnATerminalAndNothingInALog) {
  const std::string run = "validate --backend reference --filter ";
  EXPECT_EQ(Run(run + "'models/*'").err, "");
  const std::regex line(R"(\r[0-9]+/[0-9]+  [0-9.]+/s  ([0-9]+ s left  )?0 failed  [a-z0-9_]+/)");
  std::string seen;
  // It is shown after a second, which few cases need not take.
  for (const char* filter : {"models/*", "m*", "*"}) {
    const std::string command = "script -qec '" + std::string(QTX_PROGRAM) + " " + run + "\"" +
                                filter + "\"' /dev/null >" + Path("terminal") + " </dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    seen = Contents(Path("terminal"));
    if (std::regex_search(seen, line)) return;
  }
  ADD_FAILURE() << seen;
}

constexpr const char* kEmptySum = R"(
id: mat_mul/empty
spec: mat_mul.S4
why: for the test
op: {type: MatMul}
inputs:
  a: {type: int8q, shape: [1, 0], scale: [1.0], data: []}
  b: {type: int8q, shape: [0, 1], scale: [1.0], data: []}
expect: {y: {type: int8q, shape: [1, 1], scale: [1.0], offset: [3], data: [3]}}
derivation: an empty sum is 0
tags: [crash_on_empty_sum]
)";

TEST_F(Qtx, PowerCatchesAFaultThatEndsItsProcess) {
  Write("cases.yaml", kEmptySum);
  const Outcome caught = Run("power --suite " + folder_.string() + " --filter 'crash_*'");
  EXPECT_EQ(caught.status, 0) << caught.out << caught.err;
  EXPECT_NE(caught.out.find("faults caught: 1 of 1 (100 %)"), std::string::npos) << caught.out;
}

TEST_F(Qtx, PowerFailsWhereAFaultIsNotCaught) {
  Write("cases.yaml", kEmptySum);
  const Outcome missed =
      Run("power --suite " + folder_.string() + " --filter zero_padding --json " + Path("power"));
  EXPECT_EQ(missed.status, 1) << missed.err;
  EXPECT_NE(Contents(Path("power")).find("\"caught_by\": []"), std::string::npos);
}

TEST_F(Qtx, LiftUndoesLower) {
  const std::string model = Network("resnet8") + "/model.onnx";
  ASSERT_EQ(Run("lower " + model + " -o " + Path("qdq.onnx")).status, 0);
  ASSERT_EQ(Run("lift " + Path("qdq.onnx") + " -o " + Path("back.onnx")).status, 0);
  EXPECT_TRUE(Contents(Path("back.onnx")) == Contents(model));
}

// A model without a quantized value has nothing to lower but its imports.
TEST_F(Qtx, LiftUndoesLowerOfAFloatModel) {
  const std::string model = "/usr/share/libonnx-testdata/data/node/test_add/model.onnx";
  ASSERT_EQ(Run("lower " + model + " -o " + Path("qdq.onnx")).status, 0);
  ASSERT_EQ(Run("lift " + Path("qdq.onnx") + " -o " + Path("back.onnx")).status, 0);
  EXPECT_TRUE(Contents(Path("back.onnx")) == Contents(model));
}

TEST_F(Qtx, ConvertsSeveralInputsIntoAFolder) {
  const std::string aww = Network("aww") + "/source.tflite";
  fs::copy_file(Network("toycar") + "/source.tflite", Path("toycar.tflite"));
  const std::string broken = Write("broken.onnx", "no model");
  const Outcome outcome =
      Run("convert " + aww + " " + broken + " " + Path("toycar.tflite") + " -o " + Path("made/"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
  EXPECT_NE(outcome.err.find("broken.onnx"), std::string::npos);
  EXPECT_TRUE(Contents(Path("made/source.onnx")) == Contents(Network("aww") + "/model.onnx"));
  EXPECT_TRUE(Contents(Path("made/toycar.onnx")) == Contents(Network("toycar") + "/model.onnx"));
  EXPECT_FALSE(fs::exists(Path("made/broken.onnx")));
}

// Relu over x [N, 3]: a stock model that declares neither what it makes nor the shape of its
// output.
qtx::format::Model WithoutDeclarations() {
  using namespace qtx;  // NOLINT(google-build-using-namespace)
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  format::TensorType type;
  type.elem_type = format::ElementType::kFloat;
  model.graph.outputs = {{.name = "y", .type = type}};
  type.shape = format::Shape{{{}, "N"}, {3, ""}};
  model.graph.inputs = {{.name = "x", .type = type}};
  model.graph.nodes = {{.op_type = "Relu", .inputs = {"x"}, .outputs = {"a"}},
                       {.op_type = "Transpose", .inputs = {"a"}, .outputs = {"y"}}};
  return model;
}

TEST_F(Qtx, InfersTypesAndKeepsTheKind) {
  const std::string file = Write("bare.onnx", *WithoutDeclarations().Serialize());
  const Outcome outcome = Run("convert --infer " + file + " --ledger -o " + Path("typed.onnx"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("a type: FLOAT[N,3] follows"), std::string::npos) << outcome.out;
  const auto typed = qtx::format::Model::Load(Path("typed.onnx"));
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(qtx::format::ToString(*typed->graph.FindValue("y")->type), "FLOAT[3,N]");
  EXPECT_EQ(typed->OpsetVersion("qtx"), 0);  // a stock model still
  EXPECT_EQ(Run("convert --infer " + file + " --to qdq -o " + Path("never")).status, 2);
  const std::string tflite = Network("aww") + "/source.tflite";
  EXPECT_EQ(Run("convert --infer " + tflite + " -o " + Path("never")).status, 3);
}

TEST_F(Qtx, SaysThatAnInputBreaksARuleBeforeItConvertsIt) {
  auto model = WithoutDeclarations();
  model.graph.nodes[0].attributes = {qtx::format::Attribute::Int("alpha", 1)};
  const std::string file = Write("broken.onnx", *model.Serialize());
  for (const std::string how : {"convert --infer ", "convert --to qdq ", "lift "}) {
    const Outcome outcome = Run(how + file + " -o " + Path("never.onnx"));
    EXPECT_EQ(outcome.status, 3) << how << outcome.err;
    EXPECT_NE(outcome.err.find("the input breaks a rule: "), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(Path("never.onnx")));
  }
}

TEST_F(Qtx, RefusesSeveralInputsForOneFile) {
  const std::string aww = Network("aww") + "/source.tflite";
  const std::string toycar = Network("toycar") + "/source.tflite";
  for (const std::string& output : {Path("one.onnx"), Path("folder/")}) {
    const Outcome outcome = Run("convert " + aww + " " + toycar + " -o " + output);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_FALSE(fs::exists(output));
  }
}

TEST_F(Qtx, ConvertsBetweenStdinAndStdout) {
  const std::string model = Network("resnet8") + "/model.onnx";
  const std::string command = std::string(QTX_PROGRAM) + " lower - -o - <" + model + " 2>" +
                              Path("err") + " | " + QTX_PROGRAM + " lift - -o - >" +
                              Path("back.onnx") + " 2>>" + Path("err");
  EXPECT_EQ(std::system(command.c_str()), 0) << Contents(Path("err"));
  EXPECT_TRUE(Contents(Path("back.onnx")) == Contents(model));
  EXPECT_NE(Contents(Path("err")).find("- -> -: "), std::string::npos);
}

TEST_F(Qtx, DiffSaysWhetherAndWhereModelsDiffer) {
  const std::string model = Network("resnet8") + "/model.onnx";
  const Outcome same = Run("diff " + Network("resnet8") + "/source.tflite " + model);
  EXPECT_EQ(same.status, 0) << same.out;
  EXPECT_EQ(same.out, "0 differences\n");
  ASSERT_EQ(Run("convert " + model + " --integer-only --allow float -o " + Path("i.onnx")).status,
            0);
  const Outcome differ = Run("diff " + model + " " + Path("i.onnx"));
  EXPECT_EQ(differ.status, 1);
  EXPECT_NE(differ.out.find(" requantization.multiplier: [] | ["), std::string::npos);
}

TEST_F(Qtx, ValidatesThirdPartyDataAsTheyAre) {
  const Outcome tflite = Run("validate --backend reference --json - --suite " + Network("toycar"));
  EXPECT_EQ(tflite.status, 0) << tflite.err;
  EXPECT_NE(tflite.out.find("\"toycar[run=uniform,kernels=builtin]\""), std::string::npos);
  const Outcome onnx =
      Run("validate --backend reference --arithmetic float32 --json - --suite "
          "/usr/share/libonnx-testdata/data/node/test_qlinearconv");
  EXPECT_EQ(onnx.status, 0) << onnx.err;
  EXPECT_NE(onnx.out.find("\"pass\":1,"), std::string::npos) << onnx.out;
}

TEST_F(Qtx, SaysWhatTheCasesDoNotShow) {
  const Outcome whole = Run("validate --coverage");
  EXPECT_EQ(whole.status, 0) << whole.out;
  EXPECT_NE(whole.out.find("rules without a case: 0"), std::string::npos);
  EXPECT_NE(whole.out.find("lowering.S6"), std::string::npos);  // held by tests
  fs::create_directories(Path("suite"));
  Write("suite/a.yaml", "{id: a, spec: add.S1, why: w, op: {type: Add}, expect: {error: add.C1}}");
  const Outcome poor = Run("validate --coverage --json - --suite " + Path("suite"));
  EXPECT_EQ(poor.status, 1);
  EXPECT_NE(poor.out.find("\"complete\": false"), std::string::npos);
  EXPECT_NE(poor.out.find("\"rules_without_case\": ["), std::string::npos);
}

TEST_F(Qtx, RunsExamplesAndFormulasToTheFirstThatDiffers) {
  const std::string cases =
      "---\nspec: abs.S1\nop: {type: Abs}\ninputs: {x: {type: int4q, scale: [1.0]}}\n"
      "expect: {y: {type: int8q, scale: [1.0]}}\n```\n";
  Write("good.md", "```formula\ny = abs(x)\n" + cases);
  const Outcome good = Run("spec run " + Path("good.md"));
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_NE(good.out.find("pass abs/formula @exact (abs.S1): 16 elements, all"), std::string::npos)
      << good.out;
  Write("bad.md", "```formula\ny = -x\n" + cases + "\n```formula\ny = abs(x)\n" + cases);
  const Outcome bad = Run("spec run --json - " + Path("bad.md"));
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.out.find("\"passed\": false"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("x = 1 (real 1): the formula gives -1, the reference 1 in exact"),
            std::string::npos)
      << bad.out;
  EXPECT_EQ(bad.out.find("\"passed\": true"), std::string::npos) << bad.out;
  Write("broken.md", "```formula\ny = abs(x\n" + cases);
  const Outcome broken = Run("spec run " + Path("broken.md"));
  EXPECT_EQ(broken.status, 3);
  EXPECT_NE(broken.err.find("broken.md:3:1: found the end of the line, expected ')'"),
            std::string::npos)
      << broken.err;
  EXPECT_EQ(Run("spec run --feature nothing " + Path("good.md")).status, 2);
  EXPECT_EQ(Run("spec run " + Path("nowhere.md")).status, 3);
  Write("unstated.yaml",
        "{id: a, spec: abs.S99, why: w, op: {type: Abs}, expect: {error: abs.C1}}");
  const Outcome unstated = Run("spec run " + Path("unstated.yaml"));
  EXPECT_EQ(unstated.status, 3);
  EXPECT_NE(unstated.err.find("cites abs.S99, which the spec does not state"), std::string::npos)
      << unstated.err;
}

TEST_F(Qtx, NamesTheTextThatIsMissing) {
  EXPECT_EQ(Run("spec coverage " + Path("nowhere")).status, 3);
}

TEST_F(Qtx, BeginsAProposalOfATextAndLeavesItAlone) {
  fs::create_directories(Path("text"));
  fs::copy(QTX_SOURCE_DIR "/spec/templates", Path("text/templates"));
  const std::string command = "spec new proposal wider-blocks --folder " + Path("text");
  const Outcome first = Run(command);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(fs::exists(Path("text/proposals/0001-wider-blocks/proposal.md")));
  const Outcome again = Run(command);
  EXPECT_EQ(again.status, 4);
  EXPECT_NE(again.err.find("already"), std::string::npos) << again.err;
  EXPECT_EQ(Run("spec new case add/../x --folder " + Path("text")).status, 2);
  EXPECT_EQ(Run("spec new chapter x").status, 2);
}

TEST_F(Qtx, FuzzesTheSameModelsForTheSameSeed) {
  const std::string fuzz = "fuzz --backend reference --cases 30 --seed 3 --operators MatMul";
  const Outcome clean = Run(fuzz);
  ASSERT_EQ(clean.status, 0) << clean.err;
  EXPECT_NE(clean.out.find("30 models, 0 unsupported, 0 failures"), std::string::npos) << clean.out;
  EXPECT_EQ(Run(fuzz).out, clean.out);
  const Outcome unknown = Run("fuzz --backend reference --cases 1 --operators Nothing");
  EXPECT_EQ(unknown.status, 3);
  EXPECT_TRUE(IsOneLine(unknown.err)) << unknown.err;
  EXPECT_EQ(Run("fuzz --backend reference --cases 1 --minutes 1").status, 2);
}

// Status 1: the fault is found in each part.
TEST_F(Qtx, MergesShardsOfFuzzToTheWholeRun) {
  const std::string fuzz =
      "fuzz --backend faulty:relu_at_stored_zero --operators Relu --cases 60 --seed 4";
  const Outcome whole = Run(fuzz);
  EXPECT_EQ(whole.status, 1) << whole.err;
  const Outcome a = Run(fuzz + " --json -", "SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_ID=0");
  const Outcome b = Run(fuzz + " --json -", "JOB_COMPLETIONS=2 JOB_COMPLETION_INDEX=1");
  std::ofstream(Path("a.json")) << a.out;
  std::ofstream(Path("b.json")) << b.out;
  const Outcome merged = Run("report merge " + Path("a.json") + " " + Path("b.json"));
  EXPECT_EQ(merged.status, 1) << merged.err;
  EXPECT_EQ(merged.out.substr(0, merged.out.find('\n')), whole.out.substr(0, whole.out.find('\n')));
  const Outcome half = Run("report merge " + Path("a.json"));
  EXPECT_EQ(half.status, 3);
  EXPECT_TRUE(IsOneLine(half.err)) << half.err;
  EXPECT_EQ(Run("report merge " + Path("a.json") + " " + Path("a.json")).status, 3);
}

TEST_F(Qtx, ShrinksOnlyWhatFails) {
  const std::string shrink = "shrink --backend reference -o " + Path("s");
  const Outcome passes = Run(shrink + " --case add/row_by_column");
  EXPECT_EQ(passes.status, 3);
  EXPECT_TRUE(IsOneLine(passes.err)) << passes.err;
  EXPECT_FALSE(fs::exists(Path("s")));
  EXPECT_EQ(Run(shrink + " --case no/such").status, 2);
  EXPECT_EQ(Run(shrink).status, 2);
  EXPECT_EQ(Run(shrink + " --case a --model b").status, 2);
  fs::create_directories(Path("s"));
  Write("s/thesis.txt", "years of work");
  const Outcome taken = Run(shrink + " --case add/row_by_column");
  EXPECT_EQ(taken.status, 4);
  EXPECT_NE(taken.err.find("not a reproducer"), std::string::npos) << taken.err;
  EXPECT_TRUE(fs::exists(Path("s/thesis.txt")));
}

// Times of a few microseconds are no measurement, but all that is measured is in the reports.
TEST_F(Qtx, BenchMeasuresAndReports) {
  const Outcome run =
      Run("bench --backend reference --backend faulty:none --filter 'gemm/64*' --types u8s8" +
          (" --threads 1 --seconds 0.0001 --json " + Path("b.json")) + " --svg " + Path("b.svg"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("gemm/64x64x64"), std::string::npos);
  const std::string json = Contents(Path("b.json"));
  EXPECT_NE(json.find("\"ratio_to_best_exact_peer\": "), std::string::npos) << json;
  EXPECT_NE(json.find("\"exact\": true"), std::string::npos) << json;
  EXPECT_TRUE(Contents(Path("b.svg")).ends_with("</svg>\n"));
}

TEST_F(Qtx, BenchFailsForABackendThatIsNotWhatItNames) {
  const Outcome run =
      Run("bench --backend faulty:pairs_saturate --filter 'gemm/64*' --types u8s8 --threads 1 "
          "--seconds 0.0001");
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_NE(run.out.find("% off by"), std::string::npos) << run.out;
}

TEST_F(Qtx, BenchListsWorksWithoutMeasuring) {
  const Outcome run = Run("bench --list --filter 'conv/resnet50/7x7*' --types fp32");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(IsOneLine(run.out)) << run.out;
  EXPECT_NE(run.out.find("1x3x224x224 * 64x3x7x7 s2"), std::string::npos) << run.out;
}

TEST_F(Qtx, BenchRefusesWhatItCannotMean) {
  for (const std::string arguments :
       {"--filter nothing", "--types u9", "--backend nobody", "--backend x86:threads=2",
        "--backend reference --backend reference", "--threads 0", "--threads two", "--seconds nan",
        "--seconds 0", "--rounds 6", "--longest -1"}) {
    const Outcome run = Run("bench " + arguments);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_TRUE(IsOneLine(run.err)) << run.err;
  }
  EXPECT_EQ(Run("bench --models /nowhere").status, 3);
  EXPECT_EQ(Run("bench --json /nowhere/b.json").status, 4);
}

}  // namespace
