// The orders of nodes that exporters emit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::normalize_test {
namespace {

using format::ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

format::Model Imported(const OnnxMaker& maker) {
  auto conversion = FromOnnx(maker.model);
  if (!conversion.has_value()) {
    ADD_FAILURE() << conversion.error().where << ": " << conversion.error().message;
    return {};
  }
  for (const auto& finding : format::Check(conversion->model))
    ADD_FAILURE() << finding.where << ": " << finding.message;
  return std::move(conversion->model);
}

// x -> Q -> DQ -> MatMul with w, whose FLOAT values are quantized in the graph -> Q -> DQ.
OnnxMaker FloatWeights(std::vector<float> w) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<float>("w", ElementType::kFloat, {2, 2}, std::move(w));
  maker.Initializer<float>("w/scale", ElementType::kFloat, {2}, {0.5F, 0.25F});
  maker.Initializer<std::int8_t>("w/zp", ElementType::kInt8, {2}, {3, 0});
  maker.Quantize("x", "a", "xq");
  maker.Dequantize("xq", "a", "xd");
  maker.Quantize("w", "w", "wq");
  maker.Dequantize("wq", "w", "wd");
  for (const std::size_t i : {2U, 3U})
    maker.model.graph.nodes[i].attributes.push_back(format::Attribute::Int("axis", 1));
  maker.Node("MatMul", {"xd", "wd"}, {"m"});
  maker.Quantize("m", "a", "mq");
  maker.Dequantize("mq", "a", "y");
  return maker;
}

// Axis 1: scale 0.5 and zero point 3 for the first column, 0.25 and 0 for the second.
// 1.25 / 0.5 = 2.5, to even 2, plus 3 = 5 (offset first: 5.5 -> 6); 0.625 / 0.25 = 2.5 -> 2;
// -100 / 0.5 + 3 = -197 -> -128; 31 / 0.25 = 124.
TEST(NormalizePairs, QuantizesFloatWeightsAsQuantizeLinearDoes) {
  const format::Model model = Imported(FloatWeights({1.25F, 0.625F, -100, 31}));
  EXPECT_THAT(OpTypes(model), ElementsAre("Cast", "MatMul", "Cast"));
  const auto w = format::LoadInitializer(model, model.graph.nodes[1].inputs[1]);
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_EQ(w->elem_type, ElementType::kInt8Q);
  EXPECT_THAT(format::UnpackInt32(*w), ElementsAre(5, 2, -128, 124));
  EXPECT_THAT(w->quantization->scale, ElementsAre(0.5F, 0.25F));
  EXPECT_THAT(w->quantization->offset, ElementsAre(3, 0));
  EXPECT_THAT(w->quantization->axis, ElementsAre(1));
  EXPECT_EQ(model.graph.FindInitializer("w"), nullptr);
}

TEST(NormalizePairs, RefusesNaNAmongWeights) {
  const auto refused = FromOnnx(FloatWeights({1, NAN, 0, 0}).model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "node 'wq_node' (QuantizeLinear): initializer 'w': [1]");
}

// x -> Q -> Clip to -3..3 -> DQ -> Relu: Brevitas's form of three bits in narrow range.
TEST(NormalizePairs, TakesAClipOfTheIntegersForTheRange) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-3});
  maker.Initializer<std::int8_t>("high", ElementType::kInt8, {}, {3});
  maker.Quantize("x", "a", "xq");
  maker.Node("Clip", {"xq", "low", "high"}, {"xc"});
  maker.Dequantize("xc", "a", "xd");
  maker.Node("Relu", {"xd"}, {"y"});
  const format::Model model = Imported(maker);
  EXPECT_THAT(OpTypes(model), ElementsAre("Cast", "Relu"));
  const format::ValueInfo* value = model.graph.FindValue(model.graph.nodes[0].outputs[0]);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->type->elem_type, ElementType::kInt8Q);
  EXPECT_EQ(value->type->quantization->quant_min, -3);
  EXPECT_EQ(value->type->quantization->quant_max, 3);
}

TEST(NormalizePairs, ClipsTheIntegersOfWeights) {
  OnnxMaker maker = FloatWeights({1.25F, 0.625F, -100, 31});
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-7});
  maker.Initializer<std::int8_t>("high", ElementType::kInt8, {}, {7});
  auto& nodes = maker.model.graph.nodes;
  nodes[3].inputs[0] = "wc";
  maker.Node("Clip", {"wq", "low", "high"}, {"wc"});
  std::rotate(nodes.begin() + 3, nodes.end() - 1, nodes.end());
  const format::Model model = Imported(maker);
  const auto w = format::LoadInitializer(model, model.graph.nodes[1].inputs[1]);
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_THAT(format::UnpackInt32(*w), ElementsAre(5, 2, -7, 7));
  EXPECT_EQ(w->quantization->quant_min, -7);
}

// Brevitas's weights of four bits: INT8 in the file, clipped before they are read.
TEST(NormalizePairs, TakesAClipOfAnInitializerForItsRange) {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-7});
  maker.Initializer<std::int8_t>("high", ElementType::kInt8, {}, {7});
  maker.Node("Clip", {"w", "low", "high"}, {"wc"});
  maker.Dequantize("wc", "a", "wd");
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  const format::Model model = Imported(maker);
  EXPECT_THAT(OpTypes(model), ElementsAre("MatMul"));
  ASSERT_EQ(model.graph.initializers.size(), 1U);  // the bounds are gone
  const auto w = format::LoadInitializer(model, model.graph.nodes[0].inputs[1]);
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_EQ(w->elem_type, ElementType::kInt8Q);
  EXPECT_THAT(format::UnpackInt32(*w), ElementsAre(5, -7, 7, 7));
  EXPECT_EQ(w->quantization->quant_min, -7);
  EXPECT_EQ(w->quantization->quant_max, 7);
}

// PyTorch's exporter: of zero points that are equal, one is in the file, the others name it.
TEST(NormalizePairs, ReadsAZeroPointWithoutItsIdentity) {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Parameters("a", 0.5F, 3);
  maker.Node("Identity", {"a/zp"}, {"z"});
  maker.Node("QuantizeLinear", {"x", "a/scale", "z"}, {"xq"});
  maker.Node("DequantizeLinear", {"xq", "a/scale", "z"}, {"xd"});
  maker.Node("Relu", {"xd"}, {"y"});
  const format::Model model = Imported(maker);
  EXPECT_THAT(OpTypes(model), ElementsAre("Cast", "Relu"));
  EXPECT_TRUE(model.graph.initializers.empty());
  const format::ValueInfo* value = model.graph.FindValue("xd");
  ASSERT_NE(value, nullptr);
  EXPECT_THAT(value->type->quantization->offset, ElementsAre(3));
}

// x -> Q -> Reshape -> MaxPool -> DQ: the integers are moved and selected, not computed with.
TEST(NormalizePairs, QuantizesWhatMovesIntegers) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 1, 3})};
  maker.Parameters("a", 0.5F, 1);
  maker.Initializer<std::int64_t>("shape", ElementType::kInt64, {3}, {1, 1, 4});
  maker.Quantize("x", "a", "xq");
  maker.Node("Reshape", {"xq", "shape"}, {"r"});
  maker.Node("MaxPool", {"r"}, {"p"}).attributes = {format::Attribute::Ints("kernel_shape", {2})};
  maker.Dequantize("p", "a", "y");
  const format::Model model = Imported(maker);
  EXPECT_THAT(OpTypes(model), ElementsAre("Cast", "Reshape", "MaxPool", "Cast"));
  for (const std::size_t i : {0U, 1U, 2U}) {
    const format::ValueInfo* value = model.graph.FindValue(model.graph.nodes[i].outputs[0]);
    ASSERT_NE(value, nullptr) << i;
    EXPECT_EQ(value->type->elem_type, ElementType::kInt8Q) << i;
    EXPECT_THAT(value->type->quantization->offset, ElementsAre(1)) << i;
  }
}

// The integers are read as such, too: nothing is folded away from them.
TEST(NormalizePairs, LeavesAClipWhoseInputOthersRead) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("xq", ElementType::kInt8, {2}),
                               OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-3});
  maker.Quantize("x", "a", "xq");
  maker.Node("Clip", {"xq", "low"}, {"xc"});
  maker.Dequantize("xc", "a", "y");
  EXPECT_THAT(OpTypes(Imported(maker)), ::testing::Contains("Clip"));
}

// Read in units of 0.25 what was written in units of 0.5: the range alone does not say that.
TEST(NormalizePairs, LeavesAClipReadWithOtherParameters) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Parameters("b", 0.25F, 0);
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-3});
  maker.Quantize("x", "a", "xq");
  maker.Node("Clip", {"xq", "low"}, {"xc"});
  maker.Dequantize("xc", "b", "y");
  EXPECT_THAT(OpTypes(Imported(maker)), ::testing::Contains("Clip"));
}

}  // namespace
}  // namespace qtx::convert::normalize_test
