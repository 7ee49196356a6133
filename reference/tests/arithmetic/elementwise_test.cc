// Add, Sub, Mul and Cast of each row that has a kernel for them, against the published formulas.
#include <functional>

#include "../run_op.h"
#include "textbook.h"

namespace qtx::reference::testing {
namespace {

namespace tb = textbook;

struct Scales {
  float a, b, y;
};
mpq_class R(float value) { return tb::Q(static_cast<double>(value)); }

// The result less the offset, of stored values less theirs; sign is -1 of Sub.
using Formula = std::function<mpz_class(long a, long b, int sign, const Scales&)>;

float AnyScale(Random& random, bool few_bits) {
  const auto exponent = static_cast<int>(random.In(-5, -2));
  if (few_bits) return std::ldexp(static_cast<float>(random.In(1, 4)), exponent);
  return std::ldexp(1.0F + static_cast<float>(random.In(0, (1 << 23) - 1)) * 0x1p-23F, exponent);
}

void ExpectBinary(const std::string& arithmetic, const std::string& op, const Formula& formula) {
  Random random(5);
  const std::int64_t count = 64;
  for (int round = 0; round < 40; ++round) {
    const bool few = round % 2 == 0;
    const Scales s{AnyScale(random, few), AnyScale(random, few), AnyScale(random, few) * 2};
    const auto offset = [&random] { return static_cast<std::int32_t>(random.In(-9, 9)); };
    const Tensor a = random.Tensor8({count}, Q({s.a}, {offset()}));
    const Tensor b = random.Tensor8({count}, Q({s.b}, {offset()}));
    const std::int32_t zero = offset();
    OpRun run{op, {}, {&a, &b}, Int8Type(Q({s.y}, {zero}))};
    run.arithmetic = arithmetic;
    const Values got = Integers(run);
    ASSERT_EQ(got.size(), 64U) << arithmetic;
    const Values as = format::UnpackIntegers(a);
    const Values bs = format::UnpackIntegers(b);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const mpz_class y = formula(as[i] - a.quantization->offset[0],
                                  bs[i] - b.quantization->offset[0], op == "Sub" ? -1 : 1, s);
      ASSERT_EQ(got[i], tb::Clamp(y + zero, -128, 127))
          << arithmetic << " " << op << ": " << as[i] << ", " << bs[i] << " with " << s.a << ", "
          << s.b << " -> " << s.y;
    }
  }
}

void ExpectAddAndSub(const std::string& arithmetic, const Formula& formula) {
  ExpectBinary(arithmetic, "Add", formula);
  ExpectBinary(arithmetic, "Sub", formula);
}

using Fixed = std::function<mpz_class(const mpz_class&, const mpq_class& factor)>;
mpz_class Once(const mpz_class& value, const mpq_class& factor) {
  const auto [m, e] = tb::Mantissa(factor);
  return tb::Once(value, m, e);
}
mpz_class Twice(const mpz_class& value, const mpq_class& factor) {
  const auto [m, e] = tb::Mantissa(factor);
  return tb::Twice(value, m, e);
}
mpz_class Away(const mpz_class& value, const mpq_class& factor) {
  const auto [m, e] = tb::Mantissa(factor);
  return tb::HalfAway(mpq_class(value * m) * tb::PowerOfTwo(e - 31));
}
mpz_class Glow(const mpz_class& value, const mpq_class& factor) {
  return tb::GlowScale(static_cast<std::int32_t>(value.get_si()), tb::Binary32(factor));
}

Formula Shifted(const Fixed& times) {
  return [times](long a, long b, int sign, const Scales& s) {
    const mpq_class t = 2 * std::max(R(s.a), R(s.b));
    const mpz_class u = times(mpz_class(a) << 20, tb::Binary64(R(s.a) / t));
    const mpz_class v = times(mpz_class(b) << 20, tb::Binary64(R(s.b) / t));
    return times(u + sign * v, tb::Binary64(t / (R(s.y) * tb::PowerOfTwo(20))));
  };
}

TEST(Elementwise, AddOfTheTfliteFamilyHasThreeMultiplications) {
  ExpectAddAndSub("tflite", Shifted(Twice));
  ExpectAddAndSub("tflite-double", Shifted(Twice));
  ExpectAddAndSub("tflite-single", Shifted(Once));
}

Formula CommonShift(long bits, mpz_class (*round)(const mpq_class&)) {
  return [bits, round](long a, long b, int sign, const Scales& s) {
    const mpq_class ra = tb::Binary32(R(s.a) / R(s.y));
    const mpq_class rb = tb::Binary32(R(s.b) / R(s.y));
    const long n = bits - tb::ExponentOf(std::max(ra, rb));
    const mpz_class ma = tb::HalfEven(ra * tb::PowerOfTwo(n));
    const mpz_class mb = tb::HalfEven(rb * tb::PowerOfTwo(n));
    return round(mpq_class(a * ma + sign * b * mb) * tb::PowerOfTwo(-n));
  };
}

TEST(Elementwise, AddOfXnnpackAndQnnpackHasOneShift) {
  ExpectAddAndSub("xnnpack", CommonShift(21, tb::HalfUp));
  ExpectAddAndSub("xnnpack-rndnu", CommonShift(21, tb::HalfUp));
  ExpectAddAndSub("qnnpack", CommonShift(22, tb::HalfAway));
}

Formula Each(const Fixed& times) {
  return [times](long a, long b, int sign, const Scales& s) {
    return mpz_class(times(a, tb::Binary64(R(s.a) / R(s.y))) +
                     sign * times(b, tb::Binary64(R(s.b) / R(s.y))));
  };
}

TEST(Elementwise, AddOfGlowAndTvmRoundsEachOperand) {
  ExpectAddAndSub("glow", [](long a, long b, int sign, const Scales& s) {
    return mpz_class(Glow(a, R(s.a) / R(s.y)) + sign * Glow(b, R(s.b) / R(s.y)));
  });
  ExpectAddAndSub("tvm-upward", Each(Once));
  ExpectAddAndSub("tvm-to-nearest", Each(Away));
}

mpq_class ProductFactor32(const Scales& s) {
  return tb::Binary32(tb::Binary32(R(s.a) * R(s.b)) / R(s.y));
}
mpq_class ProductFactorMixed(const Scales& s) {
  return tb::Binary64(tb::Binary32(R(s.a) * R(s.b)) / R(s.y));
}

TEST(Elementwise, MulRequantizesTheProduct) {
  for (const char* name : {"tflite", "tflite-double"}) {
    ExpectBinary(name, "Mul", [](long a, long b, int, const Scales& s) {
      return Twice(mpz_class(a) * b, ProductFactor32(s));
    });
  }
  for (const char* name : {"tflite-single", "xnnpack-rndnu"}) {
    ExpectBinary(name, "Mul", [](long a, long b, int, const Scales& s) {
      return Once(mpz_class(a) * b, ProductFactor32(s));
    });
  }
  ExpectBinary("xnnpack", "Mul", [](long a, long b, int, const Scales& s) {
    return tb::HalfEven(tb::Binary32(mpq_class(mpz_class(a) * b) * ProductFactor32(s)));
  });
  ExpectBinary("glow", "Mul", [](long a, long b, int, const Scales& s) {
    return Glow(mpz_class(a) * b, ProductFactor32(s));
  });
  ExpectBinary("tvm-upward", "Mul", [](long a, long b, int, const Scales& s) {
    return Once(mpz_class(a) * b, ProductFactorMixed(s));
  });
  ExpectBinary("tvm-to-nearest", "Mul", [](long a, long b, int, const Scales& s) {
    return Away(mpz_class(a) * b, ProductFactorMixed(s));
  });
}

// All 256 inputs of a change from one int8 type to another.
void ExpectCast(const std::string& arithmetic, const Fixed& times) {
  Random random(9);
  Values all;
  for (std::int64_t i = -128; i < 128; ++i) all.push_back(i);
  for (int round = 0; round < 40; ++round) {
    const float from = AnyScale(random, round % 2 == 0);
    const float to = AnyScale(random, round % 2 == 0) * 2;
    if (from == to) continue;
    const Tensor x = Int8({256}, all, Q({from}, {3}));
    OpRun run{"Cast", {Attribute::Int("to", 1003)}, {&x}, Int8Type(Q({to}, {-5}))};
    run.arithmetic = arithmetic;
    const Values got = Integers(run);
    ASSERT_EQ(got.size(), 256U) << arithmetic;
    for (std::size_t i = 0; i < 256; ++i) {
      const mpz_class y = times(static_cast<long>(all[i] - 3), tb::Binary64(R(from) / R(to)));
      ASSERT_EQ(got[i], tb::Clamp(y - 5, -128, 127)) << arithmetic << " " << all[i];
    }
  }
}

TEST(Elementwise, CastBetweenQuantizedTypesIsARequantization) {
  for (const char* name : {"tflite", "tflite-double", "fixed-point-double"}) {
    ExpectCast(name, Twice);
  }
  for (const char* name : {"tflite-single", "fixed-point", "tvm-upward"}) ExpectCast(name, Once);
  ExpectCast("tvm-to-nearest", Away);
  ExpectCast("glow", Glow);
  ExpectCast("fixed-point-16", [](const mpz_class& value, const mpq_class& factor) {
    const auto [m, e] = tb::Mantissa(factor, 15);
    return tb::Once(value, m, e, 15);
  });
}

}  // namespace
}  // namespace qtx::reference::testing
