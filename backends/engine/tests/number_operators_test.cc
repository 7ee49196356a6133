// Operators over numbers and intervals, each with an expectation derived by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "qtx/format/catalogue.h"
#include "support.h"

namespace qtx::backend::engine::number_operators_test {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;

constexpr ElementType kInt8Q = ElementType::kInt8Q;
using Stored = std::vector<std::int32_t>;

Stored StoredOf(const std::string& op, const std::vector<Argument>& arguments, const Tensor& output,
                std::vector<Attribute> attributes = {}) {
  return RunOneNode(PortableKernels(), op, arguments, output, std::move(attributes));
}

Tensor Make(format::Dims dims, float scale, std::int32_t offset, const Stored& stored) {
  return Quantized(kInt8Q, std::move(dims), {{scale, offset}}, stored);
}
Tensor Plain(ElementType type, format::Dims dims, const Stored& values) {
  Tensor tensor = *format::MakeTensor(type, std::move(dims));
  format::PackInt32(values, tensor);
  return tensor;
}
Tensor Reals(format::Dims dims, const std::vector<float>& values) {
  return Floats(std::move(dims), values);
}
Tensor Indices(format::Dims dims, const std::vector<std::int64_t>& values) {
  return Integers(std::move(dims), values);
}

// 5/2 and -5/2 are ties at a scale of 1, 7/2 too; x / 0 is an infinity: the end of the range.
TEST(Div, RoundsTheExactQuotientOnce) {
  const Tensor a = Make({4}, 1, 0, {5, -5, 7, 3});
  const Tensor b = Make({4}, 1, 0, {2, 2, 2, 0});
  EXPECT_EQ(StoredOf("Div", {{"a", a}, {"b", b}}, Make({4}, 1, 3, {})), (Stored{5, 1, 7, 127}));
}

TEST(Div, RefusesAnIntegerByZeroWhenItComes) {
  const Tensor a = Plain(ElementType::kInt32, {2}, {7, -7});
  EXPECT_EQ(StoredOf("Div", {{"a", a}, {"b", Plain(ElementType::kInt32, {1}, {2})}}, a),
            (Stored{3, -3}));
  const auto bad = ComputeOneNode(PortableKernels(), "Div",
                                  {{"a", a}, {"b", Plain(ElementType::kInt32, {1}, {0})}}, a);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
}

// 16^(3/4) = 8, 2^-1 = 1/2 is a tie of 1: to even 0; 3^5 = 243 wraps to -13 in int8.
TEST(Pow, IsExactWhereItIsRational) {
  const Tensor x = Make({2}, 1, 0, {16, 2});
  EXPECT_EQ(StoredOf("Pow", {{"x", x}, {"e", Reals({2}, {0.75F, -1})}}, Make({2}, 1, 0, {})),
            (Stored{8, 0}));
  const Tensor three = Plain(ElementType::kInt8, {1}, {3});
  EXPECT_EQ(StoredOf("Pow", {{"x", three}, {"e", Plain(ElementType::kInt8, {1}, {5})}}, three),
            (Stored{-13}));
}

// 3, 4: the root of 25 is 5, half of it a tie: 2; mean -1/2, a tie: 0; squares 25.
TEST(Reduce, RoundsOnce) {
  const Tensor x = Make({1, 2}, 1, 0, {3, -4});
  const Tensor axes = Indices({1}, {1});
  EXPECT_EQ(StoredOf("ReduceSum", {{"x", x}, {"axes", axes, true}}, Make({1, 1}, 1, 0, {})),
            (Stored{-1}));
  const std::vector<Argument> arguments{{"x", x}, {"axes", axes, true}};
  EXPECT_EQ(StoredOf("ReduceL2", arguments, Make({1, 1}, 2, 0, {})), (Stored{2}));
  EXPECT_EQ(StoredOf("ReduceMean", arguments, Make({1, 1}, 1, 0, {})), (Stored{0}));
  EXPECT_EQ(StoredOf("ReduceSumSquare", arguments, Make({1, 1}, 1, 0, {})), (Stored{25}));
  EXPECT_EQ(StoredOf("ReduceMin", arguments, Make({1, 1}, 1, 0, {})), (Stored{-4}));
}

// Both outputs, of other parameters each: 1 2 | 3 in steps of 1 and of 2 (3/2 is a tie: 2).
TEST(Split, GivesEveryOutputItsOwnParameters) {
  format::Model model =
      OneNode("Split", {{"x", Make({3}, 1, 0, {1, 2, 3})}, {"split", Indices({2}, {2, 1}), true}},
              Make({2}, 1, 0, {}));
  format::ValueInfo second = model.graph.outputs[0];
  second.name = "z";
  second.type->shape = format::ToShape(std::vector<std::int64_t>{1});
  second.type->quantization->scale = {2};
  model.graph.outputs.push_back(second);
  model.graph.nodes[0].outputs.push_back("z");
  const auto prepared = PrepareModel(model, PortableKernels());
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  const std::array inputs{Make({3}, 1, 0, {1, 2, 3})};
  const auto outputs = (*prepared)->Run(inputs);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_EQ(format::UnpackInt32((*outputs)[0]), (Stored{1, 2}));
  EXPECT_EQ(format::UnpackInt32((*outputs)[1]), (Stored{2}));
}

TEST(Gather, RefusesAnIndexWhenItComes) {
  const Tensor data = Make({3}, 1, 0, {10, 20, 30});
  const Tensor y = Make({2}, 1, 0, {});
  EXPECT_EQ(StoredOf("Gather", {{"d", data}, {"i", Indices({2}, {-1, 0})}}, y), (Stored{30, 10}));
  const auto bad =
      ComputeOneNode(PortableKernels(), "Gather", {{"d", data}, {"i", Indices({2}, {3, 0})}}, y);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(bad.error().clause, "gather.C4");
}

// x - mean = -1, 1; variance 1; without epsilon the root is rational and -1 * 2.5 = -2.5 a tie: -2.
TEST(LayerNormalization, IsATieWhereTheRootIsRational) {
  const Tensor x = Make({1, 2}, 1, 0, {1, 3});
  const Tensor gain = Reals({2}, {2.5F, 3.5F});
  EXPECT_EQ(StoredOf("LayerNormalization", {{"x", x}, {"g", gain, true}}, Make({1, 2}, 1, 0, {}),
                     {Attribute::Float("epsilon", 0)}),
            (Stored{-2, 4}));
}

// By estimates as by numbers, which compute all where the mean is asked for, too; a mean far from
// zero takes the estimate's bits.
TEST(LayerNormalization, RoundsAlikeByEstimatesAndByNumbers) {
  for (const float shift : {0.0F, 1000.0F, 0x1p26F}) {
    std::vector<float> elements;
    std::vector<float> gains;
    for (int i = 0; i < 7 * 24; ++i) {
      elements.push_back(std::sin(static_cast<float>(i * i)) + shift);
    }
    for (int i = 0; i < 24; ++i) gains.push_back(std::cos(static_cast<float>(i)) * 40);
    const Tensor x = Reals({7, 24}, elements);
    const Tensor y = Make({7, 24}, 0.25F, 3, {});
    const std::vector<Argument> arguments{
        {"x", x}, {"g", Reals({24}, gains), true}, {"b", Reals({24}, gains), true}};
    const Stored estimated = StoredOf("LayerNormalization", arguments, y);
    format::Model model = OneNode("LayerNormalization", arguments, y);
    model.graph.nodes[0].outputs.emplace_back("mean");
    auto prepared = PrepareModel(model, PortableKernels());
    ASSERT_TRUE(prepared.has_value());
    const auto computed = (*prepared)->Run(std::array{x});
    ASSERT_TRUE(computed.has_value());
    EXPECT_EQ(estimated, format::UnpackInt32((*computed)[0])) << shift;
  }
}

// FLOATs that come again are computed once; -0 and NaN among them.
TEST(Erf, OfFloatsThatComeAgain) {
  std::vector<float> x;
  Stored expected;
  for (int i = 0; i < 600; ++i) {
    const std::array<float, 6> each{0.5F, -0.0F, NAN, INFINITY, -0.5F, 0.0F};
    x.push_back(each[static_cast<std::size_t>(i % 6)]);
    // erf(1/2) = 0.520499877..: 66.62 of 2^-7.
    expected.push_back(std::array{67, 0, 0, 127, -67, 0}[static_cast<std::size_t>(i % 6)]);
  }
  EXPECT_EQ(StoredOf("Erf", {{"x", Reals({600}, x)}}, Make({600}, 0x1p-7F, 0, {})), expected);
}

// Without weights every gate is 1/2 and the candidate 0: c' = c / 2, h' = tanh(c / 2) / 2.
// c = 2: tanh(1) / 2 = 0.38079707797788..: 48.74 of 2^-7; c = 0 is exactly 0.
TEST(Lstm, KeepsStatesUnrounded) {
  const Tensor nothing = Reals({1, 4, 1}, {0, 0, 0, 0});
  const Tensor state = Reals({1, 2, 1}, {0, 0});
  const Stored y = StoredOf("LSTM",
                            {{"x", Reals({1, 2, 1}, {1, 1})},
                             {"w", nothing, true},
                             {"r", nothing, true},
                             {""},
                             {""},
                             {"h", state},
                             {"c", Reals({1, 2, 1}, {2, 0})}},
                            Make({1, 1, 2, 1}, 0x1p-7F, 0, {}));
  EXPECT_EQ(y, (Stored{49, 0}));
}

// One key has all the share: y is its value, 5/2 a tie of 1.
TEST(Attention, GivesTheOnlyValueExactly) {
  const Tensor q = Reals({1, 1, 1, 3}, {1, 2, 3});
  const Tensor v = Reals({1, 1, 1, 2}, {2.5F, 3.5F});
  EXPECT_EQ(StoredOf("Attention", {{"q", q}, {"k", q}, {"v", v}}, Make({1, 1, 1, 2}, 1, 0, {})),
            (Stored{2, 4}));
}

// Sums of 3 * 2 and of 1 * 2 + 3 * 4 where two windows meet.
TEST(ConvTranspose, SumsWhatReachesAPosition) {
  const Tensor x = Make({1, 1, 2}, 1, 0, {3, 1});
  const Tensor w = Make({1, 1, 2}, 1, 0, {2, 4});
  EXPECT_EQ(StoredOf("ConvTranspose", {{"x", x}, {"w", w, true}}, Make({1, 1, 3}, 1, 0, {})),
            (Stored{6, 14, 4}));
}

// (20 - 10)/2 * (7 - 6)/4 + 3/8 = 13/8, in steps of 1/4: 6.5, to even 6, plus 1.
TEST(QLinearConv, AddsTheBiasInUnitsOfTheAccumulator) {
  const auto byte = [](int value) { return Plain(ElementType::kUint8, {}, {value}); };
  const auto scale = [](float value) { return Reals({}, {value}); };
  for (const bool constant : {false, true}) {
    const Stored y = StoredOf("QLinearConv",
                              {{"x", Plain(ElementType::kUint8, {1, 1, 1}, {20})},
                               {"xs", scale(0.5F), constant},
                               {"xz", byte(10), constant},
                               {"w", Plain(ElementType::kUint8, {1, 1, 1}, {7}), constant},
                               {"ws", scale(0.25F), constant},
                               {"wz", byte(6), constant},
                               {"ys", scale(0.25F), constant},
                               {"yz", byte(1), constant},
                               {"b", Plain(ElementType::kInt32, {1}, {3}), constant}},
                              Plain(ElementType::kUint8, {1, 1, 1}, {0}));
    EXPECT_EQ(y, (Stored{7})) << constant;
  }
}

int tiles_run = 0;

// The portable table, but for tiles that only count how often they are asked.
Kernels CountingKernels() {
  Kernels kernels = PortableKernels();
  for (auto& tiles : kernels.bytes.tile) {
    for (auto& tile : tiles) {
      if (tile == nullptr) continue;
      tile = [](const Tile<std::uint8_t, std::int8_t>& t) {
        ++tiles_run;
        *t.sums = *t.initial;
      };
    }
  }
  return kernels;
}

// Inputs of a QLinear or Integer operator on [1, 1, 2] by [1, 1, 2] or [1, 2] by [2, 1].
std::vector<Argument> IntegerArguments(const std::string& op) {
  const format::Dims left =
      op.find("Conv") != std::string::npos ? format::Dims{1, 1, 2} : format::Dims{1, 2};
  const format::Dims right = left.size() == 3 ? left : format::Dims{2, 1};
  const Tensor a = Plain(ElementType::kUint8, left, {3, 5});
  const Tensor b = Plain(ElementType::kInt8, right, {2, -1});
  const Tensor scale = Reals({}, {0.5F});
  const Tensor zero = Plain(ElementType::kUint8, {}, {1});
  const Tensor signed_zero = Plain(ElementType::kInt8, {}, {1});
  if (!op.starts_with("QLinear")) {
    return {{"a", a}, {"b", b, true}, {"az", zero, true}, {"bz", signed_zero, true}};
  }
  return {{"a", a},
          {"as", scale, true},
          {"az", zero, true},
          {"b", b, true},
          {"bs", scale, true},
          {"bz", signed_zero, true},
          {"ys", scale, true},
          {"yz", zero, true}};
}

// With constant parameters; the general path is a hundred times slower.
TEST(IntegerOperators, ReachTheKernels) {
  const Kernels kernels = CountingKernels();
  for (const char* op : {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}) {
    const bool quantized = std::string_view(op).starts_with("QLinear");
    const bool is_conv = std::string_view(op).find("Conv") != std::string_view::npos;
    const Tensor y = Plain(quantized ? ElementType::kUint8 : ElementType::kInt32,
                           is_conv ? format::Dims{1, 1, 1} : format::Dims{1, 1}, {0});
    tiles_run = 0;
    ASSERT_TRUE(ComputeOneNode(kernels, op, IntegerArguments(op), y).has_value()) << op;
    EXPECT_GT(tiles_run, 0) << op;
  }
}

// Models that ONNX allows: what the engine cannot do is no fault of theirs.
TEST(PrepareModel, DeclinesWhatOnlyItCannotDo) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 24) + 1;
  const Tensor x = Make({1, 1, 1}, 1, 0, {1});
  const auto code = [&](const char* op, const std::vector<Attribute>& attributes) {
    std::vector<Argument> arguments = {{"x", x}};
    if (std::string_view(op).starts_with("Conv")) arguments.push_back({"w", x, true});
    const auto result = ComputeOneNode(PortableKernels(), op, arguments, x, attributes);
    return result.has_value() ? ErrorCode::kIo : result.error().code;
  };
  for (const char* attribute : {"strides", "dilations"}) {
    for (const char* op : {"Conv", "ConvTranspose"}) {
      EXPECT_EQ(code(op, {Attribute::Ints(attribute, {kLarge})}), ErrorCode::kUnsupported) << op;
    }
    for (const char* op : {"MaxPool", "AveragePool"}) {
      const std::vector<Attribute> attributes = {Attribute::Ints("kernel_shape", {1}),
                                                 Attribute::Ints(attribute, {kLarge})};
      EXPECT_EQ(code(op, attributes), ErrorCode::kUnsupported) << op;
    }
  }
  const std::vector<Attribute> wide = {Attribute::Ints("kernel_shape", {kLarge}),
                                       Attribute::Ints("pads", {kLarge - 1, 0})};
  EXPECT_EQ(code("MaxPool", wide), ErrorCode::kUnsupported);
}

// Before anything is computed.
TEST(PrepareModel, DeclinesAttributesThatItDoesNotCompute) {
  const auto code = [](const char* op, const std::vector<Argument>& arguments, const Tensor& y,
                       std::vector<Attribute> attributes) {
    const auto prepared =
        PrepareModel(OneNode(op, arguments, y, std::move(attributes)), PortableKernels());
    return prepared.has_value() ? ErrorCode::kIo : prepared.error().code;
  };
  const Tensor x = Make({1, 1, 1}, 1, 0, {1});
  const Tensor one = Floats({1}, std::vector<float>{1});
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    EXPECT_EQ(code(op, {{"x", x}, {"gain", one}}, x, {Attribute::Int("stash_type", 10)}),
              ErrorCode::kUnsupported);
  }
  const Tensor states = Make({1, 1, 1, 1}, 1, 0, {});
  const auto recurrent = [&](const char* op, std::int64_t gates, std::vector<std::string> names) {
    const Tensor w = *format::MakeTensor(format::ElementType::kFloat, {1, gates, 1});
    Attribute activations{.name = "activations", .type = format::AttributeType::kStrings};
    activations.strings = std::move(names);
    return code(op, {{"x", x}, {"w", w, true}, {"r", w, true}}, states,
                {Attribute::Int("hidden_size", 1), activations});
  };
  EXPECT_EQ(recurrent("LSTM", 4, {"Sigmoid", "Tanh", "Elu"}), ErrorCode::kUnsupported);
  EXPECT_EQ(recurrent("GRU", 3, {"Sigmoid", "Elu"}), ErrorCode::kUnsupported);
  EXPECT_EQ(recurrent("GRU", 3, {"Sigmoid", "Tanh"}), ErrorCode::kIo);  // no error
}

// The engine's own attribute means nothing in a file.
TEST(PrepareModel, RefusesAttributesOfNestedModels) {
  const Tensor x = Make({1, 1, 1}, 1, 0, {1});
  const auto refused = ComputeOneNode(PortableKernels(), "Conv", {{"x", x}, {"w", x, true}}, x,
                                      {Attribute::Float("bias_factor", 2)});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().clause, "graph.C6");
}

// NodePlan::Check is what their preparation relies on.
TEST(SupportedOperators, HaveARowInTheCatalogue) {
  for (const std::string_view op_type : SupportedOperators()) {
    EXPECT_TRUE(format::FindSchema("", op_type) != nullptr ||
                format::FindSchema("com.microsoft", op_type) != nullptr)
        << op_type;
  }
}

// Whether the model is checked or planned: what Shape gives is known then.
TEST(PrepareModel, HoldsShapesThatItComputesToTheClauses) {
  const Tensor x = Make({2, 3}, 1, 0, {1, 2, 3, 4, 5, 6});
  format::Model model =
      OneNode("Gemm", {{"a", x}, {"b", Make({1, 1}, 1, 0, {1})}}, Make({2, 3}, 1, 0, {}));
  format::Node shape{.op_type = "Shape", .inputs = {"a"}, .outputs = {"shape"}};
  format::Node expand{.op_type = "Expand", .inputs = {"b", "shape"}, .outputs = {"wide"}};
  model.graph.nodes[0].inputs[1] = "wide";
  model.graph.nodes.insert(model.graph.nodes.begin(), {shape, expand});
  format::ValueInfo wide = model.graph.inputs[1];
  wide.name = "wide";
  wide.type->shape.reset();
  model.graph.values.push_back(wide);
  const auto refused = PrepareModel(model, PortableKernels());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().clause, "gemm.C3");
}

}  // namespace
}  // namespace qtx::backend::engine::number_operators_test
