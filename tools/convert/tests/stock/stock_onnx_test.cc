// Lowered networks pass the checker and the shape inference of ONNX's own library.
#include <gtest/gtest.h>

#define ONNX_API
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include "qtx/convert/convert.h"
#include "tests/networks.h"

namespace qtx::convert {
namespace {

class StockOnnx : public testing::TestWithParam<std::string> {};

TEST_P(StockOnnx, AcceptsTheLoweredNetwork) {
  const auto extended = FromTflite(*ReadNetwork(GetParam()));
  ASSERT_TRUE(extended.has_value());
  const auto lowered = ToQdq(extended->model);
  ASSERT_TRUE(lowered.has_value());
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*lowered->model.Serialize()));
  EXPECT_NO_THROW(onnx::checker::check_model(model));
  const onnx::ShapeInferenceOptions strict{/*check_type=*/true, /*strict_mode=*/1,
                                           /*data_prop=*/true};
  EXPECT_NO_THROW(
      onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict));
  // The annotations are unknown fields to it, and survive the inference.
  const auto read = format::Model::Parse(model.SerializeAsString());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->graph.outputs[0].type->quantization,
            lowered->model.graph.outputs[0].type->quantization);
}

INSTANTIATE_TEST_SUITE_P(Corpus, StockOnnx, testing::ValuesIn(Networks()),
                         [](const auto& network) { return TestName(network.param); });

}  // namespace
}  // namespace qtx::convert
