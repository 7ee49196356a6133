// The kernels and functions behind float32 and TFLite's arithmetics, against their clauses written
// out: integers of 128 bits, or plain binary32 in the stated order.
#include "engine/scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support.h"

namespace qtx::backend::engine::scaling_test {
namespace {

using Wide = __int128;

Wide Power(int exponent) { return Wide{1} << exponent; }
// Quotient towards negative infinity: an arithmetic shift as the clauses have it.
Wide FloorShift(Wide value, int shift) {
  const Wide divisor = Power(shift);
  const Wide quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

// once(a, m, e) of tflite.S2.
Wide Once(Wide a, Multiplier f) {
  return FloorShift(a * f.mantissa + Power(30 - f.exponent), 31 - f.exponent);
}

Wide Saturated(Wide value) {
  return std::clamp<Wide>(value, std::numeric_limits<std::int32_t>::min(),
                          std::numeric_limits<std::int32_t>::max());
}
// high(a, m), pot(h, r) and twice(a, m, e) of tflite.S3, word for word.
Wide High(Wide a, Wide m) {
  const Wide product = a * m;
  return Saturated((product + (product >= 0 ? Power(30) : 1 - Power(30))) / Power(31));
}
Wide Pot(Wide h, int r) {
  const Wide rest = h - FloorShift(h, r) * Power(r);
  const Wide threshold = (Power(r) - 1) / 2 + (h < 0 ? 1 : 0);
  return FloorShift(h, r) + (rest > threshold ? 1 : 0);
}
Wide Twice(Wide a, Multiplier f) {
  const Wide left = Saturated(a * Power(std::max(f.exponent, 0)));
  return Pot(High(left, f.mantissa), std::max(-f.exponent, 0));
}

// Accumulators that matter: every sign, small ones around ties, the ends.
std::vector<std::int32_t> Accumulators(std::size_t count, std::mt19937& random) {
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> values{0, 1, -1, 2, -2, 3, -3, 5, -5, 6, -6, kMin, kMin + 1, kMax};
  std::uniform_int_distribution<int> bits(1, 31);
  std::uniform_int_distribution<std::int64_t> value(kMin, kMax);
  while (values.size() < count) {
    values.push_back(static_cast<std::int32_t>(value(random) >> (31 - bits(random))));
  }
  values.resize(count);
  return values;
}

TEST(Multiplier, IsTheNearestMantissaOf31Bits) {
  const auto check = [](double factor, std::int32_t mantissa, int exponent) {
    const Multiplier m = MakeMultiplier(factor);
    EXPECT_EQ(m.mantissa, mantissa) << factor;
    EXPECT_EQ(m.exponent, exponent) << factor;
  };
  check(0.25, 1 << 30, -1);  // 0.5 * 2^-1
  check(1.0, 1 << 30, 1);
  check(0.75, 3 << 29, 0);
  // (1 - 2^-33) * 2^31 rounds to 2^31: half of it and one more in the exponent.
  check(1.0 - 0x1p-33, 1 << 30, 1);
  // 0.5 + 2^-32 is 2^30 + 1/2 in units of 2^-31: half away.
  check(0.5 + 0x1p-32, (1 << 30) + 1, 0);
  check(0x1p-32, 1 << 30, -31);
  check(0x1.fp-33, 0, 0);  // e = -32
  check(0, 0, 0);
  check(0x1p30, std::numeric_limits<std::int32_t>::max(), 30);
  check(std::numeric_limits<double>::infinity(), std::numeric_limits<std::int32_t>::max(), 30);
}

TEST(Multiplier, RoundsOnceOrTwiceAsTheClausesSay) {
  std::mt19937 random(7);
  const std::vector<std::int32_t> values = Accumulators(2000, random);
  std::uniform_int_distribution<std::int32_t> mantissa(1 << 30,
                                                       std::numeric_limits<std::int32_t>::max());
  for (int exponent = -31; exponent <= 30; ++exponent) {
    for (const std::int32_t m : {1 << 30, 3 << 29, mantissa(random)}) {
      for (const std::int32_t a : values) {
        const Multiplier f{m, exponent};
        ASSERT_TRUE(MultiplyOnce(a, f) == Once(a, f)) << a << " " << m << " " << exponent;
        ASSERT_TRUE(MultiplyTwice(a, f) == Twice(a, f)) << a << " " << m << " " << exponent;
      }
    }
  }
}

// tflite.S12: min((m + 2^15) >> 16, 2^15 - 1), one rounding half up, the sum clamped to 48 bits.
TEST(Multiplier, TakesFifteenBitsOfAWideSum) {
  EXPECT_EQ(MultiplyWide(3, {1 << 30, -1}), 1);   // 3/4 half up
  EXPECT_EQ(MultiplyWide(2, {1 << 30, -1}), 1);   // 1/2
  EXPECT_EQ(MultiplyWide(-2, {1 << 30, -1}), 0);  // -1/2 goes up
  EXPECT_EQ(MultiplyWide(1 << 20, {0x7FFFFFFF, 0}), ((1 << 20) * 32767LL + (1 << 14)) >> 15);
  EXPECT_EQ(MultiplyWide(std::int64_t{1} << 50, {1 << 30, 1}), (std::int64_t{1} << 47) - 1);
}

TEST(Multiplier, DividesHalfAway) {
  EXPECT_EQ(DivideHalfAway(5, 2), 3);
  EXPECT_EQ(DivideHalfAway(-5, 2), -3);
  EXPECT_EQ(DivideHalfAway(4, 3), 1);
  EXPECT_EQ(DivideHalfAway(-5, 3), -2);
}

// float32.S2: half to even before the offset is added; NaN is the offset, infinities the ends.
TEST(Stored, GoesToEvenBeforeTheOffset) {
  const StoredType type{1, 3, {-128, 100}};
  EXPECT_EQ(StoredOf(2.5F, type), 5);
  EXPECT_EQ(StoredOf(-2.5F, type), 1);
  EXPECT_EQ(StoredHalfAway(2.5F, type), 6);
  EXPECT_EQ(StoredHalfAway(-2.5F, type), 0);
  EXPECT_EQ(StoredOf(NAN, type), 3);
  EXPECT_EQ(StoredOf(INFINITY, type), 100);
  EXPECT_EQ(StoredOf(-INFINITY, type), -128);
  EXPECT_EQ(StoredOf(1e30F, type), 100);
  // The largest binary32 below a half: adding 0.5 first would make it 1.
  EXPECT_EQ(StoredHalfAway(0x1.fffffep-2F, type), 3);
}

class ScalingKernelsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels() const { return *GetParam(); }
  int ByteValue(std::uint8_t byte) const {
    return kernels().signed_bytes ? static_cast<std::int8_t>(byte) : byte;
  }
  Narrowing narrowing() const {
    const int low = kernels().signed_bytes ? -128 : 0;
    return {static_cast<std::int16_t>(low + 133), static_cast<std::int16_t>(low + 3),
            static_cast<std::int16_t>(low + 250)};
  }
  int Clamped(Wide rounded) const {
    const Wide stored = rounded + narrowing().offset;
    return static_cast<int>(std::clamp<Wide>(stored, narrowing().low, narrowing().high));
  }

  // Rows of every length; expected(accumulator, column).
  template <typename Run, typename Expected>
  void CheckRows(Run run, Expected expected) {
    for (const std::int64_t columns : {1, 7, 16, 23, 64, 65, 130}) {
      constexpr std::int64_t kRows = 5;
      const std::int64_t stride = columns + 64;
      const auto acc = Accumulators(static_cast<std::size_t>(kRows * stride), random_);
      std::vector<std::uint8_t> out(static_cast<std::size_t>(kRows * (columns + 1)), 77);
      run(Sums{.acc = acc.data(),
               .stride = stride,
               .rows = kRows,
               .columns = columns,
               .out = out.data(),
               .out_stride = columns + 1});
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int32_t a = acc[static_cast<std::size_t>(row * stride + c)];
          const auto to = static_cast<std::size_t>(row * (columns + 1) + c);
          ASSERT_EQ(ByteValue(out[to]), Clamped(expected(a, static_cast<std::size_t>(c))))
              << a << " in column " << c << " of " << columns;
        }
        ASSERT_EQ(out[static_cast<std::size_t>(row * (columns + 1) + columns)], 77) << "past it";
      }
    }
  }

  void CheckFixed(void (*run)(const Sums&, const FixedScaling&), Wide (*expected)(Wide, Multiplier),
                  std::vector<std::int32_t> mantissa, std::vector<std::int32_t> shift) {
    CheckRows(
        [&](const Sums& sums) {
          run(sums, {mantissa.data(), shift.data(), narrowing()});
        },
        [&](std::int32_t a, std::size_t c) {
          return expected(a, {mantissa[c], -shift[c]});
        });
  }

  std::mt19937 random_{20240602};
};

constexpr std::size_t kMostColumns = 130 + 64;

TEST_P(ScalingKernelsTest, MultipliesByEveryShift) {
  std::uniform_int_distribution<std::int32_t> mantissa(1 << 30,
                                                       std::numeric_limits<std::int32_t>::max());
  std::vector<std::int32_t> mantissas(kMostColumns);
  std::vector<std::int32_t> shifts(kMostColumns);
  for (std::size_t i = 0; i < kMostColumns; ++i) {
    mantissas[i] = i % 3 == 0 ? 1 << 30 : mantissa(random_);
    shifts[i] = static_cast<std::int32_t>(i % 32);
  }
  CheckFixed(kernels().multiply_once, Once, mantissas, shifts);
  CheckFixed(kernels().multiply_twice, Twice, mantissas, shifts);
  // A factor below 2^-32 is 0.
  std::ranges::fill(mantissas, 0);
  std::ranges::fill(shifts, 0);
  CheckFixed(kernels().multiply_once, Once, mantissas, shifts);
  CheckFixed(kernels().multiply_twice, Twice, mantissas, shifts);
}

// Halves, tenths and the factors whose products leave int32, or reach no normal number.
TEST_P(ScalingKernelsTest, ScalesInOneBinary32Product) {
  const std::vector<float> some{0.5F, 0.1F, 0.25F, 0x1p-20F, 1e6F, 1e30F, 1e-44F, 0x1.6c16c2p-7F};
  std::vector<float> factors(kMostColumns);
  for (std::size_t i = 0; i < kMostColumns; ++i) factors[i] = some[i % some.size()];
  CheckRows(
      [&](const Sums& sums) {
        kernels().scale(sums, {factors.data(), narrowing()});
      },
      [&](std::int32_t a, std::size_t c) {
        const float product = static_cast<float>(a) * factors[c];
        return static_cast<Wide>(std::clamp(std::nearbyint(product), -1e9F, 1e9F));
      });
}

// 585 times the binary32 nearest to 1/90 is the tie 6.5 in binary32, a little more exactly.
TEST_P(ScalingKernelsTest, LandsOnATieThatIsNone) {
  const std::vector<float> factors(kMostColumns, 0x1.6c16c2p-7F);
  const std::vector<std::int32_t> acc(kMostColumns, 585);
  std::vector<std::uint8_t> out(kMostColumns);
  kernels().scale(
      {.acc = acc.data(), .stride = 1, .rows = 1, .columns = 1, .out = out.data(), .out_stride = 1},
      {factors.data(), narrowing()});
  EXPECT_EQ(ByteValue(out[0]), Clamped(6));
}

TEST_P(ScalingKernelsTest, QuantizesByDivision) {
  const float scale = 0x1.199d54p-9F;
  std::vector<float> values{0, -0.0F, NAN, INFINITY, -INFINITY, 1e30F, -1e30F, 0x1.1883b6p-2F};
  std::uniform_real_distribution<float> value(-0.3F, 0.3F);
  while (values.size() < 131) values.push_back(value(random_));
  for (const std::size_t n : {1UL, 8UL, 63UL, 131UL}) {
    std::vector<float> padded(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
    padded.resize(n + 64);
    std::vector<std::uint8_t> out(n + 1, 77);
    kernels().quantize(padded.data(), static_cast<std::int64_t>(n), scale, narrowing(), out.data());
    for (std::size_t i = 0; i < n; ++i) {
      const float quotient = values[i] / scale;
      const float nearest = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
      ASSERT_EQ(ByteValue(out[i]), Clamped(static_cast<Wide>(std::clamp(nearest, -1e9F, 1e9F))))
          << values[i];
    }
    ASSERT_EQ(out[n], 77);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTables, ScalingKernelsTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace qtx::backend::engine::scaling_test
