// Declarations that a model gains.
#include <gtest/gtest.h>

#include "qtx/format/inference.h"
#include "samples.h"

namespace qtx::format::inferred_types_test {
namespace {

using enum ElementType;

Node Of(std::string op_type, std::vector<std::string> inputs, std::string output,
        std::string domain = "") {
  Node node;
  node.op_type = std::move(op_type);
  node.domain = std::move(domain);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

ValueInfo Open(const std::string& name, Shape shape) {
  ValueInfo value = Value(name, kFloat, {});
  value.type->shape = std::move(shape);
  return value;
}

Model Stock(std::vector<ValueInfo> inputs, std::vector<Node> nodes) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  model.graph.inputs = std::move(inputs);
  model.graph.nodes = std::move(nodes);
  return model;
}

std::string TypeIn(const Model& model, const std::string& name) {
  const ValueInfo* value = model.graph.FindValue(name);
  return value == nullptr || !value->type ? "none" : ToString(*value->type);
}

TEST(WithInferredTypes, DeclaresWhatFollowsAndKeepsSymbols) {
  Model model = Stock({Open("x", {{{}, "N"}, {3, ""}})},
                      {Of("Relu", {"x"}, "a"), Of("Transpose", {"a"}, "b"),
                       Of("Shape", {"b"}, "size"), Of("Own", {"b"}, "c", "somebody.else")});
  const Model inferred = WithInferredTypes(model);
  EXPECT_EQ(TypeIn(inferred, "a"), "FLOAT[N,3]");
  EXPECT_EQ(TypeIn(inferred, "b"), "FLOAT[3,N]");
  EXPECT_EQ(TypeIn(inferred, "size"), "INT64[2]");
  EXPECT_EQ(TypeIn(inferred, "c"), "none");
  EXPECT_EQ(WithInferredTypes(inferred), inferred);
}

// An open size takes what follows; a symbol and a number stay, whatever follows.
TEST(WithInferredTypes, ChangesNothingThatIsDeclared) {
  Model model =
      Stock({Value("x", kFloat, {2, 3})}, {Of("Relu", {"x"}, "a"), Of("Neg", {"a"}, "y")});
  model.graph.values = {Open("a", {{{}, "rows"}, {}})};
  model.graph.outputs = {Value("y", kFloat, {})};
  model.graph.outputs[0].type->shape.reset();
  const Model inferred = WithInferredTypes(model);
  EXPECT_EQ(TypeIn(inferred, "a"), "FLOAT[rows,3]");
  EXPECT_EQ(TypeIn(inferred, "y"), "FLOAT[2,3]");
  EXPECT_EQ(inferred.graph.values.size(), 1U);
  EXPECT_EQ(inferred.graph.inputs, model.graph.inputs);
}

}  // namespace
}  // namespace qtx::format::inferred_types_test
