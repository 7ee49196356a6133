// Damaged QONNX files: one clear error, or a model that keeps the rules; never a crash.
#include <gtest/gtest.h>

#include <random>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qonnx/maker.h"

namespace qtx::convert::qonnx_hostile_test {
namespace {

// Weights, activations of several granularities, bipolar and small float ones.
std::string Sample() {
  QonnxMaker maker;
  maker.Weights({1, 2, 3, -4}, 0.5F, 4, "ROUND");
  maker.Quant("y", "a", 0.5F, 1, 8);
  maker.Quant("a", "b", 0.5F, 0, 1);
  maker.Initializer<float>("s", format::ElementType::kFloat, {1, 1}, {2});
  maker.model.graph.nodes.back().inputs[1] = "s";
  maker.Quant("b", "c", 1, 0, 8);
  maker.model.graph.nodes.back().op_type = "BipolarQuant";
  maker.Initializer<float>("t", format::ElementType::kFloat, {1}, {2});
  maker.Initializer<std::int64_t>("axes", format::ElementType::kInt64, {1}, {0});
  maker.Node("Unsqueeze", {"c", "axes"}, {"e"});
  maker.Node("BatchNormalization", {"e", "t", "t", "t", "t"}, {"d"}).domain =
      "qonnx.custom_op.channels_last";
  maker.model.graph.values = {OnnxMaker::Value("c", format::ElementType::kFloat, {1, 1}),
                              OnnxMaker::Value("e", format::ElementType::kFloat, {1, 1, 1}),
                              OnnxMaker::Value("y", format::ElementType::kFloat, {1, 1})};
  maker.model.graph.outputs = {OnnxMaker::Value("d", format::ElementType::kFloat, {1, 1, 1})};
  return *maker.model.Serialize();
}

void ExpectRefusedOrSound(const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!model.has_value()) return;
  const auto read = FromOnnx(*model);
  if (!read.has_value()) {
    EXPECT_FALSE(read.error().message.empty());
    return;
  }
  if (!format::Check(read->model).empty()) return;  // which Read makes an error
  const auto written = Write(read->model, *FindKind("qonnx"), {});
  EXPECT_TRUE(written.has_value() || !written.error().message.empty());
}

TEST(QonnxHostile, TakesTheSampleWhole) {
  const auto read = FromOnnx(*format::Model::Parse(Sample()));
  ASSERT_TRUE(read.has_value()) << read.error().where << ": " << read.error().message;
  for (const format::Finding& finding : format::Check(read->model))
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
}

TEST(QonnxHostile, SurvivesEveryTruncation) {
  const std::string bytes = Sample();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ExpectRefusedOrSound(bytes.substr(0, size));
}

TEST(QonnxHostile, SurvivesDamagedBytes) {
  const std::string bytes = Sample();
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = bytes;
    for (int flip = 0; flip < 2; ++flip)
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    ExpectRefusedOrSound(damaged);
  }
}

}  // namespace
}  // namespace qtx::convert::qonnx_hostile_test
