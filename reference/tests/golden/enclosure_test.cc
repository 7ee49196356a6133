// The judge itself: radii by hand, and what they let through.
#include "tests/golden/enclosure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/golden/bounds.h"
#include "tests/golden/compare.h"
#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

using format::ElementType;
using format::Tensor;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr double kU = 0x1p-24;

Tensor Float(const format::Dims& dims, const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, dims);
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

format::Node MakeNode(const std::string& op, std::vector<std::string> inputs,
                      const std::string& output) {
  format::Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// Inputs a, b, ... and output y, all FLOAT.
format::Model ModelOf(std::vector<format::Node> nodes, std::size_t inputs) {
  const auto declare = [](const std::string& name) {
    format::ValueInfo info;
    info.name = name;
    info.type.emplace();
    info.type->elem_type = ElementType::kFloat;
    return info;
  };
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}};
  model.graph.nodes = std::move(nodes);
  for (std::size_t i = 0; i < inputs; ++i) {
    model.graph.inputs.push_back(declare(std::string(1, static_cast<char>('a' + i))));
  }
  model.graph.outputs = {declare("y")};
  return model;
}

Enclosed EncloseOne(const format::Model& model, const std::vector<Tensor>& inputs) {
  auto enclosed = Enclose(model, inputs);
  EXPECT_TRUE(enclosed.has_value()) << enclosed.error().where << ": " << enclosed.error().message;
  return enclosed.has_value() ? enclosed->front() : Enclosed{};
}

TEST(Enclose, WantsEveryBitOfOneOperation) {
  const auto model = ModelOf({MakeNode("Add", {"a", "b"}, "y")}, 2);
  EXPECT_THAT(EncloseOne(model, {Float({2}, {1, 2}), Float({2}, {3, 4})}).radius, IsEmpty());
}

// 3 products of magnitude 1: gamma_3 * 3, one unit of the result, which cancels to 1.
TEST(Enclose, TakesTheMagnitudesOfASum) {
  const auto model = ModelOf({MakeNode("MatMul", {"a", "b"}, "y")}, 2);
  const auto y = EncloseOne(model, {Float({1, 3}, {1, -1, 1}), Float({3, 1}, {1, 1, 1})});
  EXPECT_THAT(y.radius, Each(AllOf(Ge(9 * kU), Le(11 * kU))));
}

// A sum of radius r through Mul by 8: 8 r, less than an ulp of 24 rounded outward. Mul by itself
// moves twice.
TEST(Enclose, CarriesARadiusThroughTheNextNode) {
  const std::vector<Tensor> inputs = {Float({1, 3}, {1, 1, 1}), Float({3, 1}, {1, 1, 1}),
                                      Float({1, 1}, {8})};
  const format::Node sum = MakeNode("MatMul", {"a", "b"}, "s");
  const double r =
      EncloseOne(ModelOf({MakeNode("MatMul", {"a", "b"}, "y")}, 2), {inputs[0], inputs[1]})
          .radius[0];
  const auto scaled = EncloseOne(ModelOf({sum, MakeNode("Mul", {"s", "c"}, "y")}, 3), inputs);
  EXPECT_THAT(scaled.radius, Each(AllOf(Ge(8 * r), Le(8 * r + 0x1p-19))));
  const auto negative = EncloseOne(ModelOf({sum, MakeNode("Sub", {"c", "s"}, "y")}, 3), inputs);
  EXPECT_THAT(negative.radius, Each(AllOf(Ge(r), Le(2 * r))));
  const auto square =
      EncloseOne(ModelOf({sum, MakeNode("Mul", {"s", "s"}, "y")}, 2), {inputs[0], inputs[1]});
  EXPECT_THAT(square.radius, Each(AllOf(Ge(5.9 * r), Le(8 * r))));
}

TEST(Enclose, CarriesARadiusThroughASumOfProducts) {
  const std::vector<Tensor> inputs = {Float({1, 2}, {1, 1}), Float({2, 1}, {1, -1}),
                                      Float({1, 1}, {-5})};
  const auto y = EncloseOne(
      ModelOf({MakeNode("MatMul", {"a", "b"}, "s"), MakeNode("MatMul", {"s", "c"}, "y")}, 3),
      inputs);
  EXPECT_THAT(y.radius, Each(Ge(5 * 4 * kU)));  // s is 0 within gamma_2 * 2
}

TEST(Compare, LetsARadiusThroughAndNoMore) {
  const std::vector<Tensor> golden = {Float({1}, {1.0F})};
  const std::vector<Tensor> near = {Float({1}, {1.0F + 0x1p-22F})};
  const auto within = [&](std::vector<double> radius, double slack) {
    return Compare(near, golden, {{golden[0], std::move(radius)}}, slack).outcome;
  };
  EXPECT_EQ(within({0x1p-22}, 1), Outcome::kPass);
  EXPECT_EQ(within({0x1p-23}, 2), Outcome::kPass);
  EXPECT_EQ(within({0x1.8p-23}, 1), Outcome::kDiffers);
  EXPECT_EQ(within({}, 2), Outcome::kDiffers);
}

TEST(Compare, KnowsOneZeroAndOneNaN) {
  const std::vector<Tensor> a = {Float({2}, {0.0F, NAN})};
  EXPECT_EQ(Compare(a, {Float({2}, {-0.0F, -NAN})}, {{a[0], {}}}, 1).outcome, Outcome::kPass);
  EXPECT_EQ(Compare(a, {Float({2}, {0.0F, 1.0F})}, {{a[0], {9, 9}}}, 1).outcome, Outcome::kDiffers);
}

TEST(Compare, WantsTypesShapesAndCountsEqual) {
  const Tensor a = Float({2}, {1, 2});
  const std::vector<Enclosed> enclosed = {{a, {}}};
  EXPECT_EQ(Compare({a}, {Float({1, 2}, {1, 2})}, enclosed, 1).outcome, Outcome::kDiffers);
  EXPECT_EQ(Compare({a}, {a, a}, enclosed, 1).outcome, Outcome::kDiffers);
}

TEST(FromDoubles, RoundsOutward) {
  const Tensor like = Float({1}, {0});
  const double tenth = 0.1;
  EXPECT_GT(ToDoubles(FromDoubles(like, {tenth}, Toward::kPlusInfinity))[0], tenth);
  EXPECT_LT(ToDoubles(FromDoubles(like, {tenth}, Toward::kMinusInfinity))[0], tenth);
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBfloat16}) {
    const Tensor half = *format::MakeTensor(type, {1});
    for (const double value : {tenth, -tenth, 0x1p-40, -0x1p-40}) {
      const double up = ToDoubles(FromDoubles(half, {value}, Toward::kPlusInfinity))[0];
      const double down = ToDoubles(FromDoubles(half, {value}, Toward::kMinusInfinity))[0];
      EXPECT_LE(down, value);
      EXPECT_GE(up, value);
      EXPECT_LE(up - down, std::max(std::abs(value) * 0x1p-6, 0x1p-23));
    }
  }
}

TEST(Bounds, AreSorted) { EXPECT_TRUE(std::ranges::is_sorted(Bounds(), {}, &Bound::op_type)); }

}  // namespace
}  // namespace qtx::reference::golden
