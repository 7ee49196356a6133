#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::storage_test {
namespace {

using format::ElementType;
using ::testing::ElementsAre;

// x -> Cast to UINT8Q -> Add w -> y, UINT8Q with offsets 100 and 128 and a narrowed range.
format::Model Unsigned() {
  OnnxMaker maker(21);
  auto& graph = maker.model.graph;
  maker.model.opset_imports.push_back({std::string(format::kDomain), format::kVersion});
  graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {3})};
  graph.outputs = {OnnxMaker::Quantized("y", ElementType::kUint8Q, {3})};
  graph.outputs[0].type->quantization->offset = {128};
  graph.outputs[0].type->quantization->quant_min = 128;
  graph.values = {OnnxMaker::Quantized("w", ElementType::kUint8Q, {3}),
                  OnnxMaker::Quantized("q", ElementType::kUint8Q, {3})};
  graph.values[0].type->quantization->offset = {100};
  maker.Initializer<std::uint8_t>("w", ElementType::kUint8, {3}, {0, 128, 255});
  maker.Node("Cast", {"x"}, {"q"}).attributes = {
      format::Attribute::Int("to", static_cast<std::int64_t>(ElementType::kUint8Q))};
  maker.Node("Add", {"q", "w"}, {"y"});
  return maker.model;
}

TEST(ToEightBits, ShiftsStoredOffsetAndRangeTogether) {
  const auto result = ToEightBits(Unsigned(), ElementType::kInt8Q);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(format::Check(result->model).empty());
  const format::Graph& graph = result->model.graph;
  EXPECT_TRUE(graph.outputs[0].type->quantization->offset.empty());  // 128 - 128
  EXPECT_EQ(graph.outputs[0].type->quantization->quant_min, 0);
  const auto w = format::LoadInitializer(result->model, "w");
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_THAT(format::UnpackInt32(*w), ElementsAre(-128, 0, 127));
  EXPECT_THAT(w->quantization->offset, ElementsAre(-28));
  EXPECT_THAT(graph.FindValue("q")->type->quantization->offset, ElementsAre(-128));
  EXPECT_EQ(graph.nodes[0].attributes[0].i, static_cast<std::int64_t>(ElementType::kInt8Q));
}

TEST(ToEightBits, ComesBack) {
  const auto there = ToEightBits(Unsigned(), ElementType::kInt8Q);
  ASSERT_TRUE(there.has_value());
  const auto back = ToEightBits(there->model, ElementType::kUint8Q);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->model, Unsigned());
}

// UINT8Q with offset 128 is symmetric in no scheme's words.
TEST(ToEightBits, SaysNoSchemeThatTheOffsetBreaks) {
  OnnxMaker maker(21);
  maker.model.opset_imports.push_back({std::string(format::kDomain), format::kVersion});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {3})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {3})};
  maker.model.graph.inputs[0].type->quantization->scheme = format::Scheme::kSymmetric;
  maker.Node("Relu", {"x"}, {"y"});
  const auto result = ToEightBits(maker.model, ElementType::kUint8Q);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(format::Check(result->model).empty());
  EXPECT_THAT(result->model.graph.inputs[0].type->quantization->offset, ElementsAre(128));
}

}  // namespace
}  // namespace qtx::convert::storage_test
