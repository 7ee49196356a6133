// Wrong backends made of the reference, and how small what shows their fault gets.
#include "qtx/conformance/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bisect.h"
#include "case_writer.h"
#include "qtx/conformance/suite.h"
#include "wrong_backend.h"

namespace qtx::conformance::shrink_test {
namespace {

using testing::HasSubstr;

Case Parse(const std::string& yaml) {
  auto cases = ParseCases(yaml, "shrink_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << cases.error().message;
  return cases && !cases->empty() ? cases->front() : Case{};
}

Shrunk ShrinkIt(const BackendSource& source, const Case& c) {
  const auto failure = ToFailure(c);
  EXPECT_TRUE(failure.has_value());
  auto shrunk = Shrink(source, *failure, {});
  EXPECT_TRUE(shrunk.has_value()) << shrunk.error().where << ": " << shrunk.error().message;
  return shrunk ? *std::move(shrunk) : Shrunk{};
}

// What WriteReproducer writes as case.yaml fails in the same way when it is run as any case is.
void ExpectReproduces(const BackendSource& source, const Shrunk& shrunk) {
  const auto yaml = ToYaml(shrunk.reduced);
  ASSERT_TRUE(yaml.has_value());
  const std::vector<Case> cases = {Parse(*yaml)};
  const std::vector<BackendSource> sources = {source};
  const Report report = RunSuite("suite", cases, sources, {.arithmetics = {shrunk.arithmetic}});
  ASSERT_EQ(report.backends.at(0).cases.size(), 1U);
  EXPECT_EQ(Name(report.backends[0].cases[0].outcome),
            shrunk.how == "differs" ? "fail" : shrunk.how)
      << *yaml;
}

constexpr const char* kMatMul =
    "{id: mat_mul/large, spec: mat_mul.S1, why: w, op: {type: MatMul}, inputs: {"
    "a: {type: int8q, shape: [3, 9, 17], scale: 0.3, offset: 5, generate: {kind: uniform, seed: "
    "3}},"
    "b: {type: int8q, shape: [17, 12], scale: 0.7, offset: -2, generate: {kind: uniform, seed: 4}, "
    "initializer: true}},"
    "expect: {y: {type: int8q, scale: 30.0, offset: 7}}}";

// One product of one pair is enough to show a result that is off where it is positive.
TEST(Shrink, ReducesAMatrixProductToOneElementEach) {
  const BackendSource source = WrongBackend("MatMul", [](WrongRun& run) {
    for (std::int64_t& stored : run.stored) stored += stored > 20 && stored < 127;
  });
  const Shrunk shrunk = ShrinkIt(source, Parse(kMatMul));
  EXPECT_EQ(shrunk.op, "MatMul");
  EXPECT_EQ(shrunk.how, "differs");
  EXPECT_EQ(shrunk.elements, 2);
  EXPECT_EQ(shrunk.reduced.inputs.at(0).data->quantization->scale, std::vector<float>{1.0F});
  EXPECT_TRUE(shrunk.reduced.inputs[0].data->quantization->offset.empty());
  ExpectReproduces(source, shrunk);
}

// A fault of sums over more than 8 elements cannot be shown with fewer.
TEST(Shrink, KeepsTheLengthThatTheFaultNeeds) {
  const BackendSource source = WrongBackend("MatMul", [](WrongRun& run) {
    if (run.inputs[0].dims.back() > 8) run.stored[0] = run.stored[0] == 3 ? 4 : 3;
  });
  const Shrunk shrunk = ShrinkIt(source, Parse(kMatMul));
  EXPECT_EQ(shrunk.reduced.inputs.at(0).data->dims, (format::Dims{1, 1, 9}));
  EXPECT_EQ(shrunk.reduced.inputs[1].data->dims, (format::Dims{9, 1}));
  ExpectReproduces(source, shrunk);
}

// Groups, per-axis parameters, bias and kernel shape have to shrink together.
TEST(Shrink, CutsAGroupedConvolutionWithParametersPerAxis) {
  const Case c = Parse(
      "{id: conv/grouped, spec: conv.S1, why: w, op: {type: Conv, attributes: {group: 2, "
      "kernel_shape: [3, 3], pads: [1, 0, 1, 2], strides: [2, 1]}}, inputs: {"
      "x: {type: uint8q, shape: [2, 4, 7, 6], scale: 0.5, offset: 128, generate: {kind: uniform, "
      "seed: 1}}, w: {type: int8q, shape: [6, 2, 3, 3], scale: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "
      "axis: 0, generate: {kind: uniform, seed: 2}, initializer: true}, b: {type: int32q, shape: "
      "[6], scale: [0.05, 0.1, 0.15, 0.2, 0.25, 0.3], axis: 0, data: [9, -8, 7, 60, -50, 4], "
      "initializer: true}}, expect: {y: {type: uint8q, scale: 40.0, offset: 100}}}");
  const BackendSource source = WrongBackend("Conv", [](WrongRun& run) {
    for (std::int64_t& stored : run.stored) stored += stored > 101 && stored < 255;
  });
  const Shrunk shrunk = ShrinkIt(source, c);
  EXPECT_LE(shrunk.elements, 3);
  EXPECT_EQ(shrunk.reduced.op->attributes.size(), 0U);
  ExpectReproduces(source, shrunk);
}

// The first node that is wrong, not the output of the network.
TEST(Shrink, FindsTheFirstDivergingNodeOfANetwork) {
  const auto suite = LoadSuite(std::string(QTX_SOURCE_DIR) + "/conformance/cases");
  ASSERT_TRUE(suite.has_value());
  const auto network = std::ranges::find_if(suite->cases, [](const Case& c) {
    return !c.op && c.model.find("aww") != std::string::npos;
  });
  ASSERT_NE(network, suite->cases.end());
  const BackendSource source = WrongBackend("Conv", [](WrongRun& run) {
    for (const format::Tensor& tensor : run.inputs) {
      const bool kernel = tensor.dims.size() == 4 && tensor.dims[0] > 1;
      if (kernel && tensor.dims.back() == 1) run.stored[0] = 77;
    }
  });
  const Shrunk shrunk = ShrinkIt(source, *network);
  EXPECT_EQ(shrunk.op, "Conv");
  EXPECT_EQ(shrunk.nodes, 1);
  EXPECT_LE(shrunk.elements, 16);
  ExpectReproduces(source, shrunk);
}

// Copies where it should cut off at zero.
class CopyingRelu : public backend::Backend {
 public:
  Result<backend::Description> Describe() override {
    return backend::Description{"copying", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    format::Model changed = model;
    for (format::Node& node : changed.graph.nodes) {
      if (node.op_type == "Relu") node.op_type = "Identity";
    }
    return right_->Prepare(changed, arithmetic);
  }

 private:
  std::unique_ptr<backend::Backend> right_ = *ReferenceSource().make();
};

// One run of the network with all values as outputs names the node, and one of the node confirms.
TEST(Shrink, FindsANodeInTwoRuns) {
  constexpr int kNodes = 20;
  constexpr int kWrong = 13;
  std::string yaml = "{id: chain, spec: relu.S1, why: w, nodes: [";
  for (int i = 0; i < kNodes; ++i) {
    const std::string op = i == kWrong ? "Relu" : "Identity";
    yaml += "{op: {type: " + op + "}, inputs: [v" + std::to_string(i) + "], outputs: [v" +
            std::to_string(i + 1) + "]}, ";
  }
  yaml += "], values: {";
  for (int i = 1; i < kNodes; ++i) {
    yaml += "v" + std::to_string(i) + ": {type: int8q, scale: 1, shape: [2]}, ";
  }
  const Case c = Parse(yaml +
                       "}, inputs: {v0: {type: int8q, scale: 1, data: [1, -2]}},"
                       " expect: {v20: {type: int8q, scale: 1}}}");
  BackendSource source;
  source.name = "copying";
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<CopyingRelu>());
  };
  auto tester = DifferentialTester::Make(source, "exact");
  const auto failure = ToFailure(c);
  ASSERT_TRUE(tester.has_value() && failure.has_value());
  const auto part =
      FindFailingPart(*tester, failure->model, failure->inputs, VerdictKind::kDiffers, {1000});
  ASSERT_TRUE(part.has_value()) << part.error().Text();
  EXPECT_EQ(part->first, kWrong);
  EXPECT_EQ(part->test.nodes.size(), 1U);
  EXPECT_EQ(tester->runs(), 2);
}

TEST(Shrink, KeepsACrashACrash) {
  const BackendSource source = WrongBackend("Add", [](WrongRun& run) {
    if (run.stored.size() > 4) run.error = Error{ErrorCode::kIo, "", "ended by signal 11"};
    if (run.stored.size() == 1) run.stored[0] ^= 1;  // another fault, on the way down
  });
  const Case c = Parse(
      "{id: add/crash, spec: add.S1, why: w, op: {type: Add}, inputs: {"
      "a: {type: int8q, shape: [4, 8], scale: 1.0, generate: {kind: uniform}}, "
      "b: {type: int8q, shape: [8], scale: 1.0, generate: {kind: uniform}}},"
      "expect: {y: {type: int8q, scale: 2.0}}}");
  const Shrunk shrunk = ShrinkIt(source, c);
  EXPECT_EQ(shrunk.how, "crash");
  EXPECT_EQ(shrunk.elements, 6);  // [1, 5] and [1]
  ExpectReproduces(source, shrunk);
}

// Without its max, a Clip that has no min is left with one input, not with an absent second.
TEST(Shrink, DropsOptionalInputsAfterAnAbsentOne) {
  const BackendSource source = WrongBackend("Clip", [](WrongRun& run) { run.stored.back() ^= 1; });
  const Case c = Parse(
      "{id: clip/max, spec: clip.S1, why: w, op: {type: Clip}, inputs: {"
      "x: {type: int8q, shape: [3], scale: 1.0, data: [1, 2, 3]}, low: none, "
      "high: {type: int8q, shape: [], scale: 1.0, data: [2], initializer: true}},"
      "expect: {y: {type: int8q, scale: 1.0}}}");
  const Shrunk shrunk = ShrinkIt(source, c);
  EXPECT_EQ(shrunk.reduced.inputs.size(), 1U);
  ExpectReproduces(source, shrunk);
}

TEST(Shrink, IsDeterministicAndBounded) {
  std::int64_t answers = 0;
  const BackendSource source = WrongBackend("MatMul", [&answers](WrongRun& run) {
    ++answers;
    run.stored.back() ^= 1;
  });
  const auto failure = ToFailure(Parse(kMatMul));
  const auto first = Shrink(source, *failure, {.arithmetic = "exact", .max_runs = 60});
  const auto second = Shrink(source, *failure, {.arithmetic = "exact", .max_runs = 60});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*ToYaml(first->reduced), *ToYaml(second->reduced));
  EXPECT_LE(answers, 2 * 66);
}

TEST(Shrink, SaysWhenThereIsNothingToShrink) {
  const auto failure = ToFailure(Parse(kMatMul));
  const auto shrunk = Shrink(ReferenceSource(), *failure, {});
  ASSERT_FALSE(shrunk.has_value());
  EXPECT_THAT(shrunk.error().message, HasSubstr("passes it in exact"));
  const auto unknown = Shrink(ReferenceSource(), *failure, {.arithmetic = "vague"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().where, HasSubstr("vague"));
}

class Reproducer : public testing::Test {
 protected:
  Reproducer()
      : folder_(std::filesystem::temp_directory_path() /
                ("qtx_shrink_test_" + std::to_string(getpid()))) {}
  ~Reproducer() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Reproducer, IsASuiteOfOneCaseThatCanBeWrittenAgain) {
  const BackendSource source =
      WrongBackend("MatMul", [](WrongRun& run) { run.stored.back() ^= 1; });
  const Shrunk shrunk = ShrinkIt(source, Parse(kMatMul));
  for (int time = 0; time < 2; ++time) {
    const auto written = WriteReproducer(shrunk, "cmd:it's wrong", folder_.string() + "/");
    ASSERT_TRUE(written.has_value()) << written.error().where << written.error().message;
  }
  const auto suite = LoadSuite(folder_.string());
  ASSERT_TRUE(suite.has_value());
  EXPECT_EQ(suite->cases.at(0).id, "shrunk/mat_mul/large");
  for (const char* file :
       {"model.onnx", "inputs/a.npy", "expected/y.npy", "got/y.npy", "README.md", "reproduce.sh"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << file;
  }
  EXPECT_TRUE(format::Model::Load((folder_ / "model.onnx").string()).has_value());
}

TEST_F(Reproducer, LeavesAFolderOfOthersAlone) {
  std::filesystem::create_directories(folder_);
  EXPECT_TRUE(CheckReplaceable(folder_.string()).has_value());  // empty
  std::ofstream(folder_ / "thesis.txt") << "years of work";
  const auto refused = CheckReplaceable(folder_.string());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  std::filesystem::rename(folder_ / "thesis.txt", folder_ / "README.md");
  EXPECT_FALSE(CheckReplaceable(folder_.string()).has_value());
}

}  // namespace
}  // namespace qtx::conformance::shrink_test
