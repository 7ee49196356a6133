#include "block_scales.h"

#include <gtest/gtest.h>

#include <cmath>

#include "weights.h"

namespace qtx::quantize::block_scales_test {
namespace {

using format::ElementType;

// By hand: the greatest magnitude 21 gives the tensor 21 / 2688 = 2^-7, its own block 448. Block 1
// of column 1 has 0.75: 0.75 / 6 * 2^7 = 16, whose product is 1/8, so codes are 6, and 0.1 / 0.125
// = 0.8 is nearer to 1. A block of zeros has 2^-9. w has 20 rows: blocks of 16 and 4.
TEST(BlockScales, StoresWeightsAsNvfp4) {
  format::Tensor w = *format::MakeTensor(ElementType::kFloat, {20, 3});
  const auto values = w.As<float>();
  values[0] = -21;
  values[3] = 9.5F;  // row 1: 9.5 / 3.5 = 2.71, nearer to 3
  values[16 * 3 + 1] = 0.75F;
  values[17 * 3 + 1] = 0.1F;
  Settings settings;
  settings.weights = *ParseWeights("nvfp4");
  const auto stored = StoreWeights(w, settings, {.output = 1, .reduced = 0}, {});
  ASSERT_TRUE(stored.has_value());
  ASSERT_TRUE(stored->levels.has_value());
  EXPECT_EQ(stored->levels->whole, 0x1p-7F);
  EXPECT_EQ(format::StoredValues(stored->levels->factors),
            (std::vector<double>{448, 0x1p-9, 0x1p-9, 0x1p-9, 16, 0x1p-9}));
  const std::vector<double> codes = format::StoredValues(stored->tensor);
  EXPECT_EQ((std::vector{codes[0], codes[3], codes[49], codes[52], codes[1]}),
            (std::vector<double>{-6, 3, 6, 1, 0}));
}

// Tiny and huge tensors, and one of zeros, have scales above 0 that are finite.
TEST(BlockScales, AreAboveZeroOfTheLeastAndGreatest) {
  for (const float value : {0.0F, 0x1p-149F, 0x1p-126F, 0x1.fffffep127F}) {
    const BlockScales scales = BlockScalesOf(std::vector{value, 0.0F, value / 1000},
                                             ElementType::kFloat4E2M1, ScaleType::kNvfp4);
    for (const float product : Products(scales)) {
      EXPECT_GT(product, 0) << value;
      EXPECT_TRUE(std::isfinite(product)) << value;
    }
  }
}

}  // namespace
}  // namespace qtx::quantize::block_scales_test
