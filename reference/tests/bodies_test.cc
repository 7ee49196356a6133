// If, Loop and Scan as the interpreter runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/reference/interpreter.h"

namespace qtx::reference::bodies_test {
namespace {

using format::Attribute;
using format::Graph;
using format::Model;
using format::Node;
using format::Tensor;
using format::ValueInfo;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum format::ElementType;

// INT8Q of scale 1/2 where quantized.
ValueInfo Value(std::string name, format::ElementType type, const format::Dims& dims) {
  ValueInfo value;
  value.name = std::move(name);
  value.type.emplace();
  value.type->elem_type = type;
  value.type->shape = format::ToShape(dims);
  if (type == kInt8Q) value.type->quantization.emplace().scale = {0.5F};
  return value;
}

Node MakeNode(std::string op_type, std::vector<std::string> inputs,
              std::vector<std::string> outputs) {
  Node node;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

Attribute Body(std::string name, Graph graph) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = format::AttributeType::kGraph;
  attribute.graphs.push_back(std::move(graph));
  return attribute;
}

Model WithGraph(Graph graph) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph = std::move(graph);
  return model;
}

Tensor Stored(format::ElementType type, const format::Dims& dims,
              const std::vector<std::int64_t>& values) {
  Tensor tensor = *format::MakeTensor(type, dims);
  format::PackIntegers(values, tensor);
  return tensor;
}

std::vector<std::vector<std::int64_t>> Outputs(const Model& model,
                                               const std::vector<Tensor>& inputs) {
  auto interpreter = Interpreter::Prepare(model);
  if (!interpreter.has_value()) {
    ADD_FAILURE() << interpreter.error().where << ": " << interpreter.error().message;
    return {};
  }
  const auto outputs = interpreter->Run(inputs);
  if (!outputs.has_value()) {
    ADD_FAILURE() << outputs.error().where << ": " << outputs.error().message;
    return {};
  }
  std::vector<std::vector<std::int64_t>> values;
  for (const Tensor& output : *outputs) values.push_back(format::UnpackIntegers(output));
  return values;
}

// Doubles v until iteration `limit`, at most n times, and stacks what it was.
Model Doubling() {
  Graph body;
  body.inputs = {Value("i", kInt64, {}), Value("go", kBool, {}), Value("v", kInt8Q, {2})};
  body.nodes = {MakeNode("Sub", {"limit", "i"}, {"left"}), MakeNode("Cast", {"left"}, {"on"}),
                MakeNode("Add", {"v", "v"}, {"next"}), MakeNode("Identity", {"v"}, {"was"})};
  body.nodes[1].attributes = {Attribute::Int("to", static_cast<std::int64_t>(kBool))};
  body.outputs = {Value("on", kBool, {}), Value("next", kInt8Q, {2}), Value("was", kInt8Q, {2})};
  Graph graph;
  graph.inputs = {Value("n", kInt64, {}), Value("limit", kInt64, {}), Value("go", kBool, {}),
                  Value("x", kInt8Q, {2})};
  graph.nodes = {MakeNode("Loop", {"n", "go", "x"}, {"last", "all"})};
  graph.nodes[0].attributes = {Body("body", std::move(body))};
  graph.outputs = {Value("last", kInt8Q, {2}), Value("all", kInt8Q, {2, 2})};
  graph.outputs[1].type->shape->at(0).value.reset();
  return WithGraph(std::move(graph));
}

// Source: graph.S4; ONNX, operator Loop. Stored 1, -3 doubled three times: 8, -24.
TEST(Loop, CarriesAndStacksUntilTheTripCount) {
  const Tensor x = Stored(kInt8, {2}, {1, -3});
  const auto run = [&](std::int64_t n, std::int64_t limit, bool go) {
    return Outputs(Doubling(), {Stored(kInt64, {}, {n}), Stored(kInt64, {}, {limit}),
                                Stored(kBool, {}, {go ? 1 : 0}), x});
  };
  EXPECT_THAT(run(3, 9, true), ElementsAre(ElementsAre(8, -24), ElementsAre(1, -3, 2, -6, 4, -12)));
  // 64 doubled saturates at 127, and -3 * 2^6 at -128.
  EXPECT_THAT(run(7, 9, true)[0], ElementsAre(127, -128));
  // The second iteration, i = 1, is the last that runs.
  EXPECT_THAT(run(7, 1, true), ElementsAre(ElementsAre(4, -12), ElementsAre(1, -3, 2, -6)));
  // None: the first value, and nothing stacked.
  EXPECT_THAT(run(7, 1, false), ElementsAre(ElementsAre(1, -3), ElementsAre()));
  EXPECT_THAT(run(0, 9, true), ElementsAre(ElementsAre(1, -3), ElementsAre()));
}

TEST(Loop, WithoutAnEndIsRefused) {
  Model model = Doubling();
  model.graph.nodes[0].inputs[0] = model.graph.nodes[0].inputs[1] = "";
  model.graph.nodes[0].outputs.pop_back();
  model.graph.outputs.pop_back();
  Graph& body = model.graph.nodes[0].attributes[0].graphs[0];
  body.nodes.pop_back();
  body.outputs.pop_back();
  auto interpreter = Interpreter::Prepare(model);
  ASSERT_TRUE(interpreter.has_value()) << interpreter.error().message;
  const auto refused =
      interpreter->Run(std::vector{Stored(kInt64, {}, {0}), Stored(kInt64, {}, {0}),
                                   Stored(kBool, {}, {1}), Stored(kInt8, {2}, {1, -3})});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 65536 times"));
}

// y = Relu(x) if c, else Neg(x); both branches call it "t" and capture h = Identity(x).
TEST(If, RunsTheBranchThatTheConditionPicks) {
  Graph graph;
  graph.inputs = {Value("c", kBool, {}), Value("x", kInt8Q, {2})};
  graph.outputs = {Value("y", kInt8Q, {2})};
  graph.values = {Value("h", kInt8Q, {2})};
  graph.nodes = {MakeNode("Identity", {"x"}, {"h"}), MakeNode("If", {"c"}, {"y"})};
  for (const auto& [name, op] :
       {std::pair("then_branch", "Relu"), std::pair("else_branch", "Neg")}) {
    Graph branch;
    branch.nodes = {MakeNode(op, {"h"}, {"t"})};
    branch.outputs = {Value("t", kInt8Q, {2})};
    graph.nodes[1].attributes.push_back(Body(name, std::move(branch)));
  }
  const Model model = WithGraph(std::move(graph));
  const Tensor x = Stored(kInt8, {2}, {7, -5});
  EXPECT_THAT(Outputs(model, {Stored(kBool, {}, {1}), x}), ElementsAre(ElementsAre(7, 0)));
  EXPECT_THAT(Outputs(model, {Stored(kBool, {}, {0}), x}), ElementsAre(ElementsAre(-7, 5)));
}

// Sums of the columns of x [2,3], from the right: 3 3+2 3+2+1, stacked along axis 1.
TEST(Scan, CutsAndStacksAlongItsAxes) {
  Graph body;
  body.inputs = {Value("a", kInt8Q, {2}), Value("b", kInt8Q, {2})};
  body.nodes = {MakeNode("Add", {"a", "b"}, {"sum"}), MakeNode("Identity", {"sum"}, {"copy"})};
  body.outputs = {Value("sum", kInt8Q, {2}), Value("copy", kInt8Q, {2})};
  Graph graph;
  graph.inputs = {Value("s", kInt8Q, {2}), Value("x", kInt8Q, {2, 3})};
  graph.outputs = {Value("end", kInt8Q, {2}), Value("all", kInt8Q, {2, 3})};
  graph.nodes = {MakeNode("Scan", {"s", "x"}, {"end", "all"})};
  graph.nodes[0].attributes = {Body("body", std::move(body)), Attribute::Int("num_scan_inputs", 1),
                               Attribute::Ints("scan_input_axes", {1}),
                               Attribute::Ints("scan_input_directions", {1}),
                               Attribute::Ints("scan_output_axes", {-1})};
  EXPECT_THAT(Outputs(WithGraph(std::move(graph)),
                      {Stored(kInt8, {2}, {0, 10}), Stored(kInt8, {2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(ElementsAre(6, 25), ElementsAre(3, 5, 6, 16, 21, 25)));
}

}  // namespace
}  // namespace qtx::reference::bodies_test
