// Each kernel of each table this machine can run, against loops that cannot be wrong.
#include "engine/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/requantize.h"
#include "support.h"

namespace qtx::backend::engine {
namespace {

class KernelsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels() const { return *GetParam(); }
  // The value of a buffer's byte.
  int ByteValue(std::uint8_t byte) const {
    return kernels().signed_bytes ? static_cast<std::int8_t>(byte) : byte;
  }
  std::mt19937 random_{20240601};

  template <typename T>
  std::vector<T> Values(std::size_t count, int low, int high) {
    std::uniform_int_distribution<int> value(low, high);
    std::vector<T> values(count);
    for (auto& v : values) v = static_cast<T>(value(random_));
    return values;
  }

  // Tiles of every size over several segments. `read` gives an activation its value.
  template <typename A, typename W, typename Read>
  void CheckTiles(const ProductKernels<A, W>& products, int low, int high, int weight_low,
                  int weight_high, Read read) {
    const auto group = static_cast<std::size_t>(products.group);
    const auto lanes = static_cast<std::size_t>(products.lanes);
    const std::vector<Segment> segments{{3, 2}, {100, 5}, {41, 1}};
    constexpr std::size_t kGroups = 8;
    for (int vectors = 1; vectors <= products.vectors; ++vectors) {
      ASSERT_GT(products.MaxRows(vectors), 0);
      const std::size_t columns = static_cast<std::size_t>(vectors) * lanes;
      for (int rows = 1; rows <= products.MaxRows(vectors); ++rows) {
        const auto a = Values<A>(static_cast<std::size_t>(rows) * 200 + 200, low, high);
        const auto w = Values<W>(columns * kGroups * group, weight_low, weight_high);
        const std::size_t initial_stride = rows % 2 == 0 ? 0 : columns + 1;
        const auto initial = Values<std::int32_t>(
            columns + static_cast<std::size_t>(rows) * initial_stride, -1000000, 1000000);
        std::vector<const A*> pointers;
        for (int r = 0; r < rows; ++r) pointers.push_back(a.data() + 7 + 197 * r);
        const std::size_t stride = columns + 3;
        std::vector<std::int32_t> sums(static_cast<std::size_t>(rows) * stride, -1);
        products.tile[vectors - 1][rows - 1](
            {.rows = pointers.data(),
             .segments = segments.data(),
             .segment_count = 3,
             .panels = w.data(),
             .panel_stride = static_cast<std::int64_t>(lanes * kGroups * group),
             .initial = initial.data(),
             .initial_stride = static_cast<std::int64_t>(initial_stride),
             .sums = sums.data(),
             .stride = static_cast<std::int64_t>(stride)});
        for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            std::int32_t expected = initial[r * initial_stride + c];
            std::size_t g = 0;
            for (const Segment& s : segments) {
              for (int i = 0; i < s.groups; ++i, ++g) {
                for (std::size_t j = 0; j < group; ++j) {
                  const A* at = pointers[r] + s.offset + i * products.group;
                  expected +=
                      read(at[j]) * w[((c / lanes * kGroups + g) * lanes + c % lanes) * group + j];
                }
              }
            }
            ASSERT_EQ(sums[r * stride + c], expected)
                << rows << " rows, " << vectors << " vectors, row " << r << ", column " << c;
          }
        }
      }
    }
  }
  template <typename Read>
  void CheckByteTiles(int low, int high, int weight_low, int weight_high, Read read) {
    CheckTiles(kernels().bytes, low, high, weight_low, weight_high, read);
  }
};

TEST_P(KernelsTest, MultipliesBytesThatItsPairsAllow) {
  const auto read = [this](std::uint8_t byte) { return ByteValue(byte); };
  if (kernels().bytes.pair_limit == 0) {
    CheckByteTiles(0, 255, -128, 127, read);
    CheckByteTiles(255, 255, 127, 127, read);
    CheckByteTiles(255, 255, -128, -128, read);
    CheckByteTiles(128, 128, -128, -128, read);
    return;
  }
  CheckByteTiles(0, 255, -64, 64, read);
  // 255 * (64 + 64) = 32640 and 255 * (-64 - 64) = -32640 still fit 16 bits.
  CheckByteTiles(255, 255, 64, 64, read);
  CheckByteTiles(255, 255, -64, -64, read);
}

TEST_P(KernelsTest, MultipliesWords) {
  const auto read = [](std::int16_t word) { return word; };
  CheckTiles(kernels().words, -255, 255, -255, 255, read);
  CheckTiles(kernels().words, 255, 255, 255, 255, read);
  CheckTiles(kernels().words, -32768, -32768, -128, -128, read);
  CheckTiles(kernels().words, -32768, 32767, -128, 127, read);
}

TEST_P(KernelsTest, SumsQuads) {
  const std::size_t n = static_cast<std::size_t>(kernels().lanes) * 6;
  const auto values = Values<std::uint8_t>(4 * n + 700, 0, 255);
  const auto weights = Values<std::int8_t>(3 * (4 * n + 8), -64, 64);
  const auto initial = Values<std::int32_t>(n, -1000, 1000);
  const std::vector<std::int64_t> offsets{0, 29, 611};
  std::vector<std::int32_t> sums(n);
  kernels().quad_sums({.values = values.data(),
                       .offsets = offsets.data(),
                       .weights = weights.data(),
                       .weight_stride = static_cast<std::int64_t>(4 * n + 8),
                       .taps = 3,
                       .initial = initial.data(),
                       .n = static_cast<std::int64_t>(n),
                       .sums = sums.data()});
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t expected = initial[i];
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t j = 4 * i; j < 4 * i + 4; ++j) {
        expected += ByteValue(values[static_cast<std::size_t>(offsets[t]) + j]) *
                    weights[t * (4 * n + 8) + j];
      }
    }
    ASSERT_EQ(sums[i], expected) << i;
  }
}

TEST_P(KernelsTest, InterleavesRowsOfAnyLength) {
  for (const std::size_t n : {1UL, 15UL, 16UL, 64UL, 131UL}) {
    std::vector<std::vector<std::uint8_t>> rows;
    std::vector<const std::uint8_t*> pointers;
    for (int j = 0; j < 4; ++j) rows.push_back(Values<std::uint8_t>(n, 0, 255));
    for (const auto& row : rows) pointers.push_back(row.data());
    std::vector<std::uint8_t> out(4 * n);
    kernels().interleave(pointers.data(), static_cast<std::int64_t>(n), out.data());
    for (std::size_t i = 0; i < 4 * n; ++i) ASSERT_EQ(out[i], rows[i % 4][i / 4]);
  }
}

TEST_P(KernelsTest, WidensEveryByteLessItsOffset) {
  std::vector<std::uint8_t> stored(256 + 3);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::uint8_t>(i);
  std::vector<std::int16_t> wide(stored.size());
  for (const int offset : {-128, -1, 0, 3, 255}) {
    kernels().widen(stored.data(), 259, offset, wide.data());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      ASSERT_EQ(wide[i], ByteValue(stored[i]) - offset);
    }
  }
}

// One set of parameters for every column.
struct Ratio {
  double ratio, bias;
  std::vector<float> ratios, biases, thresholds;

  Ratio(double r, double b, std::size_t n, format::IntegerRange rounded)
      : ratio(r),
        bias(b),
        ratios(n, static_cast<float>(r)),
        biases(n, static_cast<float>(b)),
        thresholds(n, DoubtThreshold(b, rounded)) {}
};

// Around every tie of a scale ratio of 1/16, and between, in both directions: no lane is wrong and
// silent. Rows of every length, so that every way to begin and end a row is there.
TEST_P(KernelsTest, RequantizesOrReportsDoubt) {
  const int low = kernels().signed_bytes ? -128 : 0;
  const format::IntegerRange stored{low + 3, low + 250};
  const std::int32_t offset = low + 133;
  for (const auto& [ratio, bias] : std::vector<std::pair<double, double>>{
           {1.0 / 16, 0}, {0.1, 0.5}, {1.0 / 3, -3.25}, {1e6, 0}}) {
    for (const std::int64_t columns : {1, 2, 4, 7, 8, 16, 23, 32, 48, 64, 65, 130}) {
      constexpr std::int64_t kRows = 7;
      const std::int64_t stride = columns + 64;
      std::vector<std::int32_t> acc(static_cast<std::size_t>(kRows * stride));
      for (auto& a : acc) a = std::uniform_int_distribution<std::int32_t>(-2600, 2600)(random_);
      const Ratio r(ratio, bias, static_cast<std::size_t>(stride),
                    {stored.min - offset, stored.max - offset});
      std::vector<std::uint8_t> out(static_cast<std::size_t>(kRows * (columns + 1)), 77);
      std::vector<std::int32_t> doubtful(acc.size());
      const auto count = kernels().requantize(
          {.acc = acc.data(),
           .stride = stride,
           .rows = kRows,
           .columns = columns,
           .out = out.data(),
           .out_stride = columns + 1},
          {.ratio = r.ratios.data(),
           .bias = r.biases.data(),
           .threshold = r.thresholds.data(),
           .least = r.thresholds[0],
           .narrowing = {static_cast<std::int16_t>(offset), static_cast<std::int16_t>(stored.min),
                         static_cast<std::int16_t>(stored.max)}},
          doubtful.data());
      std::vector<bool> doubted(acc.size());
      for (std::int64_t d = 0; d < count; ++d) {
        doubted[static_cast<std::size_t>(doubtful[static_cast<std::size_t>(d)])] = true;
      }
      for (std::int64_t i = 0; i < kRows * columns; ++i) {
        const auto at = static_cast<std::size_t>(i / columns * stride + i % columns);
        const auto to = static_cast<std::size_t>(i / columns * (columns + 1) + i % columns);
        // Binary64's ratio decides what is farther from a tie than the threshold; clamped lanes
        // have no tie.
        const long double real = static_cast<long double>(acc[at]) * ratio + bias;
        const long double nearest = std::nearbyint(real);
        const bool tie = std::fabs(real - nearest) > 0.5L - 1e-9L &&
                         real > static_cast<long double>(stored.min - offset) &&
                         real < static_cast<long double>(stored.max - offset);
        ASSERT_TRUE(doubted[at] || !tie) << acc[at];
        if (doubted[at]) continue;
        const auto expected =
            std::min<long>(stored.max, std::max<long>(stored.min, std::lrint(nearest) + offset));
        ASSERT_EQ(ByteValue(out[to]), expected) << acc[at] << " * " << ratio;
      }
      for (std::int64_t row = 0; row < kRows; ++row) {
        ASSERT_EQ(out[static_cast<std::size_t>(row * (columns + 1) + columns)], 77)
            << "past the end";
      }
    }
  }
}

// Rows that follow each other without a gap, as few columns as they have.
TEST_P(KernelsTest, RequantizesRowsThatTouch) {
  for (const std::int64_t columns : {1, 3, 4, 8, 15, 16, 32, 64}) {
    constexpr std::int64_t kRows = 9;
    const auto n = static_cast<std::size_t>(columns) + 64;
    const auto acc = Values<std::int32_t>(static_cast<std::size_t>(kRows) * n, -2600, 2600);
    Ratio r(0.25, 0, n, {-128, 127});
    for (std::size_t c = 0; c < n; ++c) r.ratios[c] = std::ldexp(1.0F, -static_cast<int>(c % 5));
    std::ranges::fill(r.thresholds, kNoDoubt);  // the ratios are exact
    std::vector<std::uint8_t> out(static_cast<std::size_t>(kRows * columns) + 1, 77);
    std::vector<std::int32_t> doubtful(acc.size());
    const int low = kernels().signed_bytes ? -128 : 0;
    EXPECT_EQ(0, kernels().requantize({.acc = acc.data(),
                                       .stride = static_cast<std::int64_t>(n),
                                       .rows = kRows,
                                       .columns = columns,
                                       .out = out.data(),
                                       .out_stride = columns},
                                      {.ratio = r.ratios.data(),
                                       .bias = r.biases.data(),
                                       .threshold = r.thresholds.data(),
                                       .least = kNoDoubt,
                                       .narrowing = {static_cast<std::int16_t>(low + 128),
                                                     static_cast<std::int16_t>(low),
                                                     static_cast<std::int16_t>(low + 255)}},
                                      doubtful.data()));
    for (std::int64_t i = 0; i < kRows * columns; ++i) {
      const auto at =
          static_cast<std::size_t>(i / columns) * n + static_cast<std::size_t>(i % columns);
      const double real = std::ldexp(acc[at], -static_cast<int>(i % columns % 5));
      ASSERT_EQ(ByteValue(out[static_cast<std::size_t>(i)]),
                std::min(255L, std::max(0L, std::lrint(real) + 128)) + low);
    }
    ASSERT_EQ(out.back(), 77) << "past the end";
  }
}

TEST_P(KernelsTest, SumsPairs) {
  for (const std::size_t n : {1UL, 15UL, 16UL, 67UL}) {
    const auto first = Values<std::int32_t>(n, -100000, 100000);
    const auto second = Values<std::int32_t>(n, -100000, 100000);
    std::vector<std::int32_t> sums(n + 1, 77);
    kernels().sum_pair({first.data(), second.data(), 37, -211}, static_cast<std::int64_t>(n),
                       sums.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sums[i], first[i] * 37 - second[i] * 211);
    ASSERT_EQ(sums[n], 77) << "past the end";
  }
}

// A line of any length, with weights and rounding that repeat: each byte is that of its own sum, or
// its sum is handed back.
TEST_P(KernelsTest, FinishesLinesOfQuadsOrReportsDoubt) {
  const std::int64_t block = 4 * kernels().lanes;
  const int low = kernels().signed_bytes ? -128 : 0;
  for (const std::int64_t taps : {1, 3, 5}) {
    for (const std::int64_t n : {std::int64_t{1}, block - 1, 2 * block, 5 * block + 7}) {
      const std::int64_t period = 2 * block;
      const auto values =
          Values<std::uint8_t>(static_cast<std::size_t>(4 * (n + 3 * block) + 600), 0, 255);
      const auto weights =
          Values<std::int8_t>(static_cast<std::size_t>(taps * 4 * period), -64, 64);
      const auto initial = Values<std::int32_t>(static_cast<std::size_t>(period), -9000, 9000);
      std::vector<std::int64_t> offsets;
      for (std::int64_t t = 0; t < taps; ++t) offsets.push_back(t * 37);
      // Around 1/128 a tie is common: half of all sums that are odd multiples of 64.
      const Ratio r(1.0 / 128, 0, static_cast<std::size_t>(period), {-128, 127});
      std::vector<std::uint8_t> out(static_cast<std::size_t>(n) + 1, 77);
      std::vector<Doubtful> doubtful(static_cast<std::size_t>(n));
      const auto count =
          kernels().quad_line({.sums = {.values = values.data(),
                                        .offsets = offsets.data(),
                                        .weights = weights.data(),
                                        .weight_stride = 4 * period,
                                        .taps = taps,
                                        .initial = initial.data(),
                                        .n = n},
                               .rounding = {.ratio = r.ratios.data(),
                                            .bias = r.biases.data(),
                                            .threshold = r.thresholds.data(),
                                            .least = r.thresholds[0],
                                            .narrowing = {static_cast<std::int16_t>(low + 128),
                                                          static_cast<std::int16_t>(low),
                                                          static_cast<std::int16_t>(low + 255)}},
                               .period = period,
                               .out = out.data()},
                              doubtful.data());
      std::map<std::int64_t, std::int32_t> doubted;
      for (std::int64_t d = 0; d < count; ++d) {
        const Doubtful& found = doubtful[static_cast<std::size_t>(d)];
        doubted[found.index] = found.acc;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        std::int32_t sum = initial[static_cast<std::size_t>(i % period)];
        for (std::int64_t t = 0; t < taps; ++t) {
          for (std::int64_t j = 0; j < 4; ++j) {
            sum += ByteValue(values[static_cast<std::size_t>(offsets[static_cast<std::size_t>(t)] +
                                                             4 * i + j)]) *
                   weights[static_cast<std::size_t>((t * period + i % period) * 4 + j)];
          }
        }
        if (doubted.contains(i)) {
          ASSERT_EQ(doubted[i], sum);
          continue;
        }
        ASSERT_NE(std::abs(sum) % 128, 64) << "a tie";
        const long nearest = std::lrint(sum / 128.0);
        ASSERT_EQ(ByteValue(out[static_cast<std::size_t>(i)]),
                  std::min(255L, std::max(0L, nearest + 128)) + low);
      }
      ASSERT_EQ(out.back(), 77) << "past the end";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTables, KernelsTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace qtx::backend::engine
