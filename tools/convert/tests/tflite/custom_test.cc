// Operators that only their author knows: they convert, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::custom_test {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;

class Custom : public testing::Test {
 protected:
  // x and an absent input to two outputs, the second without a shape; then Abs of the first.
  Custom() {
    const int x = maker.Tensor("x", {2, 3}, TensorType::FLOAT32);
    const int boxes = maker.Tensor("boxes", {4}, TensorType::FLOAT32);
    const int count = maker.Tensor("count", {}, TensorType::FLOAT32);
    const int y = maker.Tensor("y", {4}, TensorType::FLOAT32);
    maker.Operator(BuiltinOperator::CUSTOM, {x, -1}, {boxes, count});
    maker.model().operator_codes.back()->custom_code = "TFLite_Detection_PostProcess";
    maker.graph().operators.back()->custom_options = {7, 0, 255};
    maker.Operator(BuiltinOperator::ABS, {boxes}, {y});
    bytes = maker.Bytes({x}, {y, count});
  }
  TfliteMaker maker;
  std::string bytes;
};

TEST_F(Custom, IsANodeOfADomainOfItsOwnWithItsOptions) {
  const auto conversion = FromTflite(bytes);
  ASSERT_TRUE(conversion.has_value()) << conversion.error().where << conversion.error().message;
  const format::Model& model = conversion->model;
  EXPECT_THAT(format::Check(model), testing::IsEmpty());
  const format::Node& node = model.graph.nodes.at(0);
  EXPECT_EQ(node.op_type, "TFLite_Detection_PostProcess");
  EXPECT_EQ(node.domain, "tflite");
  EXPECT_EQ(model.OpsetVersion("tflite"), 1);
  EXPECT_THAT(node.inputs, ElementsAre("x", ""));
  EXPECT_EQ(node.StringOr("custom_options", ""), std::string("\7\0\377", 3));
  EXPECT_FALSE(model.graph.outputs.at(1).type->shape.has_value());
}

TEST_F(Custom, ComesBackAsItWas) {
  const auto conversion = FromTflite(bytes);
  ASSERT_TRUE(conversion.has_value());
  const auto written = ToTflite(conversion->model);
  ASSERT_TRUE(written.has_value()) << written.error().message;
  const auto& out = std::get<std::string>(written->content);
  const std::unique_ptr<schema::ModelT> file(schema::GetModel(out.data())->UnPack());
  const auto& op = *file->subgraphs[0]->operators.at(0);
  EXPECT_EQ(file->operator_codes.at(op.opcode_index)->custom_code, "TFLite_Detection_PostProcess");
  EXPECT_THAT(op.custom_options, ElementsAre(7, 0, 255));
  EXPECT_THAT(op.inputs, ElementsAre(0, -1));
}

// A tool that changed the graph: the file is made from the nodes, where all shapes are known.
TEST_F(Custom, IsWrittenFromItsNode) {
  auto conversion = FromTflite(bytes);
  ASSERT_TRUE(conversion.has_value());
  format::Model model = std::move(conversion->model);
  model.metadata.clear();
  EXPECT_FALSE(ToTflite(model).has_value());  // count has no shape
  model.graph.outputs.at(1).type->shape = format::ToShape(format::Dims{1});
  const auto written = ToTflite(model);
  ASSERT_TRUE(written.has_value()) << written.error().where << written.error().message;
  const auto& out = std::get<std::string>(written->content);
  const std::unique_ptr<schema::ModelT> file(schema::GetModel(out.data())->UnPack());
  const auto& op = *file->subgraphs[0]->operators.at(0);
  EXPECT_EQ(file->operator_codes.at(op.opcode_index)->custom_code, "TFLite_Detection_PostProcess");
  EXPECT_THAT(op.custom_options, ElementsAre(7, 0, 255));
  EXPECT_EQ(op.inputs.size(), 2U);
  EXPECT_EQ(op.outputs.size(), 2U);
}

TEST_F(Custom, WithoutANameIsRefused) {
  maker.model().operator_codes.front()->custom_code.clear();
  const auto conversion = FromTflite(maker.Bytes({0}, {3}));
  ASSERT_FALSE(conversion.has_value());
  EXPECT_THAT(conversion.error().where, testing::HasSubstr("custom_code"));
}

}  // namespace
}  // namespace qtx::convert::custom_test
