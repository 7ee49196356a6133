// Numbers, their rounding and the estimates, against hand calculation and MPFR's own functions.
#include "engine/number.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/elements.h"
#include "engine/ops/estimate.h"
#include "engine/ops/function.h"
#include "support.h"

namespace qtx::backend::engine::number_test {
namespace {

using format::ElementType;
using format::Tensor;

constexpr mpfr_prec_t kBits = 400;

TEST(Number, DividesByAZeroWithoutSign) {
  EXPECT_EQ((Number::Of(-3) / Number()).Sign(), -1);
  EXPECT_FALSE((Number::Of(-3) / Number()).finite());
  EXPECT_TRUE((Number() / Number()).nan());
  EXPECT_TRUE((Number::Infinity(1) * Number()).nan());
  EXPECT_TRUE((Number::Infinity(1) - Number::Infinity(1)).nan());
  EXPECT_EQ((Number::Of(7) / Number::Infinity(-1)), Number());
}

// 1 + 2^-53 is a tie of doubles: to even 1; to odd the next double, so that it stays above 1 when
// it is rounded again.
TEST(Number, RoundsToOddSoThatNoSecondRoundingShows) {
  const mpq_class tie = 1 + PowerOfTwo(-53);
  EXPECT_EQ(RoundToDouble(tie), 1.0);
  EXPECT_EQ(RoundToDouble(tie + PowerOfTwo(-2000)), 0x1.0000000000001p0);
  EXPECT_EQ(RoundToOdd(tie), 0x1.0000000000001p0);
  EXPECT_EQ(RoundToOdd(mpq_class(-tie)), -0x1.0000000000001p0);
  EXPECT_EQ(RoundToOdd(PowerOfTwo(-3000)), 0x1p-1074);
  EXPECT_EQ(RoundToDouble(PowerOfTwo(-1075)), 0.0);
  EXPECT_EQ(RoundToDouble(PowerOfTwo(-1075) + PowerOfTwo(-1100)), 0x1p-1074);
  EXPECT_EQ(RoundToDouble(PowerOfTwo(1024)), std::numeric_limits<double>::infinity());
}

TEST(Number, FindsRationalRootsAndPowers) {
  EXPECT_EQ(RationalRoot(mpq_class(9, 4), 2), mpq_class(3, 2));
  EXPECT_EQ(RationalRoot(mpq_class(8, 27), 3), mpq_class(2, 3));
  EXPECT_FALSE(RationalRoot(mpq_class(2), 2).has_value());
  EXPECT_EQ(IntegerPower(mpq_class(-2, 3), -3), mpq_class(-27, 8));
  EXPECT_EQ(IntegerPower(mpq_class(-1), 1000000001), mpq_class(-1));
  EXPECT_FALSE(IntegerPower(mpq_class(3), 1L << 40).has_value());
}

TEST(Interval, FindsTheOnlyTieInANarrowOne) {
  const mpq_class tie(21, 8);
  EXPECT_EQ(Simplest(tie - PowerOfTwo(-8000), tie + PowerOfTwo(-8001)), tie);
  EXPECT_EQ(Simplest(-tie - PowerOfTwo(-90), -tie), -tie);
  EXPECT_EQ(Simplest(-1, 1), 1);
}

// Every code of every type that has at most 16 bits, but NaN, the zero with a sign, and
// FLOAT8E5M2's infinities, which saturate.
TEST(Elements, ComeBackAsTheyWere) {
  for (const int type : {2, 3, 4, 5, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23, 25, 26}) {
    Tensor one = *format::MakeTensor(static_cast<ElementType>(type), {1});
    const Codes codes(format::BitWidth(one.elem_type));
    const std::uint64_t count = std::uint64_t{1} << format::BitWidth(one.elem_type);
    for (std::uint64_t code = 0; code < (type == 9 ? 2 : count); ++code) {
      codes.Set(one.bytes, 0, code);
      const Number number = NumberReader(one)(0);
      if (number.nan() || (code != 0 && number.Sign() == 0)) continue;
      if (type == 19 && !number.finite()) continue;
      NumberWriter(one).Put(0, number);
      ASSERT_EQ(codes.Get(one.bytes, 0), code) << format::Name(one.elem_type);
    }
  }
}

// 65519.99 rounds to the largest float16, 65520 is the tie to what would be 2^16: infinity.
TEST(Elements, OverflowAsIeee754Has) {
  Tensor half = *format::MakeTensor(ElementType::kFloat16, {2});
  NumberWriter writer(half);
  writer.Put(0, Number(mpq_class(6551999, 100)));
  writer.Put(1, Number::Of(-65520));
  EXPECT_EQ(half.As<std::uint16_t>()[0], 0x7BFF);
  EXPECT_EQ(half.As<std::uint16_t>()[1], 0xFC00);
}

// -1 - 2^32 is -1 modulo 2^32, -7/2 loses its fraction toward zero.
TEST(Elements, TakeIntegersModuloTheirBits) {
  Tensor integers = *format::MakeTensor(ElementType::kInt32, {3});
  NumberWriter writer(integers);
  writer.Put(0, Number::Of(-1 - (std::int64_t{1} << 32)));
  writer.Put(1, Number(mpq_class(-7, 2)));
  writer.Put(2, Number::Infinity(-1));
  EXPECT_EQ(integers.As<std::int32_t>()[0], -1);
  EXPECT_EQ(integers.As<std::int32_t>()[1], -3);
  EXPECT_EQ(integers.As<std::int32_t>()[2], std::numeric_limits<std::int32_t>::min());
}

using MpfrFunction = std::function<void(mpfr_t y, double x)>;

// MPFR's value to far more bits than any claim here.
struct Reference {
  explicit Reference(const MpfrFunction& function, double x) {
    mpfr_init2(value, kBits);
    function(value, x);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { mpfr_clear(value); }
  mpfr_t value;
};

void Sigmoid(mpfr_t y, double x) {
  mpfr_set_d(y, -x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}
void Tanh(mpfr_t y, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  mpfr_tanh(y, y, MPFR_RNDN);
}
void Exponential(mpfr_t y, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
}
void Expm1(mpfr_t y, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  mpfr_expm1(y, y, MPFR_RNDN);
}
void Erf(mpfr_t y, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  mpfr_erf(y, y, MPFR_RNDN);
}
void Log(mpfr_t y, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  mpfr_log(y, y, MPFR_RNDN);
}
void Softplus(mpfr_t y, double x) {
  Exponential(y, x);
  mpfr_log1p(y, y, MPFR_RNDN);
}
void Mish(mpfr_t y, double x) {
  Softplus(y, x);
  mpfr_tanh(y, y, MPFR_RNDN);
  mpfr_mul_d(y, y, x, MPFR_RNDN);
}
void Gelu(mpfr_t y, double x) {
  mpfr_sqrt_ui(y, 2, MPFR_RNDN);
  mpfr_d_div(y, x, y, MPFR_RNDN);
  mpfr_erf(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_mul_d(y, y, x / 2, MPFR_RNDN);
}
void GeluByTanh(mpfr_t y, double x) {
  Reference cube([](mpfr_t c, double v) { mpfr_set_d(c, v, MPFR_RNDN); }, x);
  mpfr_pow_ui(cube.value, cube.value, 3, MPFR_RNDN);
  mpfr_mul_ui(cube.value, cube.value, 44715, MPFR_RNDN);
  mpfr_div_ui(cube.value, cube.value, 1000000, MPFR_RNDN);
  mpfr_add_d(cube.value, cube.value, x, MPFR_RNDN);
  mpfr_const_pi(y, MPFR_RNDN);
  mpfr_ui_div(y, 2, y, MPFR_RNDN);
  mpfr_sqrt(y, y, MPFR_RNDN);
  mpfr_mul(y, y, cube.value, MPFR_RNDN);
  mpfr_tanh(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_mul_d(y, y, x / 2, MPFR_RNDN);
}

struct Claim {
  const char* op_type;
  Estimate (*estimate)(double);
  void (*function)(mpfr_t, double);
  double low, high;
};
const Claim kClaims[] = {
    {"Exp", EstimateExp, Exponential, -599, 599},
    {"Elu", EstimateExpm1, Expm1, -599, 0},
    {"Log", EstimateLog, Log, 0x1p-140, 1000},
    {"Sigmoid", EstimateSigmoid, Sigmoid, -500, 500},
    {"QuickSigmoid", QuickSigmoid, Sigmoid, -500, 500},
    {"Tanh", EstimateTanh, Tanh, -300, 300},
    {"QuickTanh", QuickTanh, Tanh, -300, 300},
    {"Erf", EstimateErf, Erf, -30, 30},
    {"Gelu", EstimateGelu, Gelu, -40, 40},
    {"Gelu by tanh", EstimateGeluByTanh, GeluByTanh, -40, 40},
    {"Softplus", EstimateSoftplus, Softplus, -500, 500},
    {"Mish", EstimateMish, Mish, -400, 400},
};

// The claimed bounds are correct, and narrow enough to be useful: 2^-36 for values near 1.
TEST(Estimate, ErrsByNoMoreThanItSays) {
  std::mt19937 random(1);
  for (const Claim& claim : kClaims) {
    for (int i = 0; i < 4000; ++i) {
      const double part = std::ldexp(static_cast<double>(random()), -32);
      const double end = i % 2 == 0 ? claim.high : claim.low;
      // Evenly, and crowded about zero.
      const double x =
          i % 3 == 0 ? claim.low + part * (claim.high - claim.low) : end * std::exp2(-40 * part);
      if (x < claim.low) continue;
      const Estimate estimate = claim.estimate(x);
      Reference exact(claim.function, x);
      const double magnitude = std::fabs(mpfr_get_d(exact.value, MPFR_RNDN));
      mpfr_sub_d(exact.value, exact.value, estimate.value, MPFR_RNDN);
      mpfr_abs(exact.value, exact.value, MPFR_RNDN);
      ASSERT_LE(mpfr_cmp_d(exact.value, estimate.error), 0) << claim.op_type << " of " << x;
      const double reach = std::max({1.0, magnitude, std::fabs(x)});
      ASSERT_LT(estimate.error, reach * 0x1p-36) << claim.op_type << " of " << x;
    }
  }
}

// Round half even of y / scale plus offset, clamped, over MPFR alone; false where 400 bits leave it
// in doubt.
bool Rounded(const mpfr_t y, float scale, std::int32_t offset, format::IntegerRange range,
             std::int64_t& stored) {
  Reference steps([](mpfr_t, double) {}, 0);
  mpfr_div_d(steps.value, y, static_cast<double>(scale), MPFR_RNDN);
  Reference nearest([](mpfr_t, double) {}, 0);
  mpfr_rint(nearest.value, steps.value, MPFR_RNDN);
  mpfr_sub(steps.value, steps.value, nearest.value, MPFR_RNDN);
  mpfr_abs(steps.value, steps.value, MPFR_RNDN);
  if (std::fabs(mpfr_get_d(steps.value, MPFR_RNDN) - 0.5) < 0x1p-50) return false;
  const double whole = mpfr_get_d(nearest.value, MPFR_RNDN) + offset;
  stored = static_cast<std::int64_t>(
      std::clamp(whole, static_cast<double>(range.min), static_cast<double>(range.max)));
  return true;
}

// Whole tables, of every stored value that 8 and 16 bits have.
TEST(Tables, AreWhatMpfrRounds) {
  for (const Claim& claim : kClaims) {
    const std::string_view name(claim.op_type);
    if (name == "Elu" || name.starts_with("Quick")) continue;  // other above zero; no operator
    for (const ElementType type : {ElementType::kInt8Q, ElementType::kInt16Q}) {
      const format::IntegerRange range = format::StorageRange(type);
      std::vector<std::int32_t> all;
      for (std::int64_t i = range.min; i <= range.max; ++i) {
        all.push_back(static_cast<std::int32_t>(i));
      }
      const auto count = static_cast<std::int64_t>(all.size());
      const float scale = type == ElementType::kInt8Q ? 0.07F : 0x1.1p-12F;
      const float to = type == ElementType::kInt8Q ? 0.031F : 0x1.3p-13F;
      const Tensor x = Quantized(type, {count}, {{scale, 5}}, all);
      const Tensor y = Quantized(type, {count}, {{to, -7}}, {});
      const bool by_tanh = claim.estimate == EstimateGeluByTanh;
      std::vector<format::Attribute> attributes;
      if (by_tanh) attributes.push_back(format::Attribute::String("approximate", "tanh"));
      const std::vector<std::int32_t> table = RunOneNode(
          PortableKernels(), by_tanh ? "Gelu" : claim.op_type, {{"x", x}}, y, attributes);
      ASSERT_EQ(table.size(), all.size());
      for (std::size_t i = 0; i < all.size(); i += type == ElementType::kInt8Q ? 1 : 17) {
        const double real = static_cast<double>(all[i] - 5) * static_cast<double>(scale);
        if (claim.function == Log && real <= 0) continue;
        std::int64_t expected = 0;
        const Reference exact(claim.function, real);
        if (!Rounded(exact.value, to, -7, range, expected)) continue;
        ASSERT_EQ(table[i], expected) << claim.op_type << " of " << real;
      }
    }
  }
}

}  // namespace
}  // namespace qtx::backend::engine::number_test
