// README, "Exit status": each row of its table, by commands that meet its cause.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <map>
#include <regex>

#include "program.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace {

namespace fs = std::filesystem;

using qtx::cli::Contents;
using qtx::format::Dims;
using qtx::format::ElementType;

// A command, and what the line begins with that it prints.
struct Attempt {
  std::string arguments, culprit;
  std::string shell = "true";  // runs before it, in the shell that becomes it
  std::string out = ">/dev/null";
};
using Attempts = std::vector<Attempt>;

Attempts Joined(std::initializer_list<Attempts> lists) {
  Attempts all;
  for (const Attempts& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The address sanitizer takes terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsAddresses = false;
#else
constexpr bool kLimitsAddresses = true;
#endif

// Field `number` of a protobuf message, shorter than 128 bytes.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string Varint(std::int64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value % 0x80 + 0x80);
  return bytes + static_cast<char>(value);
}

// A FLOAT tensor 'w' whose elements are in the file `location`.
std::string External(std::int64_t elements, const std::string& location,
                     const std::string& length = "", const std::string& offset = "") {
  std::string tensor = "\x08" + Varint(elements) + "\x10\x01" + Field(8, "w");
  for (const auto& [key, value] :
       {std::pair("location", location), {"length", length}, {"offset", offset}}) {
    if (!value.empty()) tensor += Field(13, Field(1, key) + Field(2, value));
  }
  return tensor + "\x70\x01";
}

class ExitStatus : public qtx::cli::Program {
 protected:
  ExitStatus() {
    for (const char* folder : {"folder", "data", "in", "suite"}) fs::create_directory(Path(folder));
    for (const char* name : {"w.bin", "in/w.bin"}) Write(name, std::string(16, '\0'));
    const auto x = qtx::format::MakeTensor(ElementType::kFloat, {1, 4});
    Write("data/x.npy", *qtx::format::ToNpy(*x));
    Write("text", "no model, no table, no list of anything");
    Write("suite/a.yaml", Case("0.0"));
    WriteModel("ok.onnx", External(4, "w.bin", "16"));
  }

  static std::string Case(const std::string& expected) {
    return "{id: a, spec: add.S1, why: w, op: {type: Add}, inputs: {a: {type: float, data: [0.0]}, "
           "b: {type: float, data: [0.0]}}, expect: {y: {type: float, data: [" +
           expected + "]}}}";
  }

  // y = x + w, or another operator of both.
  std::string WriteModel(const std::string& name, const std::string& w,
                         const std::string& op = "Add", std::int64_t elements = 4) const {
    qtx::format::TensorType type;
    type.elem_type = ElementType::kFloat;
    type.shape = qtx::format::ToShape(Dims{1, elements});
    qtx::format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    model.graph.name = "g";
    model.graph.inputs = {{.name = "x", .type = type}};
    model.graph.outputs = {{.name = "y", .type = type}};
    model.graph.initializers = {*qtx::format::ParseTensorData(w)};
    model.graph.nodes = {{.op_type = op, .inputs = {"x", "w"}, .outputs = {"y"}}};
    return Write(name, *model.Serialize());
  }

  std::string RunModel(const std::string& model) const {
    return "run " + model + " --input " + Path("data/x.npy") + " --output-dir " + Path("outputs");
  }
  std::string Calibrate(const std::string& model, const std::string& output) const {
    return "calibrate " + model + " --data " + Path("data") + " -o " + output;
  }
  std::string Validate() const { return "validate --backend reference --suite " + Path("suite"); }

  // `commands` blame `culprit`.
  static Attempts Blaming(const std::string& culprit, const std::vector<std::string>& commands,
                          const std::string& shell = "true",
                          const std::string& out = ">/dev/null") {
    Attempts attempts;
    for (const std::string& command : commands) attempts.push_back({command, culprit, shell, out});
    return attempts;
  }

  // A command that answers each request with the next of `answers`, then hangs.
  std::string Answering(const std::string& name, const std::vector<std::string>& answers) const {
    std::string script;
    for (const std::string& answer : answers) {
      script += "dd bs=65536 count=1 >/dev/null 2>&1\nprintf '" + answer + "'\n";
    }
    return "\"cmd:sh " + Write(name, script + "exec sleep 1000\n") + "\"";
  }

  // Every command that reads the weights of a model.
  Attempts OnWeights(const std::string& model) const {
    const std::string o = " -o " + Path("never");
    return Blaming(
        model,
        {"check " + model, "convert " + model + o, "lower " + model + o, "lift " + model + o,
         "convert --infer " + model + o, "diff " + model + " " + Path("ok.onnx"),
         "diff " + Path("ok.onnx") + " " + model, RunModel(model), Calibrate(model, Path("never")),
         "calibrate --merge " + model + " " + model + o,
         "quantize " + model + " --data " + Path("data") + o,
         "shrink --backend reference --model " + model + " --input " + Path("data/x.npy") + o});
  }

  // Every command that reads a file.
  Attempts OnFile(const std::string& file) const {
    const std::string ok = Path("ok.onnx"), o = " -o " + Path("never");
    return Blaming(
        file,
        {"check " + file, "inspect " + file, "convert " + file + o, "lower " + file + o,
         "lift " + file + o, "convert --infer " + file + o, "diff " + file + " " + ok,
         "diff " + ok + " " + file, "run " + file, "run " + ok + " --input " + file,
         Calibrate(file, Path("never")), Calibrate(ok, Path("never")) + " --preprocess " + file,
         "calibrate --merge " + file + " " + ok + o, "quantize " + file + o,
         "quantize " + ok + " --rules " + file + o,
         "quantize " + ok + " --method gptq --gram " + file + o, "report merge " + file,
         "shrink --backend reference --input x=y --model " + file + o,
         Validate() + " --expected-failures " + file});
  }

  // Every command that reads a folder.
  Attempts OnFolder(const std::string& folder) const {
    const std::string reference = " --backend reference", o = " -o " + Path("never");
    return Blaming(
        folder, {"validate --suite " + folder, "validate --coverage --suite " + folder,
                 "identify" + reference + " --suite " + folder,
                 "power --filter zero_padding --suite " + folder,
                 "shrink" + reference + " --case a --suite " + folder + o, "spec run " + folder,
                 "spec coverage " + folder, "bench --list --models " + folder, "review " + folder,
                 "spec html --spec " + folder + o, "review 0003" + reference + " --suite " + folder,
                 "calibrate " + Path("ok.onnx") + " --data " + folder + o});
  }

  // Every command that writes a file in its place.
  Attempts Writing(const std::string& file, const std::string& shell = "true") const {
    const std::string ok = Path("ok.onnx"), report = Path("report.json");
    return Blaming(
        file,
        {"inspect " + ok + " --html " + file, Calibrate(ok, file),
         "quantize " + ok + " --data " + Path("data") + " -o " + file,
         Validate() + " --json " + file, Validate() + " --junit " + file,
         Validate() + " --html " + file, Validate() + " --resume " + file,
         Calibrate(ok, Path("o")) + " --resume " + file,
         "report merge " + report + " --json " + file, "report merge " + report + " --html " + file,
         "spec run " + Example() + " --json " + file},
        shell);
  }
  // Every command that writes a file in its place or, where there is a folder of the name, into it.
  Attempts Converting(const std::string& file, const std::string& shell = "true") const {
    const std::string rest = " " + Path("ok.onnx") + " -o " + file;
    return Blaming(
        file, {"convert" + rest, "lower" + rest, "lift" + rest, "convert --infer" + rest}, shell);
  }
  static std::string Example() { return QTX_SOURCE_DIR "/spec/ops/abs.md"; }

  // Every quick command that prints something.
  Attempts Printing(const std::string& out) const {
    const std::string ok = Path("ok.onnx");
    return Blaming("stdout",
                   {"inspect " + ok,
                    "inspect --json - " + ok,
                    "check " + ok,
                    "check --json - " + ok,
                    "diff " + ok + " " + ok,
                    "convert " + ok + " -o " + Path("o"),
                    "convert " + ok + " -o -",
                    RunModel(ok),
                    RunModel(ok) + " --json -",
                    Calibrate(ok, Path("o")),
                    Calibrate(ok, "-"),
                    Validate(),
                    Validate() + " --json -",
                    "report merge " + Path("report.json"),
                    "spec run " + Example(),
                    "bench --list",
                    "--version",
                    "--version --json",
                    "--help",
                    "check --help"},
                   "true", out);
  }

  // The status of a command and its line on stderr. A pipe takes the latter, because a limit of
  // file sizes holds for a file, too.
  struct Result {
    int status = -1;
    std::string line;
  };
  Result Try(const Attempt& attempt) const {
    const std::string command = "(cd " + folder_.string() + "\n" + attempt.shell + "\nexec " +
                                QTX_PROGRAM + " " + attempt.arguments + " </dev/null 2>&1 " +
                                attempt.out + "); echo $?";
    std::FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    pclose(pipe);
    text.pop_back();
    const std::size_t line = text.rfind('\n') + 1;
    return {std::stoi(text.substr(line)), text.substr(0, line)};
  }

  Attempts Inputs(const std::string& cause);
  Attempts Outputs(const std::string& cause);
  Attempts Others(const std::string& cause);

  // The temporary files and locks that are left.
  std::string Leftovers() const {
    std::string names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.find(".qtx-") != name.npos || name.ends_with(".tmp")) names += name + " ";
    }
    return names;
  }

  std::vector<qtx::format::FileLock> locks_;
};

Attempts ExitStatus::Inputs(const std::string& cause) {
  const std::string ok = Path("ok.onnx"), none = Path("none"), text = Path("text");
  if (cause == "an input is missing or cannot be read") {
    fs::create_symlink("loop", Path("loop"));
    const std::string below = ok + "/x", loop = Path("loop"), name = Path(std::string(300, 'n'));
    return Joined({OnFile(none),
                   OnFolder(none),
                   {{"check " + below, below},
                    {"inspect " + loop, loop},
                    {"check " + name, name},
                    {"check -", "stdin", "true", ">/dev/null <&-"}}});
  }
  if (cause == "an input is a folder, not a file") return OnFile(Path("folder"));
  if (cause == "an input is a FIFO that nobody opens for writing within 2 seconds") {
    const std::string fifo = Path("fifo");
    EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    return Blaming(fifo, {"check " + fifo});
  }
  if (cause == "an input is no pipe, and gives no bytes for 2 seconds")
    return Blaming("/dev/ptmx", {"check /dev/ptmx"});
  if (cause == "an input breaks a rule of the spec, in other commands") {
    // graph.C4: ONNX has no such operator.
    const std::string rule = WriteModel("c4.onnx", External(4, "w.bin"), "Matmul");
    Attempts attempts = OnWeights(rule);
    // These have a use for it, or ask for something else first.
    std::erase_if(attempts, [](const Attempt& attempt) {
      return attempt.arguments.starts_with("check ") || attempt.arguments.starts_with("diff ") ||
             attempt.arguments.find("--merge") != std::string::npos;
    });
    return attempts;
  }
  if (cause == "a mapped input is cut while it is read") {
    // The table is mapped before its model is read, and parsed after that.
    const std::string large = Write("large.csv", "name,elem_type\n"), model = Path("model");
    fs::resize_file(large, qtx::format::FileBytes::kMapped + 1);
    EXPECT_EQ(mkfifo(model.c_str(), 0600), 0);
    const std::string cut = "timeout 10 sh -c 'exec 3>" + model + "; truncate -s 20 " + large +
                            "; cat " + ok + " >&3' &";
    return Blaming(
        large, {"convert --from csv " + large + " --with " + model + " -o " + Path("never")}, cut);
  }
  if (cause == "an input is damaged, or of another kind than expected") {
    const std::string cut = Write("cut.onnx", Contents(ok) + "\n");
    for (const char* part : {"format", "arithmetic", "ops"})
      fs::create_directories(Path(std::string("spec/") + part));
    const std::string chapter = Write("spec/ops/abs.md", "# Abs\n\n```formula\n)(\n```\n"),
                      backend = " --backend text:spec=" + Path("spec");
    return Joined({OnFile(text), Blaming(cut, {"check " + cut, "run " + cut, "inspect " + cut}),
                   Blaming(chapter + ":4:1", {RunModel(ok) + backend, "identify" + backend,
                                              "validate --suite " + Path("suite") + backend,
                                              "fuzz --cases 1" + backend})});
  }
  if (cause == "external data is missing")
    return OnWeights(WriteModel("in/gone.onnx", External(4, "gone.bin")));
  if (cause == "external data is a folder, not a file")
    return OnWeights(WriteModel("in/folder.onnx", External(4, ".")));
  if (cause == "external data is outside the model's folder")
    return OnWeights(WriteModel("in/outside.onnx", External(4, "../w.bin")));
  if (cause == "external data is shorter or longer than its tensor") {
    return Joined({OnWeights(WriteModel("in/short.onnx", External(4, "w.bin", "", "8"))),
                   OnWeights(WriteModel("in/long.onnx", External(4, "w.bin", "20")))});
  }
  return {};
}

Attempts ExitStatus::Outputs(const std::string& cause) {
  const std::string ok = Path("ok.onnx"), none = Path("none/o"), text = Path("text");
  if (cause == "an output's folder is missing") {
    return Joined({Writing(none), Converting(none),
                   Blaming(text + "/o", {"fuzz --backend reference --cases 1 -o " + text + "/o",
                                         "run " + ok + " --input " + Path("data/x.npy") +
                                             " --output-dir " + text + "/o"})});
  }
  if (cause == "an output is a folder, not a file") return Writing(Path("folder"));
  if (cause == "an output would replace a file of something else") {
    Write("folder/thesis", "years of work");
    fs::create_directory(Path("other"));
    Write("other/w.bin", "years of work");
    const std::string other = Path("other/m.onnx"), folder = Path("folder"), w = Path("w.bin");
    return Joined({Blaming(folder, {"shrink --backend reference --case a -o " + folder}),
                   Converting(w), Converting(other)});
  }
  if (cause == "the disk is full, or a limit of file sizes is reached") {
    const std::string limit = "ulimit -f 0", full = Path("full");
    return Joined({Writing(full, limit), Converting(full, limit), Writing("/dev/full"),
                   Converting("/dev/full"), Blaming(Path("outputs"), {RunModel(ok)}, limit)});
  }
  if (cause == "stdout is full or closed") return Joined({Printing(">/dev/full"), Printing(">&-")});
  if (cause == "another run writes the journal") {
    const std::string journal = Path("journal");
    locks_.push_back(*qtx::format::FileLock::Take(journal));
    return Blaming(journal, {Validate() + " --resume " + journal,
                             Calibrate(ok, Path("o")) + " --resume " + journal});
  }
  return {};
}

Attempts ExitStatus::Others(const std::string& cause) {
  const std::string ok = Path("ok.onnx"),
                    rule = WriteModel("rule.onnx", External(4, "w.bin"), "Sum");
  if (cause == "done") {
    // The address sanitizer takes more stack, too.
    const std::string stack = kLimitsAddresses ? "ulimit -s 64" : "true";
    return Joined({Blaming("", {"check " + ok, RunModel(ok), Validate()}),
                   Blaming("", {Validate() + " --isolate"}, stack)});
  }
  if (cause == "the system starts no process for a backend") {
    // Of 15 descriptors, which sh needs, five are free, and the pipes take six.
    const std::string limit = "exec 3<&0 4<&0 5<&0 6<&0 7<&0 8<&0 9<&0; ulimit -n 15";
    return Blaming("--backend reference", {Validate() + " --isolate"}, limit);
  }
  if (cause == "`check` finds a broken rule, a case fails, two models differ") {
    fs::create_directory(Path("wrong"));
    Write("wrong/a.yaml", Case("1.0"));
    WriteModel("m.onnx", External(4, "w.bin"), "MatMul");
    return Blaming("", {"check " + Path("m.onnx"), "diff " + ok + " " + rule,
                        "validate --backend reference --suite " + Path("wrong")});
  }
  if (cause == "an option is unknown, or its value is not allowed") {
    return {{"check --none " + ok, "qtx check"},
            {"validate --shard 3/2", "--shard"},
            {"power --part 0/3", "--part"},
            {"validate --backend none", "--backend none"},
            {"validate", "TEST_SHARD_INDEX", "export TEST_TOTAL_SHARDS=2 TEST_SHARD_INDEX=2"},
            {"quantize " + ok + " --range no -o " + Path("never"), "--range"},
            {Calibrate(ok, Path("never")) + " --histogram 1", "--histogram"},
            {RunModel(ok) + " --arithmetic none", "--arithmetic none"}};
  }
  if (cause == "`--json` names a file that is no JSON document, which it would replace") {
    return Blaming("--json", {"check --json " + ok + " " + ok, "inspect --json " + ok + " " + ok,
                              "spec run " + Example() + " --json " + ok});
  }
  if (cause == "memory is too small for an input") {
    if (!kLimitsAddresses) return {};
    constexpr std::int64_t kGigabyte = std::int64_t{1} << 30;
    const std::string bin = Write("large.npy", "");
    fs::resize_file(bin, kGigabyte);
    const std::string large =
        WriteModel("large.onnx", External(kGigabyte / 4, "large.npy"), "Add", kGigabyte / 4);
    const std::string limit = "ulimit -v 500000";
    return Joined(
        {Blaming(large,
                 {RunModel(large), Calibrate(large, Path("never")),
                  "quantize " + large + " --data " + Path("data") + " -o " + Path("never")},
                 limit),
         Blaming(bin,
                 {"check " + bin, "inspect " + bin, "convert " + bin + " -o " + Path("never"),
                  "run " + ok + " --input " + bin},
                 limit)});
  }
  if (cause == "a backend fails, ends, is late or breaks the protocol") {
    // Describe {name: "b", arithmetics: "exact"}, Prepare {handle: 1}, Run {}; Error {code: IO};
    // Error {code: 99}; Describe of the arithmetic "exactly".
    const std::string describe = "\\014\\022\\012\\012\\001b\\032\\005exact",
                      prepare = "\\004\\032\\002\\010\\001", no_outputs = "\\002\\042\\000",
                      not_utf8 = "\\014\\022\\012\\012\\001\\377\\032\\005exact",
                      io = "\\004\\012\\002\\010\\003", code_99 = "\\004\\012\\002\\010\\143",
                      exactly = "\\016\\022\\014\\012\\001b\\032\\007exactly";
    const std::string run = RunModel(ok) + " --timeout 0.2 --backend ";
    return Joined(
        {Blaming("--backend cmd:false",
                 {RunModel(ok) + " --backend cmd:false", "identify --backend cmd:false",
                  "fuzz --backend cmd:false --cases 1",
                  "shrink --backend cmd:false --model " + ok + " --input " + Path("data/x.npy") +
                      " -o " + Path("never")}),
         Blaming("--backend cmd:sh",
                 {run + Answering("late", {describe}), run + Answering("io", {describe, io}),
                  run + Answering("code_99", {describe, code_99}),
                  run + Answering("exactly", {exactly}),
                  run + Answering("no_outputs", {describe, prepare, no_outputs}),
                  run + Answering("not_utf8", {not_utf8})})});
  }
  return {};
}

TEST_F(ExitStatus, IsThatOfTheReadmesTable) {
  ASSERT_EQ(Run(Validate() + " --json " + Path("report.json")).status, 0);
  const std::string readme = Contents(QTX_SOURCE_DIR "/README.md");
  const std::regex row(R"(\n\| ([0-4]) \| ([^|]+) \|)");
  int rows = 0;
  for (std::sregex_iterator at(readme.begin(), readme.end(), row), end; at != end; ++at, ++rows) {
    const int status = std::stoi((*at)[1]);
    const std::string cause = (*at)[2];
    const Attempts attempts = Joined({Inputs(cause), Outputs(cause), Others(cause)});
    EXPECT_TRUE(!attempts.empty() || !kLimitsAddresses) << cause;
    for (const Attempt& attempt : attempts) {
      const Result result = Try(attempt);
      const bool says =
          status <= 1 || (IsOneLine(result.line) && result.line.starts_with(attempt.culprit));
      const std::string left = locks_.empty() ? Leftovers() : "";
      const bool ok = result.status == status && says && left.empty();
      EXPECT_TRUE(ok) << cause << ", status " << result.status << " for: " << attempt.shell
                      << "; qtx " << attempt.arguments << " " << attempt.out << "\n"
                      << result.line << left;
    }
  }
  EXPECT_GE(rows, 15);
}

// stdout is looked at last: who reads the status knows that the files are there.
TEST_F(ExitStatus, OfAFullStdoutLeavesCompleteFiles) {
  for (const char* out : {">/dev/null", ">/dev/full"}) {
    const int status = std::string(out) == ">/dev/null" ? 0 : 4;
    EXPECT_EQ(
        Try({"convert --to qtx " + Path("ok.onnx") + " -o " + Path("o.onnx"), "", "true", out})
            .status,
        status);
    EXPECT_EQ(Contents(Path("o.onnx")), Contents(Path("ok.onnx")));
    fs::remove(Path("o.onnx"));
    EXPECT_EQ(Try({Validate() + " --json " + Path("r.json"), "", "true", out}).status, status);
    EXPECT_TRUE(Contents(Path("r.json")).ends_with("}\n"));
    fs::remove(Path("r.json"));
  }
}

// Two models name other weights by one name: the second would have the first's.
TEST_F(ExitStatus, ConvertsNoTwoModelsOntoOnesWeights) {
  fs::create_directory(Path("p"));
  fs::create_directory(Path("q"));
  Write("p/w.bin", std::string(16, 'p'));
  Write("q/w.bin", std::string(16, 'q'));
  const std::string both = WriteModel("p/m.onnx", External(4, "w.bin")) + " " +
                           WriteModel("q/n.onnx", External(4, "w.bin"));
  for (int round = 0; round < 5; ++round) {
    const std::string made = Path("made" + std::to_string(round));
    fs::create_directory(made);
    std::string arguments = "convert --to qtx ";
    arguments.append(both).append(" -o ").append(made);
    const qtx::cli::Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.status, 4);
    EXPECT_NE(outcome.err.find("has other content"), std::string::npos) << outcome.err;
    const std::string own = fs::exists(made + "/m.onnx") ? "p" : "q";
    EXPECT_EQ(Contents(made + "/w.bin"), Contents(Path(own + "/w.bin")));
    EXPECT_FALSE(fs::exists(made + "/m.onnx") && fs::exists(made + "/n.onnx"));
  }
}

}  // namespace
