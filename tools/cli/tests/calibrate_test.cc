// `qtx calibrate` as a user runs it: on files, in shards, after an interruption, with bad data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <regex>

#include "program.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace {

namespace fs = std::filesystem;

using qtx::cli::Contents;
using qtx::cli::Outcome;
using qtx::format::Dims;
using qtx::format::ElementType;
using qtx::format::Model;
using qtx::format::Statistics;
using qtx::format::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor Floats(Dims dims, const std::vector<float>& values) {
  Tensor tensor = *qtx::format::MakeTensor(ElementType::kFloat, std::move(dims));
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

class Calibrate : public qtx::cli::Program {
 protected:
  Calibrate() { fs::create_directories(Path("data")); }

  // sum = x + (1, 2, 4), y = max(sum, 0); x is [1, 3].
  std::string WriteModel(const std::string& op = "Relu") const {
    Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    qtx::format::TensorType type;
    type.elem_type = ElementType::kFloat;
    type.shape = qtx::format::ToShape(Dims{1, 3});
    model.graph.name = "g";
    model.graph.inputs = {{.name = "x", .type = type}};
    model.graph.outputs = {{.name = "y", .type = type}};
    model.graph.initializers = {qtx::format::ToTensorData("b", Floats({3}, {1, 2, 4}))};
    model.graph.nodes = {{.op_type = "Add", .inputs = {"x", "b"}, .outputs = {"sum"}},
                         {.op_type = op, .inputs = {"sum"}, .outputs = {"y"}}};
    return Write("m.onnx", *model.Serialize());
  }
  void WriteNpy(const std::string& name, const Tensor& tensor) const {
    Write("data/" + name, *qtx::format::ToNpy(tensor));
  }
  // Ten files with one to four samples each.
  void WriteMany() const {
    for (int i = 0; i < 10; ++i) {
      std::vector<float> values(static_cast<std::size_t>(3 * (i % 4 + 1)));
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = std::sin(static_cast<float>(k + 17 * static_cast<std::size_t>(i))) * 100.0F;
      }
      WriteNpy(std::to_string(i) + ".npy", Floats({i % 4 + 1, 3}, values));
    }
  }
  std::string Calibration(const std::string& output, const std::string& rest = "") const {
    return "calibrate " + Path("m.onnx") + " --data " + Path("data") + " -o " + Path(output) + " " +
           rest;
  }
  Model Load(const std::string& name) const { return *Model::Load(Path(name)); }
  static Statistics Of(const Model& model, const std::string& value) {
    const auto* info = model.graph.FindValue(value);
    return info != nullptr && info->type && info->type->statistics ? *info->type->statistics
                                                                   : Statistics();
  }
};

// Samples (-1, 0, -8), (3, 3, 3) without its batch dimension, and two in one file, (1, 1, 1) and
// (0, 0, NaN). sum: 0 2 -4, 4 5 7, 2 3 5, 1 2 NaN: 11 numbers, sum 27, squares
// 0 + 4 + 16 + 16 + 25 + 49 + 4 + 9 + 25 + 1 + 4 = 153, std = sqrt(11 * 153 - 27^2) / 11.
TEST_F(Calibrate, GivesStatisticsByHand) {
  WriteModel();
  WriteNpy("a.npy", Floats({1, 3}, {-1, 0, -8}));
  WriteNpy("b.npy", Floats({3}, {3, 3, 3}));
  WriteNpy("c.npy", Floats({2, 3}, {1, 1, 1, 0, 0, NAN}));
  const Outcome run = Run(Calibration("o.onnx"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("o.onnx: 4 values, 4 samples, 0 skipped"));
  EXPECT_EQ(Run("check " + Path("o.onnx")).status, 0);
  const Model model = Load("o.onnx");
  const Statistics sum = Of(model, "sum");
  EXPECT_THAT(sum.min, ElementsAre(-4));
  EXPECT_THAT(sum.max, ElementsAre(7));
  EXPECT_THAT(sum.mean, ElementsAre(27.0 / 11));
  ASSERT_EQ(sum.std.size(), 1U);
  EXPECT_NEAR(sum.std[0], std::sqrt(11.0 * 153 - 27 * 27) / 11, 1e-15);
  EXPECT_EQ(sum.count, 11U);
  EXPECT_EQ(sum.nan_count, 1U);
  EXPECT_EQ(sum.source, "qtx calibrate: 4 samples");
  EXPECT_EQ(Of(model, "x").count, 11U);
  EXPECT_THAT(Of(model, "y").min, ElementsAre(0));
  EXPECT_THAT(Of(model, "b").max, ElementsAre(4));
  EXPECT_EQ(Of(model, "b").count, 3U);
  ASSERT_TRUE(model.graph.FindValue("sum")->type->shape.has_value());
  EXPECT_EQ(qtx::format::ToString(*model.graph.FindValue("sum")->type->shape), "[1,3]");
}

TEST_F(Calibrate, KeepsTheElementsOfAnAxisApart) {
  WriteModel();
  WriteNpy("a.npy", Floats({2, 3}, {-1, 0, -8, 3, 3, 3}));
  ASSERT_EQ(Run(Calibration("o.onnx", "--per-axis --histogram 4")).status, 0);
  const Statistics sum = Of(Load("o.onnx"), "sum");
  EXPECT_THAT(sum.axis, ElementsAre(1));
  EXPECT_THAT(sum.min, ElementsAre(0, 2, -4));
  EXPECT_THAT(sum.mean, ElementsAre(2, 3.5, 1.5));
  // 0 2 -4 4 5 7 in bins of 4: -4, 0 2, 4 5 7.
  ASSERT_TRUE(sum.histogram.has_value());
  EXPECT_EQ(sum.histogram->lower, -4);
  EXPECT_THAT(sum.histogram->counts, ElementsAre(1, 2, 3));
  EXPECT_TRUE(Of(Load("o.onnx"), "b").axis.empty());  // [3] has no axis 1
  ASSERT_EQ(Run(Calibration("l.onnx", "--per-axis -1 --histogram 0")).status, 0);
  EXPECT_THAT(Of(Load("l.onnx"), "b").mean, ElementsAre(1, 2, 4));
  EXPECT_FALSE(Of(Load("l.onnx"), "sum").histogram.has_value());
}

TEST_F(Calibrate, GivesTheSameBytesForAnyThreadsShardsAndOrder) {
  WriteModel();
  WriteMany();
  const std::string options = "--per-axis --histogram 64 ";
  ASSERT_EQ(Run(Calibration("whole.onnx", options + "--threads 1")).status, 0);
  const std::string whole = Contents(Path("whole.onnx"));
  ASSERT_EQ(Run(Calibration("threads.onnx", options + "--threads 3")).status, 0);
  EXPECT_TRUE(Contents(Path("threads.onnx")) == whole);
  std::vector<std::string> shards;
  for (int i = 1; i <= 4; ++i) {
    shards.push_back(Path("s" + std::to_string(i)));
    const Outcome shard =
        Run(Calibration("s" + std::to_string(i), options + "--shard " + std::to_string(i) + "/4"));
    ASSERT_EQ(shard.status, 0) << shard.err;
  }
  // As one list, backwards, and as a tree.
  const std::string merge = "calibrate --merge -o ";
  ASSERT_EQ(
      Run(merge + Path("a") + " " + shards[3] + " " + shards[1] + " " + shards[0] + " " + shards[2])
          .status,
      0);
  EXPECT_TRUE(Contents(Path("a")) == whole);
  const Outcome half = Run(merge + Path("b") + " " + shards[2] + " " + shards[0]);
  EXPECT_EQ(half.status, 0);
  EXPECT_THAT(half.err, HasSubstr("shards missing: 2/4, 4/4"));
  ASSERT_EQ(Run(merge + Path("c") + " " + shards[3] + " " + shards[1]).status, 0);
  ASSERT_EQ(Run(merge + Path("d") + " " + Path("c") + " " + Path("b")).status, 0);
  EXPECT_TRUE(Contents(Path("d")) == whole);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take terabytes
// A stack takes 8 MiB, so that there is no room for 64 threads, neither for samples nor within one.
TEST_F(Calibrate, GoesOnInTheThreadsThatThereAre) {
  const std::string command = "calibrate " + WriteModel() + " --threads 64 -o " + Path("c.onnx");
  WriteNpy("0.npy", Floats({1, 3}, {1, 2, 3}));
  const std::string limit = "ulimit -s 8192; ulimit -v 300000;";
  const Outcome one = Run(command + " --data " + Path("data"), limit);
  EXPECT_EQ(one.status, 0) << one.err;
  WriteMany();
  const Outcome many = Run(command + " --data " + Path("data"), limit);
  EXPECT_EQ(many.status, 0) << many.err;
}
#endif

TEST_F(Calibrate, LetsAShardHaveNothing) {
  WriteModel();
  WriteNpy("a.npy", Floats({1, 3}, {1, 2, 3}));
  ASSERT_EQ(Run(Calibration("whole")).status, 0);
  ASSERT_EQ(Run(Calibration("s1", "--shard 1/2")).status, 0);
  ASSERT_EQ(Run(Calibration("s2", "--shard 2/2")).status, 0);
  for (const std::string order : {"s1 s2", "s2 s1"}) {
    ASSERT_EQ(Run("calibrate --merge -o " + Path("m") + " " + Path(order.substr(0, 2)) + " " +
                  Path(order.substr(3)))
                  .status,
              0);
    EXPECT_TRUE(Contents(Path("m")) == Contents(Path("whole"))) << order;
  }
}

TEST_F(Calibrate, RefusesToMergeWhatDoesNotBelongTogether) {
  WriteModel();
  WriteMany();
  ASSERT_EQ(Run(Calibration("s1", "--shard 1/2")).status, 0);
  ASSERT_EQ(Run(Calibration("bins", "--shard 2/2 --histogram 64")).status, 0);
  ASSERT_EQ(Run(Calibration("axis", "--shard 2/2 --per-axis")).status, 0);
  ASSERT_EQ(Run(Calibration("thirds", "--shard 2/3")).status, 0);
  ASSERT_EQ(Run(Calibration("whole")).status, 0);
  const std::string plain = WriteModel("Neg");
  ASSERT_EQ(Run(Calibration("model", "--shard 2/2")).status, 0);
  const std::pair<std::string, std::string> wrong[] = {{"s1", "twice"},
                                                       {"bins", "histogram bins"},
                                                       {"axis", "another axis"},
                                                       {"whole", "split"},
                                                       {"thirds", "split"},
                                                       {"model", "differs from the first model"},
                                                       {"m.onnx", "expected a calibrated model"}};
  for (const auto& [name, message] : wrong) {
    const Outcome merge =
        Run("calibrate --merge -o " + Path("never") + " " + Path("s1") + " " + Path(name));
    EXPECT_EQ(merge.status, 3) << name;
    EXPECT_TRUE(IsOneLine(merge.err)) << merge.err;
    EXPECT_THAT(merge.err, HasSubstr(message));
    EXPECT_THAT(merge.err, testing::StartsWith(Path(name) + ":"));
    EXPECT_FALSE(fs::exists(Path("never")));
  }
}

TEST_F(Calibrate, GoesOnAfterItWasKilled) {
  WriteModel();
  std::vector<float> values(3 * 3000);
  std::iota(values.begin(), values.end(), -4000.0F);
  WriteNpy("many.npy", Floats({3000, 3}, values));
  ASSERT_EQ(Run(Calibration("whole")).status, 0);
  const std::string journal = Path("journal");
  const std::string resumable = " --journal-seconds 0 --resume " + journal;
  const std::string command = std::string(QTX_PROGRAM) + " " + Calibration("never", resumable) +
                              " >" + Path("out") + " 2>&1 & echo $! >" + Path("pid");
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (int i = 0; i < 60'000 && !fs::exists(journal); ++i) usleep(1000);
  ASSERT_EQ(kill(std::stoi(Contents(Path("pid"))), SIGKILL), 0);
  EXPECT_FALSE(fs::exists(Path("never"))) << "it was done before it was killed";
  const Outcome resumed = Run(Calibration("resumed", "--json - --resume " + journal));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.out, testing::Not(HasSubstr("\"resumed\": 0,")));
  EXPECT_TRUE(Contents(Path("resumed")) == Contents(Path("whole")));
  // It is a journal of this model, these options and these samples, and of nothing else.
  for (const std::string rest : {"--histogram 7", "--per-axis", "--shard 1/2"}) {
    const Outcome other = Run(Calibration("never", rest + " --resume " + journal));
    EXPECT_EQ(other.status, 3) << rest;
    EXPECT_TRUE(IsOneLine(other.err)) << other.err;
    EXPECT_THAT(other.err, HasSubstr("journal of another"));
  }
  EXPECT_EQ(Run(Calibration("never", "--resume " + Path("m.onnx"))).status, 3);
  EXPECT_EQ(Run(Calibration("never", "--resume " + Write("text", "not a journal"))).status, 3);
  EXPECT_EQ(Contents(Path("text")), "not a journal");
}

// Eight bad files among good ones, one for each thing that can be wrong.
TEST_F(Calibrate, NamesCountsAndSkipsBadSamples) {
  WriteModel();
  WriteNpy("good.npy", Floats({1, 3}, {1, 2, 3}));
  Write("data/broken.npy", "no array");
  Write("data/cut.npy", qtx::format::ToNpy(Floats({1, 3}, {1, 2, 3}))->substr(0, 130));
  WriteNpy("nan.npy", Floats({1, 3}, {NAN, NAN, NAN}));
  WriteNpy("nothing.npy", Floats({1, 3}, {NAN, INFINITY, -INFINITY}));
  WriteNpy("shape.npy", Floats({1, 4}, {1, 2, 3, 4}));
  WriteNpy("type.npy", *qtx::format::MakeTensor(ElementType::kInt8, {1, 3}));
  Write("data/bytes.bin", "1234567");
  fs::create_symlink("/nowhere", Path("data/gone.npy"));
  const Outcome stopped = Run(Calibration("o"));
  EXPECT_EQ(stopped.status, 3);
  EXPECT_TRUE(IsOneLine(stopped.err)) << stopped.err;
  EXPECT_THAT(stopped.err, testing::StartsWith("broken.npy: "));  // the first by name
  EXPECT_FALSE(fs::exists(Path("o")));
  const Outcome skipped = Run(Calibration("o", "--on-error skip --threads 3"));
  ASSERT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_THAT(skipped.out,
              HasSubstr("1 samples, 8 skipped (2 malformed, 2 nothing finite, 2 shape, 1 "
                        "type, 1 unreadable)"));
  EXPECT_EQ(std::ranges::count(skipped.err, '\n'), 8);
  EXPECT_THAT(skipped.err, HasSubstr("type.npy: skipped, type: "));
  EXPECT_THAT(Load("o").metadata[0].second, HasSubstr("{\"sample\":\"nan.npy\",\"reason\":"));
  EXPECT_EQ(Of(Load("o"), "x").count, 3U);
  // Shards that skip as much say as much.
  ASSERT_EQ(Run(Calibration("s1", "--on-error skip --shard 1/2")).status, 0);
  ASSERT_EQ(Run(Calibration("s2", "--on-error skip --shard 2/2")).status, 0);
  ASSERT_EQ(Run("calibrate --merge -o " + Path("m") + " " + Path("s2") + " " + Path("s1")).status,
            0);
  EXPECT_TRUE(Contents(Path("m")) == Contents(Path("o")));
}

// x has 3 columns. An index that is computed is known only when a sample runs.
TEST_F(Calibrate, BlamesTheModelForWhatFailsOnASampleThatFits) {
  WriteModel();
  WriteNpy("x.npy", Floats({1, 3}, {1, 2, 3}));
  Model model = Load("m.onnx");
  model.graph.initializers = {qtx::format::ToTensorData("f", Floats({1}, {7}))};
  const auto to = qtx::format::Attribute::Int("to", 7);  // INT64
  model.graph.nodes = {{.op_type = "Cast", .inputs = {"f"}, .outputs = {"i"}, .attributes = {to}},
                       {.op_type = "Gather",
                        .inputs = {"x", "i"},
                        .outputs = {"y"},
                        .attributes = {qtx::format::Attribute::Int("axis", 1)}}};
  model.graph.outputs[0].type->shape = qtx::format::ToShape(Dims{1, 1});
  Write("m.onnx", *model.Serialize());
  for (const std::string rest : {"", "--on-error skip"}) {
    const Outcome run = Run(Calibration("o", rest));
    EXPECT_EQ(run.status, 3);
    EXPECT_TRUE(IsOneLine(run.err)) << run.err;
    EXPECT_THAT(run.err, testing::StartsWith(Path("m.onnx") + ": "));
    EXPECT_THAT(run.err, HasSubstr("found index 7"));
  }
}

TEST_F(Calibrate, FailsWhereNothingIsLeft) {
  WriteModel();
  EXPECT_EQ(Run(Calibration("o")).status, 3);  // an empty folder
  WriteNpy("nan.npy", Floats({1, 3}, {NAN, NAN, NAN}));
  const Outcome all = Run(Calibration("o", "--on-error skip"));
  EXPECT_EQ(all.status, 3);
  EXPECT_TRUE(IsOneLine(all.err)) << all.err;
  EXPECT_THAT(all.err, HasSubstr("nan.npy: "));
  EXPECT_FALSE(fs::exists(Path("o")));
}

// `script` gives a command a terminal.
TEST_F(Calibrate, ShowsProgressOnATerminalAndNothingInALog) {
  WriteModel();
  const std::regex line(R"(\r[0-9]+/[0-9]+  [0-9.]+/s  [0-9]+ (s|min)[^\r]*  0 skipped)");
  std::string seen;
  // It is shown after a second, which few samples need not take.
  for (std::int64_t samples = 20'000; samples < 1'000'000 && !std::regex_search(seen, line);
       samples *= 4) {
    WriteNpy("many.npy", Floats({samples, 3}, std::vector<float>(3 * samples, 1)));
    const std::string command = "script -qec '" + std::string(QTX_PROGRAM) + " " +
                                Calibration("o", "--threads 1") + "' /dev/null >" +
                                Path("terminal") + " </dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    seen = Contents(Path("terminal"));
  }
  EXPECT_TRUE(std::regex_search(seen, line)) << seen;
  EXPECT_EQ(Run(Calibration("o")).err, "");
}

TEST_F(Calibrate, SumsUpForPrograms) {
  WriteModel();
  WriteNpy("a.npy", Floats({1, 3}, {1, 2, 3}));
  WriteNpy("b.npy", Floats({1, 4}, {1, 2, 3, 4}));
  const Outcome run = Run(Calibration("o", "--on-error skip --json -"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  for (const char* part : {"\"values\": 4,", "\"samples\": 1,", "\"sample\": \"b.npy\",",
                           "\"reason\": \"shape\",", "\"shape\": 1", "\"left_out\": []"}) {
    EXPECT_THAT(run.out, HasSubstr(part));
  }
}

// A model of another kind, float inside, and data that only its converted form fits.
TEST_F(Calibrate, TakesModelsOfAnyKind) {
  const fs::path network = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/tflite-net";
  if (!fs::exists(network)) GTEST_SKIP() << network << " is not there";
  const std::string folder = (network / "ad01_fp32").string();
  const Outcome run = Run("calibrate " + folder + "/ad01_fp32.tflite --data " + folder +
                          "/golden_tflite/normal/input_0.npy " + folder +
                          "/golden_tflite/uniform/input_0.npy -o " + Path("o"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" values, 2 samples, 0 skipped"));
  EXPECT_EQ(Run("check " + Path("o")).status, 0);
}

TEST_F(Calibrate, RefusesWhatItCannotMean) {
  WriteModel();
  WriteMany();
  for (const std::string rest :
       {"--shard 3/2", "--histogram 1", "--histogram x", "--threads 0", "--on-error ask",
        "--shape 1,-3", "--shape y=1,3", "--journal-seconds nan"}) {
    const Outcome run = Run(Calibration("o", rest));
    EXPECT_EQ(run.status, 2) << rest << run.err;
    EXPECT_TRUE(IsOneLine(run.err)) << run.err;
  }
  EXPECT_EQ(Run("calibrate " + Path("m.onnx") + " -o " + Path("o")).status, 2);
  EXPECT_EQ(Run("calibrate " + Path("m.onnx") + " --data /nowhere -o " + Path("o")).status, 3);
  EXPECT_EQ(Run("calibrate " + Path("gone") + " --data " + Path("data") + " -o o").status, 3);
  EXPECT_FALSE(fs::exists(Path("o")));
}

}  // namespace
