#include <gtest/gtest.h>

#include <string>

#include "qtx/bench/workload.h"

namespace qtx::bench {
namespace {

using format::ElementType;

format::ValueInfo Info(const std::string& name, float scale, std::int32_t offset,
                       const format::Dims& dims) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = ElementType::kInt8Q;
  info.type->shape = format::ToShape(dims);
  info.type->quantization.emplace();
  info.type->quantization->scale = {scale};
  info.type->quantization->offset = {offset};
  return info;
}

// y = x + w, where w is stored as 5, -2 at scale 0.5 and offset 3.
format::Model Sum(float scale, std::int32_t offset) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}, {"qtx", 1, ""}};
  model.graph.inputs = {Info("x", 1, 0, {2})};
  model.graph.outputs = {Info("y", scale, offset, {2})};
  model.graph.values = {Info("w", 0.5F, 3, {2})};
  format::Tensor stored = *format::MakeTensor(ElementType::kInt8, {2});
  stored.As<std::int8_t>()[0] = 5;
  stored.As<std::int8_t>()[1] = -2;
  model.graph.initializers = {format::ToTensorData("w", stored)};
  format::Node node;
  node.op_type = "Add";
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  model.graph.nodes = {node};
  return model;
}

TEST(FloatTwin, HasTheRealsOfConstants) {
  const auto twin = FloatTwin(Sum(1, 0));
  ASSERT_TRUE(twin.has_value());
  const auto w = format::LoadInitializer(*twin, "w");
  ASSERT_EQ(w->elem_type, ElementType::kFloat);
  EXPECT_EQ(w->As<float>()[0], 1.0F);   // 0.5 * (5 - 3)
  EXPECT_EQ(w->As<float>()[1], -2.5F);  // 0.5 * (-2 - 3)
  EXPECT_EQ(twin->graph.inputs[0].type->elem_type, ElementType::kFloat);
  EXPECT_FALSE(twin->graph.outputs[0].type->quantization.has_value());
  EXPECT_EQ(twin->OpsetVersion("qtx"), 0);  // stock readers need not know it
  EXPECT_EQ(twin->graph.nodes.size(), 1U);
}

// -128 is real zero: what is below it is clamped, which a float needs a Relu for.
TEST(FloatTwin, HasAReluForARangeThatBeginsAtZero) {
  const auto twin = FloatTwin(Sum(1, -128));
  ASSERT_EQ(twin->graph.nodes.size(), 2U);
  EXPECT_EQ(twin->graph.nodes[1].op_type, "Relu");
  EXPECT_EQ(twin->graph.nodes[1].inputs[0], twin->graph.nodes[0].outputs[0]);
  EXPECT_EQ(twin->graph.nodes[1].outputs[0], "y");
}

// 255 steps of 6/255.
TEST(FloatTwin, HasAClipForARangeFromZeroToSix) {
  const auto twin = FloatTwin(Sum(6.0F / 255, -128));
  ASSERT_EQ(twin->graph.nodes.size(), 2U);
  ASSERT_EQ(twin->graph.nodes[1].op_type, "Clip");
  EXPECT_EQ(format::LoadInitializer(*twin, twin->graph.nodes[1].inputs[2])->As<float>()[0], 6.0F);
}

TEST(FloatTwin, NamesTheNodeThatHasNone) {
  format::Model model = Sum(1, 0);
  model.graph.nodes[0].op_type = "QLinearAdd";
  model.graph.nodes[0].name = "sum";
  const auto twin = FloatTwin(model);
  ASSERT_FALSE(twin.has_value());
  EXPECT_EQ(twin.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(twin.error().where, "node 'sum'");
}

TEST(FloatTwin, IsNotMadeOfAFloatModel) {
  const auto twin = FloatTwin(Sum(1, 0));
  EXPECT_FALSE(IsFloat(Sum(1, 0)));
  EXPECT_TRUE(IsFloat(*twin));
  EXPECT_EQ(FloatTwin(*twin).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace qtx::bench
