// Parameters as the two factors of FactorsOf: quantization.S6.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "qtx/format/levels.h"
#include "qtx/format/tensor.h"

namespace qtx::format::factors_test {
namespace {

// UINT4Q [1, 4] in blocks of two.
Model WithWeights(const Quantization& q) {
  Model model;
  model.graph.initializers.push_back(ToTensorData("w", *MakeTensor(ElementType::kUint4, {1, 4})));
  ValueInfo& info = model.graph.values.emplace_back();
  info.name = "w";
  info.type.emplace();
  info.type->elem_type = ElementType::kUint4Q;
  info.type->shape = ToShape(Dims{1, 4});
  info.type->quantization = q;
  info.type->quantization->axis = {0, 1};
  info.type->quantization->block_shape = {1, 2};
  return model;
}

Factors FactorsIn(const Quantization& q) {
  const Model model = WithWeights(q);
  auto factors = FactorsOf(ModelView(model), *model.graph.values[0].type, "w");
  EXPECT_TRUE(factors.has_value());
  return factors.has_value() ? *factors : Factors();
}

BlockFactors Each(std::vector<float> values) {
  BlockFactors level;
  level.value = std::move(values);
  return level;
}
BlockFactors ForAll(float value) {
  BlockFactors level = Each({value});
  level.block_shape = {1, 4};
  return level;
}

TEST(Factors, AreTheFirstLevelAndTheProductOfTheOthers) {
  Quantization q;
  q.scale_levels = {Each({3, 5}), ForAll(0.5F), ForAll(-0.25F)};
  q.base_levels = {Each({1, 2}), ForAll(-1)};
  const Factors factors = FactorsIn(q);
  EXPECT_EQ(factors.fine_scale, (std::vector<float>{3, 5}));
  EXPECT_EQ(factors.coarse_scale, (std::vector<float>{-0.125F, -0.125F}));
  EXPECT_EQ(factors.fine_base, (std::vector<float>{1, 2}));
  EXPECT_EQ(factors.coarse_base, (std::vector<float>{-1, -1}));
  EXPECT_EQ(factors.scale_levels, 3);
}

TEST(Factors, OfParametersWithoutLevelsAreThese) {
  Quantization q;
  q.scale = {0.5F, 2};
  const Factors factors = FactorsIn(q);
  EXPECT_EQ(factors.fine_scale, q.scale);
  EXPECT_EQ(factors.coarse_scale, (std::vector<float>{1, 1}));
  EXPECT_EQ(factors.fine_base, (std::vector<float>{0, 0}));
  EXPECT_EQ(factors.scale_levels, 1);
}

TEST(Factors, AreRefusedWithTheLevelsThatTheyAreOf) {
  Quantization q;
  q.scale_levels = {Each({3}), ForAll(0.5F)};
  const Model model = WithWeights(q);
  const auto factors = FactorsOf(ModelView(model), *model.graph.values[0].type, "w");
  ASSERT_FALSE(factors.has_value());
  EXPECT_EQ(factors.error().where, "quantization.scale_levels[0].value");
}

}  // namespace
}  // namespace qtx::format::factors_test
