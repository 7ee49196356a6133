// Distances from exact, of sums whose rounding is derived by hand.
#include "qtx/conformance/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "qtx/conformance/case.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance::layers_test {
namespace {

using testing::HasSubstr;

// y = -(x w): binary32 adds 2^-24 to 1 twice, each a tie that goes to 1; the exact sum 1 + 2^-23 is
// a binary32.
constexpr const char* kNegatedSum =
    "{id: net, spec: mat_mul.S1, why: w, nodes: ["
    "{op: {type: MatMul}, inputs: [x, w], outputs: [sum]},"
    "{op: {type: Neg}, inputs: [sum], outputs: [y]}],"
    "inputs: {x: {type: float, shape: [1, 3], data: [1, 0x1p-24, 0x1p-24]},"
    "w: {type: float, shape: [3, 1], data: [1, 1, 1], initializer: true}},"
    "values: {sum: {type: float}}, expect: {y: {type: float}}}";

ExactLayers Exact(const std::string& yaml = kNegatedSum) {
  const auto cases = ParseCases(yaml, "layers_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().Text();
  const auto model = BuildModel(cases->front());
  EXPECT_TRUE(model.has_value()) << model.error().Text();
  const auto inputs = BuildInputs(cases->front(), *model);
  EXPECT_TRUE(inputs.has_value()) << inputs.error().Text();
  auto exact = ExactLayers::Compute(*model, *inputs);
  EXPECT_TRUE(exact.has_value()) << exact.error().Text();
  return *std::move(exact);
}

TEST(Layers, TellsWhatANodeAddsFromWhatItIsGiven) {
  const auto distances = Exact().Measure(ReferenceSource(), "float32");
  ASSERT_TRUE(distances.has_value()) << distances.error().Text();
  ASSERT_EQ(distances->layers.size(), 2U);
  const LayerDistance& product = distances->layers[0];
  EXPECT_EQ(product.value, "sum");
  for (const Measured* measured : {&product.alone, &product.in_model}) {
    ASSERT_TRUE(measured->has_value());
    EXPECT_EQ((*measured)->differing, 1);
    EXPECT_EQ((*measured)->errors->max_error, 0x1p-23);
    EXPECT_EQ((*measured)->errors->greatest, 1 + 0x1p-23);
    EXPECT_DOUBLE_EQ((*measured)->errors->sqnr_db, 20 * std::log10(0x1p23 + 1));
  }
  const LayerDistance& negated = distances->layers[1];
  EXPECT_EQ(negated.alone->differing, 0);
  EXPECT_EQ(negated.in_model->differing, 1);
}

TEST(Layers, OfExactAreEqual) {
  const auto distances = Exact().Measure(ReferenceSource(), "");
  ASSERT_TRUE(distances.has_value()) << distances.error().Text();
  EXPECT_EQ(distances->arithmetic, "exact");
  for (const LayerDistance& layer : distances->layers) {
    EXPECT_EQ(layer.alone->differing, 0);
    EXPECT_EQ(layer.in_model->differing, 0);
    EXPECT_TRUE(std::isinf(layer.alone->errors->sqnr_db));
  }
}

// "FIRST, value, value, ..." of `count` elements in all.
std::string Padded(std::string elements, int known, const char* value, int count) {
  for (int i = known; i < count; ++i) elements += std::string(", ") + value;
  return elements;
}

// A super-block of ggml.S6, which a weight without levels is not: the codes of x are -127, 0, -2
// and -2, times -1; exact are 127, 0.5, 1.5 and 2.5.
TEST(Layers, KeepTheLevelsOfConstants) {
  const std::string yaml =
      "{id: levels, spec: ggml.S6, why: w, op: {type: MatMul}, inputs: {"
      "x: {type: float, shape: [1, 256], data: [" +
      Padded("127.0, 0.5, 1.5, 2.5", 4, "0.0", 256) +
      "]}, w: {type: uint4q, shape: [256, 1], axis: [0, 1], block_shape: [32, 1], "
      "scale_levels: [{value: [" +
      Padded("1.0", 1, "1.0", 8) + "]}, {value: [1.0], block_shape: [256, 1]}], data: [" +
      Padded("1, 1, 1, 1", 4, "0", 256) + "], initializer: true}}, expect: {y: {type: float}}}";
  const auto distances = Exact(yaml).Measure(ReferenceSource(), "ggml");
  ASSERT_TRUE(distances.has_value()) << distances.error().Text();
  ASSERT_EQ(distances->layers.size(), 1U);
  for (const Measured* measured : {&distances->layers[0].alone, &distances->layers[0].in_model}) {
    ASSERT_TRUE(measured->has_value()) << measured->error().Text();
    EXPECT_EQ((*measured)->errors->greatest, 131.5);
    EXPECT_EQ((*measured)->errors->max_error, 0.5);
  }
}

// Takes models of one node alone.
class OneNode : public backend::Backend {
 public:
  explicit OneNode(std::unique_ptr<backend::Backend> reference)
      : reference_(std::move(reference)) {}
  Result<backend::Description> Describe() override { return reference_->Describe(); }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    if (model.graph.nodes.size() != 1)
      return Error{ErrorCode::kUnsupported, "", "found 2 nodes, expected 1"};
    return reference_->Prepare(model, arithmetic);
  }

 private:
  std::unique_ptr<backend::Backend> reference_;
};

TEST(Layers, SayWhyThereIsNoAnswer) {
  BackendSource source = ReferenceSource();
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    QTX_ASSIGN_OR_RETURN(auto reference, ReferenceSource().make());
    return std::unique_ptr<backend::Backend>(std::make_unique<OneNode>(std::move(reference)));
  };
  const auto distances = Exact().Measure(source, "float32");
  ASSERT_TRUE(distances.has_value()) << distances.error().Text();
  for (const LayerDistance& layer : distances->layers) {
    EXPECT_TRUE(layer.alone.has_value());
    ASSERT_FALSE(layer.in_model.has_value());
    EXPECT_THAT(layer.in_model.error().message, HasSubstr("found 2 nodes"));
  }
}

TEST(Layers, NamesTheArithmeticsThatABackendHas) {
  const auto distances = Exact().Measure(ReferenceSource(), "float33");
  ASSERT_FALSE(distances.has_value());
  EXPECT_EQ(distances.error().where, "--arithmetic float33");
  EXPECT_THAT(distances.error().message, HasSubstr("has exact, float32"));
}

}  // namespace
}  // namespace qtx::conformance::layers_test
