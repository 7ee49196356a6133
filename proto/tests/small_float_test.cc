// Every code of every small float format against an independent description of the format, and
// every encoding against a search of the whole table.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "qtx/format/tensor.h"

namespace qtx::format {
namespace {

struct Format {
  ElementType type;
  int bits, mantissa, bias;
  double largest;  // of the finite values, from the format's publication
  double least_subnormal;
  std::vector<std::uint32_t> nans;  // one sign; empty: as IEEE 754 has them
  bool signed_zero;
};

const std::vector<Format>& Formats() {
  using enum ElementType;
  static const std::vector<Format> formats = {
      {kFloat16, 16, 10, 15, 65504, 0x1p-24, {}, true},
      {kBfloat16, 16, 7, 127, 0x1.fep127, 0x1p-133, {}, true},
      {kFloat8E5M2, 8, 2, 15, 57344, 0x1p-16, {}, true},
      {kFloat8E4M3FN, 8, 3, 7, 448, 0x1p-9, {0x7F, 0xFF}, true},
      {kFloat8E4M3FNUZ, 8, 3, 8, 240, 0x1p-10, {0x80}, false},
      {kFloat8E5M2FNUZ, 8, 2, 16, 57344, 0x1p-17, {0x80}, false},
      {kFloat4E2M1, 4, 1, 1, 6, 0.5, {}, true},
  };
  return formats;
}

bool IsIeee(const Format& f) { return f.nans.empty() && f.bits > 4; }

// The value by the definition of a binary format: 1.m * 2^(e - bias), or 0.m * 2^(1 - bias).
double Expected(const Format& f, std::uint32_t code) {
  for (const std::uint32_t nan : f.nans) {
    if (code == nan) return std::nan("");
  }
  const double sign = (code >> (f.bits - 1)) != 0 ? -1 : 1;
  const int e = static_cast<int>(code >> f.mantissa) & ((1 << (f.bits - 1 - f.mantissa)) - 1);
  const double fraction = (code % (1U << f.mantissa)) / std::pow(2.0, f.mantissa);
  if (IsIeee(f) && e == (1 << (f.bits - 1 - f.mantissa)) - 1) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (e == 0) return sign * fraction * std::pow(2.0, 1 - f.bias);
  return sign * (1 + fraction) * std::pow(2.0, e - f.bias);
}

// The finite values with their codes; the magnitude code's parity is what ties go by.
std::vector<std::pair<double, std::uint32_t>> Finite(const Format& f) {
  std::vector<std::pair<double, std::uint32_t>> values;
  for (std::uint32_t code = 0; code < 1U << (f.bits - 1); ++code) {
    if (std::isfinite(Expected(f, code))) values.emplace_back(Expected(f, code), code);
  }
  return values;
}

TEST(DecodeSmallFloat, GivesEveryCodeTheValueOfItsFormat) {
  for (const Format& f : Formats()) {
    double largest = 0;
    for (std::uint32_t code = 0; code < 1U << f.bits; ++code) {
      const double found = DecodeSmallFloat(f.type, code);
      const double expected = Expected(f, code);
      if (std::isfinite(found)) largest = std::max(largest, found);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found)) << Name(f.type) << " " << code;
      } else {
        EXPECT_EQ(found, expected) << Name(f.type) << " " << code;
        EXPECT_EQ(std::signbit(found), std::signbit(expected)) << Name(f.type) << " " << code;
      }
    }
    EXPECT_EQ(largest, f.largest) << Name(f.type);
    EXPECT_EQ(DecodeSmallFloat(f.type, 1), f.least_subnormal) << Name(f.type);
  }
}

TEST(DecodeSmallFloat, GivesE8M0PowersOfTwo) {
  for (std::uint32_t code = 0; code < 255; ++code) {
    EXPECT_EQ(DecodeSmallFloat(ElementType::kFloat8E8M0, code),
              std::pow(2.0, static_cast<int>(code) - 127));
  }
  EXPECT_TRUE(std::isnan(DecodeSmallFloat(ElementType::kFloat8E8M0, 255)));
}

TEST(EncodeSmallFloat, IsTheInverseOfDecodeOnEveryValue) {
  for (const Format& f : Formats()) {
    for (std::uint32_t code = 0; code < 1U << f.bits; ++code) {
      const double value = DecodeSmallFloat(f.type, code);
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(EncodeSmallFloat(f.type, value), code) << Name(f.type) << " " << code;
    }
  }
}

// Between each two neighbours: just below the middle, the middle itself, just above it.
TEST(EncodeSmallFloat, RoundsToTheNearestAndTiesToTheEvenCode) {
  for (const Format& f : Formats()) {
    const auto values = Finite(f);
    const std::uint32_t sign = 1U << (f.bits - 1);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const auto [low, low_code] = values[i];
      const auto [high, high_code] = values[i + 1];
      const double middle = low + (high - low) / 2;
      const std::uint32_t even = low_code % 2 == 0 ? low_code : high_code;
      EXPECT_EQ(EncodeSmallFloat(f.type, middle), even) << Name(f.type) << " " << middle;
      EXPECT_EQ(EncodeSmallFloat(f.type, std::nextafter(middle, 0)), low_code);
      EXPECT_EQ(EncodeSmallFloat(f.type, std::nextafter(middle, 1e300)), high_code);
      const std::uint32_t negative = even == 0 && !f.signed_zero ? 0 : even | sign;
      EXPECT_EQ(EncodeSmallFloat(f.type, -middle), negative) << Name(f.type) << " " << middle;
    }
  }
}

TEST(EncodeSmallFloat, SaturatesAtTheLargestFiniteValue) {
  for (const Format& f : Formats()) {
    for (const double beyond : {f.largest * 1.5, 1e300, std::numeric_limits<double>::infinity()}) {
      EXPECT_EQ(DecodeSmallFloat(f.type, EncodeSmallFloat(f.type, beyond)), f.largest)
          << Name(f.type);
      EXPECT_EQ(DecodeSmallFloat(f.type, EncodeSmallFloat(f.type, -beyond)), -f.largest)
          << Name(f.type);
    }
  }
}

TEST(EncodeSmallFloat, KeepsNanWhereTheFormatHasOne) {
  for (const Format& f : Formats()) {
    const std::uint32_t code = EncodeSmallFloat(f.type, std::nan(""));
    if (f.type == ElementType::kFloat4E2M1) {
      EXPECT_EQ(code, 0U);
    } else {
      EXPECT_TRUE(std::isnan(DecodeSmallFloat(f.type, code))) << Name(f.type);
    }
  }
}

TEST(EncodeSmallFloat, RoundsScalesOfE8M0ToANearPowerOfTwo) {
  using enum ElementType;
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 1.0), 127U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 1.49), 127U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 1.51), 128U);
  // 1.5 lies between the codes 127 (odd) and 128 (even), 3 between 128 and 129.
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 1.5), 128U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 3.0), 128U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 0x1p-200), 0U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, 0x1p+200), 254U);
  EXPECT_EQ(EncodeSmallFloat(kFloat8E8M0, std::nan("")), 255U);
}

}  // namespace
}  // namespace qtx::format
