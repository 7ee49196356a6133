// cast.S5 to cast.S10, quantize_linear.S5, exact.S5.
#include <bit>
#include <cmath>

#include "stock_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

Result<Tensor> Cast(const Tensor& x, ElementType to, bool saturate = true,
                    const std::string& round_mode = "up", const std::string& arithmetic = "exact") {
  return OpRun{
      "Cast",
      {Attribute::Int("to", static_cast<std::int64_t>(to)),
       Attribute::Int("saturate", saturate ? 1 : 0), Attribute::String("round_mode", round_mode)},
      {&x},
      PlainType(to),
      arithmetic}
      .Run();
}

// A float8 format from the tables of its standard.
struct Format {
  ElementType type;
  int exponent_bits, mantissa_bits, bias;
  int largest;   // the greatest finite code
  int overflow;  // the code beyond it, without saturation
};

constexpr Format kFormats[] = {
    {ElementType::kFloat8E4M3FN, 4, 3, 7, 0x7E, 0x7F},
    {ElementType::kFloat8E4M3FNUZ, 4, 3, 8, 0x7F, 0x80},
    {ElementType::kFloat8E5M2, 5, 2, 15, 0x7B, 0x7C},
    {ElementType::kFloat8E5M2FNUZ, 5, 2, 16, 0x7F, 0x80},
};

double ValueOf(const Format& f, int code) {
  const int exponent = code >> f.mantissa_bits;
  const int mantissa = code & ((1 << f.mantissa_bits) - 1);
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa_bits);
  return std::ldexp(significand, std::max(exponent, 1) - f.bias - f.mantissa_bits);
}

// By search over all codes: the nearest, of two the even one; the step beyond the largest counts.
int NearestCode(const Format& f, double magnitude, bool saturate) {
  const double top = ValueOf(f, f.largest);
  const double beyond = top + (top - ValueOf(f, f.largest - 1));
  int best = 0;
  for (int code = 1; code <= f.largest; ++code) {
    const double mine = std::abs(ValueOf(f, code) - magnitude);
    const double other = std::abs(ValueOf(f, best) - magnitude);
    if (mine < other || (mine == other && code % 2 == 0)) best = code;
  }
  const double rest = beyond - magnitude;
  const bool over = rest < magnitude - top || (rest == magnitude - top && f.largest % 2 != 0);
  if (!over) return best;
  return saturate ? f.largest : f.overflow;
}

// All FLOAT16 values but NaN: more than enough for every tie and both ends of every float8.
TEST(Cast, EqualsASearchOverAllCodesForEveryHalf) {
  std::vector<float> halves;
  Tensor x = *format::MakeTensor(ElementType::kFloat16, {2, 31 * 1024});
  for (std::uint32_t i = 0; i < 2 * 31 * 1024; ++i) {
    const std::uint32_t code = i < 31 * 1024 ? i : 0x8000 + i - 31 * 1024;
    x.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(code);
    const auto mantissa = static_cast<float>(code % 1024);
    const int exponent = static_cast<int>(code / 1024 % 32);
    const float value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    halves.push_back(code >= 0x8000 ? -value : value);
  }
  for (const Format& f : kFormats) {
    for (const bool saturate : {true, false}) {
      const auto result = Cast(x, f.type, saturate);
      ASSERT_TRUE(result.has_value());
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const int code = NearestCode(f, std::abs(static_cast<double>(halves[i])), saturate);
        const bool one_zero = f.overflow == 0x80 && (code == 0 || code == 0x80);
        // The sign of a zero is not determined (exact.S5).
        const int sign = halves[i] < 0 && !one_zero && code != 0 ? 0x80 : 0;
        ASSERT_EQ(std::to_integer<int>(result->bytes[i]) & (code == 0 ? 0x7F : 0xFF), code | sign)
            << format::Name(f.type) << " of " << halves[i];
      }
    }
  }
}

TEST(Cast, RoundsDoubleOnceInEveryArithmetic) {
  // Above the tie 1 + 2^-11 of FLOAT16 by less than binary32 holds.
  Tensor x = *format::MakeTensor(ElementType::kDouble, {2});
  x.As<double>()[0] = 1 + 0x1p-11 + 0x1p-40;
  x.As<double>()[1] = -65520;
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    const auto half = Cast(x, ElementType::kFloat16, true, "up", arithmetic);
    ASSERT_TRUE(half.has_value());
    EXPECT_THAT(half->As<std::uint16_t>(), ElementsAre(0x3C01, 0xFC00));
  }
}

TEST(Cast, KeepsTheLowBitsOfEveryByte) {
  Values all;
  for (std::int64_t v = -300; v < 300; ++v) all.push_back(v);
  const Tensor x = Stored(ElementType::kInt16, {600}, all);
  for (const ElementType to : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt4,
                               ElementType::kUint4, ElementType::kInt2, ElementType::kUint2}) {
    const format::IntegerRange range = format::StorageRange(to);
    const auto result = Cast(x, to);
    ASSERT_TRUE(result.has_value());
    const Values stored = format::UnpackIntegers(*result);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t size = range.max - range.min + 1;
      EXPECT_EQ((all[i] - stored[i]) % size, 0);
      EXPECT_TRUE(stored[i] >= range.min && stored[i] <= range.max);
    }
  }
}

TEST(Cast, ReadsAllBitsOfAUint64) {
  const Tensor x = Stored(ElementType::kUint64, {2}, {-1, 3});  // 2^64 - 1
  EXPECT_THAT(Cast(x, ElementType::kFloat)->As<float>(), ElementsAre(0x1p64F, 3.0F));
  EXPECT_THAT(format::UnpackIntegers(*Cast(x, ElementType::kInt32)), ElementsAre(-1, 3));
  EXPECT_THAT(format::UnpackIntegers(*Cast(x, ElementType::kBool)), ElementsAre(1, 1));
}

// Powers of two and their neighbours, by comparison with the powers themselves.
TEST(Cast, FindsThePowerOfTwoThatTheRoundModeNames) {
  for (int k = -126; k < 127; ++k) {
    const float power = std::ldexp(1.0F, k);
    const Tensor x = Float({4}, {power, power * 1.25F, power * 1.5F, power * 1.75F});
    const auto codes = [&x](const char* mode) {
      const auto result = Cast(x, ElementType::kFloat8E8M0, true, mode);
      const auto bytes = result->As<std::uint8_t>();
      return std::vector<int>(bytes.begin(), bytes.end());
    };
    const int own = k + 127;
    EXPECT_THAT(codes("up"), ElementsAre(own, own + 1, own + 1, own + 1));
    EXPECT_THAT(codes("down"), ElementsAre(own, own, own, own));
    EXPECT_THAT(codes("nearest"), ElementsAre(own, own, own + 1, own + 1));
  }
}

TEST(QuantizeLinear, ScalesBeforeItRoundsToAFloat8) {
  const Tensor x = Float({4}, {3.1875F, -3.0F, 3000.0F, std::nanf("")});
  const Tensor scale = Float({}, {3.0F});
  const Tensor zero = *format::MakeTensor(ElementType::kFloat8E4M3FN, {});
  for (const char* arithmetic : {"exact", "float32"}) {
    const auto result = OpRun{"QuantizeLinear",
                              {Attribute::Int("saturate", 0)},
                              {&x, &scale, &zero},
                              PlainType(ElementType::kFloat8E4M3FN),
                              arithmetic}
                            .Run();
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(result->As<std::uint8_t>(), ElementsAre(0x38, 0xB8, 0x7F, 0x7F));  // 1.0625: a tie
  }
}

}  // namespace
}  // namespace qtx::reference::testing
