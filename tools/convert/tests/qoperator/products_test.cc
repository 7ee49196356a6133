// Products whose result is FLOAT: MatMulInteger with its scales, MatMulIntegerToFloat; and
// quantization_annotation.
#include "tests/qoperator/lifted.h"

namespace qtx::convert::products_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;
using testing::IsEmpty;

// real -> QuantizeLinear -> x [1,2]; x * w [2,2] -> Cast -> Mul by `factor` -> y.
OnnxMaker OneMatMulInteger(const std::string& factor) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("real", ElementType::kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  maker.Parameters("x", 0.5F, 3);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Initializer<std::int8_t>("w/zp", ElementType::kInt8, {}, {1});
  maker.Quantize("real", "x", "x");
  if (factor == "scales") {
    maker.Initializer<float>("w/scale", ElementType::kFloat, {2}, {0.25F, 0.75F});
    maker.Node("Mul", {"x/scale", "w/scale"}, {"scales"});
  } else if (factor == "product") {
    maker.Initializer<float>("product", ElementType::kFloat, {2}, {0.125F, 0.375F});
  }
  maker.Node("MatMulInteger", {"x", "w", "x/zp", "w/zp"}, {"acc"});
  maker.Node("Cast", {"acc"}, {"cast"}).attributes = {Attribute::Int("to", 1)};
  maker.Node("Mul", {"cast", factor}, {"y"});
  return maker;
}

// x = (4, 8): (1, 5) * ((0, 1), (2, 3)) = (10, 16), times 0.125 and 0.375: 1.25 and 6. Without the
// zero point of w it is (16, 22); with the scales along K (10, 16) cannot be scaled at all.
TEST(MatMulInteger, WithConstantScalesIsAProductOfQuantizedTensors) {
  for (const char* factor : {"scales", "product"}) {
    const format::Model stock = OneMatMulInteger(factor).model;
    const format::Model lifted = Lifted(stock);
    EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "MatMul"));
    const format::Quantization w = QuantizationOf(lifted, "w");
    EXPECT_THAT(w.scale, ElementsAre(0.25F, 0.75F));
    EXPECT_THAT(w.offset, ElementsAre(1, 1));
    EXPECT_THAT(w.axis, ElementsAre(1));
    EXPECT_EQ(lifted.graph.initializers.size(), 1U);
    const auto real = TensorOf<float>(ElementType::kFloat, {1, 2}, {0.5F, 2.5F});
    const auto expected = TensorOf<float>(ElementType::kFloat, {2}, {1.25F, 6});
    EXPECT_EQ(RunIn(lifted, "float32", {real}), expected.bytes) << factor;
    EXPECT_EQ(RunIn(stock, "float32", {real}), expected.bytes) << factor;
  }
}

TEST(MatMulInteger, StaysWhereItsScaleOrItsRangeIsNotKnown) {
  OnnxMaker computed = OneMatMulInteger("later");
  computed.model.graph.inputs.push_back(OnnxMaker::Value("later", ElementType::kFloat, {2}));
  const Conversion lifted = LiftedWithLedger(computed.model);
  EXPECT_TRUE(HasLine(lifted, "acc", "MatMulInteger stays as it is: its INT32 result"));
  OnnxMaker alone = OneMatMulInteger("product");
  alone.model.graph.inputs[0] = OnnxMaker::Value("x", ElementType::kInt8, {1, 2});
  alone.model.graph.nodes.erase(alone.model.graph.nodes.begin());
  EXPECT_TRUE(HasLine(LiftedWithLedger(alone.model), "acc", "the scale of 'x' is not known"));
  // 33,026 products of 255 * 255 pass 2^31 - 1: there the integers wrap.
  OnnxMaker wraps = OneMatMulInteger("product");
  wraps.model.graph.inputs[0] = OnnxMaker::Value("real", ElementType::kFloat, {1, 33026});
  std::erase_if(wraps.model.graph.initializers, [](const auto& data) { return data.name == "w"; });
  wraps.Initializer<std::int8_t>("w", ElementType::kInt8, {33026, 2},
                                 std::vector<std::int8_t>(66052, 1));
  EXPECT_TRUE(HasLine(LiftedWithLedger(wraps.model), "acc", "its sums may wrap"));
}

TEST(ConvInteger, TakesItsScalesAlongAxis1OfTheResult) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("real", ElementType::kFloat, {1, 1, 2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2, 2, 2})};
  maker.Parameters("x", 0.5F, 3);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 1, 1, 1}, {1, 2});
  maker.Initializer<float>("f", ElementType::kFloat, {2, 1, 1}, {0.125F, 0.375F});
  maker.Quantize("real", "x", "x");
  maker.Node("ConvInteger", {"x", "w", "x/zp"}, {"acc"});
  maker.Node("Cast", {"acc"}, {"cast"}).attributes = {Attribute::Int("to", 1)};
  maker.Node("Mul", {"f", "cast"}, {"y"});
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "Conv"));
  EXPECT_THAT(QuantizationOf(lifted, "w").axis, ElementsAre(0));
  EXPECT_THAT(QuantizationOf(lifted, "w").scale, ElementsAre(0.25F, 0.75F));
}

// x * w as above, plus the bias; then quantized by 0.4: the product is a binary32 first.
TEST(MatMulIntegerToFloat, IsAProductAndAnAddThatNoQuantizationEnters) {
  OnnxMaker maker = OneMatMulInteger("product");
  auto& graph = maker.model.graph;
  graph.nodes.resize(1);
  graph.outputs = {OnnxMaker::Value("q", ElementType::kInt8, {1, 2})};
  maker.Parameters("q", 0.4F, 0);
  maker.Initializer<float>("bias", ElementType::kFloat, {2}, {0.75F, -1});
  format::Node& node = maker.Node("MatMulIntegerToFloat",
                                  {"x", "w", "x/scale", "w/scale", "x/zp", "w/zp2", "bias"}, {"y"});
  node.domain = "com.microsoft";
  maker.Initializer<float>("w/scale", ElementType::kFloat, {2}, {0.25F, 0.75F});
  maker.Initializer<std::int8_t>("w/zp2", ElementType::kInt8, {2}, {1, 1});
  maker.Quantize("y", "q", "q");
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "MatMul", "Add", "Cast"));
  EXPECT_EQ(lifted.graph.nodes[1].origin, lifted.graph.nodes[2].origin);
  const auto real = TensorOf<float>(ElementType::kFloat, {1, 2}, {0.5F, 2.5F});
  // 1.25 + 0.75 = 2, / 0.4 -> 5; 6 - 1 = 5, / 0.4 = 12.5 in binary32 (0.4 is above 2/5: 12.4999998)
  // -> 12.
  const auto expected = TensorOf<std::int8_t>(ElementType::kInt8, {2}, {5, 12});
  EXPECT_EQ(RunIn(lifted, "float32", {real}), expected.bytes);
}

format::TensorAnnotation AnnotationOfX() {
  return {"x", {{"SCALE_TENSOR", "x/scale"}, {"ZERO_POINT_TENSOR", "x/zp"}}, {}};
}

TEST(QuantizationAnnotation, OfIntegersIsTheirType) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {2, 2})};
  maker.Parameters("x", 0.5F, 3);
  maker.Initializer<std::int64_t>("shape", ElementType::kInt64, {2}, {2, 2});
  maker.Node("Reshape", {"x", "shape"}, {"y"});
  maker.model.graph.quantization_annotations = {AnnotationOfX()};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(QuantizationOf(lifted, "x").scale, ElementsAre(0.5F));
  EXPECT_THAT(QuantizationOf(lifted, "x").offset, ElementsAre(3));
  EXPECT_THAT(QuantizationOf(lifted, "y").offset, ElementsAre(3));
  EXPECT_TRUE(lifted.graph.quantization_annotations.empty());
  EXPECT_EQ(lifted.graph.initializers.size(), 1U);
}

TEST(QuantizationAnnotation, OfRealsAnnotatesTheirType) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {4})};
  maker.Parameters("x", 0.5F, 3);
  maker.Node("Relu", {"x"}, {"y"});
  maker.model.graph.quantization_annotations = {AnnotationOfX()};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(ElementTypeOf(lifted, "x"), ElementType::kFloat);
  EXPECT_EQ(QuantizationOf(lifted, "x").storage_type, ElementType::kInt8);
  EXPECT_THAT(QuantizationOf(lifted, "x").offset, ElementsAre(3));
}

// Found by fuzzing: the integers of `a` were taken for FLOAT.
TEST(QuantizationAnnotation, LeavesADequantizeLinearWithoutZeroPointItsType) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {4}),
                              OnnxMaker::Value("a", ElementType::kInt32, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {2, 2}),
                               OnnxMaker::Value("b", ElementType::kFloat, {4})};
  maker.Parameters("x", 0.5F, 3);
  maker.Initializer<std::int64_t>("shape", ElementType::kInt64, {2}, {2, 2});
  maker.Node("Reshape", {"x", "shape"}, {"y"});
  maker.Initializer<float>("a/scale", ElementType::kFloat, {}, {0.25F});
  maker.Node("DequantizeLinear", {"a", "a/scale"}, {"real"});
  maker.Node("Relu", {"real"}, {"b"});
  maker.model.graph.quantization_annotations = {AnnotationOfX()};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(ElementTypeOf(lifted, "a"), ElementType::kInt32Q);
  EXPECT_THAT(QuantizationOf(lifted, "a").scale, ElementsAre(0.25F));
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Reshape", "Relu"));
}

TEST(QuantizationAnnotation, ThatNamesNothingConstantStays) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {4})};
  maker.Node("Identity", {"x"}, {"y"});
  maker.model.graph.quantization_annotations = {AnnotationOfX()};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(ElementTypeOf(lifted, "x"), ElementType::kInt8);
  EXPECT_THAT(lifted.graph.quantization_annotations, ElementsAre(AnnotationOfX()));
}

}  // namespace
}  // namespace qtx::convert::products_test
