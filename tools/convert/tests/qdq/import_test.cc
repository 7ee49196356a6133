// Patterns of QuantizeLinear and DequantizeLinear in stock files, one test each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::qdq_import_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::IsEmpty;

format::Model Lifted(const format::Model& model) {
  auto conversion = FromOnnx(model);
  EXPECT_TRUE(conversion.has_value())
      << (conversion.has_value() ? ""
                                 : conversion.error().where + ": " + conversion.error().message);
  format::Model lifted = std::move(conversion).value_or(Conversion{}).model;
  for (const format::Finding& finding : format::Check(lifted)) {
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  }
  return lifted;
}

const format::TensorType& TypeOf(const format::Model& model, const std::string& name) {
  static const format::TensorType kNone;
  const format::ValueInfo* info = model.graph.FindValue(name);
  EXPECT_NE(info, nullptr) << name;
  return info == nullptr || !info->type ? kNone : *info->type;
}

// x -> Q -> DQ -> Relu -> Q -> DQ -> y, all FLOAT at the edges.
OnnxMaker ReluBetweenPairs() {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {4})};
  maker.Parameters("a", 0.5F, 3);
  maker.Parameters("b", 0.25F, -5);
  maker.Quantize("x", "a", "xq");
  maker.Dequantize("xq", "a", "xd");
  maker.Node("Relu", {"xd"}, {"r"});
  maker.Quantize("r", "b", "rq");
  maker.Dequantize("rq", "b", "y");
  return maker;
}

TEST(FromQdq, PutsCastsAtFloatEdgesAndTheTypeOnTheValueBetween) {
  const format::Model lifted = Lifted(ReluBetweenPairs().model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "Relu", "Cast"));
  EXPECT_EQ(TypeOf(lifted, "x").elem_type, ElementType::kFloat);
  EXPECT_EQ(TypeOf(lifted, "xd").elem_type, ElementType::kInt8Q);
  EXPECT_THAT(TypeOf(lifted, "xd").quantization->offset, ElementsAre(3));
  EXPECT_THAT(TypeOf(lifted, "rq").quantization->scale, ElementsAre(0.25F));
  EXPECT_EQ(TypeOf(lifted, "y").elem_type, ElementType::kFloat);
  EXPECT_THAT(lifted.graph.initializers, IsEmpty());
}

TEST(FromQdq, KeepsWhatTheModelComputes) {
  const format::Model stock = ReluBetweenPairs().model;
  format::Tensor input = *format::MakeTensor(ElementType::kFloat, {4});
  const std::vector<float> values = {-1, 0.3F, 0.75F, 40};
  std::copy(values.begin(), values.end(), input.As<float>().begin());
  auto before = reference::Interpreter::Prepare(stock, "exact");
  auto after = reference::Interpreter::Prepare(Lifted(stock), "exact");
  ASSERT_TRUE(before.has_value() && after.has_value());
  const auto expected = before->Run(std::vector{input});
  const auto found = after->Run(std::vector{input});
  ASSERT_TRUE(expected.has_value() && found.has_value());
  EXPECT_EQ(found->at(0).bytes, expected->at(0).bytes);
}

TEST(FromQdq, MakesQuantizedInitializersOfDequantizedOnes) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 3})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  maker.Initializer<std::int8_t>("wq", ElementType::kInt8, {3, 2}, {1, 2, 3, 4, 5, 6});
  maker.Initializer<float>("w/scale", ElementType::kFloat, {2}, {0.5F, 0.25F});
  maker.Initializer<std::int8_t>("w/zp", ElementType::kInt8, {2}, {0, 0});
  maker.Dequantize("wq", "w", "w");
  maker.Node("MatMul", {"x", "w"}, {"y"});
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("MatMul"));
  ASSERT_EQ(lifted.graph.initializers.size(), 1U);
  EXPECT_EQ(lifted.graph.initializers[0].name, "w");
  EXPECT_THAT(TypeOf(lifted, "w").quantization->axis, ElementsAre(1));
}

TEST(FromQdq, ReadsBlockedWeights) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  maker.Initializer<std::int8_t>("wq", ElementType::kInt8, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  maker.Initializer<float>("s", ElementType::kFloat, {2, 2}, {1, 2, 3, 4});
  format::Node& node = maker.Node("DequantizeLinear", {"wq", "s"}, {"w"});
  node.attributes = {format::Attribute::Int("axis", 0), format::Attribute::Int("block_size", 2)};
  maker.Node("MatMul", {"x", "w"}, {"y"});
  const format::Quantization q = *TypeOf(Lifted(maker.model), "w").quantization;
  EXPECT_THAT(q.axis, ElementsAre(0, 1));
  EXPECT_THAT(q.block_shape, ElementsAre(2, 1));
}

// 2^14 blocks: their scales and zero points are not copied into the type, nor out of it.
TEST(FromQdq, NamesManyParametersOfBlocks) {
  for (const ElementType real : {ElementType::kFloat, ElementType::kFloat16}) {
    OnnxMaker maker(21);
    constexpr std::size_t kBlocks = 1 << 14;
    maker.model.graph.inputs = {OnnxMaker::Value("x", real, {1, 256})};
    maker.model.graph.outputs = {OnnxMaker::Value("y", real, {1, 128})};
    maker.Initializer("wq", ElementType::kInt8, {256, 128}, std::vector<std::int8_t>(2 * kBlocks));
    if (real == ElementType::kFloat)
      maker.Initializer("s", real, {128, 128}, std::vector<float>(kBlocks, 0.5F));
    else
      maker.Initializer("s", real, {128, 128}, std::vector<std::uint16_t>(kBlocks, 0x3800));
    maker.Initializer("z", ElementType::kInt8, {128, 128}, std::vector<std::int8_t>(kBlocks, 3));
    format::Node& node = maker.Node("DequantizeLinear", {"wq", "s", "z"}, {"w"});
    node.attributes = {format::Attribute::Int("axis", 0), format::Attribute::Int("block_size", 2)};
    maker.Node("MatMul", {"x", "w"}, {"y"});
    const format::Model lifted = Lifted(maker.model);
    const format::Quantization q = *TypeOf(lifted, "w").quantization;
    EXPECT_THAT(q.scale, IsEmpty());
    EXPECT_EQ(real == ElementType::kFloat ? q.scale_tensor : q.scale_levels.at(0).tensor, "s");
    EXPECT_EQ(q.offset_tensor, "z");
    EXPECT_EQ(lifted.graph.initializers.size(), 3);
    const auto lowered = ToQdq(lifted);
    ASSERT_TRUE(lowered.has_value());
    EXPECT_EQ(lowered->model.graph.initializers.size(), 3);
    EXPECT_THAT(lowered->model.graph.nodes[0].inputs, ElementsAre("w/stored", "s", "z"));
    EXPECT_EQ(Lifted(lowered->model), lifted);
  }
}

TEST(FromQdq, CastsWhereTheFloatIsReadElsewhereToo) {
  OnnxMaker maker = ReluBetweenPairs();
  maker.Node("Relu", {"r"}, {"also"});
  maker.model.graph.outputs.push_back(OnnxMaker::Value("also", ElementType::kFloat, {4}));
  EXPECT_THAT(OpTypes(Lifted(maker.model)), ElementsAre("Cast", "Relu", "Cast", "Cast", "Relu"));
}

TEST(FromQdq, QuantizesIntegerEdgesInPlace) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {4})};
  maker.Parameters("a", 0.5F, 3);
  maker.Dequantize("x", "a", "xd");
  maker.Node("Relu", {"xd"}, {"r"});
  maker.Quantize("r", "a", "y");
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Relu"));
  EXPECT_EQ(TypeOf(lifted, "x").elem_type, ElementType::kInt8Q);
  EXPECT_EQ(TypeOf(lifted, "y").elem_type, ElementType::kInt8Q);
}

TEST(FromQdq, LeavesParametersThatAreComputed) {
  OnnxMaker maker = ReluBetweenPairs();
  maker.model.graph.inputs.push_back(OnnxMaker::Value("b/scale2", ElementType::kFloat, {}));
  for (format::Node& node : maker.model.graph.nodes) {
    for (std::string& input : node.inputs) {
      if (input == "b/scale") input = "b/scale2";
    }
  }
  EXPECT_THAT(OpTypes(Lifted(maker.model)),
              ElementsAre("Cast", "Relu", "QuantizeLinear", "DequantizeLinear"));
}

// Without a type of its own, the result of an operator on a quantized value could be of any.
TEST(FromQdq, DeclaresFloatWhatNodesMakeOfQuantizedValues) {
  OnnxMaker maker = ReluBetweenPairs();
  maker.model.graph.nodes[2].inputs = {"t"};
  maker.Node("Tanh", {"xd"}, {"t"});
  auto& nodes = maker.model.graph.nodes;
  std::rotate(nodes.begin() + 2, nodes.end() - 1, nodes.end());
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(TypeOf(lifted, "t").elem_type, ElementType::kFloat);
  const auto prepared = reference::Interpreter::Prepare(lifted, "exact");
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
  maker.Node("Greater", {"xd", "t"}, {"g"});  // BOOL, as the operator says
  const format::Model compared = Lifted(maker.model);
  EXPECT_EQ(compared.graph.FindValue("g"), nullptr);
  EXPECT_THAT(compared.graph.nodes.back().inputs, ElementsAre("xd", "t"));
}

std::string StayingLine(const format::Model& model, const std::string& value) {
  const auto conversion = FromOnnx(model);
  EXPECT_TRUE(conversion.has_value());
  if (!conversion.has_value()) return "";
  for (const LedgerEntry& entry : conversion->ledger) {
    if (entry.value == value && entry.field == "op_type") return entry.why;
  }
  return "";
}

// x FLOAT16 [1,2] times w INT8 [2,2], dequantized with a scale of `type`.
OnnxMaker HalfProduct(ElementType type) {
  OnnxMaker maker(23);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat16, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat16, {1, 2})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  if (type == ElementType::kFloat) {
    maker.Initializer<float>("s", type, {}, {0.5F});
  } else {
    maker.Initializer<std::uint16_t>("s", type, {}, {0x3800});  // 0.5
  }
  maker.Node("DequantizeLinear", {"w", "s"}, {"d"});
  maker.Node("MatMul", {"x", "d"}, {"y"});
  return maker;
}

TEST(FromQdq, SaysWhyAPairStays) {
  OnnxMaker computed = ReluBetweenPairs();
  computed.Node("Relu", {"a/scale"}, {"s"});
  auto& nodes = computed.model.graph.nodes;
  std::rotate(nodes.begin(), nodes.end() - 1, nodes.end());
  nodes[1].inputs[1] = "s";
  EXPECT_EQ(StayingLine(computed.model, "xq"),
            "QuantizeLinear stays as it is: its scale or zero point is computed at run time");
}

// Lowered, FLOAT weights would meet a FLOAT16 x, which ONNX has no MatMul for.
TEST(FromQdq, RefusesFloat16BesideQuantizedValues) {
  OnnxMaker maker = HalfProduct(ElementType::kFloat);
  const auto mixed = FromOnnx(maker.model);
  ASSERT_FALSE(mixed.has_value());
  EXPECT_EQ(mixed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(mixed.error().where, "node 'y_node' (MatMul): value 'x'");
  EXPECT_EQ(mixed.error().message,
            "found FLOAT16 beside INT8Q of FLOAT reals 'd'; ONNX has one type of reals there "
            "(real_type)");
}

// Source: dequantize_linear.S5.
// 'z' reads the integers, too, before 'y' does.
TEST(FromQdq, KeepsAnAnnotatedOutputWhoseIntegersAreReadElsewhere) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", format::ElementType::kInt8Q, {2}),
                               OnnxMaker::Value("w", format::ElementType::kFloat, {2})};
  maker.model.graph.outputs[0].type =
      format::Annotated(*std::move(maker.model.graph.outputs[0].type));
  maker.Parameters("y", 0.5F, 0);
  maker.Node("Relu", {"x"}, {"r"});
  maker.Quantize("r", "y", "s");
  maker.Dequantize("s", "y", "z");
  maker.Dequantize("s", "y", "y");
  maker.Node("Neg", {"z"}, {"w"});
  const auto conversion = FromOnnx(maker.model);
  ASSERT_TRUE(conversion.has_value()) << conversion.error().Text();
  const format::Graph& graph = conversion->model.graph;
  EXPECT_EQ(graph.nodes[0].outputs[0], "y");
  EXPECT_EQ(graph.outputs[0].type->elem_type, format::ElementType::kInt8Q);
  EXPECT_EQ(graph.nodes[1].inputs[0], "y");
}

TEST(FromQdq, TakesTheTypeOfTheRealsFromScaleOrOutputDtype) {
  OnnxMaker by_attribute = HalfProduct(ElementType::kFloat);
  by_attribute.model.graph.nodes[0].attributes = {
      format::Attribute::Int("output_dtype", static_cast<std::int64_t>(ElementType::kFloat16))};
  for (const OnnxMaker& maker : {HalfProduct(ElementType::kFloat16), by_attribute}) {
    const auto read = FromOnnx(maker.model);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(OpTypes(read->model), std::vector<std::string>{"MatMul"});
    const format::ValueInfo* d = read->model.graph.FindValue("d");
    ASSERT_TRUE(d != nullptr && d->type && d->type->quantization);
    EXPECT_EQ(d->type->elem_type, ElementType::kInt8Q);
    EXPECT_EQ(d->type->quantization->real_type, ElementType::kFloat16);
    EXPECT_EQ(read->model.OpsetVersion("qtx"), 3);
  }
}

// gemm.C1: ONNX Runtime's quantizer has written such nodes, which it does not take itself.
TEST(FromQdq, RefusesAGemmOfPlainIntegersWithAFloatBias) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {1, 2})};
  maker.Parameters("a", 0.5F, 3);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Initializer<float>("b", ElementType::kFloat, {2}, {1, 2});
  maker.Quantize("x", "a", "xq");
  maker.Node("Gemm", {"xq", "w", "b"}, {"y"});
  const auto refused = FromOnnx(maker.model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().where, "node 'y_node' (Gemm): value 'b'");
  EXPECT_EQ(refused.error().message,
            "found FLOAT beside INT8 'xq'; expected reals, or operands of one plain type");
}

TEST(FromQdq, NamesAScaleThatIsNotPositive) {
  OnnxMaker maker = ReluBetweenPairs();
  maker.model.graph.initializers.clear();
  maker.Parameters("a", -0.5F, 3);
  maker.Parameters("b", 0.25F, 3);
  const auto conversion = FromOnnx(maker.model);
  ASSERT_FALSE(conversion.has_value());
  EXPECT_EQ(conversion.error().where, "node 'xq_node' (QuantizeLinear): scale 'a/scale'");
}

TEST(FromQdq, RefusesValuesProducedTwice) {
  OnnxMaker twice = ReluBetweenPairs();
  twice.Node("Relu", {"x"}, {"r"});
  EXPECT_EQ(FromOnnx(twice.model).error().where, "value 'r'");
}

}  // namespace
}  // namespace qtx::convert::qdq_import_test
