// The extended form written on integers: what the file says, that it reads back, what it refuses.
#include "tests/qoperator/lifted.h"

namespace qtx::convert::write_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

Result<format::Model> Written(const format::Model& model, std::vector<std::string> allow = {}) {
  auto written = Write(model, *FindKind("qoperator"), {.allow = std::move(allow)});
  if (!written.has_value()) return std::move(written).error();
  return std::get<format::Model>(written->content);
}

format::Model WrittenOrFail(const format::Model& model) {
  auto written = Written(model);
  EXPECT_TRUE(written.has_value()) << Text(written.has_value() ? Error{} : written.error());
  return std::move(written).value_or(format::Model{});
}

std::string RefusalToWrite(const format::Model& model) {
  const auto written = Written(model);
  return written.has_value() ? "" : Text(written.error());
}

/// An extended model: x INT8Q -> Conv by w, b -> y INT8Q, no origins.
OnnxMaker ExtendedConv() {
  OnnxMaker maker;
  maker.model.opset_imports.push_back({"qtx", 1});
  auto& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {1, 2, 2, 2}, {0.5F})};
  graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {1, 2, 2, 2}, {2.0F})};
  graph.outputs[0].type->quantization->offset = {-1};
  graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {2, 2, 1, 1}, {0.25F, 0.75F}, {0}),
                  OnnxMaker::Quantized("b", ElementType::kInt32Q, {2}, {0.125F, 0.375F}, {0})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2, 1, 1}, {1, 2, 3, 4});
  maker.Initializer<std::int32_t>("b", ElementType::kInt32, {2}, {10, -20});
  maker.Node("Conv", {"x", "w", "b"}, {"y"});
  return maker;
}

void ExpectReadsBack(const format::Model& model) {
  const format::Model written = WrittenOrFail(model);
  for (const format::Finding& finding : format::Check(written))
    ADD_FAILURE() << finding.where << ": " << finding.message;
  const format::Model again = Lifted(written);
  EXPECT_EQ(again.graph.nodes, model.graph.nodes);
  EXPECT_EQ(again.graph.initializers, model.graph.initializers);
  EXPECT_EQ(again.graph.values, model.graph.values);
  EXPECT_EQ(again, model);
}

/// `model` with reals of FLOAT16, in opset 19.
format::Model InHalf(format::Model model) {
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& info : *list)
      info.type->quantization->real_type = ElementType::kFloat16;
  }
  for (auto& import : model.opset_imports) import.version = import.domain == "qtx" ? 3 : 19;
  return model;
}

ElementType ScaleTypeOf(const format::Model& model, const std::string& op_type) {
  const auto node = std::ranges::find(model.graph.nodes, op_type, &format::Node::op_type);
  if (node == model.graph.nodes.end()) return ElementType::kUndefined;
  return static_cast<ElementType>(model.graph.FindInitializer(node->inputs[1])->data_type);
}

// QLinearConv has FLOAT scales, and reals of 16 bits have no kernels on integers
// (quantization.S13): its form is Conv of FLOAT16 between pairs. Source: ONNX's schema
// QLinearConv-10.
TEST(ToQOperator, PutsConvOfHalvesBetweenPairs) {
  const format::Model model = InHalf(ExtendedConv().model);
  const format::Model written = WrittenOrFail(model);
  EXPECT_THAT(OpTypes(written), ElementsAre("DequantizeLinear", "DequantizeLinear",
                                            "DequantizeLinear", "Conv", "QuantizeLinear"));
  EXPECT_EQ(ScaleTypeOf(written, "DequantizeLinear"), ElementType::kFloat16);
  EXPECT_EQ(ScaleTypeOf(written, "QuantizeLinear"), ElementType::kFloat16);
  EXPECT_EQ(written.OpsetVersion(""), 19);
  ExpectReadsBack(model);
}

// 0.1F is no FLOAT16: a FLOAT scale beside FLOAT16 reals came with opset 23.
TEST(ToQOperator, RaisesTheOpsetForScalesThatHalvesLack) {
  format::Model model = InHalf(ExtendedConv().model);
  model.graph.inputs[0].type->quantization->scale = {0.1F};
  model.graph.nodes[0].inputs.pop_back();
  std::erase_if(model.graph.values, [](const auto& info) { return info.name == "b"; });
  std::erase_if(model.graph.initializers, [](const auto& data) { return data.name == "b"; });
  const format::Model written = WrittenOrFail(model);
  EXPECT_EQ(written.OpsetVersion(""), 23);
  EXPECT_EQ(ScaleTypeOf(written, "DequantizeLinear"), ElementType::kFloat);
  EXPECT_EQ(written.graph.nodes[0].IntOr("output_dtype", 0),
            static_cast<std::int64_t>(ElementType::kFloat16));
  EXPECT_EQ(written.graph.nodes.back().IntOr("precision", 0),
            static_cast<std::int64_t>(ElementType::kFloat));
}

// No operator of com.microsoft on integers is written for one operand of FLOAT16, and
// QuantizeLinear is none of com.microsoft, whose kernels have FLOAT scales.
TEST(ToQOperator, WritesNoOperatorOnIntegersForHalves) {
  for (const char* op_type :
       {"Add", "Mul", "Concat", "Sigmoid", "LeakyRelu", "Softmax", "MatMul"}) {
    OnnxMaker maker;
    maker.model.opset_imports.push_back({"qtx", 1});
    auto& graph = maker.model.graph;
    graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 2}, {0.5F})};
    graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 2}, {0.25F})};
    std::vector<std::string> inputs = {"x"};
    if (std::string_view(op_type) == "Concat")
      graph.outputs[0].type->shape = format::ToShape(format::Dims{4, 2});
    if (std::string_view("Sigmoid LeakyRelu Softmax").find(op_type) == std::string_view::npos)
      inputs.emplace_back("x");
    format::Node& node = maker.Node(op_type, inputs, {"y"});
    if (std::string_view(op_type) == "Concat") node.attributes = {Attribute::Int("axis", 0)};
    const format::Model model = InHalf(maker.model);
    const format::Model written = WrittenOrFail(model);
    EXPECT_THAT(OpTypes(written), ElementsAre("DequantizeLinear", op_type, "QuantizeLinear"));
    for (const format::Node& made : written.graph.nodes) EXPECT_EQ(made.domain, "") << op_type;
    EXPECT_EQ(Lifted(written), model) << op_type;
  }
}

// Conv has BFLOAT16 from opset 22 on.
TEST(ToQOperator, NamesANodeThatItsOpsetLacksForHalves) {
  format::Model model = InHalf(ExtendedConv().model);
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& info : *list)
      info.type->quantization->real_type = ElementType::kBfloat16;
  }
  EXPECT_THAT(RefusalToWrite(model), HasSubstr("expected FLOAT, FLOAT16 or DOUBLE (opset 19)"));
}

// QuantizeLinear takes FLOAT and INT32; any other type becomes FLOAT before it. quantize_linear.C1.
TEST(ToQOperator, CastsToFloatWhatQuantizeLinearDoesNotTake) {
  for (const ElementType type : {ElementType::kDouble, ElementType::kInt64, ElementType::kInt32}) {
    OnnxMaker maker;
    maker.model.opset_imports.push_back({"qtx", 1});
    maker.model.graph.inputs = {OnnxMaker::Value("x", type, {2})};
    maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2})};
    maker.Node("Cast", {"x"}, {"y"}).attributes = {
        Attribute::Int("to", static_cast<std::int64_t>(ElementType::kInt8Q))};
    const auto op_types = OpTypes(WrittenOrFail(maker.model));
    const bool direct = type == ElementType::kInt32;
    EXPECT_EQ(op_types, direct ? std::vector<std::string>{"QuantizeLinear"}
                               : std::vector<std::string>({"Cast", "QuantizeLinear"}));
  }
}

TEST(ToQOperator, WritesQLinearConvOnIntegersOfTheSameNames) {
  const format::Model written = WrittenOrFail(ExtendedConv().model);
  ASSERT_THAT(OpTypes(written), ElementsAre("QLinearConv"));
  EXPECT_THAT(written.graph.nodes[0].inputs,
              ElementsAre("x", "x/scale", "x/zero_point", "w", "w/scale", "w/zero_point", "y/scale",
                          "y/zero_point", "b"));
  EXPECT_EQ(written.graph.inputs[0].type->elem_type, ElementType::kInt8);
  EXPECT_EQ(written.graph.FindInitializer("w/scale")->dims, (format::Dims{2}));
  EXPECT_EQ(written.graph.FindInitializer("y/zero_point")->dims, (format::Dims{}));
  EXPECT_EQ(written.OpsetVersion("qtx"), 0);
  EXPECT_EQ(written.OpsetVersion("com.microsoft"), 0);
}

TEST(ToQOperator, ReadsBackFieldForField) {
  OnnxMaker maker = ExtendedConv();
  ExpectReadsBack(maker.model);
  // Another origin is kept, and one like this file's own is not taken for it.
  maker.model.graph.nodes[0].origin = format::Origin{"g", "tflite", "", "CONV_2D", "n", {}, ""};
  ExpectReadsBack(maker.model);
  ExpectReadsBack(Lifted(OneQLinearConv().model));
}

// y -> Relu -> r -> MaxPool -> m -> Cast to FLOAT -> f; and x + x by com.microsoft's Add.
TEST(ToQOperator, PutsOperatorsItHasNotBetweenPairs) {
  OnnxMaker maker = ExtendedConv();
  auto& graph = maker.model.graph;
  graph.values.push_back(graph.outputs[0]);
  graph.values.push_back(OnnxMaker::Quantized("r", ElementType::kInt8Q, {1, 2, 2, 2}, {1.0F}));
  graph.values.push_back(OnnxMaker::Quantized("m", ElementType::kInt8Q, {1, 2, 1, 1}, {1.0F}));
  graph.outputs = {OnnxMaker::Value("f", ElementType::kFloat, {1, 2, 1, 1}),
                   OnnxMaker::Quantized("s", ElementType::kInt8Q, {1, 2, 2, 2}, {4.0F})};
  maker.Node("Relu", {"y"}, {"r"});
  maker.Node("MaxPool", {"r"}, {"m"}).attributes = {Attribute::Ints("kernel_shape", {2, 2})};
  maker.Node("Cast", {"m"}, {"f"}).attributes = {Attribute::Int("to", 1)};
  maker.Node("Add", {"x", "x"}, {"s"});
  const format::Model written = WrittenOrFail(maker.model);
  EXPECT_THAT(OpTypes(written),
              ElementsAre("QLinearConv", "DequantizeLinear", "Relu", "QuantizeLinear", "MaxPool",
                          "DequantizeLinear", "QLinearAdd"));
  EXPECT_EQ(written.OpsetVersion("com.microsoft"), 1);
  ExpectReadsBack(maker.model);
  const auto x =
      TensorOf<std::int8_t>(ElementType::kInt8, {1, 2, 2, 2}, {9, -8, 7, 60, -5, 41, 3, -2});
  EXPECT_EQ(RunIn(written, "float32", {x}), RunIn(maker.model, "float32", {x}));
}

// The product is rounded to FLOAT, the cast then to INT8Q: one node must not take in the other.
TEST(ToQOperator, KeepsACastOfAFloatResultApart) {
  OnnxMaker maker = ExtendedConv();
  auto& graph = maker.model.graph;
  graph.values.push_back(OnnxMaker::Value("f", ElementType::kFloat, {1, 2, 2, 2}));
  graph.values.push_back(OnnxMaker::Value("g", ElementType::kFloat, {1, 2, 2, 2}));
  graph.outputs.push_back(OnnxMaker::Quantized("q", ElementType::kInt8Q, {1, 2, 2, 2}, {1.0F}));
  graph.outputs.push_back(OnnxMaker::Quantized("p", ElementType::kInt8Q, {1, 2, 2, 2}, {1.0F}));
  const auto to = [](ElementType type) {
    return std::vector{Attribute::Int("to", static_cast<std::int64_t>(type))};
  };
  maker.Node("Conv", {"x", "w"}, {"f"});
  maker.Node("Cast", {"f"}, {"q"}).attributes = to(ElementType::kInt8Q);
  maker.Node("Sub", {"y", "x"}, {"g"});
  maker.Node("Cast", {"g"}, {"p"}).attributes = to(ElementType::kInt8Q);
  EXPECT_THAT(OpTypes(WrittenOrFail(maker.model)),
              ElementsAre("QLinearConv", "Mul", "ConvInteger", "Cast", "Mul", "QuantizeLinear",
                          "DequantizeLinear", "DequantizeLinear", "Sub", "Cast", "QuantizeLinear"));
  ExpectReadsBack(maker.model);
}

TEST(ToQOperator, WritesWeightsOfWeightOnlyProducts) {
  OnnxMaker maker;
  maker.model.opset_imports.push_back({"qtx", 1});
  auto& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("a", ElementType::kFloat, {1, 20})};
  graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  graph.values = {OnnxMaker::Quantized("w", ElementType::kUint4Q, {20, 2}, {1, 4, 2, 8}, {0, 1})};
  graph.values[0].type->quantization->block_shape = {16, 1};
  graph.values[0].type->quantization->offset = {8, 3, 8, 8};
  maker.Initializer<std::uint8_t>("w", ElementType::kUint4, {20, 2},
                                  std::vector<std::uint8_t>(20, 0x52));
  maker.Node("MatMul", {"a", "w"}, {"y"});
  const format::Model written = WrittenOrFail(maker.model);
  ASSERT_THAT(OpTypes(written), ElementsAre("MatMulNBits"));
  const auto b = format::Decode(*written.graph.FindInitializer("w"));
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->dims, (format::Dims{2, 2, 8}));
  EXPECT_EQ(std::to_integer<int>(b->bytes[0]), 0x22);   // column 0 holds 2s
  EXPECT_EQ(std::to_integer<int>(b->bytes[10]), 0x00);  // k 20 is past K
  EXPECT_EQ(std::to_integer<int>(b->bytes[16]), 0x55);  // column 1 holds 5s
  const auto z = format::Decode(*written.graph.FindInitializer("w/zero_point"));
  ASSERT_TRUE(z.has_value());
  EXPECT_EQ(std::to_integer<int>(z->bytes[0]), 0x88);
  EXPECT_EQ(std::to_integer<int>(z->bytes[1]), 0x83);  // block 0 of column 1 in the low half
  ExpectReadsBack(maker.model);
}

// a [1,16] FLOAT -> MatMul by w [16,1] INT4Q in blocks of `block` along K -> y.
OnnxMaker SignedWeights(std::int64_t block) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  auto& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("a", ElementType::kFloat, {1, 16})};
  graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 1})};
  const auto blocks = static_cast<std::size_t>(16 / block);
  graph.values = {OnnxMaker::Quantized("w", ElementType::kInt4Q, {16, 1},
                                       std::vector<float>(blocks, 0.5F), {0, 1})};
  graph.values[0].type->quantization->block_shape = {block, 1};
  maker.Initializer<std::uint8_t>("w", ElementType::kInt4, {16, 1},
                                  std::vector<std::uint8_t>(8, 0xF1));  // 1, -1, 1, -1, ...
  maker.Node("MatMul", {"a", "w"}, {"y"});
  return maker;
}

// 1 - 0 = 9 - 8 and -1 - 0 = 7 - 8: the default zero point of MatMulNBits is 8.
TEST(ToQOperator, WritesSignedWeightsAsUnsignedOnesOfZeroPoint8) {
  const OnnxMaker maker = SignedWeights(16);
  const format::Model written = WrittenOrFail(maker.model);
  ASSERT_THAT(OpTypes(written), ElementsAre("MatMulNBits"));
  EXPECT_THAT(written.graph.nodes[0].inputs, ElementsAre("a", "w", "w/scale"));
  const auto b = format::Decode(*written.graph.FindInitializer("w"));
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->bytes, std::vector<std::byte>(8, std::byte{0x79}));
  ExpectReadsBack(maker.model);
}

// com.microsoft's DequantizeLinear has no block_size, ONNX's has it since 21.
TEST(ToQOperator, RaisesTheOpsetForBlocksThatNoProductTakes) {
  const OnnxMaker maker = SignedWeights(8);
  const format::Model written = WrittenOrFail(maker.model);
  EXPECT_THAT(OpTypes(written), ElementsAre("DequantizeLinear", "MatMul"));
  EXPECT_EQ(written.graph.nodes[0].domain, "");
  EXPECT_EQ(written.OpsetVersion(""), 21);
  EXPECT_EQ(written.OpsetVersion("com.microsoft"), 0);
  ExpectReadsBack(maker.model);
}

TEST(ToQOperator, LeavesBetaOutOfQGemmWhichHasNone) {
  OnnxMaker maker = ExtendedConv();
  auto& graph = maker.model.graph;
  graph.inputs[0].type->shape = format::ToShape(format::Dims{1, 2});
  graph.outputs[0].type->shape = format::ToShape(format::Dims{1, 2});
  graph.values[0].type->shape = format::ToShape(format::Dims{2, 2});
  graph.initializers.clear();
  graph.nodes.clear();
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Initializer<std::int32_t>("b", ElementType::kInt32, {2}, {10, -20});
  maker.Node("Gemm", {"x", "w", "b"}, {"y"}).attributes = {
      Attribute::Float("alpha", 1), Attribute::Float("beta", 1), Attribute::Int("transB", 1)};
  const format::Model written = WrittenOrFail(maker.model);
  ASSERT_THAT(OpTypes(written), ElementsAre("QGemm"));
  EXPECT_EQ(written.graph.nodes[0].Find("beta"), nullptr);
  EXPECT_NE(written.graph.nodes[0].Find("alpha"), nullptr);
  ExpectReadsBack(maker.model);
}

// ONNX Runtime has a schema of QLinearReduceMean and no kernel.
TEST(ToQOperator, WritesAMeanOverAxesBetweenPairs) {
  OnnxMaker maker = ExtendedConv();
  auto& graph = maker.model.graph;
  graph.values.push_back(graph.outputs[0]);
  graph.outputs = {OnnxMaker::Quantized("m", ElementType::kInt8Q, {1, 2, 2}, {1.0F})};
  maker.Node("ReduceMean", {"y"}, {"m"}).attributes = {Attribute::Ints("axes", {1}),
                                                       Attribute::Int("keepdims", 0)};
  const auto written = Write(maker.model, *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value());
  EXPECT_THAT(OpTypes(std::get<format::Model>(written->content)),
              ElementsAre("QLinearConv", "DequantizeLinear", "ReduceMean", "QuantizeLinear"));
  EXPECT_TRUE(std::ranges::any_of(written->ledger, [](const LedgerEntry& entry) {
    return entry.value == "m" && entry.why.find("between DequantizeLinear") != std::string::npos;
  }));
  ExpectReadsBack(maker.model);
}

TEST(ToQOperator, NamesWhatIntegersCannotSay) {
  OnnxMaker bias = ExtendedConv();
  bias.model.graph.values[1].type->quantization->scale[1] = 0.5F;
  EXPECT_EQ(
      RefusalToWrite(bias.model),
      "node 'y_node' (Conv): bias 'b': QLinearConv takes INT32 of scale x_scale * w_scale, or "
      "none");
  OnnxMaker wide = ExtendedConv();
  wide.model.graph.inputs[0].type->elem_type = ElementType::kInt16Q;
  EXPECT_EQ(RefusalToWrite(wide.model),
            "node 'y_node' (Conv): no operator on integers multiplies INT16Q and INT8Q to INT8Q");
  OnnxMaker narrow = ExtendedConv();
  narrow.model.graph.outputs[0].type->quantization->quant_min = 0;
  EXPECT_THAT(RefusalToWrite(narrow.model), HasSubstr("value 'y': quant_min"));
}

TEST(ToQOperator, GivesUpStatisticsAndSchemesOnlyWithLeave) {
  OnnxMaker maker = ExtendedConv();
  maker.model.graph.inputs[0].type->statistics.emplace();
  maker.model.graph.inputs[0].type->statistics->min = {-1};
  EXPECT_THAT(RefusalToWrite(maker.model), HasSubstr("--allow statistics"));
  EXPECT_TRUE(Written(maker.model, {"statistics"}).has_value());
  OnnxMaker scheme = ExtendedConv();
  scheme.model.graph.inputs[0].type->quantization->scheme = format::Scheme::kSymmetric;
  EXPECT_THAT(RefusalToWrite(scheme.model), HasSubstr("--allow scheme"));
  EXPECT_TRUE(Written(scheme.model, {"scheme"}).has_value());
}

}  // namespace
}  // namespace qtx::convert::write_test
