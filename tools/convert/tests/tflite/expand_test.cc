// Operators that TFLite lacks: what their files compute is what the operator says, by its section
// of the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "qtx/convert/convert.h"
#include "qtx/graph/graph_builder.h"
#include "qtx/reference/interpreter.h"

namespace qtx::convert::expand_test {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

struct Operand {
  std::string name;
  Dims dims;
  bool constant = false;
  std::optional<format::Quantization> q = std::nullopt;
};

struct Case {
  std::string name;
  std::string op_type;
  std::vector<Operand> inputs;
  Dims result;
  std::vector<Attribute> attributes = {};
  std::vector<Dims> more_results = {};
};

format::Quantization Grid(float scale) {
  format::Quantization q;
  q.scale = {scale};
  return q;
}

// Numbers without a pattern that a sum or a mean would hide: sines of the squares.
Tensor Numbers(const Operand& operand) {
  Tensor tensor = *format::MakeTensor(operand.q ? ElementType::kInt8Q : ElementType::kFloat,
                                      operand.dims, operand.q);
  std::vector<std::int64_t> integers;
  for (std::int64_t i = 0; i < format::ElementCount(tensor); ++i) {
    const double value =
        2 * std::sin(static_cast<double>(i * i + 3 * i + 1 + std::ssize(operand.name)));
    integers.push_back(std::lround(50 * value));
    if (!operand.q) tensor.As<float>()[static_cast<std::size_t>(i)] = static_cast<float>(value);
  }
  if (operand.q) format::PackIntegers(integers, tensor);
  if (operand.name == "variance") {
    for (float& value : tensor.As<float>()) value = std::abs(value) + 0.1F;
  }
  return tensor;
}

format::TensorType TypeOf(const Dims& dims) {
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  type.shape = format::ToShape(dims);
  return type;
}

format::Model NetOf(graph::GraphBuilder builder) {
  format::Model model;
  model.ir_version = 10;
  model.opset_imports = {{"", 24}, {std::string(format::kDomain), format::kVersion}};
  model.graph = builder.Finish();
  model.graph.name = "net";
  return model;
}

// What is read of the file that is written.
format::Model ThroughTflite(const format::Model& model) {
  const auto file = ToTflite(model);
  EXPECT_TRUE(file.has_value()) << file.error().where << ": " << file.error().message;
  if (!file.has_value()) return {};
  auto back = FromTflite(std::get<std::string>(file->content));
  EXPECT_TRUE(back.has_value()) << back.error().where << ": " << back.error().message;
  return back.has_value() ? std::move(back->model) : format::Model();
}

format::Model ModelOf(const Case& c) {
  graph::GraphBuilder builder;
  graph::Draft draft{c.op_type, {}, c.attributes};
  for (const Operand& input : c.inputs) {
    draft.inputs.push_back(input.name);
    if (input.name.empty()) continue;
    if (input.constant) {
      builder.SetConstant(input.name, Numbers(input));
      continue;
    }
    format::TensorType type = TypeOf(input.dims);
    if (input.q) type.elem_type = ElementType::kInt8Q;
    type.quantization = input.q;
    builder.AddInput(input.name, type);
  }
  std::vector<std::string> outputs = {"y"};
  builder.AddOutput("y", TypeOf(c.result));
  for (const Dims& dims : c.more_results) {
    outputs.push_back("y" + std::to_string(outputs.size()));
    builder.AddOutput(outputs.back(), TypeOf(dims));
  }
  builder.Add("node", std::move(draft), outputs);
  return NetOf(std::move(builder));
}

std::vector<Tensor> OutputsOf(const format::Model& model, const std::vector<Tensor>& inputs) {
  auto interpreter = reference::Interpreter::Prepare(model, "exact");
  EXPECT_TRUE(interpreter.has_value())
      << interpreter.error().where << ": " << interpreter.error().message;
  if (!interpreter.has_value()) return {};
  auto outputs = interpreter->Run(inputs);
  EXPECT_TRUE(outputs.has_value()) << outputs.error().where << ": " << outputs.error().message;
  return outputs.has_value() ? *std::move(outputs) : std::vector<Tensor>();
}

class Expand : public testing::TestWithParam<Case> {};

TEST_P(Expand, ComputesWhatTheOperatorSays) {
  const format::Model model = ModelOf(GetParam());
  std::vector<Tensor> inputs;
  for (const Operand& input : GetParam().inputs) {
    if (!input.constant && !input.name.empty()) inputs.push_back(Numbers(input));
  }
  const format::Model back = ThroughTflite(model);
  const std::vector<Tensor> expected = OutputsOf(model, inputs);
  const std::vector<Tensor> found = OutputsOf(back, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].dims, expected[i].dims);
    for (std::size_t k = 0; k < expected[i].As<float>().size(); ++k)
      EXPECT_NEAR(found[i].As<float>()[k], expected[i].As<float>()[k], 4e-6) << i << " " << k;
  }
}

Operand X(Dims dims) { return {"x", std::move(dims)}; }
Operand Weights(std::string name, Dims dims) { return {std::move(name), std::move(dims), true}; }

const Case kCases[] = {
    {"LayerNormalization",
     "LayerNormalization",
     {X({2, 3, 4}), Weights("scale", {4}), Weights("bias", {4})},
     {2, 3, 4}},
    {"LayerNormalizationOfTwoAxes",
     "LayerNormalization",
     {X({2, 3, 4}), Weights("scale", {3, 4})},
     {2, 3, 4},
     {Attribute::Int("axis", 1), Attribute::Float("epsilon", 0.1F)}},
    {"LayerNormalizationOfIntegers",
     "LayerNormalization",
     {{"x", {2, 3, 4}, false, Grid(0.03F)}, {"scale", {4}, true, Grid(0.02F)}},
     {2, 3, 4}},
    {"RmsNormalization", "RMSNormalization", {X({2, 3, 4}), Weights("scale", {4})}, {2, 3, 4}},
    {"InstanceNormalization",
     "InstanceNormalization",
     {X({2, 3, 4, 5}), Weights("scale", {3}), Weights("bias", {3})},
     {2, 3, 4, 5}},
    {"GroupNormalization",
     "GroupNormalization",
     {X({2, 4, 3, 2}), Weights("scale", {4}), Weights("bias", {4})},
     {2, 4, 3, 2},
     {Attribute::Int("num_groups", 2)}},
    {"BatchNormalization",
     "BatchNormalization",
     {X({2, 3, 4}), Weights("scale", {3}), Weights("bias", {3}), Weights("mean", {3}),
      Weights("variance", {3})},
     {2, 3, 4}},
    {"Reciprocal", "Reciprocal", {X({5})}, {5}},
    {"HardSigmoid", "HardSigmoid", {X({9})}, {9}, {Attribute::Float("alpha", 0.3F)}},
    {"Clip", "Clip", {X({9}), Weights("low", {}), {}}, {9}},
    {"Softplus", "Softplus", {X({9})}, {9}},
    {"Mish", "Mish", {X({9})}, {9}},
    {"Swish", "Swish", {X({9})}, {9}, {Attribute::Float("alpha", 1.5F)}},
    {"Softsign", "Softsign", {X({9})}, {9}},
    {"Elu", "Elu", {X({9})}, {9}, {Attribute::Float("alpha", 0.5F)}},
    {"Selu", "Selu", {X({9})}, {9}},
    {"Celu", "Celu", {X({9})}, {9}, {Attribute::Float("alpha", 0.5F)}},
    {"Erf", "Erf", {X({99})}, {99}},
    {"GlobalAveragePool", "GlobalAveragePool", {X({2, 3, 4})}, {2, 3, 1}},
    {"ConvAlongOneAxis",
     "Conv",
     {X({1, 2, 9}), Weights("w", {3, 2, 4}), Weights("b", {3})},
     {1, 3, 5},
     {Attribute::Ints("kernel_shape", {4}), Attribute::Ints("pads", {1, 2}),
      Attribute::Ints("strides", {2})}},
    {"MaxPoolAlongOneAxis",
     "MaxPool",
     {X({1, 2, 9})},
     {1, 2, 5},
     {Attribute::Ints("kernel_shape", {3}), Attribute::Ints("pads", {1, 1}),
      Attribute::Ints("strides", {2})}},
    {"MaxPoolWithPadsOfItsOwn",
     "MaxPool",
     {X({1, 2, 6, 6})},
     {1, 2, 4, 4},
     {Attribute::Ints("kernel_shape", {3, 3}), Attribute::Ints("pads", {2, 2, 1, 1}),
      Attribute::Ints("strides", {2, 2})}},
    {"MaxPoolBeyondTheImage",
     "MaxPool",
     {X({1, 1, 6, 6})},
     {1, 1, 2, 2},
     {Attribute::Ints("kernel_shape", {4, 4}), Attribute::Ints("strides", {3, 3}),
      Attribute::Int("ceil_mode", 1)}},
    {"AveragePoolThatCountsPads",
     "AveragePool",
     {X({1, 2, 4, 4})},
     {1, 2, 4, 4},
     {Attribute::Ints("kernel_shape", {3, 3}), Attribute::Ints("pads", {1, 1, 1, 1}),
      Attribute::Int("count_include_pad", 1)}},
    {"AveragePoolOfMoreThanTheImage",
     "AveragePool",
     {X({1, 2, 2, 3})},
     {1, 2, 1, 1},
     {Attribute::Ints("kernel_shape", {5, 5}), Attribute::Ints("pads", {2, 1, 1, 1})}},
    {"Gru",
     "GRU",
     {X({4, 2, 3}), Weights("w", {1, 15, 3}), Weights("r", {1, 15, 5})},
     {4, 1, 2, 5},
     {Attribute::Int("hidden_size", 5)},
     {{1, 2, 5}}},
    {"GruOfBothDirections",
     "GRU",
     {X({3, 2, 3}),
      Weights("w", {2, 15, 3}),
      Weights("r", {2, 15, 5}),
      Weights("b", {2, 30}),
      {},
      {"h", {2, 2, 5}}},
     {3, 2, 2, 5},
     {Attribute::Int("hidden_size", 5), Attribute::String("direction", "bidirectional"),
      Attribute::Int("linear_before_reset", 1)},
     {{2, 2, 5}}},
    {"Lstm",
     "LSTM",
     {X({3, 2, 3}),
      Weights("w", {1, 20, 3}),
      Weights("r", {1, 20, 5}),
      Weights("b", {1, 40}),
      {},
      {"h", {1, 2, 5}},
      {"c", {1, 2, 5}}},
     {3, 1, 2, 5},
     {Attribute::Int("hidden_size", 5), Attribute::String("direction", "reverse")},
     {{1, 2, 5}, {1, 2, 5}}},
};

INSTANTIATE_TEST_SUITE_P(All, Expand, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// As ONNX Runtime's dynamic quantization writes a product: the integers are those of the text.
TEST(Expanded, ProductOfWhatIsQuantizedAtRunTime) {
  graph::GraphBuilder builder;
  builder.AddInput("x", TypeOf({3, 4}));
  builder.AddOutput("y", TypeOf({3, 2}));
  builder.Add("quantize", {"DynamicQuantizeLinear", {"x"}, {}}, {"q", "scale", "zero"});
  Tensor weights = *format::MakeTensor(ElementType::kInt8, {4, 2});
  format::PackIntegers(std::vector<std::int64_t>{-128, 5, 17, 127, -3, 60, 1, -90}, weights);
  builder.SetConstant("w", weights);
  Tensor zero = *format::MakeTensor(ElementType::kInt8, {});
  format::PackIntegers(std::vector<std::int64_t>{3}, zero);
  builder.SetConstant("w_zero", zero);
  builder.Add("product", {"MatMulInteger", {"q", "w", "zero", "w_zero"}, {}}, {"sums"});
  builder.Add("real", {"Cast", {"sums"}, {Attribute::Int("to", 1)}}, {"real"});
  builder.Add("scaled", {"Mul", {"real", "scale"}, {}}, {"y"});
  const format::Model model = NetOf(std::move(builder));
  const format::Model back = ThroughTflite(model);
  const std::vector<Tensor> inputs = {Numbers({"x", {3, 4}})};
  const std::vector<Tensor> expected = OutputsOf(model, inputs);
  const std::vector<Tensor> found = OutputsOf(back, inputs);
  ASSERT_EQ(found.size(), 1);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(found[0].As<float>()[i], expected[0].As<float>()[i], 1e-4) << i;
}

// As exporters compute the sizes of a Reshape and the pads of a Pad.
TEST(Known, ValuesThatFollowFromSizesAreConstants) {
  graph::GraphBuilder builder;
  builder.AddInput("x", TypeOf({2, 6}));
  builder.AddOutput("y", TypeOf({3, 4}));
  builder.Add("n", {"Shape", {"x"}, {}}, {"shape"});
  builder.SetConstant("row", graph::IntsTensor(std::vector<std::int64_t>{1, 2}));
  builder.Add("n", {"Reshape", {"shape", "row"}, {}}, {"in_row"});
  builder.Add("n", {"Transpose", {"in_row"}, {}}, {"in_column"});
  builder.SetConstant("flat", graph::IntsTensor(std::vector<std::int64_t>{-1}));
  builder.Add("n", {"Reshape", {"in_column", "flat"}, {}}, {"sizes"});
  builder.SetConstant("more", graph::IntsTensor(std::vector<std::int64_t>{1, -2}));
  builder.Add("n", {"Add", {"sizes", "more"}, {}}, {"target"});
  builder.Add("n", {"Reshape", {"x", "target"}, {}}, {"y"});
  const format::Model model = NetOf(std::move(builder));
  const format::Model back = ThroughTflite(model);
  EXPECT_EQ(back.graph.nodes.size(), 1);
  EXPECT_EQ(back.graph.outputs[0].type->shape, format::ToShape(Dims{3, 4}));
}

}  // namespace
}  // namespace qtx::convert::expand_test
