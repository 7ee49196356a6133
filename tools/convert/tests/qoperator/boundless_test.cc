// Scales that are infinite or NaN.
#include <cmath>
#include <limits>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::boundless_test {
namespace {

using format::ElementType;
using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ElementType kFloat = ElementType::kFloat;

// One input x, one output y, and scales of one infinite value, s, and of 0.5, t; zero points 3.
OnnxMaker With(ElementType in, ElementType out, float scale = kInfinity) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", in, {3})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", out, {3})};
  maker.Parameters("s", scale, 3);
  maker.Parameters("t", 0.5F, 3);
  return maker;
}

template <typename T>
std::vector<T> ValuesOf(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// x / infinity is 0.
TEST(Boundless, EveryIntegerIsTheZeroPoint) {
  OnnxMaker maker = With(kFloat, ElementType::kInt8);
  maker.Quantize("x", "s", "y");
  const Conversion made = LiftedWithLedger(maker.model);
  EXPECT_TRUE(HasLine(made, "y", "scale 's/scale' is inf"));
  const auto found = RunIn(made.model, "exact", {TensorOf<float>(kFloat, {3}, {1, -3e38F, 0})});
  EXPECT_THAT(ValuesOf<std::int8_t>(found), ElementsAre(3, 3, 3));
}

TEST(Boundless, NoRealIsFinite) {
  OnnxMaker maker = With(ElementType::kInt8, kFloat);
  maker.Dequantize("x", "s", "y");
  const auto found = RunIn(Lifted(maker.model), "exact",
                           {TensorOf<std::int8_t>(ElementType::kInt8, {3}, {4, 3, -128})});
  const auto values = ValuesOf<float>(found);
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0], kInfinity);
  EXPECT_TRUE(std::isnan(values[1]));  // 0 times infinity
  EXPECT_EQ(values[2], -kInfinity);
}

TEST(Boundless, ANaNIsOneToo) {
  OnnxMaker maker = With(kFloat, kFloat, std::numeric_limits<float>::quiet_NaN());
  maker.Quantize("x", "s", "q");
  maker.Dequantize("q", "s", "y");
  const auto found =
      RunIn(Lifted(maker.model), "float32", {TensorOf<float>(kFloat, {3}, {1, 2, 3})});
  for (const float value : ValuesOf<float>(found)) EXPECT_TRUE(std::isnan(value));
}

// ONNX Runtime 1.32 gives the same: the sum is NaN, or infinite, and the result has an infinite
// scale.
TEST(Boundless, AnOperatorOnIntegersIsOneOnReals) {
  OnnxMaker maker = With(ElementType::kInt8, ElementType::kInt8);
  maker.Node("QLinearAdd", {"x", "t/scale", "t/zp", "x", "s/scale", "s/zp", "s/scale", "s/zp"},
             {"y"});
  maker.model.graph.nodes.back().domain = "com.microsoft";
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(std::ranges::count(lifted.graph.nodes, "Add", &format::Node::op_type), 1);
  const auto found =
      RunIn(lifted, "exact", {TensorOf<std::int8_t>(ElementType::kInt8, {3}, {4, 3, -128})});
  EXPECT_THAT(ValuesOf<std::int8_t>(found), ElementsAre(3, 3, 3));
}

TEST(Boundless, RefusesOneAmongSeveral) {
  OnnxMaker maker = With(kFloat, ElementType::kInt8);
  maker.Initializer<float>("u/scale", kFloat, {3}, {1, kInfinity, 1});
  maker.Initializer<std::int8_t>("u/zp", ElementType::kInt8, {3}, {0, 0, 0});
  maker.Quantize("x", "u", "y");
  maker.model.graph.nodes.back().attributes = {format::Attribute::Int("axis", 0)};
  EXPECT_NE(Refusal(maker.model).find("found inf"), std::string::npos) << Refusal(maker.model);
}

}  // namespace
}  // namespace qtx::convert::boundless_test
