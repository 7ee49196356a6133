// FindUnmodelled: tflite.S11.
#include "qtx/reference/interpreter.h"
#include "run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

format::ValueInfo Value(const std::string& name, ElementType type,
                        std::optional<Quantization> q = std::nullopt) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = type;
  info.type->quantization = std::move(q);
  return info;
}

// y = op(x, w), named "n".
format::Model OneNode(const std::string& op, const OutputType& x, const OutputType& w,
                      const OutputType& y) {
  format::Model model;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.inputs = {Value("x", x.elem_type, x.quantization)};
  model.graph.values = {Value("w", w.elem_type, w.quantization)};
  model.graph.outputs = {Value("y", y.elem_type, y.quantization)};
  format::Node node;
  node.op_type = op;
  node.name = "n";
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  model.graph.nodes = {node};
  return model;
}

std::vector<std::string> Says(const format::Model& model, const std::string& arithmetic = "tflite",
                              const Interpreter::NodeArithmetics& by_node = {}) {
  std::vector<std::string> all;
  const auto nodes = FindUnmodelled(model, arithmetic, by_node);
  for (const Unmodelled& node : *nodes) {
    all.push_back(node.where + ": " + node.says);
  }
  return all;
}

const OutputType kInt8 = Int8Type(Q({0.5F}));

// TFLite's comparisons of quantized values rescale both in integers, which no clause states.
TEST(Unmodelled, NamesComparisonsOfQuantizedValues) {
  const OutputType flag{ElementType::kBool, std::nullopt};
  EXPECT_THAT(Says(OneNode("Less", FloatType(), FloatType(), flag)), IsEmpty());
  EXPECT_THAT(Says(OneNode("And", flag, flag, flag)), IsEmpty());
  EXPECT_THAT(Says(OneNode("Less", kInt8, kInt8, flag)),
              ElementsAre("graph.node[0] 'n': 'tflite' states no Less of INT8Q, INT8Q to BOOL: "
                          "computed as in exact [tflite.S11]"));
}

// tflite.S12: LiteRT ends where it should broadcast an addend of an ADD that shifts.
TEST(Unmodelled, NamesBroadcastSumsOfPowersOfTwo) {
  OutputType word{ElementType::kInt16Q, Q({0.5F})};
  for (const std::string op : {"Add", "Sub"}) {
    format::Model model = OneNode(op, word, word, word);
    model.graph.nodes[0].origin.emplace();
    model.graph.nodes[0].origin->framework = "tflite";
    model.graph.nodes[0].origin->op_type = op == "Add" ? "ADD" : "SUB";
    EXPECT_THAT(Says(model), IsEmpty());
    model.graph.inputs[0].type->shape = format::ToShape(format::Dims{2, 3});
    model.graph.values[0].type->shape = format::ToShape(format::Dims{3});
    EXPECT_THAT(Says(model).size(), op == "Add" ? 1U : 0U);
    model.graph.values[0].type->shape = format::ToShape(format::Dims{2, 3});
    EXPECT_THAT(Says(model), IsEmpty());
  }
}

// tflite_float64.S3 and .S4 state what tflite does not.
TEST(Unmodelled, KnowsTheKernelsOfLiteRt) {
  const auto words = [](float scale) { return OutputType{ElementType::kInt16Q, Q({scale})}; };
  const OutputType coarse = Int8Type(Q({0.75F}));
  for (const char* arithmetic : {"tflite-float64", "tflite-half-up"}) {
    EXPECT_THAT(Says(OneNode("GlobalAveragePool", kInt8, kInt8, coarse), arithmetic), IsEmpty());
    EXPECT_THAT(Says(OneNode("Softmax", words(0.001F), kInt8, words(0x1p-15F)), arithmetic),
                IsEmpty());
    EXPECT_EQ(Says(OneNode("Tanh", words(0.001F), kInt8, words(0x1p-14F)), arithmetic).size(), 1U);
  }
  EXPECT_EQ(Says(OneNode("GlobalAveragePool", kInt8, kInt8, coarse), "tflite-double").size(), 1U);
  EXPECT_EQ(Says(OneNode("Softmax", words(0.001F), kInt8, words(0x1p-15F))).size(), 1U);
}

// One scale of all weights is tflite.S14; a scale for each output is another kernel.
TEST(Unmodelled, NamesAHybridKernelThatNoClauseStates) {
  format::Model model = OneNode("Gemm", FloatType(), kInt8, FloatType());
  model.graph.nodes[0].attributes = {Attribute::Int("transB", 1)};
  model.graph.nodes[0].origin = format::Origin{.framework = "tflite", .op_type = "FULLY_CONNECTED"};
  EXPECT_THAT(Says(model), IsEmpty());
  model.graph.values[0].type->quantization = Q({0.5F, 0.25F}, {}, {0});
  EXPECT_THAT(Says(model),
              ElementsAre("graph.node[0] 'n': 'tflite' states no Gemm of FLOAT, INT8Q to FLOAT: "
                          "computed as in exact [tflite.S11]"));
}

TEST(Unmodelled, FollowsTheTypesThatKernelsTake) {
  EXPECT_THAT(Says(OneNode("Add", kInt8, kInt8, kInt8)), IsEmpty());
  EXPECT_EQ(Says(OneNode("Add", kInt8, FloatType(), kInt8)).size(), 1U);
  EXPECT_THAT(Says(OneNode("Concat", kInt8, kInt8, kInt8)), IsEmpty());
  EXPECT_EQ(Says(OneNode("Concat", kInt8, kInt8, Int8Type(Q({0.25F})))).size(), 1U);
  EXPECT_THAT(Says(OneNode("MatMul", kInt8, kInt8, kInt8)), IsEmpty());
  const OutputType bytes = Type(ElementType::kUint8Q, Q({0.5F}));
  EXPECT_EQ(Says(OneNode("MatMul", bytes, bytes, bytes)).size(), 1U);
  EXPECT_EQ(Says(OneNode("HardSwish", kInt8, kInt8, kInt8)).size(), 1U);
  EXPECT_THAT(Says(OneNode("GlobalAveragePool", kInt8, kInt8, kInt8)), IsEmpty());
  EXPECT_EQ(Says(OneNode("GlobalAveragePool", kInt8, kInt8, Int8Type(Q({0.25F})))).size(), 1U);
  EXPECT_EQ(Says(OneNode("HardSwish", FloatType(), FloatType(), FloatType())).size(), 1U);
}

// tflite-double has no tables (tflite_double.S2); exact and float32 have a meaning for every node.
TEST(Unmodelled, AsksTheArithmeticOfEachNode) {
  const format::Model sigmoid = OneNode("Sigmoid", kInt8, kInt8, kInt8);
  EXPECT_THAT(Says(sigmoid), IsEmpty());
  EXPECT_THAT(Says(sigmoid, "tflite-double"), IsEmpty());  // tflite_double.S2
  const format::Model model = OneNode("Erf", kInt8, kInt8, kInt8);
  EXPECT_EQ(Says(model, "tflite-double").size(), 1U);
  EXPECT_THAT(Says(model, "float32"), IsEmpty());
  EXPECT_THAT(Says(model, "exact"), IsEmpty());
  EXPECT_EQ(Says(model, "exact", {{"n", "tflite-single"}}).size(), 1U);
  EXPECT_THAT(Says(model, "tflite-single", {{"n", "exact"}}), IsEmpty());
  EXPECT_FALSE(FindUnmodelled(model, "tflight").has_value());
}

}  // namespace
}  // namespace qtx::reference::testing
