// cast.S5 to .S7: numbers of one type for another, against the definitions of the types.
#include <cmath>
#include <cstdint>
#include <limits>

#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr const char* kArithmetics[] = {"exact", "float32", "tflite"};

OpRun CastTo(ElementType to, const Tensor& x, std::vector<Attribute> attributes = {},
             const char* arithmetic = "exact") {
  attributes.push_back(Attribute::Int("to", static_cast<std::int64_t>(to)));
  return {"Cast", attributes, {&x}, {to, std::nullopt}, arithmetic};
}

Tensor Doubles(const std::vector<double>& values) {
  Tensor tensor =
      *format::MakeTensor(ElementType::kDouble, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// What C++ says of conversions to intN_t: the value modulo 2^N.
TEST(CastNumber, TakesIntegersModuloTheirBits) {
  Random random(81);
  Values all;
  for (int i = 0; i < 2000; ++i) all.push_back(random.In(-(1LL << 40), 1LL << 40));
  all.insert(all.end(), {std::numeric_limits<std::int64_t>::min(), -129, -128, 127, 128, 255, 256});
  const Tensor x = Int64(all);
  Values int8, uint16, int32, uint4;
  for (const std::int64_t value : all) {
    int8.push_back(static_cast<std::int8_t>(value));
    uint16.push_back(static_cast<std::uint16_t>(value));
    int32.push_back(static_cast<std::int32_t>(value));
    uint4.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) % 16));
  }
  for (const char* arithmetic : kArithmetics) {
    EXPECT_EQ(Integers(CastTo(ElementType::kInt8, x, {}, arithmetic)), int8);
    EXPECT_EQ(Integers(CastTo(ElementType::kUint16, x, {}, arithmetic)), uint16);
    EXPECT_EQ(Integers(CastTo(ElementType::kInt32, x, {}, arithmetic)), int32);
    EXPECT_EQ(Integers(CastTo(ElementType::kUint4, x, {}, arithmetic)), uint4);
  }
}

TEST(CastNumber, CutsTheFractionOfAFloat) {
  Random random(82);
  std::vector<float> values;
  Values expected;
  for (int i = 0; i < 2000; ++i) {
    values.push_back(static_cast<float>(random.In(-(1 << 30), 1 << 30)) * 0x1p-12F);
    const auto whole = static_cast<std::int64_t>(values.back());  // C++ cuts as well
    expected.push_back(static_cast<std::int16_t>(whole));
  }
  const Tensor x = Float({2000}, values);
  for (const char* arithmetic : kArithmetics) {
    EXPECT_EQ(Integers(CastTo(ElementType::kInt16, x, {}, arithmetic)), expected);
  }
}

// The hardware's conversion of binary64 to binary32 is the judge.
TEST(CastNumber, RoundsADoubleOnceToAFloat) {
  Random random(83);
  std::vector<double> values = {0x1p-150, 0x1.8p-149, 0x1.ffffffp127, 0x1.fffffefp127, -1e300};
  for (int i = 0; i < 5000; ++i) {
    values.push_back(std::ldexp(static_cast<double>(random.In(-(1LL << 53), 1LL << 53)),
                                static_cast<int>(random.In(-210, 80))));
  }
  std::vector<float> expected;
  for (const double value : values) expected.push_back(static_cast<float>(value));
  const Tensor x = Doubles(values);
  for (const char* arithmetic : kArithmetics) {
    EXPECT_EQ(Floats(CastTo(ElementType::kFloat, x, {}, arithmetic)), expected);
  }
}

// ---- float8: every code tried for every float16 ----

struct SmallFloat {
  ElementType type;
  int mantissa_bits;
  bool has_infinity;
};
constexpr SmallFloat kSmallFloats[] = {{ElementType::kFloat8E4M3FN, 3, false},
                                       {ElementType::kFloat8E4M3FNUZ, 3, false},
                                       {ElementType::kFloat8E5M2, 2, true},
                                       {ElementType::kFloat8E5M2FNUZ, 2, false}};

// Nearest finite value of the type; of two, the one whose code is even.
double TextbookRounded(ElementType type, double value) {
  double best = std::nan("");
  bool best_even = false;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const double candidate = format::DecodeSmallFloat(type, code);
    if (!std::isfinite(candidate)) continue;
    const double distance = std::abs(candidate - value);
    const double least = std::abs(best - value);
    const bool closer = std::isnan(best) || distance < least;
    if (closer || (distance == least && code % 2 == 0 && !best_even)) {
      best = candidate;
      best_even = code % 2 == 0;
    }
  }
  return best;
}

// `value` to so many bits with no bound of the exponent above.
double TextbookUnbounded(int mantissa_bits, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - 1 - mantissa_bits);
  return std::nearbyint(value / unit) * unit;
}

TEST(CastNumber, ToFloat8IsTheNearestOfAllCodes) {
  Tensor x = *format::MakeTensor(ElementType::kFloat16, {65536});
  for (std::size_t i = 0; i < 65536; ++i) {
    x.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  }
  const std::vector<double> values = format::StoredValues(x);
  for (const SmallFloat& small : kSmallFloats) {
    const double largest = TextbookRounded(small.type, 1e9);
    const auto saturated = format::StoredValues(*CastTo(small.type, x).Run());
    const auto open =
        format::StoredValues(*CastTo(small.type, x, {Attribute::Int("saturate", 0)}).Run());
    for (std::size_t i = 0; i < values.size(); i += 7) {  // 7: all 256 codes take a while
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(saturated[i]) && std::isnan(open[i]));
        continue;
      }
      const double finite = std::isinf(values[i]) ? std::copysign(1e9, values[i]) : values[i];
      const double nearest = TextbookRounded(small.type, finite);
      ASSERT_EQ(saturated[i], nearest) << values[i];
      if (std::abs(TextbookUnbounded(small.mantissa_bits, finite)) <= largest) {
        ASSERT_EQ(open[i], nearest) << values[i];
      } else if (small.has_infinity) {
        ASSERT_EQ(open[i], std::copysign(kInf, values[i])) << values[i];
      } else {
        ASSERT_TRUE(std::isnan(open[i])) << values[i];
      }
    }
  }
}

// The powers of two on both sides of a value, found by counting up.
TEST(CastNumber, ToFloat8E8M0TakesAPowerOfTwo) {
  Random random(84);
  std::vector<float> values = {1.0F, 1.5F, 0x1p-127F, 0x1.8p-127F, 0x1p-149F, 0x1.fffffep127F};
  for (int i = 0; i < 300; ++i) {
    values.push_back(std::ldexp(static_cast<float>(random.In(1, 1 << 24)),
                                static_cast<int>(random.In(-160, 103))));
  }
  const Tensor x = Float({static_cast<std::int64_t>(values.size())}, values);
  const auto run = [&x](const char* mode) {
    return format::StoredValues(
        *CastTo(ElementType::kFloat8E8M0, x, {Attribute::String("round_mode", mode)}).Run());
  };
  const auto up = run("up");
  const auto down = run("down");
  const auto nearest = run("nearest");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    double below = 0x1p-127;
    while (2 * below <= value && below < 0x1p127) below *= 2;
    const double above = value <= below ? below : std::min(2 * below, 0x1p127);
    EXPECT_EQ(down[i], below) << value;
    EXPECT_EQ(up[i], above) << value;
    EXPECT_EQ(nearest[i], above - value <= value - below ? above : below) << value;
  }
}

TEST(CastNumber, RefusesStrings) {
  const Tensor x = Int8({1}, {1}, Q({0.5F}));
  EXPECT_THAT(ErrorOf(CastTo(ElementType::kString, x)), ::testing::HasSubstr("[cast.C1]"));
}

}  // namespace
}  // namespace qtx::reference::testing
