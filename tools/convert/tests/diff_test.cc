#include "qtx/convert/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/qdq/maker.h"

namespace qtx::convert::diff_test {
namespace {

using format::ElementType;
using ::testing::HasSubstr;

format::Model Base() {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {3}, {1, 2, 3});
  auto& node = maker.Node("Add", {"x", "w"}, {"y"});
  node.attributes.push_back(format::Attribute::Int("axis", 1));
  return maker.model;
}

// The one difference there is, as text.
std::string Only(const format::Model& a, const format::Model& b) {
  const auto differences = Diff(a, b);
  if (!differences.has_value()) return differences.error().message;
  if (differences->size() != 1) return std::to_string(differences->size()) + " differences";
  const Difference& d = differences->front();
  return d.place + " " + d.field + ": " + d.a + " | " + d.b;
}

TEST(Diff, FindsNothingBetweenAModelAndItself) { EXPECT_TRUE(Diff(Base(), Base())->empty()); }

TEST(Diff, NamesTheFieldOfAType) {
  format::Model other = Base();
  other.graph.inputs[0].type->quantization->scale = {0.75F};
  EXPECT_EQ(Only(Base(), other), "value 'x' scale: [0x1p-1] | [0x1.8p-1]");
  other = Base();
  other.graph.outputs[0].type->statistics = format::Statistics{.min = {0}, .max = {1}};
  EXPECT_EQ(Only(Base(), other), "value 'y' statistics: none | present");
  other = Base();
  other.graph.outputs[0].type->quantization->quant_min = -127;
  EXPECT_EQ(Only(Base(), other), "value 'y' quant_min: none | -127");
}

TEST(Diff, NamesTheFieldOfANode) {
  format::Model other = Base();
  other.graph.nodes[0].attributes[0].i = 2;
  EXPECT_EQ(Only(Base(), other), "node 'y' attribute 'axis': 1 | 2");
  other = Base();
  other.graph.nodes[0].op_type = "Sub";
  EXPECT_EQ(Only(Base(), other), "node 'y' op_type: Add | Sub");
}

TEST(Diff, CountsTheElementsThatDifferAndSaysHowFar) {
  format::Model other = Base();
  OnnxMaker maker;
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {3}, {1, 4, -3});
  other.graph.initializers = maker.model.graph.initializers;
  EXPECT_EQ(Only(Base(), other),
            "initializer 'w' data: [1] = 2 | [1] = 4; 2 of 3 differ, by at most 6");
}

// The same INT32 elements in int32_data instead of raw_data are no difference.
TEST(Diff, LooksThroughTheCarrier) {
  format::Model a = Base(), b = Base();
  OnnxMaker maker;
  maker.Initializer<std::int32_t>("w", ElementType::kInt32, {2}, {1, 2});
  a.graph.initializers = maker.model.graph.initializers;
  // dims 2, data_type 6, int32_data packed 1 2, name.
  b.graph.initializers = {
      *format::ParseTensorData(std::string("\x08\x02\x10\x06\x2A\x02\x01\x02\x42\x01w", 11))};
  EXPECT_TRUE(Diff(a, b)->empty());
}

// Bits count: -0 is another element than 0, and a NaN is itself.
TEST(Diff, ComparesFloatsByTheirBits) {
  format::Model a = Base(), b = Base();
  OnnxMaker first, second;
  first.Initializer<float>("w", ElementType::kFloat, {2}, {0.0F, NAN});
  second.Initializer<float>("w", ElementType::kFloat, {2}, {-0.0F, NAN});
  a.graph.initializers = first.model.graph.initializers;
  b.graph.initializers = second.model.graph.initializers;
  EXPECT_THAT(Only(a, b), HasSubstr("1 of 2 differ, by at most 0"));
  a = b;
  for (format::Model* model : {&a, &b})
    model->graph.nodes[0].attributes = {format::Attribute::Float("alpha", NAN)};
  EXPECT_TRUE(Diff(a, b)->empty());
}

TEST(Diff, SaysWhatOnlyOneHas) {
  format::Model other = Base();
  other.graph.initializers.clear();
  EXPECT_EQ(Only(Base(), other), "initializer 'w' present: yes | no");
}

}  // namespace
}  // namespace qtx::convert::diff_test
