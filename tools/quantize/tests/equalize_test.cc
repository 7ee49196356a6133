// Equalized weights compute the same binary32 numbers; corrected biases, smaller mean errors.
#include "equalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bias_correction.h"
#include "floats.h"
#include "qtx/reference/interpreter.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Model;
using format::Node;
using format::Tensor;

format::ValueInfo Info(const std::string& name, const format::Dims& dims) {
  format::TensorType type{ElementType::kFloat};
  type.shape = format::ToShape(dims);
  return {.name = name, .type = std::move(type)};
}

// Conv with channels 2^10 apart, Relu, depthwise Conv, LeakyRelu, Conv in two groups.
Model Network() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{.domain = "", .version = 17}};
  const auto add = [&model](const char* op, std::vector<std::string> inputs, const char* output,
                            std::int64_t group) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    if (group > 0) node.attributes = {format::Attribute::Int("group", group)};
    model.graph.nodes.push_back(std::move(node));
  };
  std::vector<float> w1, w2, w3;
  for (int i = 0; i < 8; ++i)
    w1.push_back(static_cast<float>(std::ldexp(std::sin(i + 1.0), i / 2 * 4 - 5)));
  for (int i = 0; i < 4; ++i) w2.push_back(static_cast<float>(std::cos(i + 1.0)));
  for (int i = 0; i < 8; ++i) w3.push_back(static_cast<float>(std::sin(3.0 * i + 1)));
  const auto constant = [&model](const char* name, const Tensor& tensor) {
    model.graph.initializers.push_back(format::ToTensorData(name, tensor));
  };
  constant("w1", Floats({4, 2, 1, 1}, w1));
  constant("b1", Floats({4}, {0.1F, 0.2F, -0.3F, 4}));
  constant("w2", Floats({4, 1, 1, 1}, w2));
  constant("w3", Floats({4, 2, 1, 1}, w3));
  add("Conv", {"x", "w1", "b1"}, "a", 1);
  add("Relu", {"a"}, "b", 0);
  add("Conv", {"b", "w2"}, "c", 4);
  add("LeakyRelu", {"c"}, "d", 0);
  add("Conv", {"d", "w3"}, "y", 2);
  model.graph.inputs = {Info("x", {1, 2, 2, 2})};
  for (const char* name : {"a", "b", "c", "d"})
    model.graph.values.push_back(Info(name, {1, 4, 2, 2}));
  model.graph.outputs = {Info("y", {1, 4, 2, 2})};
  return model;
}

double Largest(const Tensor& w, std::int64_t channel, bool of_outputs, std::int64_t group) {
  Node node;
  node.op_type = "Conv";
  node.attributes = {format::Attribute::Int("group", group)};
  double largest = 0;
  for (std::int64_t i = 0; i < format::ElementCount(w); ++i) {
    const WeightChannels at = ChannelsOf(node, w.dims, i);
    if ((of_outputs ? at.output : at.input) == channel)
      largest = std::max(largest,
                         std::abs(static_cast<double>(w.As<float>()[static_cast<std::size_t>(i)])));
  }
  return largest;
}

TEST(Equalize, KeepsEveryBitOfTheFunction) {
  const Model before = Network();
  Model after = before;
  Ledger ledger;
  ASSERT_TRUE(Equalize(after, {}, ledger).has_value());
  EXPECT_NE(after.graph.initializers, before.graph.initializers);
  auto a = *reference::Interpreter::Prepare(before, "float32");
  auto b = *reference::Interpreter::Prepare(after, "float32");
  for (int i = 0; i < 50; ++i) {
    std::vector<float> values;
    for (int k = 0; k < 8; ++k) values.push_back(static_cast<float>(3 * std::sin(i * 8.0 + k)));
    const Tensor x = Floats({1, 2, 2, 2}, values);
    EXPECT_EQ((*a.Run(std::span(&x, 1)))[0], (*b.Run(std::span(&x, 1)))[0]);
  }
}

// Columns of w1 2^10 apart. A Gemm has no attribute group, and is one group.
TEST(Equalize, BalancesAGemmAndTheNext) {
  Model before;
  before.ir_version = 8;
  before.opset_imports = {{.domain = "", .version = 17}};
  const auto add = [&before](const char* op, std::vector<std::string> inputs, const char* output) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    before.graph.nodes.push_back(std::move(node));
  };
  add("Gemm", {"x", "w1"}, "a");
  add("Relu", {"a"}, "b");
  add("Gemm", {"b", "w2"}, "y");
  before.graph.initializers = {format::ToTensorData("w1", Floats({2, 2}, {0.5F, 512, 0.25F, 1024})),
                               format::ToTensorData("w2", Floats({2, 1}, {3, 5}))};
  before.graph.inputs = {Info("x", {1, 2})};
  before.graph.values = {Info("a", {1, 2}), Info("b", {1, 2})};
  before.graph.outputs = {Info("y", {1, 1})};
  Model after = before;
  Ledger ledger;
  ASSERT_TRUE(Equalize(after, {}, ledger).has_value());
  EXPECT_NE(after.graph.initializers, before.graph.initializers);
  const Tensor x = Floats({1, 2}, {0.75F, 0.3F});
  auto a = *reference::Interpreter::Prepare(before, "float32");
  auto b = *reference::Interpreter::Prepare(after, "float32");
  EXPECT_EQ((*a.Run(std::span(&x, 1)))[0], (*b.Run(std::span(&x, 1)))[0]);
}

// r1 / r2 of each channel lies within a factor of 2 either way: the nearest power of two to its
// root was taken out.
TEST(Equalize, LeavesLikeRanges) {
  Model model = Network();
  Ledger ledger;
  ASSERT_TRUE(Equalize(model, {}, ledger).has_value());
  const Tensor w1 = *format::Decode(*model.graph.FindInitializer("w1"));
  const Tensor w2 = *format::Decode(*model.graph.FindInitializer("w2"));
  const Tensor w3 = *format::Decode(*model.graph.FindInitializer("w3"));
  for (std::int64_t c = 0; c < 4; ++c) {
    const double first = Largest(w1, c, true, 1) / Largest(w2, c, false, 4);
    const double second = Largest(w2, c, true, 4) / Largest(w3, c, false, 2);
    EXPECT_THAT(first, testing::AllOf(testing::Ge(0.5), testing::Lt(2))) << c;
    EXPECT_THAT(second, testing::AllOf(testing::Ge(0.5), testing::Lt(2))) << c;
  }
}

TEST(Equalize, ScalesStatisticsPerChannelAndRefusesOthers) {
  Model model = Network();
  format::Statistics statistics;
  statistics.min = {-1, -1, -1, -1};
  statistics.max = {1, 2, 4, 8};
  statistics.mean = {0, 0, 0, 0};
  statistics.std = {1, 1, 1, 1};
  statistics.axis = {1};
  for (format::ValueInfo& info : model.graph.values) info.type->statistics = statistics;
  const Tensor before = *format::Decode(*model.graph.FindInitializer("w1"));
  Ledger ledger;
  ASSERT_TRUE(Equalize(model, {}, ledger).has_value());
  const Tensor after = *format::Decode(*model.graph.FindInitializer("w1"));
  const auto& scaled = *model.graph.FindValue("a")->type->statistics;
  for (std::size_t c = 0; c < 4; ++c) {
    const double factor = static_cast<double>(after.As<float>()[2 * c] / before.As<float>()[2 * c]);
    EXPECT_EQ(scaled.max[c], statistics.max[c] * factor);
    EXPECT_EQ(scaled.std[c], factor);
  }

  Model whole = Network();
  format::Statistics together;
  together.min = {-1};
  together.max = {1};
  for (format::ValueInfo& info : whole.graph.values) info.type->statistics = together;
  const auto refused = Equalize(whole, {}, ledger);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "value 'a'");
}

// Of a value that two nodes read, or a graph's output, the scale would be seen.
TEST(Equalize, LeavesLayersWhoseValuesAreReadElsewhere) {
  Model model = Network();
  model.graph.outputs.push_back(Info("b", {1, 4, 2, 2}));
  std::erase_if(model.graph.values, [](const auto& info) { return info.name == "b"; });
  const Tensor before = *format::Decode(*model.graph.FindInitializer("w1"));
  Ledger ledger;
  ASSERT_TRUE(Equalize(model, {}, ledger).has_value());
  EXPECT_EQ(*format::Decode(*model.graph.FindInitializer("w1")), before);
}

// Weights of output 0: 0.5 meets channel 0, 0.25 channel 1. Stored in units of 1: 0 (a tie, to
// even) and 0; of output 1: 1.5 is 2, -0.75 is -1. Means 2 and 4:
// (0 - 0.5) * 2 + (0 - 0.25) * 4 = -2;  (2 - 1.5) * 2 + (-1 + 0.75) * 4 = 0.
TEST(MeanError, SumsTheErrorsTimesTheMeans) {
  Node node;
  node.op_type = "Conv";
  const Tensor real = Floats({2, 2, 1, 1}, {0.5F, 0.25F, 1.5F, -0.75F});
  Tensor stored =
      *format::MakeTensor(ElementType::kInt8Q, {2, 2, 1, 1}, format::Quantization{.scale = {1}});
  format::PackInt32(std::vector<std::int32_t>{0, 0, 2, -1}, stored);
  const auto errors = MeanError(node, real, stored, {2, 4});
  ASSERT_TRUE(errors.has_value());
  EXPECT_THAT(*errors, testing::ElementsAre(-2, 0));
  EXPECT_FALSE(MeanError(node, real, stored, {2, 4, 6}).has_value());
}

// The same weights in units of 1 and offsets 3 and -5: what is stored moves, the errors do not.
TEST(MeanError, TakesTheOffsetOfEachOutput) {
  Node node;
  node.op_type = "Conv";
  const Tensor real = Floats({2, 2, 1, 1}, {0.5F, 0.25F, 1.5F, -0.75F});
  Tensor stored =
      *format::MakeTensor(ElementType::kInt8Q, {2, 2, 1, 1},
                          format::Quantization{.scale = {1, 1}, .offset = {3, -5}, .axis = {0}});
  format::PackInt32(std::vector<std::int32_t>{3, 3, -3, -6}, stored);
  const auto errors = MeanError(node, real, stored, {2, 4});
  ASSERT_TRUE(errors.has_value());
  EXPECT_THAT(*errors, testing::ElementsAre(-2, 0));
}

// [C, M] transposed: transB 0 has the channels of the input first.
TEST(MeanError, KnowsWhichChannelAWeightMeets) {
  Node gemm;
  gemm.op_type = "Gemm";
  const Tensor real = Floats({2, 3}, {1, 0, 0, 0, 0, 0});
  Tensor stored =
      *format::MakeTensor(ElementType::kInt8Q, {2, 3}, format::Quantization{.scale = {1}});
  EXPECT_THAT(*MeanError(gemm, real, stored, {5, 7}), testing::ElementsAre(-5, 0, 0));
  gemm.attributes = {format::Attribute::Int("transB", 1)};
  EXPECT_THAT(*MeanError(gemm, real, stored, {5, 7, 9}), testing::ElementsAre(-5, 0));
}

}  // namespace
}  // namespace qtx::quantize
