// --feature, and `qtx review`, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "program.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace {

namespace fs = std::filesystem;

using qtx::cli::Contents;
using qtx::cli::Outcome;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAdded = " --feature offset-before-rounding";

// 5 / 2 = 2.5 is a tie and 3 odd: rounded first 2 + 3, added first 5.5, to even 6.
constexpr const char* kSuite = R"(id: identity/tie
spec: identity.S1
why: a tie with an odd offset
op: {type: Identity}
inputs: {x: {type: int8q, scale: [1.0], data: [5]}}
expect: {y: {type: int8q, scale: [2.0], offset: [3], data: [6]}}
)";

class QtxReview : public qtx::cli::Program {
 protected:
  // x [1] of scale 1 goes to y of scale 2 and offset 3; the list is that of x.
  std::string Model(const std::string& name, float y_scale, std::vector<std::int32_t> list = {}) {
    using namespace qtx;  // NOLINT(google-build-using-namespace)
    format::TensorType type;
    type.elem_type = format::ElementType::kInt8Q;
    type.shape = format::ToShape(format::Dims{64});
    type.quantization.emplace();
    type.quantization->scale = {y_scale};
    type.quantization->offset = {3};
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17}, {"qtx", 1}};
    model.graph.outputs = {{.name = "y", .type = type}};
    type.quantization->scale = {1};
    type.quantization->offset = {0};
    type.quantization->must_understand = std::move(list);
    model.graph.inputs = {{.name = "x", .type = type}};
    model.graph.nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"y"}}};
    return Write(name, *model.Serialize());
  }
  // 64 times the stored 5.
  std::string Input() {
    qtx::format::Tensor x = *qtx::format::MakeTensor(qtx::format::ElementType::kInt8, {64});
    x.bytes.assign(64, std::byte{5});
    return Write("x.npy", *qtx::format::ToNpy(x));
  }
  std::string Suite() {
    fs::create_directories(Path("suite"));
    Write("suite/one.yaml", kSuite);
    return " --suite " + Path("suite");
  }
};

TEST_F(QtxReview, UnknownFeaturesAreWrongUsage) {
  const std::string model = Model("m.onnx", 2);
  for (const std::string& command :
       {"check " + model, "run " + model + " --input x=y", std::string("validate")}) {
    const Outcome outcome = Run(command + " --feature no-such");
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("no-such"));
    EXPECT_THAT(outcome.err, HasSubstr("offset-before-rounding"));
    EXPECT_THAT(outcome.err, HasSubstr("must-understand"));
  }
}

TEST_F(QtxReview, CheckAppliesTheRulesOfAFeature) {
  const std::string model = Model("m.onnx", 2, {99});
  EXPECT_EQ(Run("check " + model).status, 0);
  const Outcome outcome = Run("check --feature must-understand " + model);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("quantization.must_understand: found 99"));
  EXPECT_THAT(outcome.err, HasSubstr("[quantization.C20]"));
}

// The list travels with the annotation.
TEST_F(QtxReview, AListSurvivesLoweringAndLifting) {
  const std::string check = "check --feature must-understand ";
  ASSERT_EQ(Run("lower " + Model("m.onnx", 2, {1, 99}) + " -o " + Path("q.onnx")).status, 0);
  EXPECT_THAT(Run(check + Path("q.onnx")).err, HasSubstr("[quantization.C20]"));
  ASSERT_EQ(Run("lift " + Path("q.onnx") + " -o " + Path("l.onnx")).status, 0);
  EXPECT_THAT(Run(check + Path("l.onnx")).err, HasSubstr("[quantization.C20]"));
}

TEST_F(QtxReview, RunComputesByAFeature) {
  const std::string run =
      "run " + Model("m.onnx", 2) + " --input " + Input() + " --output-dir " + Path("o");
  ASSERT_EQ(Run(run).status, 0);
  EXPECT_TRUE(Contents(Path("o/y.npy")).ends_with(std::string(64, '\5')));
  ASSERT_EQ(Run(run + kAdded).status, 0);
  EXPECT_TRUE(Contents(Path("o/y.npy")).ends_with(std::string(64, '\6')));
}

TEST_F(QtxReview, OnlyTheReferenceHasFeatures) {
  const Outcome outcome = Run("run " + Model("m.onnx", 2) + " --input " + Input() +
                              " --backend faulty:none --output-dir " + Path("o") + kAdded);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--feature: backend 'faulty:none' has none"));
}

TEST_F(QtxReview, ValidateHoldsCasesToAFeature) {
  const std::string validate = "validate --backend reference" + Suite();
  EXPECT_EQ(Run(validate).status, 1);
  EXPECT_EQ(Run(validate + kAdded).status, 0);
  EXPECT_EQ(Run(validate + kAdded + " --isolate").status, 0);
  EXPECT_EQ(Run(validate + kAdded + " --resume " + Path("journal")).status, 2);
}

TEST_F(QtxReview, NamesWhatIsNoProposal) {
  fs::create_directories(Path("folder"));
  fs::create_directories(Path("0003-offset-before-rounding"));
  for (const std::string& proposal : {std::string("9999"), Path("missing"), Path("folder"),
                                      Path("0003-offset-before-rounding")}) {
    const Outcome outcome = Run("review " + proposal + Suite());
    EXPECT_EQ(outcome.status, 3) << proposal;
    EXPECT_TRUE(IsOneLine(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(Run("review 3 --backend no-such" + Suite()).status, 2);
  EXPECT_EQ(Run("review 3 --models " + Path("missing") + Suite()).status, 3);
  const Outcome silent = Run("review 2 --backend cmd:false" + Suite());
  EXPECT_EQ(silent.status, 1);
  EXPECT_NE(silent.err.find("backend cmd:false: "), std::string::npos) << silent.err;
}

TEST_F(QtxReview, ShowsTheTextTheExamplesAndWhatFlips) {
  const Outcome outcome = Run("review 0003 --backend faulty:none" + Suite());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# 0003: "));
  EXPECT_THAT(outcome.out, HasSubstr("offset_before_rounding/tie_with_odd_offset @exact"));
  EXPECT_THAT(outcome.out, HasSubstr("This proposal flips 1 of 1 cases (1 of 1 results)."));
  EXPECT_THAT(outcome.out, HasSubstr("y: 1 of 1 elements, first [0] 5 -> 6"));
  EXPECT_THAT(outcome.out, HasSubstr("faulty:none would stop conforming"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("DIFFERS")));
}

// A copy of the proposal with one expected value changed.
TEST_F(QtxReview, FailsOnAnExampleThatGivesSomethingElse) {
  const std::string copy = Path("0003-offset-before-rounding");
  fs::copy(std::string(QTX_SOURCE_DIR) + "/spec/proposals/0003-offset-before-rounding", copy,
           fs::copy_options::recursive);
  std::string text = Contents(copy + "/examples/ties.yaml");
  const std::size_t at = text.find("data: [6, 0, 6, 4]");
  ASSERT_NE(at, std::string::npos);
  Write("0003-offset-before-rounding/examples/ties.yaml",
        text.replace(at, 18, "data: [6, 0, 6, 5]"));
  const Outcome outcome = Run("review " + copy + " --backend faulty:none" + Suite());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("DIFFERS"));
}

TEST_F(QtxReview, WritesJsonAndAPage) {
  const Outcome outcome =
      Run("review 3 --backend faulty:none --json - --html " + Path("r.html") + Suite());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("{\n \"schema\": \"qtx/review/1\",\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\"flipped_cases\": 1"));
  EXPECT_TRUE(Contents(Path("r.html")).starts_with("<!doctype html>"));
  EXPECT_EQ(Run("review 3 --json " + Path("none/r.json") + Suite()).status, 4);
}

// 64 drawn values of scale 1 are ties at scale 2 where they are odd; at scale 1 none is. The third
// is no model.
TEST_F(QtxReview, SaysWhatModelsChange) {
  fs::create_directories(Path("models/below"));
  Model("models/ties.onnx", 2);
  Model("models/below/same.onnx", 1);
  Write("models/text.onnx", "no model");
  Write("models/text.txt", "not looked at");
  const std::string review =
      "review 3 --backend faulty:none --json - --models " + Path("models") + Suite();
  const Outcome outcome = Run(review);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("\"path\": \"below/same.onnx\",\n   \"outcome\": \"unaffected\""));
  EXPECT_THAT(outcome.out,
              HasSubstr("\"path\": \"ties.onnx\",\n   \"outcome\": \"outputs_differ\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"largest\": 1.0,\n     \"unit\": \"LSB\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"path\": \"text.onnx\",\n   \"outcome\": \"unread\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("text.txt")));
}

// A network of 300 million products in a twentieth of a second.
TEST_F(QtxReview, LimitsTheTimeOfAModel) {
  fs::create_directories(Path("models"));
  fs::copy(Network("mobilenet_v2_1.0_224") + "/model.onnx", Path("models"));
  const Outcome outcome =
      Run("review 3 --backend faulty:none --json - --model-seconds 0.05 --models " +
          Path("models") + Suite());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("\"outcome\": \"not_run\",\n   \"why\": \"gave no answer within the time limit\""));
}

TEST_F(QtxReview, SaysWhichModelsAreRefusedWithTheFeature) {
  fs::create_directories(Path("models"));
  Model("models/list.onnx", 1, {99});
  const Outcome outcome =
      Run("review 2 --backend faulty:none --models " + Path("models") + Suite());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 checks_differ"));
  EXPECT_THAT(outcome.out, HasSubstr("check: conforms before, quantization.C20 with the feature"));
}

}  // namespace
