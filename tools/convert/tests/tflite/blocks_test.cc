// BlockwiseQuantization in and out: [2,4] weights of 4 bits in blocks of two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::blocks_test {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;

class Blocks : public testing::Test {
 protected:
  Blocks() {
    x = maker.Tensor("x", {1, 4}, TensorType::FLOAT32);
    // 1 -2, 3 4 | 5 -6, 7 -8: the first element in the lower half of a byte.
    w = maker.Tensor("w", {2, 4}, TensorType::INT4, 0, 0, {0xe1, 0x43, 0xa5, 0x87});
    // 1, 0.5 | 2, 0.25 in FLOAT16.
    scales = maker.Tensor("scales", {2, 2}, TensorType::FLOAT16, 0, 0,
                          {0x00, 0x3c, 0x00, 0x38, 0x00, 0x40, 0x00, 0x34});
    y = maker.Tensor("y", {1, 2}, TensorType::FLOAT32);
    record.scales = scales;
    record.zero_points = -1;
    record.block_size = 2;
  }
  std::string File() {
    maker.tensor(w).quantization->details.Set(schema::BlockwiseQuantizationT(record));
    maker.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w}, {y}, schema::FullyConnectedOptionsT());
    return maker.Bytes({x}, {y});
  }
  std::string Refusal() {
    const auto conversion = FromTflite(File());
    EXPECT_FALSE(conversion.has_value());
    return conversion.has_value() ? ""
                                  : conversion.error().where + ": " + conversion.error().message;
  }
  TfliteMaker maker;
  int x = 0, w = 0, scales = 0, y = 0;
  schema::BlockwiseQuantizationT record;
};

TEST_F(Blocks, AreTheTypeOfTheWeights) {
  const auto conversion = FromTflite(File());
  ASSERT_TRUE(conversion.has_value()) << conversion.error().where << conversion.error().message;
  EXPECT_THAT(format::Check(conversion->model), testing::IsEmpty());
  const auto weights = format::LoadInitializer(conversion->model, "w");
  ASSERT_TRUE(weights.has_value());
  EXPECT_EQ(weights->elem_type, format::ElementType::kInt4Q);
  EXPECT_THAT(weights->quantization->scale, ElementsAre(1.0F, 0.5F, 2.0F, 0.25F));
  EXPECT_THAT(weights->quantization->axis, ElementsAre(0, 1));
  EXPECT_THAT(weights->quantization->block_shape, ElementsAre(1, 2));
  EXPECT_THAT(format::UnpackIntegers(*weights), ElementsAre(1, -2, 3, 4, 5, -6, 7, -8));
}

TEST_F(Blocks, AreWrittenFromTheirType) {
  auto conversion = FromTflite(File());
  ASSERT_TRUE(conversion.has_value());
  conversion->model.metadata.clear();
  const auto written = ToTflite(conversion->model, {.allow = {"scheme"}});
  ASSERT_TRUE(written.has_value()) << written.error().where << written.error().message;
  const auto& out = std::get<std::string>(written->content);
  const auto again = FromTflite(out);
  ASSERT_TRUE(again.has_value()) << again.error().where << again.error().message;
  EXPECT_TRUE(*format::LoadInitializer(again->model, "w") ==
              *format::LoadInitializer(conversion->model, "w"));
}

TEST_F(Blocks, NeedAScaleEach) {
  record.block_size = 4;
  EXPECT_THAT(Refusal(), HasSubstr("expected 2 of them"));
}

TEST_F(Blocks, AreWholeAlongTheLastAxis) {
  record.block_size = 3;
  EXPECT_THAT(Refusal(), HasSubstr("blocks of 3 along the last axis of shape [2,4]"));
}

TEST_F(Blocks, HoldAnElement) {
  record.block_size = 0;
  EXPECT_THAT(Refusal(), HasSubstr("blocks of 0 along"));
}

TEST_F(Blocks, NameTensorsOfTheFile) {
  record.scales = 99;
  EXPECT_THAT(Refusal(), HasSubstr("scales of its blocks: tensor 99 of 4"));
}

TEST_F(Blocks, HaveNoScaleOfZero) {
  maker.model().buffers.at(maker.tensor(scales).buffer)->data[1] = 0;
  EXPECT_THAT(Refusal(), HasSubstr("expected a finite value above 0"));
}

}  // namespace
}  // namespace qtx::convert::blocks_test
