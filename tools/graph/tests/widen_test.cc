#include "qtx/graph/widen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/format/check.h"
#include "qtx/format/tensor.h"

namespace qtx::graph::widen_test {
namespace {

using format::ElementType;
using format::Model;
using format::Node;
using format::Tensor;
using testing::ElementsAre;

Tensor Codes(ElementType type, const std::vector<std::uint16_t>& codes) {
  Tensor tensor = *format::MakeTensor(type, {static_cast<std::int64_t>(codes.size())});
  for (std::size_t i = 0; i < codes.size(); ++i) {
    tensor.bytes[2 * i] = static_cast<std::byte>(codes[i] & 0xFFU);
    tensor.bytes[2 * i + 1] = static_cast<std::byte>(codes[i] >> 8U);
  }
  return tensor;
}

format::ValueInfo Info(const std::string& name, ElementType type) {
  format::TensorType tensor_type{type};
  tensor_type.shape = format::ToShape(format::Dims{4});
  return {.name = name, .type = std::move(tensor_type)};
}

Node Of(const std::string& op_type, std::vector<std::string> inputs, const std::string& output) {
  return {.op_type = op_type, .inputs = std::move(inputs), .outputs = {output}};
}

Node Cast(const std::string& from, const std::string& to, ElementType type) {
  Node node = Of("Cast", {from}, to);
  node.attributes = {format::Attribute::Int("to", static_cast<std::int64_t>(type))};
  return node;
}

std::vector<std::string> Operators(const Model& model) {
  std::vector<std::string> operators;
  for (const Node& node : model.graph.nodes) operators.push_back(node.op_type);
  return operators;
}

Model Halves(std::vector<Node> nodes, ElementType ends) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{.domain = "", .version = 17}};
  model.graph.name = "test";
  model.graph.inputs = {Info("x", ends)};
  model.graph.outputs = {Info("y", ends)};
  model.graph.nodes = std::move(nodes);
  return model;
}

// IEEE 754 binary16: 0x3c00 is 1, 0xc500 -(1 + 1/4) * 2^2 = -5, 0x0001 2^-24, 0x7bff 65504.
TEST(WidenHalves, KeepsTheNumbersOfConstants) {
  Model model = Halves({Of("Add", {"x", "c"}, "y")}, ElementType::kFloat16);
  model.graph.initializers = {
      format::ToTensorData("c", Codes(ElementType::kFloat16, {0x3c00, 0xc500, 0x0001, 0x7bff}))};
  const auto widened = WidenHalves(model);
  ASSERT_TRUE(widened.has_value()) << widened.error().Text();
  EXPECT_GT(widened->count, 0U);
  const Tensor c = *format::Decode(*widened->model.graph.FindInitializer("c"));
  EXPECT_THAT(c.As<float>(), ElementsAre(1.0F, -5.0F, 0x1p-24F, 65504.0F));
  // Inputs and outputs are what they were; the numbers between them are FLOAT.
  EXPECT_EQ(Operators(widened->model), (std::vector<std::string>{"Cast", "Add", "Cast"}));
  EXPECT_EQ(widened->model.graph.inputs, model.graph.inputs);
  EXPECT_EQ(widened->model.graph.outputs, model.graph.outputs);
  EXPECT_EQ(widened->model.graph.nodes[1].inputs, (std::vector<std::string>{"x/float", "c"}));
  EXPECT_TRUE(format::Check(widened->model).empty());
  const auto again = WidenHalves(widened->model);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->count, 0U);
  EXPECT_EQ(again->model, widened->model);
}

// bfloat16 is the upper half of binary32: 0x3f80 is 1, 0xc040 -3.
TEST(WidenHalves, TakesBfloat16) {
  Model model = Halves({Of("Add", {"x", "c"}, "y")}, ElementType::kBfloat16);
  model.graph.initializers = {
      format::ToTensorData("c", Codes(ElementType::kBfloat16, {0x3f80, 0xc040, 0, 0x8000}))};
  const auto widened = WidenHalves(model);
  ASSERT_TRUE(widened.has_value());
  const Tensor c = *format::Decode(*widened->model.graph.FindInitializer("c"));
  EXPECT_THAT(c.As<float>(), ElementsAre(1.0F, -3.0F, 0.0F, -0.0F));
}

// As converters to FLOAT16 that keep inputs and outputs leave a model.
TEST(WidenHalves, LeavesNothingToDoToCastsBetweenFloats) {
  const Model model = Halves({Cast("x", "h", ElementType::kFloat16), Of("Relu", {"h"}, "r"),
                              Cast("r", "y", ElementType::kFloat)},
                             ElementType::kFloat);
  const auto widened = WidenHalves(model);
  ASSERT_TRUE(widened.has_value());
  EXPECT_EQ(Operators(widened->model), (std::vector<std::string>{"Identity", "Relu", "Identity"}));
  EXPECT_TRUE(format::Check(widened->model).empty());
}

// An integer is still converted, to FLOAT.
TEST(WidenHalves, KeepsCastsFromIntegers) {
  Model model = Halves({Cast("x", "h", ElementType::kFloat16), Of("Relu", {"h"}, "y")},
                       ElementType::kFloat16);
  model.graph.inputs[0].type->elem_type = ElementType::kInt64;
  const auto widened = WidenHalves(model);
  ASSERT_TRUE(widened.has_value());
  EXPECT_EQ(Operators(widened->model), (std::vector<std::string>{"Cast", "Relu", "Cast"}));
  EXPECT_EQ(widened->model.graph.nodes[0].attributes[0].i,
            static_cast<std::int64_t>(ElementType::kFloat));
}

TEST(WidenHalves, LeavesOtherModelsAlone) {
  const Model model = Halves({Of("Relu", {"x"}, "y")}, ElementType::kFloat);
  const auto widened = WidenHalves(model);
  ASSERT_TRUE(widened.has_value());
  EXPECT_EQ(widened->count, 0U);
  EXPECT_EQ(widened->model, model);
}

}  // namespace
}  // namespace qtx::graph::widen_test
