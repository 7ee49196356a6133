// Errors between two models, computed by hand.
#include "qtx/quantize/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Tensor;

Tensor Floats(const std::vector<float>& values) {
  Tensor tensor =
      *format::MakeTensor(ElementType::kFloat, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

Tensor Stored(const std::vector<std::int32_t>& values) {
  Tensor tensor =
      *format::MakeTensor(ElementType::kInt8Q, {static_cast<std::int64_t>(values.size())},
                          format::Quantization{.scale = {0.5F}, .offset = {10}, .quant_max = 20});
  format::PackInt32(values, tensor);
  return tensor;
}

// A node whose output y is x, in INT8Q.
Quantized OneNode() {
  Quantized quantized;
  format::TensorType type{ElementType::kFloat};
  type.shape = format::ToShape(format::Dims{4});
  quantized.real.graph.inputs = {{.name = "x", .type = type}};
  quantized.model.graph.inputs = quantized.real.graph.inputs;
  quantized.model.graph.outputs = {{.name = "y", .type = type}};
  format::Node node;
  node.name = "n";
  node.op_type = "Relu";
  node.inputs = {"x"};
  node.outputs = {"y/quantized"};
  quantized.model.graph.nodes = {node};
  quantized.sources["y/quantized"] = {"y", {}};
  return quantized;
}

// Real 1, -2, 0.25, 6; stored 12, 6, 10, 20 at scale 0.5 and offset 10: 1, -2, 0, 5.
// errors 0, 0, -0.25, -1: noise 1.0625, signal 1 + 4 + 0.0625 + 36 = 41.0625, products 1 + 4 + 30,
// stored 1 + 4 + 25; 6 lies 2 LSB beyond the largest, 20; the mean error is -1.25 / 4.
TEST(Comparison, MeasuresWhatTheDefinitionsSay) {
  const Quantized quantized = OneNode();
  Comparison comparison(quantized);
  const Tensor x = Floats({0, 0, 0, 0});
  const ModelRun real = [](auto, const Observer& observe) -> Result<void> {
    observe("y", Floats({1, -2, 0.25F, 6}));
    return {};
  };
  const ModelRun stored = [](auto, const Observer& observe) -> Result<void> {
    observe("y/quantized", Stored({12, 6, 10, 20}));
    return {};
  };
  ASSERT_TRUE(comparison.Add(std::span(&x, 1), real, stored).has_value());
  const auto report = comparison.Finish();
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->layers.size(), 1U);
  const format::ErrorMeasures& errors = report->layers[0].output.errors;
  EXPECT_EQ(errors.count, 4U);
  EXPECT_EQ(errors.signal, 41.0625);
  EXPECT_EQ(errors.noise, 1.0625);
  EXPECT_DOUBLE_EQ(errors.sqnr_db, 10 * std::log10(41.0625 / 1.0625));
  EXPECT_DOUBLE_EQ(errors.cosine, 35 / std::sqrt(41.0625 * 30));
  EXPECT_EQ(errors.mean_error, -0.3125);
  EXPECT_EQ(errors.max_error, 1);
  EXPECT_EQ(errors.max_error_lsb, 2);
  EXPECT_EQ(errors.saturated, 0.25);
  EXPECT_EQ(report->samples, 1);
  EXPECT_THAT(ToJson(*report), testing::HasSubstr("\"max_error_lsb\": 2.0"));
}

// Filters w [2, 3, 1, 1] that reach from 1 to 5 and from -6 to 2; their scales 0.5 and 1, offsets 0
// and 2. Stored 2 6 10 and 4 -4 0: 1 3 5 and 2 -6 -2, of which the reals are 1 3 5 and 2 -6 -1: one
// error of 1, in the second.
TEST(Comparison, DescribesWeightsByChannel) {
  Quantized quantized;
  format::Node node;
  node.op_type = "Conv";
  node.inputs = {"x", "w/quantized"};
  node.outputs = {"y"};
  quantized.model.graph.nodes = {node};
  Tensor real = *format::MakeTensor(ElementType::kFloat, {2, 3, 1, 1});
  std::ranges::copy(std::vector<float>{1, 3, 5, 2, -6, -1}, real.As<float>().begin());
  quantized.real.graph.initializers = {format::ToTensorData("w", real)};
  Tensor stored = *format::MakeTensor(ElementType::kInt8, {2, 3, 1, 1});
  format::PackInt32(std::vector<std::int32_t>{2, 6, 10, 4, -4, 0}, stored);
  quantized.model.graph.initializers = {format::ToTensorData("w/quantized", stored)};
  format::TensorType type{ElementType::kInt8Q};
  type.shape = format::ToShape(format::Dims{2, 3, 1, 1});
  type.quantization = format::Quantization{.scale = {0.5F, 1}, .offset = {0, 2}, .axis = {0}};
  quantized.model.graph.values = {{.name = "w/quantized", .type = type}};
  quantized.sources["w/quantized"] = {"w", {}};
  const auto report = Comparison(quantized).Finish();
  ASSERT_TRUE(report.has_value()) << report.error().where << report.error().message;
  ASSERT_EQ(report->layers.size(), 1U);
  const ValueReport& weights = *report->layers[0].weights;
  EXPECT_THAT(weights.channels, testing::ElementsAre(Range{1, 5}, Range{-6, 2}));
  EXPECT_EQ(weights.errors.noise, 1);
  EXPECT_EQ(weights.errors.max_error_lsb, 1);
}

TEST(Comparison, OfEqualValuesHasNoNoise) {
  const Quantized quantized = OneNode();
  Comparison comparison(quantized);
  const Tensor x = Floats({0});
  const ModelRun real = [](auto, const Observer& observe) -> Result<void> {
    observe("y", Floats({0}));
    return {};
  };
  const ModelRun stored = [](auto, const Observer& observe) -> Result<void> {
    observe("y/quantized", Stored({10}));
    return {};
  };
  ASSERT_TRUE(comparison.Add(std::span(&x, 1), real, stored).has_value());
  const auto report = comparison.Finish();
  EXPECT_EQ(report->layers[0].output.errors.sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(report->layers[0].output.errors.cosine, 1);
  EXPECT_THAT(ToJson(*report), testing::HasSubstr("\"sqnr_db\": null"));
}

TEST(Comparison, RefusesValuesOfAnotherShape) {
  const Quantized quantized = OneNode();
  Comparison comparison(quantized);
  const Tensor x = Floats({0});
  const ModelRun real = [](auto, const Observer& observe) -> Result<void> {
    observe("y", Floats({0, 0}));
    return {};
  };
  const ModelRun stored = [](auto, const Observer& observe) -> Result<void> {
    observe("y/quantized", Stored({10}));
    return {};
  };
  const auto added = comparison.Add(std::span(&x, 1), real, stored);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().where, "value 'y/quantized'");
}

}  // namespace
}  // namespace qtx::quantize
