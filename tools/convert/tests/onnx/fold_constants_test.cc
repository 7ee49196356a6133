// What exporters write between a constant and its quantizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::fold_constants_test {
namespace {

using format::Attribute;
using format::ElementType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Conversion Imported(const OnnxMaker& maker) {
  auto conversion = FromOnnx(maker.model);
  if (!conversion.has_value()) {
    ADD_FAILURE() << conversion.error().where << ": " << conversion.error().message;
    return {};
  }
  for (const auto& finding : format::Check(conversion->model))
    ADD_FAILURE() << finding.where << ": " << finding.message;
  return *std::move(conversion);
}

// y = MatMul(x, wd), where the test makes wd of shape {2, 2}.
OnnxMaker Product(std::int64_t opset = 13) {
  OnnxMaker maker(opset);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  return maker;
}

void Ints(OnnxMaker& maker, const std::string& name, std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  maker.Initializer<std::int64_t>(name, ElementType::kInt64, {count}, std::move(values));
}

// The only node of the extended form is the MatMul; its weight.
format::Tensor WeightOf(const format::Model& model) {
  EXPECT_THAT(OpTypes(model), ElementsAre("MatMul"));
  auto w = format::LoadInitializer(model, model.graph.nodes.at(0).inputs.at(1));
  if (w.has_value()) return *std::move(w);
  ADD_FAILURE() << w.error().message;
  return {};
}

bool IsInLedger(const Conversion& conversion, const std::string& value, const std::string& field) {
  return std::ranges::any_of(conversion.ledger, [&](const LedgerEntry& entry) {
    return entry.value == value && entry.field == field;
  });
}

// PyTorch's x @ w.T: [[1, 2], [3, 4]] moved is 1 3 2 4. / 0.5: 2 6 4 8.
TEST(FoldConstants, TransposesAWeightBeforeItIsQuantized) {
  OnnxMaker maker = Product();
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<float>("w", ElementType::kFloat, {2, 2}, {1, 2, 3, 4});
  maker.Node("Transpose", {"w"}, {"wt"});
  maker.Quantize("wt", "a", "wq");
  maker.Dequantize("wq", "a", "wd");
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  const Conversion conversion = Imported(maker);
  EXPECT_THAT(format::UnpackInt32(WeightOf(conversion.model)), ElementsAre(2, 6, 4, 8));
  EXPECT_EQ(conversion.model.graph.initializers.size(), 1U);
  EXPECT_TRUE(IsInLedger(conversion, "wt", "producer"));
  EXPECT_TRUE(IsInLedger(conversion, "w", "initializer"));
}

// A scale of DOUBLE 0.5, which FLOAT holds; a zero point of the scale's shape, all 3.
TEST(FoldConstants, ReadsParametersThroughCastReshapeAndConstantOfShape) {
  OnnxMaker maker = Product();
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  maker.Initializer<double>("s", ElementType::kDouble, {1, 2}, {0.5, 0.25});
  Ints(maker, "flat", {-1});
  maker.Node("Reshape", {"s", "flat"}, {"s1"});
  maker.Node("Cast", {"s1"}, {"scale"}).attributes = {
      Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))};
  maker.Node("Shape", {"scale"}, {"dims"});
  const format::Tensor three{ElementType::kInt8, {1}, std::nullopt, {std::byte{3}}};
  Attribute value;
  value.name = "value";
  value.type = format::AttributeType::kTensor;
  value.t = format::ToTensorData("", three);
  maker.Node("ConstantOfShape", {"dims"}, {"zp"}).attributes = {value};
  maker.Node("DequantizeLinear", {"w", "scale", "zp"}, {"wd"});
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  const Conversion conversion = Imported(maker);
  const format::Tensor w = WeightOf(conversion.model);
  EXPECT_THAT(w.quantization->scale, ElementsAre(0.5F, 0.25F));
  EXPECT_THAT(w.quantization->offset, ElementsAre(3, 3));
  EXPECT_EQ(conversion.model.graph.initializers.size(), 1U);
}

// 0.1 is no binary32: the Cast would round, and stays, and with it the pair.
TEST(FoldConstants, LeavesACastThatRounds) {
  OnnxMaker maker = Product();
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  maker.Initializer<double>("s", ElementType::kDouble, {}, {0.1});
  maker.Node("Cast", {"s"}, {"scale"}).attributes = {
      Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))};
  maker.Node("DequantizeLinear", {"w", "scale"}, {"wd"});
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  EXPECT_THAT(OpTypes(Imported(maker).model), ElementsAre("Cast", "DequantizeLinear", "MatMul"));
}

// 2^53 + 1 is no double: it must not become 2^53.
TEST(FoldConstants, LeavesACastOfAnIntegerThatNoDoubleHolds) {
  OnnxMaker maker = Product();
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  maker.Initializer<std::int64_t>("s", ElementType::kInt64, {}, {9007199254740993});
  maker.Node("Cast", {"s"}, {"scale"}).attributes = {
      Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))};
  maker.Node("DequantizeLinear", {"w", "scale"}, {"wd"});
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  EXPECT_THAT(OpTypes(Imported(maker).model), ElementsAre("Cast", "DequantizeLinear", "MatMul"));
}

TEST(FoldConstants, MakesTheConstantsOfADequantizeLinearInitializers) {
  OnnxMaker maker = Product();
  maker.Parameters("a", 0.5F, 0);
  const format::Tensor four{ElementType::kInt8,
                            {2, 2},
                            std::nullopt,
                            {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}};
  Attribute value;
  value.name = "value";
  value.type = format::AttributeType::kTensor;
  value.t = format::ToTensorData("", four);
  maker.Node("Constant", {}, {"w"}).attributes = {value};
  maker.Dequantize("w", "a", "wd");
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  EXPECT_THAT(format::UnpackInt32(WeightOf(Imported(maker).model)), ElementsAre(1, 2, 3, 4));
}

// Tied weights: one initializer, two Clips, of which no type can have both ranges.
TEST(FoldConstants, ClipsIntegersThatAreReadTwice) {
  OnnxMaker maker = Product();
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  maker.Initializer<std::int8_t>("low", ElementType::kInt8, {}, {-7});
  maker.Initializer<std::int8_t>("high", ElementType::kInt8, {}, {6});
  maker.Node("Clip", {"w", "low", "high"}, {"c1"});
  maker.Node("Clip", {"w", "low"}, {"c2"});
  maker.Dequantize("c1", "a", "d1");
  maker.Dequantize("c2", "a", "d2");
  maker.Node("MatMul", {"x", "d1"}, {"m"});
  maker.Node("MatMul", {"m", "d2"}, {"y"});
  const Conversion conversion = Imported(maker);
  EXPECT_THAT(OpTypes(conversion.model), ElementsAre("MatMul", "MatMul"));
  const auto& nodes = conversion.model.graph.nodes;
  const auto first = format::LoadInitializer(conversion.model, nodes.at(0).inputs[1]);
  const auto second = format::LoadInitializer(conversion.model, nodes.at(1).inputs[1]);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_THAT(format::UnpackInt32(*first), ElementsAre(5, -7, 6, 6));
  EXPECT_THAT(format::UnpackInt32(*second), ElementsAre(5, -7, 7, 9));
  EXPECT_EQ(conversion.model.graph.initializers.size(), 2U);
}

TEST(FoldConstants, KeepsWhatAnotherNodeReads) {
  OnnxMaker maker = Product();
  maker.Parameters("a", 0.5F, 0);
  maker.Initializer<float>("w", ElementType::kFloat, {2, 2}, {1, 2, 3, 4});
  maker.Node("Transpose", {"w"}, {"wt"});
  maker.Quantize("wt", "a", "wq");
  maker.Dequantize("wq", "a", "wd");
  maker.Node("MatMul", {"x", "wd"}, {"m"});
  maker.Node("MatMul", {"m", "w"}, {"n"});
  maker.Node("MatMul", {"n", "wt"}, {"y"});
  const format::Model model = Imported(maker).model;
  EXPECT_THAT(OpTypes(model), ElementsAre("MatMul", "MatMul", "MatMul"));
  EXPECT_NE(model.graph.FindInitializer("w"), nullptr);
  EXPECT_NE(model.graph.FindInitializer("wt"), nullptr);
}

// Scales of 2^40 elements, in a file of a few hundred bytes.
TEST(FoldConstants, LeavesAConstantOfShapeThatIsLargerThanTheFile) {
  OnnxMaker maker = Product();
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {5, -8, 7, 9});
  Ints(maker, "dims", {1LL << 20, 1LL << 20});
  maker.Node("ConstantOfShape", {"dims"}, {"scale"});
  maker.Node("DequantizeLinear", {"w", "scale"}, {"wd"});
  maker.Node("MatMul", {"x", "wd"}, {"y"});
  const auto conversion = FromOnnx(maker.model);  // whose scale `check` refuses for its rank
  ASSERT_TRUE(conversion.has_value()) << conversion.error().Text();
  EXPECT_THAT(OpTypes(conversion->model),
              ElementsAre("ConstantOfShape", "DequantizeLinear", "MatMul"));
}

// A model without a quantizer is as it was, whatever could be computed in it.
TEST(FoldConstants, TouchesNothingThatNoQuantizerReads) {
  OnnxMaker maker = Product();
  maker.Initializer<float>("w", ElementType::kFloat, {2, 2}, {1, 2, 3, 4});
  maker.Node("Transpose", {"w"}, {"wt"});
  maker.Node("MatMul", {"x", "wt"}, {"y"});
  const Conversion conversion = Imported(maker);
  EXPECT_EQ(conversion.model.graph.nodes, maker.model.graph.nodes);
  EXPECT_THAT(conversion.ledger, IsEmpty());
}

}  // namespace
}  // namespace qtx::convert::fold_constants_test
