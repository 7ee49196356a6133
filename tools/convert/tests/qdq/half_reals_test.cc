// Quantized values whose reals are FLOAT16 or BFLOAT16: what lowering makes of them, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/attributes.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::half_reals_test {
namespace {

using format::ElementType;
using testing::HasSubstr;

// x -> Relu -> y, both INT8Q of `scale` with such reals.
format::Model Extended(ElementType real, float scale, std::int64_t opset = 17) {
  OnnxMaker maker(opset);
  maker.model.opset_imports.push_back({"qtx", 3});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 4}, {scale})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 4}, {scale})};
  for (auto* list : {&maker.model.graph.inputs, &maker.model.graph.outputs})
    (*list)[0].type->quantization->real_type = real;
  maker.Node("Relu", {"x"}, {"y"});
  return maker.model;
}

format::Model Lowered(const format::Model& model, std::int64_t opset = 0) {
  const auto lowered = ToQdq(model, {.opset = opset});
  EXPECT_TRUE(lowered.has_value())
      << (lowered.has_value() ? "" : lowered.error().where + ": " + lowered.error().message);
  return lowered.has_value() ? lowered->model : format::Model{};
}

std::int64_t IntOf(const format::Node& node, std::string_view name) {
  const format::Attribute* attribute = node.Find(name);
  return attribute == nullptr ? 0 : attribute->i;
}

// Source: lowering.S1, S3.
TEST(ToQdq, WritesScalesInTheTypeOfTheReals) {
  for (const ElementType real : {ElementType::kFloat16, ElementType::kBfloat16}) {
    const format::Model model = Extended(real, 0.5F);
    const format::Model lowered = Lowered(model);
    EXPECT_EQ(lowered.OpsetVersion(""), 19);
    EXPECT_EQ(lowered.graph.FindInitializer("x/scale")->data_type, real);
    EXPECT_EQ(lowered.graph.inputs[0].type->elem_type, real);
    EXPECT_TRUE(format::Check(lowered).empty());
    const auto lifted = FromOnnx(lowered);
    ASSERT_TRUE(lifted.has_value());
    EXPECT_TRUE(lifted->model == model);
  }
}

// 0.1 as a binary32 is no FLOAT16.  Source: lowering.S1, S3.
TEST(ToQdq, KeepsAScaleThatTheRealsHaveNot) {
  const format::Model model = Extended(ElementType::kFloat16, 0.1F);
  const format::Model lowered = Lowered(model);
  EXPECT_EQ(lowered.OpsetVersion(""), 23);
  EXPECT_EQ(lowered.graph.FindInitializer("x/scale")->data_type, ElementType::kFloat);
  EXPECT_EQ(IntOf(lowered.graph.nodes[1], "output_dtype"), 10);
  EXPECT_EQ(IntOf(lowered.graph.nodes[0], "precision"), 0);
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_TRUE(lifted->model == model);
  EXPECT_THAT(ToQdq(model, {.opset = 21}).error().message, HasSubstr("needs opset 23"));
}

// From opset 23 on a scale of 16 bits says that the quotient is rounded to them, too.
TEST(ToQdq, AsksForAQuotientInBinary32) {
  const format::Model lowered = Lowered(Extended(ElementType::kFloat16, 0.5F), 23);
  EXPECT_EQ(IntOf(lowered.graph.nodes[0], "precision"), 1);
  EXPECT_EQ(IntOf(lowered.graph.nodes[1], "output_dtype"), 0);
}

// FLOAT16 has 2047, and 20000 and 20016 as the nearest of 20001.  Source: lowering.S8.
TEST(ToQdq, RefusesABoundThatTheRealsHaveNot) {
  format::Model model = Extended(ElementType::kFloat16, 1.0F);
  format::TensorType& type = *model.graph.outputs[0].type;
  type.elem_type = ElementType::kInt16Q;
  type.quantization->quant_max = 2047;
  ASSERT_TRUE(ToQdq(model).has_value());
  type.quantization->quant_max = 20001;
  const auto refused = ToQdq(model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "value 'y'");
  EXPECT_THAT(refused.error().message, HasSubstr("quant_min or quant_max 20001"));
}

TEST(ToQdq, RefusesRealsOfTwoTypesBesideEachOther) {
  format::Model model = Extended(ElementType::kFloat16, 0.5F, 19);
  model.graph.outputs[0].type->quantization->real_type = ElementType::kBfloat16;
  const auto refused = ToQdq(model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("INT8Q of FLOAT16 reals"));
  EXPECT_THAT(refused.error().message, HasSubstr("INT8Q of BFLOAT16 reals"));
}

}  // namespace
}  // namespace qtx::convert::half_reals_test
