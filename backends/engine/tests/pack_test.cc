// Packed weights: what the instruction multiplies is the matrix, and no pair can leave 16 bits.
#include "engine/pack.h"

#include <gtest/gtest.h>

#include <random>

namespace qtx::backend::engine {
namespace {

constexpr int kLanes = 8;

// A table that is only described: nothing here multiplies.
ProductKernels<std::uint8_t, std::int8_t> Describe(std::int32_t pair_limit) {
  ProductKernels<std::uint8_t, std::int8_t> kernels;
  kernels.group = 4;
  kernels.lanes = kLanes;
  kernels.vectors = 2;
  kernels.pair_limit = pair_limit;
  return kernels;
}

struct Matrix {
  std::vector<std::int16_t> values;  // [columns][depth]
  std::int64_t columns = 0;
  std::vector<Stretch> stretches;

  std::int64_t Depth() const { return static_cast<std::int64_t>(values.size()) / columns; }
  PackedWeights<std::int8_t> Pack(std::int32_t pair_limit, std::int32_t largest = 255) const {
    return {Describe(pair_limit), PackSource{.values = values.data(),
                                             .columns = columns,
                                             .stretches = stretches,
                                             .activation_min = 0,
                                             .activation_max = largest,
                                             .zero = 0,
                                             .addend = {}}};
  }
};

Matrix OneRun(std::vector<std::int16_t> values, std::int64_t columns) {
  const auto depth = static_cast<std::int32_t>(static_cast<std::int64_t>(values.size()) / columns);
  return {std::move(values), columns, {{0, depth}}};
}

// Groups that the columns of `strip` are multiplied with.
std::int64_t GroupsOf(const PackedWeights<std::int8_t>& packed, const Strip& strip) {
  std::int64_t groups = 0;
  for (const Chunk& chunk : packed.chunks(strip)) {
    for (const Segment& segment : packed.segments(chunk)) groups += segment.groups;
  }
  return groups;
}

// The sum of all that is packed for each element of a row: the matrix itself again. Checks pairs.
std::vector<std::int32_t> Unpack(const PackedWeights<std::int8_t>& packed, const Matrix& matrix,
                                 std::int64_t row_size, std::int32_t largest) {
  std::vector<std::int32_t> found(static_cast<std::size_t>(matrix.columns * row_size));
  for (const Strip& strip : packed.strips()) {
    for (const Chunk& chunk : packed.chunks(strip)) {
      const std::int8_t* panel = packed.panels(strip) + chunk.panel_offset;
      for (const Segment& segment : packed.segments(chunk)) {
        for (std::int32_t g = 0; g < segment.groups; ++g, panel += 4 * kLanes) {
          for (std::int64_t c = 0; c < strip.columns; ++c) {
            const std::int8_t* w =
                panel + c / kLanes * strip.panel_stride + c % kLanes * std::int64_t{4};
            for (int j = 0; j < 4; j += 2) {
              const int high = std::max<int>(w[j], 0) + std::max<int>(w[j + 1], 0);
              const int low = std::min<int>(w[j], 0) + std::min<int>(w[j + 1], 0);
              EXPECT_LE(high * largest, 32767);
              EXPECT_GE(low * largest, -32768);
            }
            for (int j = 0; j < 4; ++j) {
              const std::int64_t at = segment.offset + 4 * g + j;
              if (w[j] == 0) continue;
              found[static_cast<std::size_t>((strip.column + c) * row_size + at)] += w[j];
            }
          }
        }
      }
    }
  }
  return found;
}

// 255 * (64 + 64) = 32640 fits 16 bits, 255 * (65 + 64) = 32895 does not; a pair of mixed signs
// always does; -128 and -1 come to -32895. So the bounds that hardware has are met exactly.
TEST(PackedWeights, TakesPairsInOneGoExactlyUpToTheBound) {
  const auto groups = [](std::int16_t a, std::int16_t b, std::int32_t largest = 255) {
    const Matrix matrix = OneRun({a, b, 0, 0}, 1);
    const auto packed = matrix.Pack(32767, largest);
    EXPECT_EQ(Unpack(packed, matrix, 4, largest), (std::vector<std::int32_t>{a, b, 0, 0}));
    return GroupsOf(packed, packed.strips()[0]);
  };
  EXPECT_EQ(groups(64, 64), 1);
  EXPECT_EQ(groups(65, 64), 2);
  EXPECT_EQ(groups(127, 1), 1);
  EXPECT_EQ(groups(127, 2), 2);
  EXPECT_EQ(groups(-64, -64), 1);
  EXPECT_EQ(groups(-128, 0), 1);
  EXPECT_EQ(groups(-128, -1), 2);
  EXPECT_EQ(groups(127, -128), 1);
  EXPECT_EQ(groups(-128, 127), 1);
  // 129 * (127 + 127) = 32766 fits, 130 * 254 = 33020 does not.
  EXPECT_EQ(groups(127, 127, 129), 1);
  EXPECT_EQ(groups(127, 127, 130), 2);
  EXPECT_EQ(groups(-128, -128, 128), 1);  // exactly -32768
  EXPECT_EQ(groups(-128, -128, 129), 2);
}

TEST(PackedWeights, KeepsEveryWeightOfAnyMatrix) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t columns = 1 + static_cast<std::int64_t>(random() % 40);
    std::vector<Stretch> stretches;
    std::int64_t depth = 0;
    std::int32_t offset = 0;
    for (unsigned r = 0; r <= random() % 3; ++r) {
      const auto length = static_cast<std::int32_t>(1 + random() % 21);
      stretches.push_back({offset, length});
      offset += length + static_cast<std::int32_t>(random() % 9) + 4;
      depth += length;
    }
    // 9 bits: an unsigned weight with an offset.
    Matrix matrix{std::vector<std::int16_t>(static_cast<std::size_t>(columns * depth)), columns,
                  stretches};
    const int spread = round % 2 == 0 ? 255 : 60;
    for (auto& w : matrix.values) {
      w = static_cast<std::int16_t>(std::uniform_int_distribution<int>(-spread, spread)(random));
    }
    std::vector<std::int32_t> expected(static_cast<std::size_t>(columns * offset));
    for (std::int64_t c = 0; c < columns; ++c) {
      std::int64_t k = 0;
      for (const Stretch& stretch : stretches) {
        for (std::int32_t i = 0; i < stretch.length; ++i, ++k) {
          expected[static_cast<std::size_t>(c * offset + stretch.offset + i)] =
              matrix.values[static_cast<std::size_t>(c * depth + k)];
        }
      }
    }
    EXPECT_EQ(Unpack(matrix.Pack(32767), matrix, offset, 255), expected);
  }
}

// 65,793 products of 255 * 128 come to 2^31 - 128, one more passes 2^31 - 1.
TEST(PackedWeights, CutsSumsThatMightLeaveInt32) {
  const std::vector<std::int16_t> most(65'793, -128);
  EXPECT_FALSE(OneRun(most, 1).Pack(0).strips()[0].wide);
  const std::vector<std::int16_t> more(65'794, -128);
  const auto packed = OneRun(more, 1).Pack(0);
  const Strip& strip = packed.strips()[0];
  EXPECT_TRUE(strip.wide);
  EXPECT_EQ(GroupsOf(packed, strip), (65'794 + 3) / 4);
  for (const Chunk& chunk : packed.chunks(strip)) {
    std::int64_t groups = 0;
    for (const Segment& segment : packed.segments(chunk)) groups += segment.groups;
    EXPECT_LE(groups * 4 * 255 * 128, 0x7FFFFFFF);
  }
}

}  // namespace
}  // namespace qtx::backend::engine
