#include "peer/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "peer/linear.h"
#include "peer/tests/support.h"
#include "peer/window.h"

namespace qtx::backend::peer {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;
using testing::FloatEq;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Seen {
  std::string op, output;
  Bounds bounds;
};

std::vector<Seen> NodesOf(const format::Model& model) {
  std::vector<Seen> seen;
  auto graph = Graph::Read(model);
  EXPECT_TRUE(graph.has_value());
  const auto done = (*graph)->ForEachNode([&](const Reader& node) -> Result<void> {
    seen.push_back({node.op(), node.node().outputs[0], node.bounds()});
    return {};
  });
  EXPECT_TRUE(done.has_value());
  return seen;
}

// x -> Add -> t -> Clip to 0 .. 6 -> y
format::Model AddThenClip() {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {2});
  AddConstant(model, "low", Floats({}, {0}));
  AddConstant(model, "high", Floats({}, {6}));
  AddNode(model, "Add", {"x", "x"}, "t");
  AddNode(model, "Clip", {"t", "low", "high"}, "y");
  AddOutput(model, "y", ElementType::kFloat, {2});
  return model;
}

TEST(GraphTest, JoinsAClipToTheNodeThatItAloneReads) {
  const auto nodes = NodesOf(AddThenClip());
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].op, "Add");
  EXPECT_EQ(nodes[0].output, "y");
  EXPECT_EQ(nodes[0].bounds.low, 0);
  EXPECT_EQ(nodes[0].bounds.high, 6);
}

TEST(GraphTest, LeavesAClipAloneWhoseInputSomebodyElseReads) {
  format::Model model = AddThenClip();
  AddOutput(model, "t", ElementType::kFloat, {2});
  const auto nodes = NodesOf(model);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_FALSE(nodes[0].bounds.any());
  EXPECT_EQ(nodes[1].bounds.high, 6);
}

// Rounding to t's scale first and to y's second is not rounding once.
TEST(GraphTest, LeavesARequantizingReluAlone) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kInt8Q, {2}, {.scale = {1}});
  AddNode(model, "Add", {"x", "x"}, "t");
  AddValue(model, "t", ElementType::kInt8Q, {2}, {.scale = {2}});
  AddNode(model, "Relu", {"t"}, "y");
  AddOutput(model, "y", ElementType::kInt8Q, {2}, {.scale = {3}});
  EXPECT_EQ(NodesOf(model).size(), 2U);
}

TEST(GraphTest, RefusesWhatTheFormatRefuses) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kInt8Q, {2}, {.scale = {-1}});
  AddNode(model, "Relu", {"x"}, "y");
  AddOutput(model, "y", ElementType::kInt8Q, {2}, {.scale = {1}});
  const auto graph = Graph::Read(model);
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalid);
}

// 0 is stored 3; 6 / 0.5 = 12, plus 3; 6.2 / 0.5 = 12.4 is nearest to 12; 1000 is past the range.
TEST(StoredBoundsTest, AreTheNearestStoredValuesInRange) {
  Value y;
  y.tensor.elem_type = ElementType::kInt8Q;
  y.tensor.quantization = {.scale = {0.5F}, .offset = {3}, .quant_max = 100};
  EXPECT_EQ(StoredBounds(y, {0, 6}), (format::IntegerRange{3, 15}));
  EXPECT_EQ(StoredBounds(y, {-kInfinity, 6.2F}), (format::IntegerRange{-128, 15}));
  EXPECT_EQ(StoredBounds(y, {0, 1000}), (format::IntegerRange{3, 100}));
}

// x has scale 0.5, the two channels of w 0.25 and 0.5: products 0.125 and 0.25.
Result<Linear> LinearWithBias(const format::Tensor& bias) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kUint8Q, {1, 1}, {.scale = {0.5F}, .offset = {7}});
  AddConstant(model, "w",
              Stored(ElementType::kInt8Q, {2, 1}, {1, 1}, {.scale = {0.25F, 0.5F}, .axis = {0}}));
  AddConstant(model, "b", bias);
  AddNode(model, "Gemm", {"x", "w", "b"}, "y", {Attribute::Int("transB", 1)});
  AddOutput(model, "y", ElementType::kInt8Q, {1, 2}, {.scale = {4}});
  Result<Linear> linear = Error{};
  auto graph = Graph::Read(model);
  EXPECT_TRUE(graph.has_value());
  const auto done = (*graph)->ForEachNode([&](const Reader& node) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(const Value* y, node.Output({1, 2}));
    linear = LinearOf(node, **node.Input(0), **node.Input(1), *node.Input(2), *y, 0);
    return {};
  });
  EXPECT_TRUE(done.has_value());
  return linear;
}

TEST(LinearTest, TakesABiasOfTheProductOfScalesAsItIs) {
  const auto linear = LinearWithBias(
      Stored(ElementType::kInt32Q, {2}, {9, -9}, {.scale = {0.125F, 0.25F}, .axis = {0}}));
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->bias, ElementsAre(9, -9));
  EXPECT_TRUE(linear->real_bias.empty());
  EXPECT_THAT(linear->scales, ElementsAre(0.03125F, 0.0625F));
}

// 3 * 0.5 is 12 of 0.125, 6 of 0.25.
TEST(LinearTest, BringsABiasOfAnotherScaleToTheProduct) {
  const auto linear = LinearWithBias(Stored(ElementType::kInt32Q, {2}, {3, 3}, {.scale = {0.5F}}));
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->bias, ElementsAre(12, 6));
}

// 0.3 / 0.125 = 2.4; 0.375 / 0.25 = 1.5, a tie, to even 2.
TEST(LinearTest, RoundsAFloatBiasAndKeepsItsRealValue) {
  const auto linear = LinearWithBias(Floats({2}, {0.3F, 0.375F}));
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->bias, ElementsAre(2, 2));
  EXPECT_THAT(linear->real_bias, ElementsAre(FloatEq(2.4F), 1.5F));
}

TEST(LinearTest, DeclinesABiasBeyond32Bits) {
  const auto linear = LinearWithBias(Floats({2}, {1e30F, 0}));
  ASSERT_FALSE(linear.has_value());
  EXPECT_EQ(linear.error().code, ErrorCode::kUnsupported);
}

Result<Window> PoolWindow(std::vector<Attribute> attributes) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {1, 1, 5});
  AddNode(model, "MaxPool", {"x"}, "y", std::move(attributes));
  Result<Window> window = Error{};
  const auto graph = Graph::Read(model);
  if (!graph.has_value()) return graph.error();
  const auto done = (*graph)->ForEachNode([&](const Reader& node) -> Result<void> {
    const std::vector<std::int64_t> in = {5};
    window = WindowOf(node, in, {});
    return {};
  });
  EXPECT_TRUE(done.has_value());
  return window;
}

// Windows of 2 at 0, 2 and, with ceil_mode, 4: that one reaches one past the input.
TEST(WindowTest, PadsAsFarAsTheLastWindowReaches) {
  const auto kernel = Attribute::Ints("kernel_shape", {2});
  const auto strides = Attribute::Ints("strides", {2});
  const auto floor = PoolWindow({kernel, strides});
  ASSERT_TRUE(floor.has_value());
  EXPECT_THAT(floor->out, ElementsAre(2));
  EXPECT_THAT(floor->pads_end, ElementsAre(-1));
  EXPECT_FALSE(floor->padded());
  const auto ceil = PoolWindow({kernel, strides, Attribute::Int("ceil_mode", 1)});
  ASSERT_TRUE(ceil.has_value());
  EXPECT_THAT(ceil->out, ElementsAre(3));
  EXPECT_THAT(ceil->pads_end, ElementsAre(1));
  EXPECT_TRUE(ceil->cut);
}

// ONNX allows them: that they are too large is no fault of the model's.
TEST(WindowTest, DeclinesLargeAttributes) {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLong = (std::int64_t{1} << 24) + 1;
  const auto code = [](const Attribute& kernel, const Attribute& other) {
    const auto window = PoolWindow({kernel, other});
    return window.has_value() ? ErrorCode::kIo : window.error().code;
  };
  const auto one = Attribute::Ints("kernel_shape", {1});
  for (const auto& large :
       {Attribute::Ints("dilations", {kHuge}), Attribute::Ints("strides", {kHuge})}) {
    EXPECT_EQ(code(one, large), ErrorCode::kUnsupported) << large.name;
  }
  EXPECT_EQ(code(Attribute::Ints("kernel_shape", {kLong}), Attribute::Ints("pads", {kLong - 1, 0})),
            ErrorCode::kUnsupported);
}

TEST(WindowTest, RefusesHostileAttributesByTheirClause) {
  const auto kernel = Attribute::Ints("kernel_shape", {2});
  for (const auto& wrong :
       {Attribute::Ints("strides", {0}), Attribute::Ints("pads", {-1, 0}),
        Attribute::Ints("strides", {1, 1}), Attribute::String("auto_pad", "SAME")}) {
    const auto window = PoolWindow({kernel, wrong});
    ASSERT_FALSE(window.has_value()) << wrong.name;
    EXPECT_TRUE(window.error().clause.starts_with("max_pool.C")) << window.error().clause;
  }
  EXPECT_FALSE(PoolWindow({Attribute::Ints("kernel_shape", {6})}).has_value());
}

}  // namespace
}  // namespace qtx::backend::peer
