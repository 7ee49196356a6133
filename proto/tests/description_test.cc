#include "qtx/format/description.h"

#include <gtest/gtest.h>

#include "tests/samples.h"

namespace qtx::format {
namespace {

Statistics ThousandValues() {
  Statistics statistics;
  statistics.min = {-0.75};
  statistics.max = {62.5};
  statistics.count = 1000;
  return statistics;
}

TEST(Description, SaysParametersAndStatistics) {
  TensorType type{.elem_type = ElementType::kUint8Q, .quantization = PerTensor(0.25F, {3})};
  EXPECT_EQ(Description(type), "UINT8Q, scale 0.25, offset 3");
  type.statistics = Statistics{.source = "nothing was measured"};
  EXPECT_EQ(Description(type), "UINT8Q, scale 0.25, offset 3");
  type.statistics = ThousandValues();
  const std::string all = "UINT8Q, scale 0.25, offset 3; min -0.75, max 62.5 of 1000 values";
  EXPECT_EQ(Description(type), all);
  EXPECT_EQ(Description(Annotated(type)), all);
  type.quantization->scale = {0.5F, 0.25F, 1.0F};
  type.quantization->offset.clear();
  type.quantization->axis = {1};
  type.quantization->block_shape = {32};
  type.quantization->quant_min = -7;
  type.statistics.reset();
  EXPECT_EQ(Description(type),
            "UINT8Q, scale 0.25 to 1, offset 0, along axis 1, in blocks of 32, stored at least -7");
}

TEST(Description, SaysNothingOfPlainTypes) {
  EXPECT_EQ(Description({.elem_type = ElementType::kFloat}), "");
}

TEST(Describe, AddsToADocStringWhatUndescribeTakesOff) {
  for (const char* doc : {"", "logits", "a\n\n", "UINT8Q, scale 0.25, offset 3"}) {
    ValueInfo value = Value("v", ElementType::kUint8Q, {2}, PerTensor(0.25F));
    value.type->quantization->offset = {3};
    value.doc_string = doc;
    const ValueInfo before = value;
    Describe(value);
    EXPECT_NE(value, before);
    EXPECT_TRUE(Undescribe(value));
    EXPECT_EQ(value, before) << doc;
  }
}

TEST(Undescribe, LeavesTheTextOfOthers) {
  ValueInfo value = Value("v", ElementType::kUint8Q, {2}, PerTensor(0.25F));
  value.doc_string = "says: " + Description(*value.type);
  const ValueInfo before = value;
  EXPECT_FALSE(Undescribe(value));
  EXPECT_EQ(value, before);
}

}  // namespace
}  // namespace qtx::format
