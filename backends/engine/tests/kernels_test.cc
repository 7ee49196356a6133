// Each kernel of each table this machine can run, against loops that cannot be wrong.
#include "engine/kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/requantize.h"
#include "support.h"

namespace qtx::backend::engine {
namespace {

class KernelsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels() const { return *GetParam(); }
  std::mt19937 random_{20240601};

  template <typename T>
  std::vector<T> Values(std::size_t count, int low, int high) {
    std::uniform_int_distribution<int> value(low, high);
    std::vector<T> values(count);
    for (auto& v : values) v = static_cast<T>(value(random_));
    return values;
  }

  template <typename T>
  void CheckMultiply(const GemmKernel<T>& kernel, int low, int high) {
    const auto columns = static_cast<std::size_t>(kernel.columns);
    const auto group = static_cast<std::size_t>(kernel.group);
    for (std::size_t rows = 1; rows <= static_cast<std::size_t>(kernel.max_rows); ++rows) {
      for (const std::size_t groups : {0UL, 1UL, 2UL, 7UL, 33UL}) {
        const auto a = Values<T>(groups * rows * group, low, high);
        const auto b = Values<T>(groups * columns * group, low, high);
        const std::size_t stride = columns + 3;
        std::vector<std::int32_t> out(rows * stride, -1);
        kernel.multiply(a.data(), b.data(), static_cast<std::int64_t>(groups),
                        static_cast<int>(rows), out.data(), static_cast<std::int64_t>(stride));
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            std::int32_t sum = 0;
            for (std::size_t k = 0; k < groups; ++k) {
              for (std::size_t g = 0; g < group; ++g) {
                sum += a[(k * rows + r) * group + g] * b[(k * columns + c) * group + g];
              }
            }
            ASSERT_EQ(out[r * stride + c], sum) << rows << " rows, " << groups << " groups";
          }
        }
      }
    }
  }

  template <typename T>
  void CheckInterleave(const GemmKernel<T>& kernel) {
    const auto columns = static_cast<std::size_t>(kernel.columns);
    const auto group = static_cast<std::size_t>(kernel.group);
    const std::size_t n = 3 * columns;
    std::vector<std::vector<T>> rows;
    std::vector<const T*> pointers;
    for (std::size_t g = 0; g < group; ++g) rows.push_back(Values<T>(n, -128, 127));
    for (const auto& row : rows) pointers.push_back(row.data());
    const std::size_t panel = columns * group + 5;
    std::vector<T> out(3 * panel, T{1});
    kernel.interleave(pointers.data(), static_cast<std::int64_t>(n),
                      static_cast<std::int64_t>(panel), out.data());
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t g = 0; g < group; ++g) {
        ASSERT_EQ(out[c / columns * panel + c % columns * group + g], rows[g][c]);
      }
    }
  }
};

TEST_P(KernelsTest, MultipliesWideOperands) {
  CheckMultiply(kernels().wide, -255, 255);
  CheckInterleave(kernels().wide);
}

// 255 * 255 in every pair: what a saturating 16-bit pair sum clips.
TEST_P(KernelsTest, SumsLargestProductsWithoutSaturating) {
  CheckMultiply(kernels().wide, 255, 255);
  CheckMultiply(kernels().wide, -255, -255);
}

TEST_P(KernelsTest, MultipliesNarrowOperandsWhereItCan) {
  if (kernels().narrow.multiply == nullptr) {
    EXPECT_EQ(kernels().narrow.group, 0);
    return;
  }
  CheckMultiply(kernels().narrow, -128, 127);
  CheckMultiply(kernels().narrow, -128, -128);
  CheckInterleave(kernels().narrow);
}

TEST_P(KernelsTest, LoadsEveryByteLessItsOffset) {
  std::vector<std::uint8_t> stored(256 + 3);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::uint8_t>(i);
  std::vector<std::int16_t> wide(stored.size());
  for (const int offset : {-128, -1, 0, 3, 127}) {
    kernels().wide.load(stored.data(), 259, true, offset, wide.data());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      ASSERT_EQ(wide[i], static_cast<std::int8_t>(stored[i]) - offset);
    }
    kernels().wide.load(stored.data(), 259, false, offset + 128, wide.data());
    for (std::size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(wide[i], stored[i] - offset - 128);
  }
}

TEST_P(KernelsTest, ConvolvesDepthwiseAtAnyStrideAndLength) {
  const auto plane = Values<std::int16_t>(400, -255, 255);
  for (const int tap_count : {1, 2, 9, 10}) {
    const auto weights = Values<std::int16_t>(static_cast<std::size_t>(tap_count), -255, 255);
    std::vector<const std::int16_t*> taps;
    for (int t = 0; t < tap_count; ++t) taps.push_back(plane.data() + 13 * t + t % 3);
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 40}) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(n) + 1, 77);
        kernels().depthwise(taps.data(), weights.data(), tap_count, n, stride, out.data());
        for (std::int64_t i = 0; i < n; ++i) {
          std::int32_t sum = 0;
          for (std::size_t t = 0; t < taps.size(); ++t) sum += weights[t] * taps[t][i * stride];
          ASSERT_EQ(out[static_cast<std::size_t>(i)], sum) << "stride " << stride << ", n " << n;
        }
        ASSERT_EQ(out.back(), 77) << "wrote past the end";
      }
    }
  }
}

// Around every tie of a scale ratio of 1/16, and between, in both directions: no lane is wrong and
// silent.
TEST_P(KernelsTest, RequantizesOrReportsDoubt) {
  std::vector<std::int32_t> acc;
  for (std::int32_t a = -2600; a <= 2600; ++a) acc.push_back(a);
  const format::IntegerRange stored{-128, 127};
  const std::int32_t offset = 5;
  for (const double ratio : {1.0 / 16, 0.1, 1.0 / 3}) {
    for (const double bias : {0.0, 0.5, -3.25}) {
      const auto ratio32 = static_cast<float>(ratio);
      const auto bias32 = static_cast<float>(bias);
      const float threshold = DoubtThreshold(bias, {stored.min - offset, stored.max - offset});
      const std::int32_t correction = 7;
      const Rounding rounding{&correction, &ratio32, &bias32, &threshold, 0, -133, 122, offset};
      std::vector<std::uint8_t> out(acc.size());
      std::vector<std::int32_t> doubtful(acc.size());
      const auto count = kernels().requantize(acc.data(), static_cast<std::int64_t>(acc.size()),
                                              rounding, out.data(), doubtful.data());
      std::vector<bool> doubted(acc.size());
      for (std::int64_t d = 0; d < count; ++d) {
        doubted[static_cast<std::size_t>(doubtful[static_cast<std::size_t>(d)])] = true;
      }
      for (std::size_t i = 0; i < acc.size(); ++i) {
        // Binary64's ratio decides what is farther from a tie than the threshold; clamped lanes
        // have no tie.
        const long double real = static_cast<long double>(acc[i] + correction) * ratio + bias;
        const long double nearest = std::nearbyint(real);
        const bool tie = std::fabs(real - nearest) > 0.5L - 1e-9L && real > -133 && real < 122;
        ASSERT_TRUE(doubted[i] || !tie) << acc[i];
        if (doubted[i]) continue;
        const auto expected = std::min(127L, std::max(-128L, std::lrint(nearest) + offset));
        ASSERT_EQ(static_cast<std::int8_t>(out[i]), expected) << acc[i] << " * " << ratio;
      }
      EXPECT_LT(count, static_cast<std::int64_t>(acc.size()) / 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTables, KernelsTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace qtx::backend::engine
