// Whole models, small enough to check by hand.
#include "qtx/quantize/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "floats.h"
#include "measure.h"
#include "qtx/format/check.h"
#include "qtx/quantize/search.h"
#include "qtx/reference/interpreter.h"

namespace qtx::quantize::quantize_test {
namespace {

using format::ElementType;
using format::Model;
using format::Node;
using format::Scheme;
using format::Tensor;
using testing::HasSubstr;

// Numbers that differ, of both signs, without chance.
std::vector<float> Waves(std::size_t count, double step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
  return values;
}

class Builder {
 public:
  Builder() {
    model_.ir_version = 8;
    model_.opset_imports = {{.domain = "", .version = 17}};
    model_.graph.name = "test";
  }
  Builder& Input(const std::string& name, const format::Dims& dims) {
    model_.graph.inputs.push_back(Info(name, dims));
    return *this;
  }
  Builder& Constant(const std::string& name, const Tensor& tensor) {
    model_.graph.initializers.push_back(format::ToTensorData(name, tensor));
    return *this;
  }
  Builder& Add(const std::string& op_type, std::vector<std::string> inputs,
               const std::string& output, const format::Dims& dims,
               std::vector<format::Attribute> attributes = {}) {
    Node node;
    node.name = "n_" + output;
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    model_.graph.nodes.push_back(std::move(node));
    model_.graph.values.push_back(Info(output, dims));
    return *this;
  }
  Model Output(const std::string& name) {
    const auto at = std::ranges::find(model_.graph.values, name, &format::ValueInfo::name);
    model_.graph.outputs.push_back(*at);
    model_.graph.values.erase(at);
    return model_;
  }

 private:
  static format::ValueInfo Info(const std::string& name, const format::Dims& dims) {
    format::TensorType type{ElementType::kFloat};
    type.shape = format::ToShape(dims);
    return {.name = name, .type = std::move(type)};
  }
  Model model_;
};

// Conv, Relu, MaxPool, Reshape, Gemm, Softmax.
Model Network() {
  return Builder()
      .Input("x", {1, 2, 4, 4})
      .Constant("w1", Floats({3, 2, 3, 3}, Waves(54, 0.7)))
      .Constant("b1", Floats({3}, {0.1F, -0.2F, 0.3F}))
      .Constant("shape",
                [] {
                  Tensor shape = *format::MakeTensor(ElementType::kInt64, {2});
                  shape.As<std::int64_t>()[0] = 1;
                  shape.As<std::int64_t>()[1] = 12;
                  return shape;
                }())
      .Constant("w2", Floats({12, 5}, Waves(60, 1.3)))
      .Constant("b2", Floats({5}, Waves(5, 0.3)))
      .Add("Conv", {"x", "w1", "b1"}, "c", {1, 3, 4, 4},
           {format::Attribute::Ints("pads", {1, 1, 1, 1})})
      .Add("Relu", {"c"}, "r", {1, 3, 4, 4})
      .Add("MaxPool", {"r"}, "p", {1, 3, 2, 2},
           {format::Attribute::Ints("kernel_shape", {2, 2}),
            format::Attribute::Ints("strides", {2, 2})})
      .Add("Reshape", {"p", "shape"}, "f", {1, 12})
      .Add("Gemm", {"f", "w2", "b2"}, "g", {1, 5})
      .Add("Softmax", {"g"}, "y", {1, 5})
      .Output("y");
}

std::vector<Tensor> Samples() {
  std::vector<Tensor> samples;
  for (int i = 0; i < 4; ++i)
    samples.push_back(Floats({1, 2, 4, 4}, Waves(32, 0.9 + 0.37 * static_cast<double>(i))));
  return samples;
}

Model Calibrated() { return *Measured(Network(), Samples()); }

const format::TensorType& TypeOf(const Model& model, const std::string& name) {
  const format::ValueInfo* info = model.graph.FindValue(name);
  EXPECT_NE(info, nullptr) << name;
  return *info->type;
}

std::vector<std::string> Operators(const Model& model) {
  std::vector<std::string> operators;
  for (const Node& node : model.graph.nodes) operators.push_back(node.op_type);
  return operators;
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result.has_value() ? "" : result.error().where + ": " + result.error().message;
}

double SqnrOf(const Model& real, const Model& quantized) {
  double signal = 0, noise = 0;
  auto a = *reference::Interpreter::Prepare(real, "float32");
  auto b = *reference::Interpreter::Prepare(quantized);
  for (const Tensor& sample : Samples()) {
    const Tensor left = (*a.Run(std::span(&sample, 1)))[0];
    const Tensor right = (*b.Run(std::span(&sample, 1)))[0];
    for (std::size_t i = 0; i < left.As<float>().size(); ++i) {
      const auto r = static_cast<double>(left.As<float>()[i]);
      const auto q = static_cast<double>(right.As<float>()[i]);
      signal += r * r;
      noise += (r - q) * (r - q);
    }
  }
  return 10 * std::log10(signal / noise);
}

TEST(Quantize, MakesAModelThatConformsAndIsNear) {
  const Model real = Calibrated();
  const auto result = Quantize(real, {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(
      Operators(result->model),
      (std::vector<std::string>{"Cast", "Conv", "MaxPool", "Reshape", "Gemm", "Softmax", "Cast"}));
  EXPECT_GT(SqnrOf(real, result->model), 30);
  EXPECT_EQ(*Quantize(real, {})->model.Serialize(), *result->model.Serialize());
}

// What moves values shares their parameters; a Softmax has TFLite's.
TEST(Quantize, SharesParametersWhereValuesOnlyMove) {
  const auto result = Quantize(Calibrated(), {});
  ASSERT_TRUE(result.has_value());
  const auto& r = *TypeOf(result->model, "r").quantization;
  EXPECT_EQ(TypeOf(result->model, "p").quantization->scale, r.scale);
  EXPECT_EQ(TypeOf(result->model, "f").quantization->scale, r.scale);
  EXPECT_EQ(TypeOf(result->model, "f").quantization->offset, std::vector<std::int32_t>{-128});
  const auto& y = *TypeOf(result->model, "y/quantized").quantization;
  EXPECT_EQ(y.scale, std::vector<float>{0x1p-8F});
  EXPECT_EQ(y.offset, std::vector<std::int32_t>{-128});
  EXPECT_TRUE(TypeOf(result->model, "r").statistics.has_value());
}

TEST(Quantize, StoresBiasesInUnitsOfTheAccumulator) {
  const auto result = Quantize(Calibrated(), {});
  ASSERT_TRUE(result.has_value());
  const float x = TypeOf(result->model, "x/quantized").quantization->scale[0];
  const auto& w = TypeOf(result->model, "w1").quantization->scale;
  const auto& b = TypeOf(result->model, "b1").quantization->scale;
  ASSERT_EQ(w.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(b[i], x * w[i]);
  EXPECT_EQ(TypeOf(result->model, "b1").elem_type, ElementType::kInt32Q);
  const auto stored = format::UnpackInt32(*format::LoadInitializer(result->model, "b1"));
  EXPECT_EQ(stored[0], std::lround(0.1F / static_cast<double>(b[0])));
}

// 1e6 in units of x_scale * w_scale, some 1e-2 * 1e-9, would be 1e17.
TEST(Quantize, WidensWeightsWhoseBiasWouldNotFit) {
  Model model = Builder()
                    .Input("x", {1, 2})
                    .Constant("w", Floats({2, 2}, {1e-7F, 0.5F, -1e-7F, 0.25F}))
                    .Constant("b", Floats({2}, {1e6F, 1.0F}))
                    .Add("Gemm", {"x", "w", "b"}, "y", {1, 2})
                    .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 2}, {1, -1})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  const Tensor bias = *format::LoadInitializer(result->model, "b");
  const double real = static_cast<double>(bias.quantization->scale[0]) *
                      static_cast<double>(format::UnpackInt32(bias)[0]);
  EXPECT_NEAR(real, 1e6, 1e-2);
}

// The limits of a symmetric output: nothing below real zero.
TEST(Quantize, MakesAReluALimitOfASymmetricOutput) {
  Options options;
  options.settings.activations = *ParseActivations("int8:symmetric");
  const auto result = Quantize(Calibrated(), options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "r").quantization->quant_min, 0);
  EXPECT_FALSE(TypeOf(result->model, "p").quantization->quant_min.has_value());
  EXPECT_GT(SqnrOf(Calibrated(), result->model), 25);
}

TEST(Quantize, HasIntegersAtTheBordersIfAsked) {
  Options options;
  options.quantized_io = true;
  const auto result = Quantize(Calibrated(), options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->model.graph.inputs[0].type->elem_type, ElementType::kInt8Q);
  EXPECT_EQ(result->model.graph.outputs[0].type->elem_type, ElementType::kInt8Q);
  EXPECT_EQ(result->model.graph.outputs[0].name, "y");
  EXPECT_EQ(std::ranges::count(Operators(result->model), "Cast"), 0);
  EXPECT_TRUE(format::Check(result->model).empty());
}

TEST(Quantize, LeavesActivationsAloneForWeightsInBlocks) {
  Options options;
  options.settings.activations = *ParseActivations("float");
  options.settings.weights = *ParseWeights("int4:block=5");
  const auto result = Quantize(Network(), options);  // no statistics
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  const auto& type = TypeOf(result->model, "w2");
  EXPECT_EQ(type.elem_type, ElementType::kInt4Q);
  EXPECT_EQ(type.quantization->block_shape, (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(type.quantization->scale.size(), 15U);  // ceil(12 / 5) * 5
  EXPECT_EQ(TypeOf(result->model, "w1").quantization->axis, std::vector<std::int64_t>{0});
  EXPECT_EQ(std::ranges::count(Operators(result->model), "Cast"), 0);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_GT(SqnrOf(Network(), result->model), 15);
}

// w2 has 12 rows: blocks of 12, as 32 cover them. Scales and codes after OCP MX v1.0, section 6.3,
// by hand, of a column with 7, -0.5, 0.6, 0.25: 2^2 over 2^2, the largest power of two of E2M1, so
// that 7 saturates, 0.6 is nearer to 0.5, and 0.25 is a tie between 0 and 0.5.
// y = (x a) b, a = [0.52, 7], b = [4, 7] transposed. To int4 of scale 1 a becomes [1, 7]. Behind it
// the first input of b is 1 / 0.52 of what it was: X^T Y = 52, X^T X = 100, and the second, without
// correlation, is as before. The damping is 1, so that W' is 53 / 101 * 4 = 2.1 and 7.
TEST(Quantize, RoundsEachProductForWhatThoseBeforeItLeave) {
  const std::vector<Tensor> samples = {Floats({1, 1}, {1.0F}), Floats({1, 1}, {-1.0F})};
  const Model model = *Measured(Builder()
                                    .Input("x", {1, 1})
                                    .Constant("a", Floats({1, 2}, {0.52F, 7}))
                                    .Constant("b", Floats({2, 1}, {4, 7}))
                                    .Add("MatMul", {"x", "a"}, "h", {1, 2})
                                    .Add("MatMul", {"h", "b"}, "y", {1, 1})
                                    .Output("y"),
                                samples);
  std::vector<std::string> asked;
  Options options;
  options.settings = {*ParseActivations("float"), *ParseWeights("int4:per-tensor")};
  options.rounding = Rounding::kGptq;
  options.measure_sums = [&](const Model& real, const Model& changed,
                             const Node& node) -> Result<Gram> {
    asked.push_back(node.inputs[0]);
    EXPECT_EQ(FloatsOf(real, "a"), (std::vector<float>{0.52F, 7}));
    EXPECT_EQ(FloatsOf(changed, "b"), (std::vector<float>{4, 7}));
    if (node.inputs[0] == "x") return Gram{1, {100}, {100}};
    EXPECT_EQ(FloatsOf(changed, "a"), (std::vector<float>{1, 7}));
    return Gram{2, {100, 0, 100}, {52, 0, 0, 100}};
  };
  const auto quantized = Quantize(model, options);
  ASSERT_TRUE(quantized.has_value()) << quantized.error().Text();
  EXPECT_EQ(asked, (std::vector<std::string>{"x", "h"}));
  const format::TensorData* b = quantized->model.graph.FindInitializer("b");
  EXPECT_EQ(format::UnpackInt32(*format::Decode(*b)), (std::vector<std::int32_t>{2, 7}));
}

TEST(Quantize, RoundsAProductOfConstantsToNearest) {
  const Model model = *Measured(Builder()
                                    .Input("x", {1, 1})
                                    .Constant("c", Floats({1, 1}, {2}))
                                    .Constant("w", Floats({1, 1}, {3}))
                                    .Add("MatMul", {"c", "w"}, "h", {1, 1})
                                    .Add("Add", {"x", "h"}, "y", {1, 1})
                                    .Output("y"),
                                std::vector<Tensor>{Floats({1, 1}, {1.0F})});
  Options options;
  options.settings = {*ParseActivations("float"), *ParseWeights("int4")};
  options.rounding = Rounding::kGptq;
  options.measure_sums = [](const Model&, const Model&, const Node& node) -> Result<Gram> {
    return Error{ErrorCode::kInternal, node.inputs[0], "is no value that a node computes"};
  };
  const auto quantized = Quantize(model, options);
  ASSERT_TRUE(quantized.has_value()) << quantized.error().Text();
}

TEST(Quantize, StoresWeightsAsMx) {
  format::Model network = Network();
  for (format::TensorData& data : network.graph.initializers) {
    if (data.name != "w2") continue;
    format::Tensor w = *format::Decode(data);
    std::ranges::fill(w.As<float>(), 0.0F);
    const std::vector<float> column = {7, -0.5F, 0.6F, 0.25F};
    for (std::size_t i = 0; i < column.size(); ++i) w.As<float>()[i * 5] = column[i];
    data = format::ToTensorData("w2", w);
  }
  Options options;
  options.settings.activations = *ParseActivations("float");
  options.settings.weights = *ParseWeights("mxfp4");
  const auto result = Quantize(network, options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  const auto& type = TypeOf(result->model, "w2");
  EXPECT_EQ(type.elem_type, ElementType::kFloat4E2M1Q);
  ASSERT_EQ(type.quantization->scale_levels.size(), 1);
  const auto scales = format::LoadInitializer(result->model, "w2_scale");
  ASSERT_TRUE(scales.has_value()) << ErrorOf(scales);
  EXPECT_EQ(scales->elem_type, ElementType::kFloat8E8M0);
  EXPECT_EQ(format::StoredValues(*scales), (std::vector<double>{1, 1, 1, 1, 1}));
  const std::vector<double> stored =
      format::StoredValues(*format::LoadInitializer(result->model, "w2"));
  EXPECT_EQ((std::vector{stored[0], stored[5], stored[10], stored[15], stored[1]}),
            (std::vector<double>{6, -0.5, 0.5, 0, 0}));
}

TEST(Quantize, StoresWeightsAsSmallFloats) {
  for (const char* text :
       {"float8e4m3fn", "float8e5m2:block=4", "float4e2m1:per-tensor", "nvfp4"}) {
    Options options;
    options.settings.activations = *ParseActivations("float");
    options.settings.weights = *ParseWeights(text);
    const auto result = Quantize(Network(), options);
    ASSERT_TRUE(result.has_value()) << text << ErrorOf(result);
    EXPECT_TRUE(format::Check(result->model).empty()) << text;
    EXPECT_GT(SqnrOf(Network(), result->model), 10) << text;
    options.settings.weight_range = *ParseRangeMethods("mse");
    EXPECT_THAT(ErrorOf(Quantize(Network(), options)), HasSubstr("found mse, expected minmax"));
  }
}

TEST(Quantize, CastsWhereARuleKeepsANodeInFloat) {
  Options options;
  options.rules = *ParseRules(
      "- {match: {op_type: MaxPool}, float: true}\n"
      "- {match: {name: 'n_g'}, activations: int16, weights: int8:per-tensor}\n",
      "rules.yaml");
  const auto result = Quantize(Calibrated(), options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(TypeOf(result->model, "p").elem_type, ElementType::kFloat);
  EXPECT_EQ(TypeOf(result->model, "r/real").elem_type, ElementType::kFloat);
  EXPECT_EQ(TypeOf(result->model, "g").elem_type, ElementType::kInt16Q);
  EXPECT_EQ(TypeOf(result->model, "w2").quantization->scale.size(), 1U);
  EXPECT_EQ(Operators(result->model),
            (std::vector<std::string>{"Cast", "Conv", "Cast", "MaxPool", "Cast", "Reshape", "Gemm",
                                      "Softmax", "Cast"}));
  EXPECT_GT(SqnrOf(Calibrated(), result->model), 30);
}

Tensor Integers(format::Dims dims, const std::vector<std::int64_t>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kInt64, std::move(dims));
  std::ranges::copy(values, tensor.As<std::int64_t>().begin());
  return tensor;
}

// The sample asks for row 0 alone, and row 1 has the largest number. -2 to 4 in 256 steps: the
// scale is 6 / 255, the offset -128 + 2 * 255 / 6 = -43.
TEST(Quantize, TakesTheRangeOfATableFromTheWholeTable) {
  Model model = Builder()
                    .Input("ids", {1, 2})
                    .Constant("table", Floats({2, 2}, {-2, 1, 4, 0}))
                    .Constant("w", Floats({2, 2}, {1, 2, 3, 4}))
                    .Add("Gather", {"table", "ids"}, "e", {1, 2, 2})
                    .Add("MatMul", {"e", "w"}, "y", {1, 2, 2})
                    .Output("y");
  model.graph.inputs[0].type->elem_type = ElementType::kInt64;
  const std::vector<Tensor> samples = {Integers({1, 2}, {0, 0})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(format::Check(result->model).empty());
  const auto& rows = TypeOf(result->model, "e");
  ASSERT_EQ(rows.elem_type, ElementType::kInt8Q);
  EXPECT_FLOAT_EQ(rows.quantization->scale[0], 6.0F / 255);
  EXPECT_EQ(rows.quantization->offset[0], -43);
  EXPECT_EQ(TypeOf(result->model, "table").quantization->scale, rows.quantization->scale);
  EXPECT_EQ(TypeOf(result->model, "ids").elem_type, ElementType::kInt64);
}

// The constant is larger than any x: the range of x alone would cut it off.
TEST(Quantize, CoversAConstantThatIsMovedBesideAValue) {
  const Model model =
      Builder()
          .Input("x", {1, 2})
          .Constant("c", Floats({1, 2}, {100, 50}))
          .Constant("w", Floats({4, 1}, {1, 2, 3, 4}))
          .Add("Concat", {"x", "c"}, "j", {1, 4}, {format::Attribute::Int("axis", 1)})
          .Add("MatMul", {"j", "w"}, "y", {1, 1})
          .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 2}, {0, 1})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  const auto& joined = *TypeOf(result->model, "j").quantization;
  EXPECT_GE(joined.scale[0] * static_cast<float>(127 - joined.offset[0]), 100.0F);
}

// Div and Mul compute with a shape here. Nothing declares what they give.
TEST(Quantize, LeavesIntegersAlone) {
  Model model = Builder()
                    .Input("x", {2, 4})
                    .Constant("w", Floats({4, 4}, Waves(16, 0.7)))
                    .Constant("two", Integers({1}, {2}))
                    .Add("MatMul", {"x", "w"}, "m", {2, 4})
                    .Add("Shape", {"m"}, "s", {2})
                    .Add("Div", {"s", "two"}, "d", {2})
                    .Add("Mul", {"d", "two"}, "r", {2})
                    .Add("Reshape", {"m", "r"}, "t", {2, 4})
                    .Add("Relu", {"t"}, "y", {2, 4})
                    .Output("y");
  std::erase_if(model.graph.values, [](const format::ValueInfo& info) {
    return info.name == "s" || info.name == "d" || info.name == "r";
  });
  const std::vector<Tensor> samples = {Floats({2, 4}, Waves(8, 1.1))};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(TypeOf(result->model, "t").elem_type, ElementType::kInt8Q);
  for (const Node& node : result->model.graph.nodes) {
    if (node.op_type != "Div" && node.op_type != "Mul") continue;
    const std::string first = node.op_type == "Div" ? "s" : "d";
    EXPECT_EQ(node.inputs, (std::vector<std::string>{first, "two"}));
  }
}

// What an exporter writes for a shape of -1: nothing declares c and r, which follow from the nodes.
TEST(Quantize, LeavesIntegersOfConstantOfShapeAlone) {
  Model model = Builder()
                    .Input("x", {2, 4})
                    .Constant("w", Floats({4, 4}, Waves(16, 0.7)))
                    .Constant("size", Integers({1}, {1}))
                    .Constant("minus", Integers({}, {-1}))
                    .Add("MatMul", {"x", "w"}, "m", {2, 4})
                    .Add("ConstantOfShape", {"size"}, "c", {1})
                    .Add("Mul", {"c", "minus"}, "r", {1})
                    .Add("Reshape", {"m", "r"}, "t", {8})
                    .Add("Relu", {"t"}, "y", {8})
                    .Output("y");
  format::Attribute one;
  one.name = "value";
  one.type = format::AttributeType::kTensor;
  one.t = format::ToTensorData("", Integers({1}, {1}));
  model.graph.nodes[1].attributes = {one};
  std::erase_if(model.graph.values,
                [](const format::ValueInfo& info) { return info.name == "c" || info.name == "r"; });
  const std::vector<Tensor> samples = {Floats({2, 4}, Waves(8, 1.1))};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(TypeOf(result->model, "t").elem_type, ElementType::kInt8Q);
}

// Scores x * w, from -10 to 10, of which a mask hides the second half: Softmax of what is left.
Model Attention(float hidden) {
  std::vector<float> mask(8, 0), diagonal(64, 0);
  std::fill(mask.begin() + 4, mask.end(), hidden);
  for (std::size_t i = 0; i < 8; ++i) diagonal[9 * i] = 1;
  return Builder()
      .Input("x", {1, 1, 8})
      .Constant("w", Floats({8, 8}, diagonal))
      .Constant("mask", Floats({1, 8}, mask))
      .Add("MatMul", {"x", "w"}, "scores", {1, 1, 8})
      .Add("Add", {"scores", "mask"}, "masked", {1, 1, 8})
      .Add("Softmax", {"masked"}, "y", {1, 1, 8}, {format::Attribute::Int("axis", 2)})
      .Output("y");
}

std::vector<Tensor> Scores() {
  std::vector<Tensor> samples = {Floats({1, 1, 8}, {2, 1, -10, 0, 9, 10, -3, 5})};
  for (int i = 1; i < 8; ++i) {
    std::vector<float> waves = Waves(8, 0.9 + 0.37 * static_cast<double>(i));
    for (float& x : waves) x *= 10;
    samples.push_back(Floats({1, 1, 8}, waves));
  }
  return samples;
}

const LedgerEntry* EntryOf(const Quantized& result, const std::string& value,
                           const std::string& field) {
  for (const LedgerEntry& entry : result.ledger) {
    if (entry.value == value && entry.field == field) return &entry;
  }
  return nullptr;
}

// Int8 over -10010 to 10 has steps of 39: all that is not hidden would be the same. Of the first
// sample e^2, e^1, e^-10 and e^0 over their sum 11.1075 are 0.6652, 0.2447, 0.0000 and 0.0900.
TEST(Quantize, KeepsScoresFloatThatAMaskPutsFarAway) {
  for (const float hidden : {-1e4F, std::numeric_limits<float>::lowest()}) {
    const auto result = Quantize(*Measured(Attention(hidden), Scores()), {});
    ASSERT_TRUE(result.has_value()) << ErrorOf(result);
    EXPECT_TRUE(format::Check(result->model).empty());
    EXPECT_EQ(TypeOf(result->model, "masked").elem_type, ElementType::kFloat);
    EXPECT_EQ(TypeOf(result->model, "scores").elem_type, ElementType::kInt8Q);
    const LedgerEntry* entry = EntryOf(*result, "masked", "values far apart");
    ASSERT_NE(entry, nullptr);
    EXPECT_THAT(entry->why, HasSubstr("of 255 steps"));
    auto interpreter = *reference::Interpreter::Prepare(result->model);
    const auto samples = Scores();
    const Tensor y = (*interpreter.Run(std::span(samples.data(), 1)))[0];
    const std::vector<double> expected = {0.6652, 0.2447, 0, 0.0900, 0, 0, 0, 0};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Both x and the scores are off by up to 10 / 255: e^0.08 is 1.08.
      EXPECT_NEAR(static_cast<double>(y.As<float>()[i]), expected[i], 0.05) << i;
    }
  }
}

TEST(Quantize, TakesValuesFarApartWhereARuleAsksForThemOrTheTypeIsWide) {
  const Model model = *Measured(Attention(-1e4F), Scores());
  Options options;
  options.rules = *ParseRules("- float: false\n", "rules.yaml");
  auto result = Quantize(model, options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "masked").elem_type, ElementType::kInt8Q);
  EXPECT_EQ(EntryOf(*result, "masked", "values far apart"), nullptr);
  options = {};  // steps of 0.15: 131 for those from -10 to 10
  options.settings.activations = *ParseActivations("int16");
  result = Quantize(model, options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "masked").elem_type, ElementType::kInt16Q);
}

// 16 bits have 32 steps in each of the 2048 bins, but all scores are in two of them.
TEST(Quantize, KeepsScoresFloatBesideTheLowestFloatInSixteenBits) {
  Options options;
  options.settings.activations = *ParseActivations("int16");
  const auto result =
      Quantize(*Measured(Attention(std::numeric_limits<float>::lowest()), Scores()), options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "masked").elem_type, ElementType::kFloat);
}

// The mask alone is two numbers, which integers stand for exactly.
TEST(Quantize, StoresAMaskOfTwoNumbers) {
  const Model model = Builder()
                          .Input("x", {1, 4})
                          .Constant("factor", Floats({1, 4}, {-1e4F, -1e4F, -1e4F, -1e4F}))
                          .Add("Mul", {"x", "factor"}, "mask", {1, 4})
                          .Add("Neg", {"mask"}, "y", {1, 4})
                          .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 4}, {0, 1, 1, 0})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "mask").elem_type, ElementType::kInt8Q);
}

// A weight is stored whatever becomes of the product's input.
TEST(Quantize, StoresWeightsBesideValuesFarApart) {
  const Model model = Builder()
                          .Input("x", {1, 4})
                          .Constant("w", Floats({4, 2}, Waves(8, 0.7)))
                          .Add("MatMul", {"x", "w"}, "y", {1, 2})
                          .Output("y");
  std::vector<Tensor> samples = {Floats({1, 4}, {1, -1, 0.5F, -1000})};
  for (int i = 1; i < 8; ++i)
    samples.push_back(Floats({1, 4}, Waves(4, 0.9 + 0.37 * static_cast<double>(i))));
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(TypeOf(result->model, "w").elem_type, ElementType::kInt8Q);
  EXPECT_EQ(Operators(result->model), std::vector<std::string>{"MatMul"});
  EXPECT_NE(EntryOf(*result, "x", "values far apart"), nullptr);
}

// An infinity would become the end of the range, and hide nothing from a Softmax.
TEST(Quantize, KeepsValuesWithInfinitiesFloat) {
  Model model = *Measured(Attention(-1e4F), Scores());
  for (format::ValueInfo& info : model.graph.values) {
    if (info.name != "masked") continue;
    info.type->statistics->min = {-10};
    info.type->statistics->histogram.reset();
    info.type->statistics->infinity_count = 8;
  }
  const auto result = Quantize(model, {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(TypeOf(result->model, "masked").elem_type, ElementType::kFloat);
  EXPECT_NE(EntryOf(*result, "masked", "infinities and NaN"), nullptr);
}

// x and y are FLOAT16, w is 1, 2, -0.25 and 1/3 as FLOAT16 has it: 0x3c00 0x4000 0xb400 0x3555. In
// units of 1 / 127 and 2 / 127 these are 127, 127, -31.75 and 21.16.
TEST(Quantize, ComputesInFloatWhatTheModelComputesInHalves) {
  Tensor w = *format::MakeTensor(ElementType::kFloat16, {2, 2});
  const std::vector<std::uint8_t> bytes = {0x00, 0x3c, 0x00, 0x40, 0x00, 0xb4, 0x55, 0x35};
  std::ranges::transform(bytes, w.bytes.begin(), [](std::uint8_t b) { return std::byte{b}; });
  Model model = Builder()
                    .Input("x", {1, 2})
                    .Constant("w", w)
                    .Add("MatMul", {"x", "w"}, "m", {1, 2})
                    .Add("Relu", {"m"}, "y", {1, 2})
                    .Output("y");
  model.graph.inputs[0].type->elem_type = ElementType::kFloat16;
  model.graph.outputs[0].type->elem_type = ElementType::kFloat16;
  model.graph.values[0].type->elem_type = ElementType::kFloat16;
  Options options;
  options.settings.activations = *ParseActivations("float");
  const auto result = Quantize(model, options);
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(Operators(result->model), (std::vector<std::string>{"Cast", "MatMul", "Relu", "Cast"}));
  const Tensor stored = *format::LoadInitializer(result->model, "w");
  EXPECT_FLOAT_EQ(stored.quantization->scale[0], 1.0F / 127);
  EXPECT_FLOAT_EQ(stored.quantization->scale[1], 2.0F / 127);
  EXPECT_THAT(format::UnpackInt32(stored), testing::ElementsAre(127, 127, -32, 21));
}

TEST(Quantize, NamesWhatIsMissing) {
  EXPECT_EQ(ErrorOf(Quantize(Network(), {})),
            "value 'x': found no statistics (qtx calibrate writes them)");
  Options options;
  options.settings.activation_range = *ParseRangeMethods("entropy");
  EXPECT_THAT(ErrorOf(Quantize(*Measured(Network(), Samples(), 0), options)),
              HasSubstr("entropy needs a histogram"));
  options = {};
  options.rules = *ParseRules("\n- match: {name: 'none*'}\n  float: true\n", "r.yaml");
  EXPECT_EQ(ErrorOf(Quantize(Calibrated(), options)),
            "r.yaml:2: no node matches name 'none*' and op_type '*'");
}

TEST(Quantize, RefusesWeightsThatAreNoNumbers) {
  Model model = Calibrated();
  for (format::TensorData& data : model.graph.initializers) {
    if (data.name != "w2") continue;
    Tensor w = *format::Decode(data);
    w.As<float>()[7] = std::nanf("");
    data = format::ToTensorData("w2", w);
  }
  EXPECT_EQ(ErrorOf(Quantize(model, {})), "initializer 'w2': element 7 is not finite");
}

// gamma / sqrt(variance + epsilon) = 3 / sqrt(4) and 2 / sqrt(1), epsilon 0: w * f, (0 - mean) * f
// + beta.
TEST(Quantize, FoldsBatchNormalizationIntoTheConvBefore) {
  Model model = Builder()
                    .Input("x", {1, 1, 2, 2})
                    .Constant("w", Floats({2, 1, 1, 1}, {1, -2}))
                    .Constant("gamma", Floats({2}, {3, 2}))
                    .Constant("beta", Floats({2}, {0.5F, -1}))
                    .Constant("mean", Floats({2}, {1, 2}))
                    .Constant("variance", Floats({2}, {4, 1}))
                    .Add("Conv", {"x", "w"}, "c", {1, 2, 2, 2})
                    .Add("BatchNormalization", {"c", "gamma", "beta", "mean", "variance"}, "y",
                         {1, 2, 2, 2}, {format::Attribute::Float("epsilon", 0)})
                    .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 1, 2, 2}, {1, -1, 0.5F, 2})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(Operators(result->real), std::vector<std::string>{"Conv"});
  const Tensor w = *format::Decode(*result->real.graph.FindInitializer("w/folded"));
  EXPECT_THAT(w.As<float>(), testing::ElementsAre(1.5F, -4.0F));
  const Tensor b = *format::Decode(*result->real.graph.FindInitializer("y/bias/folded"));
  EXPECT_THAT(b.As<float>(), testing::ElementsAre(-1.0F, -5.0F));
  EXPECT_TRUE(format::Check(result->model).empty());
}

TEST(Quantize, MakesAMatMulAndItsBiasOneGemm) {
  Model model = Builder()
                    .Input("x", {1, 3})
                    .Constant("w", Floats({3, 2}, Waves(6, 1)))
                    .Constant("b", Floats({2}, {1, 2}))
                    .Add("MatMul", {"x", "w"}, "m", {1, 2})
                    .Add("Add", {"b", "m"}, "y", {1, 2})
                    .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 3}, {1, -1, 0.5F})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_EQ(Operators(result->real), std::vector<std::string>{"Gemm"});
  EXPECT_EQ(TypeOf(result->model, "b").elem_type, ElementType::kInt32Q);
}

// As exporters give equal constants: the second layer's weights and bias are those of the first.
TEST(Quantize, ReadsConstantsBehindAnIdentity) {
  Model model = Builder()
                    .Input("x", {1, 2})
                    .Constant("w", Floats({2, 2}, Waves(4, 1)))
                    .Constant("b", Floats({2}, {1, 2}))
                    .Add("Identity", {"w"}, "w2", {2, 2})
                    .Add("Identity", {"b"}, "b2", {2})
                    .Add("Identity", {"b2"}, "b3", {2})
                    .Add("Gemm", {"x", "w", "b"}, "m", {1, 2})
                    .Add("Gemm", {"m", "w2", "b3"}, "y", {1, 2})
                    .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 2}, {1, -1})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_EQ(Operators(result->model), (std::vector<std::string>{"Cast", "Gemm", "Gemm", "Cast"}));
  const auto& second = result->model.graph.nodes[2];
  EXPECT_EQ(TypeOf(result->model, second.inputs[1]).elem_type, ElementType::kInt8Q);
  EXPECT_EQ(TypeOf(result->model, second.inputs[2]).elem_type, ElementType::kInt32Q);
}

// Clip to 1.0 in a range of 0 to 2 that its neighbour in a Concat asks for: stored 0 to 127 or so.
TEST(Quantize, KeepsAClipWhereItsOutputHasAWiderRange) {
  Model model = Builder()
                    .Input("x", {1, 2})
                    .Constant("zero", Floats({}, {0}))
                    .Constant("one", Floats({}, {1}))
                    .Constant("w", Floats({2, 2}, {1, 0, 0, 1}))
                    .Add("Gemm", {"x", "w"}, "g", {1, 2})
                    .Add("Clip", {"g", "zero", "one"}, "c", {1, 2})
                    .Add("Concat", {"c", "x"}, "y", {1, 4}, {format::Attribute::Int("axis", 1)})
                    .Output("y");
  const std::vector<Tensor> samples = {Floats({1, 2}, {2, -1}), Floats({1, 2}, {0.5F, 0.25F})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  const auto& q = *TypeOf(result->model, "c").quantization;
  const Parameters parameters{q.scale[0], q.offset[0]};
  EXPECT_EQ(q.quant_min, StoredOf(0, parameters, {-128, 127}));
  EXPECT_EQ(q.quant_max, StoredOf(1, parameters, {-128, 127}));
  auto interpreter = *reference::Interpreter::Prepare(result->model);
  const Tensor y = (*interpreter.Run(std::span(samples.data(), 1)))[0];
  EXPECT_NEAR(static_cast<double>(y.As<float>()[0]), 1, 0.01);  // of 2, clipped
  EXPECT_NEAR(static_cast<double>(y.As<float>()[1]), 0, 0.01);  // of -1
  EXPECT_NEAR(static_cast<double>(y.As<float>()[2]), 2, 0.01);
}

// Its values are elements of its input.
TEST(Quantize, GivesTheValuesOfATopKTheTypeOfItsInput) {
  Tensor k = *format::MakeTensor(ElementType::kInt64, {1});
  k.As<std::int64_t>()[0] = 2;
  Model model = Builder()
                    .Input("x", {1, 3})
                    .Constant("k", k)
                    .Add("Abs", {"x"}, "a", {1, 3})
                    .Add("TopK", {"a", "k"}, "t", {1, 2})
                    .Add("Neg", {"t"}, "y", {1, 2})
                    .Output("y");
  model.graph.nodes[1].outputs.emplace_back("at");
  const std::vector<Tensor> samples = {Floats({1, 3}, {2, -1, 0.5F})};
  const auto result = Quantize(*Measured(model, samples), {});
  ASSERT_TRUE(result.has_value()) << ErrorOf(result);
  EXPECT_TRUE(TypeOf(result->model, "t").quantization.has_value());
  EXPECT_EQ(TypeOf(result->model, "t").quantization, TypeOf(result->model, "a").quantization);
  auto interpreter = *reference::Interpreter::Prepare(result->model);
  const Tensor y = (*interpreter.Run(samples))[0];
  EXPECT_NEAR(static_cast<double>(y.As<float>()[0]), -2, 0.02);
  EXPECT_NEAR(static_cast<double>(y.As<float>()[1]), -1, 0.02);
}

// If of a constant condition; each branch computes with t, a value of the graph around it, and the
// first with weights of its own.
Model WithBranches(bool condition) {
  Tensor c = *format::MakeTensor(ElementType::kBool, {});
  c.bytes[0] = static_cast<std::byte>(condition);
  const auto branch = [](Builder& body, const char* output) {
    Model model = body.Output(output);
    return model.graph;
  };
  Builder then = Builder()
                     .Constant("w2", Floats({3, 2}, Waves(6, 1.3)))
                     .Constant("b2", Floats({2}, {0.25F, -0.5F}))
                     .Add("Gemm", {"t", "w2", "b2"}, "g", {1, 2})
                     .Add("Relu", {"g"}, "o", {1, 2});
  Builder otherwise = Builder()
                          .Constant("w2", Floats({3, 2}, Waves(6, 0.4)))
                          .Add("Elu", {"t"}, "g", {1, 3})
                          .Add("MatMul", {"g", "w2"}, "o", {1, 2});
  format::Attribute first, second;
  first.name = "then_branch";
  second.name = "else_branch";
  first.type = second.type = format::AttributeType::kGraph;
  first.graphs = {branch(then, "o")};
  second.graphs = {branch(otherwise, "o")};
  return Builder()
      .Input("x", {1, 4})
      .Constant("c", c)
      .Constant("w1", Floats({4, 3}, Waves(12, 0.7)))
      .Add("MatMul", {"x", "w1"}, "t", {1, 3})
      .Add("If", {"c"}, "i", {1, 2}, {first, second})
      .Add("Neg", {"i"}, "y", {1, 2})
      .Output("y");
}

// Quantized inside, FLOAT where the node moves values out, whichever branch is taken.
TEST(Quantize, WorksInsideBodies) {
  const std::vector<Tensor> samples = {Floats({1, 4}, Waves(4, 0.9)), Floats({1, 4}, Waves(4, 2))};
  Model both = WithBranches(true);
  for (std::size_t branch = 0; branch < 2; ++branch) {
    const auto model = Measured(WithBranches(branch == 0), samples);
    ASSERT_TRUE(model.has_value()) << model.error().Text();
    both.graph.inputs = model->graph.inputs;
    both.graph.values = model->graph.values;
    both.graph.outputs = model->graph.outputs;
    both.graph.nodes[1].attributes[branch] = model->graph.nodes[1].attributes[branch];
  }
  for (const bool condition : {true, false}) {
    both.graph.initializers[0] = WithBranches(condition).graph.initializers[0];
    const auto result = Quantize(both, {.rules = {{.op_type = "Elu", .keep_float = true}}});
    ASSERT_TRUE(result.has_value()) << ErrorOf(result);
    ASSERT_TRUE(format::Check(result->model).empty());
    const auto op_types = [&](std::size_t branch) {
      const auto& nodes = result->model.graph.nodes;
      const auto choice = std::ranges::find(nodes, "If", &Node::op_type);
      std::string all;
      for (const Node& node : choice->attributes[branch].graphs[0].nodes) all += node.op_type + " ";
      return all;
    };
    EXPECT_EQ(op_types(0), "Gemm Cast ");
    EXPECT_EQ(op_types(1), "Elu Cast MatMul Cast ");
    const auto real = ValuesOf(WithBranches(condition), samples);
    const auto stored = ValuesOf(result->model, samples);
    ASSERT_TRUE(real.has_value() && stored.has_value());
    for (std::size_t i = 0; i < real->at("y").size(); ++i)
      EXPECT_NEAR(stored->at("y")[i], real->at("y")[i], 0.05F);
  }
}

Judge JudgeOn(const std::vector<Tensor>& samples) {
  return [samples](const Quantized& quantized) -> Result<QuantizationReport> {
    QTX_ASSIGN_OR_RETURN(auto real, reference::Interpreter::Prepare(quantized.real, "float32"));
    QTX_ASSIGN_OR_RETURN(auto stored, reference::Interpreter::Prepare(quantized.model));
    const auto run = [](reference::Interpreter& interpreter) -> ModelRun {
      return [&interpreter](std::span<const Tensor> inputs, const Observer& observer) {
        interpreter.set_observer(observer);
        const auto outputs = interpreter.Run(inputs);
        return outputs.has_value() ? Result<void>() : Result<void>(outputs.error());
      };
    };
    Comparison comparison(quantized);
    for (const Tensor& sample : samples)
      QTX_RETURN_IF_ERROR(comparison.Add(std::span(&sample, 1), run(real), run(stored)));
    return comparison.Finish();
  };
}

std::int64_t CountOf(const Model& model, ElementType type) {
  const auto& values = model.graph.values;
  return std::ranges::count_if(values, [type](const format::ValueInfo& info) {
    return info.type && info.type->elem_type == type;
  });
}

// 1 dB more than 8 bits give, for which 16 bits everywhere are too much.
TEST(QuantizeTo, WidensAsFewNodesAsAnErrorNeeds) {
  const Model model = Calibrated();
  const double eight = SqnrOf(model, Quantize(model, {})->model);
  const auto found =
      QuantizeTo(*ParseTarget(std::to_string(eight + 1) + "dB"), model, {}, JudgeOn(Samples()));
  ASSERT_TRUE(found.has_value()) << found.error().Text();
  EXPECT_TRUE(format::Check(found->quantized.model).empty());
  EXPECT_GE(SqnrOf(model, found->quantized.model), eight + 0.99);  // of the model as it was folded
  EXPECT_GT(CountOf(found->quantized.model, ElementType::kInt16Q), 0);
  EXPECT_GT(CountOf(found->quantized.model, ElementType::kInt8Q), 2);  // more than the weights
  // What is met already costs one model.
  const auto met = QuantizeTo(*ParseTarget("20dB"), model, {}, JudgeOn(Samples()));
  ASSERT_TRUE(met.has_value());
  EXPECT_EQ(met->tried, 1U);
  EXPECT_EQ(*met->quantized.model.Serialize(), *Quantize(model, {})->model.Serialize());
  // FLOAT gives more than any number of bits.
  const auto real = QuantizeTo(*ParseTarget("110dB"), model, {}, JudgeOn(Samples()));
  ASSERT_TRUE(real.has_value()) << real.error().Text();
  EXPECT_GE(SqnrOf(model, real->quantized.model), 109);
  EXPECT_GT(real->real, 0U);
}

// Two products of 64 x 64 weights: 8192 bytes as INT8, half of that as INT4 and 4 bytes for each of
// 256 scales of blocks in place of 128.
TEST(QuantizeTo, NarrowsAsFewWeightsAsASizeNeeds) {
  const Model model = Builder()
                          .Input("x", {1, 64})
                          .Constant("v", Floats({64, 64}, Waves(4096, 0.7)))
                          .Constant("w", Floats({64, 64}, Waves(4096, 1.3)))
                          .Add("MatMul", {"x", "v"}, "m", {1, 64})
                          .Add("MatMul", {"m", "w"}, "y", {1, 64})
                          .Output("y");
  Options options;
  options.settings.activations = *ParseActivations("float");
  const auto eight = static_cast<std::int64_t>(Quantize(model, options)->model.Serialize()->size());
  Target target;
  target.bytes = eight - 1000;
  const auto found = QuantizeTo(target, model, options, nullptr);
  ASSERT_TRUE(found.has_value()) << found.error().Text();
  EXPECT_EQ(found->narrow, 1U);
  EXPECT_LE(std::ssize(*found->quantized.model.Serialize()), *target.bytes);
  EXPECT_EQ(CountOf(found->quantized.model, ElementType::kInt4Q), 1);
  target.bytes = 4000;
  EXPECT_THAT(ErrorOf(QuantizeTo(target, model, options, nullptr)),
              HasSubstr("bytes with all weights in INT4, expected at most 4000"));
}

TEST(ParseTarget, TakesDecibelsAndBytes) {
  EXPECT_EQ(ParseTarget("30dB")->sqnr_db, 30);
  EXPECT_EQ(ParseTarget("1.5MB")->bytes, 1500000);
  EXPECT_EQ(ParseTarget("800kB")->bytes, 800000);
  EXPECT_EQ(ParseTarget("12B")->bytes, 12);
  for (const char* text : {"", "30", "dB", "-3dB", "0B", "nanB", "infdB", "1e30GB", "30 dB "})
    EXPECT_FALSE(ParseTarget(text).has_value()) << text;
}

TEST(ParseRules, SaysWhereAndWhatItExpected) {
  const auto error = [](const char* text) {
    const auto rules = ParseRules(text, "r.yaml");
    return rules.has_value() ? std::string() : rules.error().where + ": " + rules.error().message;
  };
  EXPECT_EQ(error("match: x"), "r.yaml:1: found a map, expected a list of rules");
  EXPECT_EQ(error("- match: {name: a}\n  colour: red"),
            "r.yaml:2: found 'colour', expected match, activations, weights, range, weight_range "
            "or float");
  EXPECT_EQ(error("- match: {node: a}"), "r.yaml:1: found 'node', expected name or op_type");
  EXPECT_EQ(error("- float: maybe"), "r.yaml:1: float: found 'maybe', expected true or false");
  EXPECT_EQ(error("- float: true\n  float: true"),
            "r.yaml:2: found 'float' twice, expected match, activations, weights, range, "
            "weight_range or float");
  EXPECT_THAT(error("- activations: int7"), HasSubstr("r.yaml:1: activations: found 'int7'"));
  EXPECT_THAT(error("- range: kl"), HasSubstr("r.yaml:1: range: found 'kl'"));
  EXPECT_THAT(error("- &a {float: true}\n- *a"), HasSubstr("r.yaml:2: found an alias"));
  EXPECT_THAT(error("- {"), HasSubstr("r.yaml:"));
  EXPECT_THAT(error(""), HasSubstr("expected a list of rules"));
}

TEST(ParseWeights, TakesWhatTheHelpSays) {
  const auto int4 = ParseWeights("int4:asymmetric:block=32");
  ASSERT_TRUE(int4.has_value());
  EXPECT_EQ(int4->type, (TypeSpec{ElementType::kInt4, Scheme::kAsymmetric, true}));
  EXPECT_EQ(int4->granularity, Granularity::kBlocks);
  EXPECT_EQ(int4->block, 32);
  EXPECT_EQ(ParseWeights("uint8")->type.scheme, Scheme::kAsymmetric);
  EXPECT_FALSE(ParseWeights("int8:full")->type.narrow);
  const auto mx = ParseWeights("mxfp8e4m3");
  ASSERT_TRUE(mx.has_value());
  EXPECT_EQ(mx->type.storage, ElementType::kFloat8E4M3FN);
  EXPECT_EQ(mx->block, 32);
  EXPECT_EQ(mx->scale_type, ScaleType::kFloat8E8M0);
  for (const char* text :
       {"", "int32", "int8:block=0", "int8:block=", "int8:block=4x", "mxfp4:full", "nvfp4:block=32",
        "float8e4m3fn:asymmetric", "float8e4m3fn:narrow", "block=4", "float:int8",
        "int16:symmetric_uint8", "int8:"})
    EXPECT_FALSE(ParseWeights(text).has_value()) << text;
}

}  // namespace
}  // namespace qtx::quantize::quantize_test
