// Operators on integers become plain operators on quantized values, one pattern a test.
#include "tests/qoperator/lifted.h"

namespace qtx::convert::qoperator_import_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(FromQOperator, GivesTheBiasTheProductOfTheScalesPerChannel) {
  const format::Model lifted = Lifted(OneQLinearConv().model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Conv"));
  EXPECT_THAT(lifted.graph.nodes[0].inputs, ElementsAre("x", "w", "b"));
  const format::Quantization bias = QuantizationOf(lifted, "b");
  EXPECT_EQ(ElementTypeOf(lifted, "b"), ElementType::kInt32Q);
  EXPECT_THAT(bias.scale, ElementsAre(0.125F, 0.375F));
  EXPECT_THAT(bias.axis, ElementsAre(0));
  EXPECT_THAT(bias.offset, IsEmpty());
}

TEST(FromQOperator, PutsScalesOfFiltersOnAxis0AndDropsWhatIsSaidByTypes) {
  const format::Model lifted = Lifted(OneQLinearConv().model);
  const format::Quantization w = QuantizationOf(lifted, "w");
  EXPECT_THAT(w.axis, ElementsAre(0));
  EXPECT_THAT(w.scale, ElementsAre(0.25F, 0.75F));
  EXPECT_THAT(w.offset, ElementsAre(0, 1));
  EXPECT_THAT(QuantizationOf(lifted, "x").offset, ElementsAre(3));
  EXPECT_THAT(QuantizationOf(lifted, "y").offset, ElementsAre(-1));
  EXPECT_EQ(lifted.graph.initializers.size(), 2U);
}

// At each pixel x - 3 is (1, 2): 1*1 + 2*2 + 10 = 15, times 0.5 * 0.25 / 2 = 0.9375 -> 1, - 1 = 0;
// (3-1)*1 + (4-1)*2 - 20 = -12, times 0.5 * 0.75 / 2 = -2.25 -> -2, - 1 = -3. A bias read as a real
// gives 10 + 0.625 and -20 + ..., of filter 0's scale alone -12 * 0.0625 -> -1.
TEST(FromQOperator, ComputesWhatTheOperatorDid) {
  const auto x = TensorOf<std::int8_t>(ElementType::kInt8, {1, 2, 2, 2}, {4, 4, 4, 4, 5, 5, 5, 5});
  const auto expected =
      TensorOf<std::int8_t>(ElementType::kInt8, {8}, {0, 0, 0, 0, -3, -3, -3, -3});
  const format::Model stock = OneQLinearConv().model;
  EXPECT_EQ(RunIn(Lifted(stock), "float32", {x}), expected.bytes);
  EXPECT_EQ(RunIn(Lifted(stock), "exact", {x}), expected.bytes);
  EXPECT_EQ(RunIn(stock, "float32", {x}), expected.bytes);
}

TEST(FromQOperator, KeepsWhatTheNodeWas) {
  OnnxMaker maker = OneQLinearConv();
  maker.model.graph.nodes[0].attributes = {Attribute::Int("group", 1)};
  const format::Model lifted = Lifted(maker.model);
  const auto& origin = lifted.graph.nodes[0].origin;
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->framework, "onnx");
  EXPECT_EQ(origin->op_type, "QLinearConv");
  EXPECT_EQ(origin->name, "y_node");
  EXPECT_EQ(origin->attributes, maker.model.graph.nodes[0].attributes);
}

// Rows of a are axis 1 of three, columns of b axis 2.
TEST(FromQOperator, PutsScalesOfRowsAndColumnsOnTheirAxes) {
  OnnxMaker maker(21);
  maker.model.graph.inputs = {OnnxMaker::Value("a", ElementType::kInt8, {2, 3, 4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {2, 3, 5})};
  maker.Initializer<std::int8_t>("b", ElementType::kInt8, {2, 4, 5},
                                 std::vector<std::int8_t>(40, 1));
  maker.Initializer<float>("a/scale", ElementType::kFloat, {3}, {1, 2, 3});
  maker.Initializer<std::int8_t>("a/zp", ElementType::kInt8, {3}, {1, 2, 3});
  maker.Initializer<float>("b/scale", ElementType::kFloat, {1, 1, 5}, {1, 2, 3, 4, 5});
  maker.Initializer<std::int8_t>("b/zp", ElementType::kInt8, {1, 1, 5}, {0, 0, 0, 0, 0});
  maker.Parameters("y", 1.0F, 0);
  maker.Node("QLinearMatMul", {"a", "a/scale", "a/zp", "b", "b/scale", "b/zp", "y/scale", "y/zp"},
             {"y"});
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("MatMul"));
  EXPECT_THAT(QuantizationOf(lifted, "a").axis, ElementsAre(1));
  EXPECT_THAT(QuantizationOf(lifted, "b").axis, ElementsAre(2));
}

OnnxMaker OneQGemm(std::int64_t trans_b, float alpha) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("a", ElementType::kInt8, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {1, 2})};
  maker.Parameters("a", 0.5F, 0);
  maker.Parameters("y", 1.0F, 0);
  maker.Initializer<std::int8_t>("b", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Initializer<float>("b/scale", ElementType::kFloat, {2}, {0.25F, 0.75F});
  maker.Initializer<std::int8_t>("b/zp", ElementType::kInt8, {2}, {0, 0});
  maker.Initializer<std::int32_t>("c", ElementType::kInt32, {1, 2}, {10, -20});
  format::Node& node = maker.Node(
      "QGemm", {"a", "a/scale", "a/zp", "b", "b/scale", "b/zp", "c", "y/scale", "y/zp"}, {"y"});
  node.domain = "com.microsoft";
  node.attributes = {Attribute::Int("transB", trans_b), Attribute::Float("alpha", alpha)};
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  return maker;
}

TEST(FromQOperator, PutsScalesOfQGemmOnTheColumnsOfTheProduct) {
  EXPECT_THAT(QuantizationOf(Lifted(OneQGemm(0, 1).model), "b").axis, ElementsAre(1));
  const format::Model lifted = Lifted(OneQGemm(1, 1).model);
  EXPECT_THAT(QuantizationOf(lifted, "b").axis, ElementsAre(0));
  EXPECT_THAT(QuantizationOf(lifted, "c").axis, ElementsAre(1));
  EXPECT_THAT(QuantizationOf(lifted, "c").scale, ElementsAre(0.125F, 0.375F));
}

TEST(FromQOperator, LeavesAnAlphaThatScalesTheAccumulator) {
  const Conversion lifted = LiftedWithLedger(OneQGemm(0, 0.5F).model);
  EXPECT_THAT(OpTypes(lifted.model), ElementsAre("QGemm"));
  EXPECT_TRUE(HasLine(lifted, "y", "QGemm stays as it is: alpha"));
}

TEST(FromQOperator, ImportsTheDomainOfANodeThatStays) {
  OnnxMaker maker = OneQGemm(0, 0.5F);
  std::erase_if(maker.model.opset_imports, [](const auto& i) { return !i.domain.empty(); });
  EXPECT_EQ(Lifted(maker.model).OpsetVersion("com.microsoft"), 1);
  maker.model.graph.nodes[0].domain.clear();  // where ONNX has no such operator
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(lifted.graph.nodes[0].domain, "com.microsoft");
  EXPECT_EQ(lifted.OpsetVersion("com.microsoft"), 1);
}

TEST(FromQOperator, LeavesScalesThatAreComputed) {
  OnnxMaker maker = OneQLinearConv();
  maker.model.graph.inputs.push_back(OnnxMaker::Value("later", ElementType::kFloat, {}));
  maker.model.graph.nodes[0].inputs[6] = "later";
  const Conversion lifted = LiftedWithLedger(maker.model);
  EXPECT_EQ(lifted.model.graph.nodes, maker.model.graph.nodes);
  EXPECT_EQ(lifted.model.graph.initializers, maker.model.graph.initializers);
  EXPECT_TRUE(HasLine(lifted, "y", "scale 'later' is computed at run time"));
}

TEST(FromQOperator, ReadsContribOperatorsOfTheDefaultDomainWithoutZeroPoints) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kUint8, {1, 1, 4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kUint8, {1, 1, 2})};
  maker.Parameters("x", 0.5F, 0);
  maker.Parameters("y", 0.25F, 0);
  maker.Node("QLinearAveragePool", {"x", "x/scale", "", "y/scale"}, {"y"}).attributes = {
      Attribute::Ints("kernel_shape", {3}), Attribute::Int("channels_last", 0)};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("AveragePool"));
  EXPECT_EQ(lifted.graph.nodes[0].Find("channels_last"), nullptr);
  EXPECT_EQ(lifted.graph.nodes[0].origin->domain, "com.microsoft");  // which has the operator
  EXPECT_EQ(ElementTypeOf(lifted, "y"), ElementType::kUint8Q);
  EXPECT_THAT(QuantizationOf(lifted, "x").offset, IsEmpty());
}

// x -> Reshape -> QLinearConv -> MaxPool -> y: the types are known at the convolution alone.
TEST(FromQOperator, PassesTypesThroughOperatorsThatMoveElements) {
  OnnxMaker maker = OneQLinearConv();
  auto& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("in", ElementType::kInt8, {2, 4})};
  graph.outputs = {OnnxMaker::Value("out", ElementType::kInt8, {1, 2, 1, 1})};
  maker.Initializer<std::int64_t>("shape", ElementType::kInt64, {4}, {1, 2, 2, 2});
  maker.Node("Reshape", {"in", "shape"}, {"x"});
  std::ranges::reverse(graph.nodes);
  maker.Node("MaxPool", {"y"}, {"out"}).attributes = {Attribute::Ints("kernel_shape", {2, 2})};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Reshape", "Conv", "MaxPool"));
  EXPECT_THAT(QuantizationOf(lifted, "in").offset, ElementsAre(3));
  EXPECT_THAT(QuantizationOf(lifted, "out").scale, ElementsAre(2.0F));
  const auto x = TensorOf<std::int8_t>(ElementType::kInt8, {2, 4}, {9, 8, 7, 6, -5, 4, 3, -2});
  EXPECT_EQ(RunIn(lifted, "float32", {x}), RunIn(maker.model, "float32", {x}));
}

// ArgMax gives plain integers and reads plain ones: the stored values of y.
TEST(FromQOperator, QuantizesForWhoReadsTheIntegers) {
  OnnxMaker maker = OneQLinearConv();
  maker.model.graph.outputs = {OnnxMaker::Value("most", ElementType::kInt64, {1, 1, 2, 2})};
  maker.Node("ArgMax", {"y"}, {"most"}).attributes = {Attribute::Int("axis", 1)};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Conv", "Cast", "QuantizeLinear", "ArgMax"));
  const auto x =
      TensorOf<std::int8_t>(ElementType::kInt8, {1, 2, 2, 2}, {9, -8, 7, 6, -5, 40, 3, -2});
  EXPECT_EQ(RunIn(lifted, "float32", {x}), RunIn(maker.model, "float32", {x}));
}

// The same integers read with two scales: each product has its own, and x stays plain.
TEST(FromQOperator, KeepsIntegersThatAreReadInTwoWays) {
  OnnxMaker maker = OneQLinearConv();
  maker.model.graph.outputs.push_back(OnnxMaker::Value("z", ElementType::kInt8, {1, 2, 2, 2}));
  maker.Parameters("x2", 0.125F, -7);
  maker.Node("QLinearConv",
             {"x", "x2/scale", "x2/zp", "w", "w/scale", "w/zp", "y/scale", "y/zp", "b"}, {"z"});
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted),
              ElementsAre("DequantizeLinear", "Cast", "Conv", "DequantizeLinear", "Cast", "Conv"));
  EXPECT_EQ(ElementTypeOf(lifted, "x"), ElementType::kInt8);
  const auto x =
      TensorOf<std::int8_t>(ElementType::kInt8, {1, 2, 2, 2}, {9, -128, 127, 6, -5, 40, 3, -2});
  EXPECT_EQ(RunIn(lifted, "float32", {x}), RunIn(maker.model, "float32", {x}));
}

TEST(FromQOperator, ReadsConstantNodes) {
  OnnxMaker maker = OneQLinearConv();
  auto& graph = maker.model.graph;
  std::vector<format::Node> constants;
  for (const format::TensorData& data : graph.initializers) {
    format::Node node;
    node.op_type = "Constant";
    node.outputs = {data.name};
    Attribute value;
    value.name = "value";
    value.type = format::AttributeType::kTensor;
    value.t = data;
    node.attributes = {value};
    constants.push_back(node);
  }
  graph.initializers.clear();
  graph.nodes.insert(graph.nodes.begin(), constants.begin(), constants.end());
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Conv"));
  EXPECT_THAT(QuantizationOf(lifted, "b").scale, ElementsAre(0.125F, 0.375F));
}

TEST(FromQOperator, MeetsQuantizeLinearAndDequantizeLinearAtItsEdges) {
  OnnxMaker maker = OneQLinearConv();
  auto& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("real", ElementType::kFloat, {1, 2, 2, 2})};
  graph.outputs = {OnnxMaker::Value("out", ElementType::kFloat, {1, 2, 2, 2})};
  maker.Quantize("real", "x", "x");
  std::ranges::reverse(graph.nodes);
  maker.Dequantize("y", "y", "out");
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "Conv", "Cast"));
  EXPECT_THAT(QuantizationOf(lifted, "x").offset, ElementsAre(3));
}

TEST(FromQOperator, NamesWhatIsWrong) {
  OnnxMaker scale = OneQLinearConv();
  scale.Initializer<float>("bad", ElementType::kFloat, {}, {0.0F});
  scale.model.graph.nodes[0].inputs[1] = "bad";
  EXPECT_EQ(Refusal(scale.model),
            "node 'y_node' (QLinearConv): scale 'bad': found 0x0p+0, expected "
            "a finite value above 0");
  OnnxMaker count = OneQLinearConv();
  count.Initializer<std::int8_t>("three", ElementType::kInt8, {3}, {0, 0, 0});
  count.model.graph.nodes[0].inputs[5] = "three";
  EXPECT_EQ(Refusal(count.model),
            "node 'y_node' (QLinearConv): zero point 'three': found 3 values, expected 2");
  OnnxMaker type = OneQLinearConv();
  type.model.graph.outputs[0].type->elem_type = ElementType::kUint8;
  EXPECT_EQ(Refusal(type.model),
            "node 'y_node' (QLinearConv): value 'y': declared UINT8, its zero point is INT8");
}

}  // namespace
}  // namespace qtx::convert::qoperator_import_test
