// Prepare and Run: what they refuse, how they quantize inputs, what they free.
#include "qtx/reference/interpreter.h"

#include "run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

format::ValueInfo Info(const std::string& name, ElementType type, const Dims& dims,
                       std::optional<Quantization> q = std::nullopt) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = type;
  info.type->shape = format::ToShape(dims);
  info.type->quantization = std::move(q);
  return info;
}

format::Node MakeNode(const std::string& op, const std::string& name,
                      std::vector<std::string> inputs, const std::string& output) {
  format::Node node;
  node.op_type = op;
  node.name = name;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// x -> Relu -> h -> Add(h, w) -> y, all INT8Q of scale 1.
format::Model SmallModel() {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  const Quantization q = Q({1.0F});
  model.graph.inputs = {Info("x", ElementType::kInt8Q, {2}, q)};
  model.graph.outputs = {Info("y", ElementType::kInt8Q, {2}, q)};
  model.graph.values = {Info("h", ElementType::kInt8Q, {2}, q),
                        Info("w", ElementType::kInt8Q, {2}, q)};
  model.graph.initializers = {format::ToTensorData("w", Stored(ElementType::kInt8, {2}, {10, 20}))};
  model.graph.nodes = {MakeNode("Relu", "r", {"x"}, "h"), MakeNode("Add", "a", {"h", "w"}, "y")};
  return model;
}

std::string PrepareError(const format::Model& model) {
  const auto interpreter = Interpreter::Prepare(model);
  return interpreter.has_value() ? "" : interpreter.error().Text();
}

std::string RunError(const format::Model& model, const std::vector<Tensor>& inputs) {
  auto interpreter = Interpreter::Prepare(model);
  if (!interpreter.has_value()) return "prepare: " + PrepareError(model);
  const auto outputs = interpreter->Run(inputs);
  return outputs.has_value() ? "" : outputs.error().Text();
}

// lstm.C7, gru.C7, layer_normalization: attributes that the reference does not compute.
TEST(Interpreter, DeclinesAttributesBeforeItComputesAnything) {
  const auto declined = [](format::Node node, const std::vector<Dims>& shapes) {
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 23}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      node.inputs.push_back("x" + std::to_string(i));
      model.graph.inputs.push_back(Info(node.inputs.back(), ElementType::kFloat, shapes[i]));
    }
    node.outputs = {"y"};
    model.graph.outputs = {Info("y", ElementType::kFloat, {})};
    model.graph.outputs[0].type->shape.reset();
    model.graph.nodes = {std::move(node)};
    return PrepareError(model);
  };
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    const format::Node node{.op_type = op,
                            .attributes = {format::Attribute::Int("stash_type", 10)}};
    EXPECT_THAT(declined(node, {{2, 2}, {2}}), HasSubstr("attribute 'stash_type'"));
  }
  format::Attribute names{.name = "activations", .type = format::AttributeType::kStrings};
  names.strings = {"Sigmoid", "Elu"};
  EXPECT_THAT(
      declined({.op_type = "GRU", .attributes = {names}}, {{1, 1, 1}, {1, 3, 1}, {1, 3, 1}}),
      HasSubstr("found 'Elu', expected Sigmoid, Tanh or Relu"));
  names.strings = {"Sigmoid", "Tanh", "Elu"};
  EXPECT_THAT(
      declined({.op_type = "LSTM", .attributes = {names}}, {{1, 1, 1}, {1, 4, 1}, {1, 4, 1}}),
      HasSubstr("found 'Elu', expected Sigmoid, Tanh or Relu"));
}

TEST(Interpreter, RunsNodesInOrderAndShowsThemToTheObserver) {
  auto interpreter = *Interpreter::Prepare(SmallModel());
  std::vector<std::string> seen;
  interpreter.set_observer(
      [&seen](const std::string& name, const Tensor&) { seen.push_back(name); });
  const Tensor x = Int8({2}, {-5, 5}, Q({1.0F}));
  const auto outputs = interpreter.Run({&x, 1});
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(format::UnpackIntegers(outputs->at(0)), (Values{10, 25}));
  EXPECT_THAT(seen, ElementsAre("h", "y"));
  EXPECT_EQ(interpreter.counters().rounded, 3U);  // the bound, two sums; a copy is not rounded
}

// Source: quantization.S5.
TEST(Interpreter, QuantizesAFloatByTheInputsOwnParameters) {
  auto interpreter = *Interpreter::Prepare(SmallModel());
  const Tensor x = Float({2}, {2.5F, 3.5F});
  EXPECT_EQ(format::UnpackIntegers(interpreter.Run({&x, 1})->at(0)), (Values{12, 24}));
}

TEST(Interpreter, AcceptsPlainStoredIntegers) {
  auto interpreter = *Interpreter::Prepare(SmallModel());
  const Tensor x = Stored(ElementType::kInt8, {2}, {1, 2});
  EXPECT_EQ(format::UnpackIntegers(interpreter.Run({&x, 1})->at(0)), (Values{11, 22}));
}

TEST(Interpreter, RefusesInputsThatDoNotFit) {
  const format::Model model = SmallModel();
  EXPECT_THAT(RunError(model, {}), HasSubstr("inputs: found 0, expected 1"));
  EXPECT_THAT(RunError(model, {Int8({3}, {1, 2, 3}, Q({1.0F}))}),
              HasSubstr("input[0] 'x': found shape [3], declared [2]"));
  EXPECT_THAT(RunError(model, {Int64({1, 2})}),
              HasSubstr("found type INT64, expected INT8Q or FLOAT"));
  EXPECT_THAT(RunError(model, {Int8({2}, {1, 2}, Q({2.0F}))}),
              HasSubstr("differs from the declared"));
  Tensor short_bytes = Int8({2}, {1, 2}, Q({1.0F}));
  short_bytes.bytes.pop_back();
  EXPECT_THAT(RunError(model, {short_bytes}), HasSubstr("found 1 bytes, expected 2"));
}

// Scale 1, offset 3: 2.5 is a tie, to even 2 in exact and away from zero 3 in tflite (QUANTIZE);
// -300 is clamped, NaN is real zero.
TEST(QuantizeInput, RoundsAsTheArithmeticDoes) {
  const format::TensorType type = *Info("x", ElementType::kInt8Q, {3}, Q({1.0F}, {3})).type;
  const Tensor real = Float({3}, {2.5F, -300.0F, std::nanf("")});
  const auto exact = QuantizeInput(real, type);
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ(format::UnpackIntegers(*exact), (Values{5, -128, 3}));
  EXPECT_EQ(exact->quantization, type.quantization);
  const auto tflite = QuantizeInput(real, type, "tflite");
  ASSERT_TRUE(tflite.has_value());
  EXPECT_EQ(format::UnpackIntegers(*tflite), (Values{6, -128, 3}));
}

TEST(QuantizeInput, RefusesWhatIsNoRealOfThatShape) {
  const format::TensorType type = *Info("x", ElementType::kInt8Q, {2}, Q({1.0F})).type;
  EXPECT_THAT(QuantizeInput(Float({3}, {1, 2, 3}), type).error().message,
              HasSubstr("found shape [3], declared [2]"));
  EXPECT_THAT(QuantizeInput(Int64({1, 2}), type).error().message, HasSubstr("found type INT64"));
}

TEST(Interpreter, NamesAnUnknownOperator) {
  format::Model model = SmallModel();
  model.graph.nodes[1].op_type = "Foo";
  EXPECT_EQ(PrepareError(model),
            "graph.node[1] 'a': ONNX has no operator Foo in opset 17 [graph.C4]");
  model.graph.nodes[1].domain = "com.microsoft";
  EXPECT_EQ(PrepareError(model),
            "graph.node[1] 'a': operator com.microsoft.Foo is not in the reference");
}

TEST(Interpreter, ChecksNodesBeforeAnythingRuns) {
  format::Model undefined = SmallModel();
  undefined.graph.nodes[1].inputs[0] = "nowhere";
  EXPECT_EQ(PrepareError(undefined),
            "graph.node[1] 'a': input 'nowhere' is not defined before it is used [graph.C2]");
  format::Model absent = SmallModel();
  absent.graph.nodes[1].inputs[0] = "";
  EXPECT_THAT(PrepareError(absent), HasSubstr("input[0]"));
  format::Model arity = SmallModel();
  arity.graph.nodes[0].inputs = {"x", "w"};
  EXPECT_EQ(PrepareError(arity), "graph.node[0] 'r': input: found 2, expected 1 [graph.C5]");
  format::Model attribute = SmallModel();
  attribute.graph.nodes[0].attributes = {Attribute::Int("slope", 1)};
  EXPECT_EQ(PrepareError(attribute),
            "graph.node[0] 'r': attribute 'slope': operator Relu has none of this name [graph.C6]");
  format::Model twice = SmallModel();
  twice.graph.nodes[1].outputs[0] = "h";
  EXPECT_THAT(PrepareError(twice), HasSubstr("is defined twice"));
  format::Model output = SmallModel();
  output.graph.outputs.push_back(Info("z", ElementType::kFloat, {1}));
  EXPECT_THAT(PrepareError(output), HasSubstr("graph.output[1] 'z'"));
}

TEST(Interpreter, ChecksAttributeTypes) {
  format::Model model = SmallModel();
  model.graph.nodes[0] = MakeNode("Softmax", "s", {"x"}, "h");
  model.graph.nodes[0].attributes = {Attribute::Float("axis", 1.0F)};
  EXPECT_EQ(PrepareError(model),
            "graph.node[0] 's': attribute 'axis': found type FLOAT, expected INT [graph.C6]");
}

TEST(Interpreter, RefusesAnAttributeValueOutOfRange) {
  format::Model model = SmallModel();
  model.graph.nodes[0] = MakeNode("Cast", "c", {"x"}, "h");
  model.graph.nodes[0].attributes = {
      Attribute::Int("to", static_cast<std::int64_t>(ElementType::kInt8Q)),
      Attribute::Int("saturate", 2)};
  model.opset_imports[0].version = 19;
  EXPECT_EQ(PrepareError(model),
            "graph.node[0] 'c': attribute 'saturate': found 2, expected 0 to 1 [cast.C4]");
}

TEST(Interpreter, RefusesParametersThatCannotBeDividedBy) {
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    format::Model model = SmallModel();
    model.graph.values[0].type->quantization->scale = {scale};
    EXPECT_THAT(PrepareError(model), HasSubstr("value_info[0] 'h': quantization.scale[0]"));
  }
  format::Model none = SmallModel();
  none.graph.inputs[0].type->quantization.reset();
  EXPECT_THAT(PrepareError(none), HasSubstr("graph.input[0] 'x': quantization"));
  format::Model count = SmallModel();
  count.graph.values[0].type->quantization = Q({1.0F, 2.0F, 3.0F}, {}, {0});
  EXPECT_THAT(RunError(count, {Int8({2}, {1, 2}, Q({1.0F}))}),
              HasSubstr("found 3 values, expected 2"));
}

TEST(Interpreter, HoldsResultsToTheirDeclaredShape) {
  format::Model model = SmallModel();
  model.graph.inputs[0].type->shape = format::Shape{{std::nullopt, "n"}};
  model.graph.nodes.resize(1);
  model.graph.outputs = {Info("h", ElementType::kInt8Q, {3}, Q({1.0F}))};
  model.graph.values.clear();
  EXPECT_EQ(RunError(model, {Int8({2}, {1, 2}, Q({1.0F}))}),
            "graph.node[0] 'r': output[0] 'h': found shape [2], declared [3] [relu.C2]");
}

TEST(Interpreter, TreatsAnAnnotatedFloatAsAFloat) {
  format::Model model;
  model.opset_imports = {{"", 17}};
  Quantization annotation = Q({1.0F});
  annotation.storage_type = ElementType::kInt8;
  model.graph.inputs = {Info("x", ElementType::kFloat, {1}, annotation)};
  model.graph.outputs = {Info("y", ElementType::kFloat, {1}, annotation)};
  model.graph.nodes = {MakeNode("Identity", "", {"x"}, "y")};
  auto interpreter = *Interpreter::Prepare(model);
  const Tensor x = Float({1}, {0.3F});
  EXPECT_EQ(interpreter.Run({&x, 1})->at(0).As<float>()[0], 0.3F);
}

TEST(Interpreter, InfersTypesOfALoweredGraph) {
  format::Model model;
  model.opset_imports = {{"", 17}};
  model.graph.inputs = {Info("x", ElementType::kFloat, {2})};
  model.graph.outputs = {Info("y", ElementType::kFloat, {2})};
  model.graph.initializers = {format::ToTensorData("s", Float({}, {2.0F})),
                              format::ToTensorData("z", Stored(ElementType::kInt8, {}, {3}))};
  model.graph.nodes = {MakeNode("QuantizeLinear", "q", {"x", "s", "z"}, "stored"),
                       MakeNode("DequantizeLinear", "d", {"stored", "s", "z"}, "y")};
  auto interpreter = *Interpreter::Prepare(model, "float32");
  const Tensor x = Float({2}, {5.0F, 1000.0F});
  const auto outputs = *interpreter.Run({&x, 1});
  EXPECT_THAT(outputs[0].As<float>(), ElementsAre(4.0F, 248.0F));
}

TEST(Operators, AreSortedAndFindable) {
  const std::vector<std::string> names = SupportedOperators();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.size(), Operators().size());
  EXPECT_TRUE(std::ranges::is_sorted(
      Operators(), {}, [](const Operator* op) { return std::pair(op->domain, op->op_type); }));
  for (const Operator* op : Operators()) EXPECT_EQ(FindOperator(op->domain, op->op_type), op);
  EXPECT_EQ(FindOperator("ai.onnx", "Add"), FindOperator("", "Add"));
  EXPECT_EQ(FindOperator("", "Foo"), nullptr);
}

// 3 / 2 is a tie: to the even 2 exactly, up to 2, and -3 / 2 to -2 or -1.
TEST(Interpreter, ComputesANamedNodeInItsOwnArithmetic) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  const Quantization one = Q({1.0F});
  model.graph.inputs = {Info("x", ElementType::kInt8Q, {2}, one)};
  model.graph.values = {Info("h", ElementType::kInt8Q, {2}, Q({2.0F}))};
  model.graph.outputs = {Info("y", ElementType::kInt8Q, {2}, Q({4.0F}))};
  model.graph.nodes = {MakeNode("Identity", "first", {"x"}, "h"),
                       MakeNode("Identity", "", {"h"}, "y")};
  const std::vector<Tensor> x = {Int8({2}, {-3, 3}, one)};
  const auto run = [&](const Interpreter::NodeArithmetics& by_node) {
    auto interpreter = Interpreter::Prepare(model, "exact", by_node);
    EXPECT_TRUE(interpreter.has_value());
    return format::UnpackIntegers(interpreter->Run(x)->at(0));
  };
  EXPECT_THAT(run({}), ElementsAre(-1, 1));                           // -2 2; -1 1
  EXPECT_THAT(run({{"first", "pow2-half-up"}}), ElementsAre(0, 1));   // -1 2; -0.5 to even, 1
  EXPECT_THAT(run({{"first", "pow2-half-up"}, {"y", "tvm-upward"}}),  // -1 2; -0.5 away, 1
              ElementsAre(-1, 1));
}

TEST(Interpreter, RefusesAnArithmeticForANodeThatIsNone) {
  const auto node = Interpreter::Prepare(SmallModel(), "exact", {{"b", "exact"}});
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().where, "node 'b'");
  const auto arithmetic = Interpreter::Prepare(SmallModel(), "exact", {{"a", "exakt"}});
  ASSERT_FALSE(arithmetic.has_value());
  EXPECT_THAT(arithmetic.error().where, HasSubstr("node 'a'"));
  EXPECT_THAT(arithmetic.error().message, HasSubstr("found 'exakt', expected one of exact"));
}

}  // namespace
}  // namespace qtx::reference::testing
