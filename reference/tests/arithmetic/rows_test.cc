// Each row against the published formula of the system it names, on random accumulators, scales and
// offsets.
#include <functional>

#include "../run_op.h"
#include "textbook.h"

namespace qtx::reference::testing::rows_test {
namespace {

namespace tb = textbook;

struct Scales {
  float x, w, y;
  mpq_class X() const { return tb::Q(static_cast<double>(x)); }
  mpq_class W() const { return tb::Q(static_cast<double>(w)); }
  mpq_class Y() const { return tb::Q(static_cast<double>(y)); }
  // (x * w) / y, both operations in binary32.
  mpq_class Factor32() const { return tb::Binary32(tb::Binary32(X() * W()) / Y()); }
  // (x * w) / y, the product exact, the quotient in binary64.
  mpq_class Factor64() const { return tb::Binary64(X() * W() / Y()); }
  // The product in binary32, the quotient in binary64.
  mpq_class FactorMixed() const { return tb::Binary64(tb::Binary32(X() * W()) / Y()); }
};

// What a row makes of an accumulator, less the offset and the clamp.
using Formula = std::function<mpz_class(const mpz_class&, const Scales&, long offset)>;

// Of scales with few bits, ties are frequent; of random ones, factors use all their bits.
float AnyScale(Random& random, bool few_bits) {
  const auto exponent = static_cast<int>(random.In(-6, -1));
  if (few_bits) return std::ldexp(static_cast<float>(random.In(1, 4)), exponent);
  return std::ldexp(1.0F + static_cast<float>(random.In(0, (1 << 23) - 1)) * 0x1p-23F, exponent);
}

struct Range {
  std::int64_t w;  // largest weight: int8 or int16
  ElementType x = ElementType::kInt8Q;
  ElementType y = ElementType::kInt8Q;
  double limit = 256;  // of the factors that the row takes
};

void ExpectMatMul(const std::string& arithmetic, const Range& range, const Formula& formula) {
  Random random(static_cast<std::uint32_t>(arithmetic.size()) + 17);
  const format::IntegerRange stored = format::StorageRange(format::StorageOf(range.x));
  const format::IntegerRange result = format::StorageRange(format::StorageOf(range.y));
  for (int round = 0; round < 60; ++round) {
    const bool few = round % 2 == 0;
    const Scales s{AnyScale(random, few), AnyScale(random, few),
                   AnyScale(random, few) * (few ? 4.0F : 32.0F)};
    if (s.Factor32() >= tb::Q(range.limit)) continue;
    const auto offset = static_cast<std::int32_t>(random.In(result.min / 4, result.max / 4));
    const std::int64_t w = random.In(-range.w, range.w);
    Values values;
    for (int i = 0; i < 40; ++i) values.push_back(random.In(stored.min, stored.max));
    const Tensor a = Stored(range.x, {40, 1}, values, Q({s.x}));
    const ElementType w_type = range.w > 127 ? ElementType::kInt16Q : ElementType::kInt8Q;
    const Tensor b = Stored(w_type, {1, 1}, {w}, Q({s.w}));
    OpRun run{"MatMul", {}, {&a, &b}, Type(range.y, Q({s.y}, {offset}))};
    run.arithmetic = arithmetic;
    run.tflite_kernel = "FULLY_CONNECTED";  // else BATCH_MATMUL, as b is no initializer
    const Values got = Integers(run);
    ASSERT_EQ(got.size(), 40U) << arithmetic;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const mpz_class acc(static_cast<long>(values[i] * w));
      const mpz_class expected = formula(acc, s, offset) + offset;
      ASSERT_EQ(got[i], tb::Clamp(expected, result.min, result.max))
          << arithmetic << ": " << acc << " * " << s.x << " * " << s.w << " / " << s.y;
    }
  }
}

constexpr Range kInt8{.w = 127};
constexpr Range kWide{.w = 32767, .x = ElementType::kInt16Q, .y = ElementType::kInt16Q};

mpz_class Single(const mpz_class& acc, const mpq_class& factor) {
  const auto [m, e] = tb::Mantissa(factor);
  return tb::Once(acc, m, e);
}
mpz_class Double(const mpz_class& acc, const mpq_class& factor) {
  const auto [m, e] = tb::Mantissa(factor);
  return tb::Twice(acc, m, e);
}
mpz_class Float32Product(const mpz_class& acc, const Scales& s, long /*offset*/) {
  return tb::HalfEven(tb::Binary32(tb::Binary32(mpq_class(acc)) * s.Factor32()));
}

TEST(Rows, Float32HasOneBinary32Product) {
  for (const char* name : {"float32", "float32-fma", "fbgemm", "xnnpack"}) {
    ExpectMatMul(name, kInt8, Float32Product);
    ExpectMatMul(name, kWide, Float32Product);
  }
}

TEST(Rows, ExactRoundsTheRational) {
  ExpectMatMul("exact", kWide, [](const mpz_class& acc, const Scales& s, long) {
    return tb::HalfEven(mpq_class(acc) * s.X() * s.W() / s.Y());
  });
}

TEST(Rows, TfliteFamilyOnFullyConnected) {
  for (const char* name : {"tflite", "tflite-single"}) {
    ExpectMatMul(name, kInt8, [](const mpz_class& acc, const Scales& s, long) {
      return Single(acc, s.FactorMixed());
    });
  }
  for (const char* name : {"tflite-double", "cmsis-nn"}) {
    ExpectMatMul(name, kInt8, [](const mpz_class& acc, const Scales& s, long) {
      return Double(acc, s.FactorMixed());
    });
  }
}

TEST(Rows, FixedPointIsTosasRescale) {
  for (const bool twice : {false, true}) {
    const auto rescale = [twice](const mpz_class& acc, const Scales& s, long) {
      const auto [m, e] = tb::Mantissa(s.Factor64());
      const int shift = 31 - static_cast<int>(e);
      return mpz_class(static_cast<long>(tb::ApplyScale32(acc.get_si(), m.get_si(), shift, twice)));
    };
    const std::string name = twice ? "fixed-point-double" : "fixed-point";
    ExpectMatMul(name, kInt8, rescale);
    ExpectMatMul(name, kWide, rescale);
  }
}

TEST(Rows, FixedPoint16HasA15BitMantissa) {
  ExpectMatMul("fixed-point-16", kWide, [](const mpz_class& acc, const Scales& s, long) {
    const auto [m, e] = tb::Mantissa(s.Factor64(), 15);
    return tb::Once(acc, m, e, 15);
  });
}

TEST(Rows, RndnuTakesTheSignificandOfABinary32) {
  ExpectMatMul("xnnpack-rndnu", kWide, [](const mpz_class& acc, const Scales& s, long) {
    const long e = tb::ExponentOf(s.Factor32());
    const mpz_class m(s.Factor32() * tb::PowerOfTwo(24 - e));  // exact: 24 bits
    return tb::HalfUp(mpq_class(acc * m) * tb::PowerOfTwo(e - 24));
  });
}

TEST(Rows, QnnpackRoundsTwiceFromABinary32) {
  constexpr Range kBelowOne{.w = 127, .limit = 1};
  ExpectMatMul("qnnpack", kBelowOne, [](const mpz_class& acc, const Scales& s, long) {
    return Double(acc, s.Factor32());
  });
}

TEST(Rows, GlowShiftsBeforeAndAfter) {
  const auto scale = [](const mpz_class& acc, const Scales& s, long) {
    const auto value = static_cast<std::int32_t>(acc.get_si());
    return mpz_class(static_cast<long>(tb::GlowScale(value, s.Factor32())));
  };
  ExpectMatMul("glow", kInt8, scale);
  ExpectMatMul("glow", kWide, scale);
}

TEST(Rows, TvmRoundsUpOrToNearest) {
  ExpectMatMul("tvm-upward", kWide, [](const mpz_class& acc, const Scales& s, long) {
    return Single(acc, s.FactorMixed());
  });
  ExpectMatMul("tvm-to-nearest", kWide, [](const mpz_class& acc, const Scales& s, long) {
    const auto [m, e] = tb::Mantissa(s.FactorMixed());
    const long t = 31 - e;
    const mpz_class product = acc * m;
    const mpz_class half = mpz_class(tb::PowerOfTwo(t - 1)) - (product < 0 ? 1 : 0);
    return tb::Floor(mpq_class(product + half) * tb::PowerOfTwo(-t));
  });
}

TEST(Rows, OnnxReferenceAddsTheOffsetInBinary64BeforeRounding) {
  for (const Range& range : {kInt8, kWide}) {
    ExpectMatMul("onnx-reference", range, [](const mpz_class& acc, const Scales& s, long offset) {
      const mpq_class product = tb::Binary64(mpq_class(acc) * s.Factor32());
      return mpz_class(tb::HalfEven(tb::Binary64(product + offset)) - offset);
    });
  }
}

TEST(Rows, OnednnMultipliesInTwoStepsAndAddsTheOffsetBeforeRounding) {
  for (const Range& range : {kInt8, kWide}) {
    ExpectMatMul("onednn", range, [](const mpz_class& acc, const Scales& s, long offset) {
      const mpq_class first =
          tb::Binary32(tb::Binary32(mpq_class(acc)) * tb::Binary32(s.X() * s.W()));
      const mpq_class second = tb::Binary32(first * tb::Binary32(1 / s.Y()));
      return mpz_class(tb::HalfEven(tb::Binary32(second + offset)) - offset);
    });
  }
}

// A FLOAT result is the accumulator in binary32 times x_scale * w_scale, whatever the multiplier of
// integer results is.
TEST(Rows, FloatResultsAreOneBinary32Product) {
  Random random(13);
  for (const char* name : {"float32", "glow", "qnnpack", "tvm-upward", "xnnpack-rndnu", "onednn",
                           "onnx-reference", "onednn-avx2"}) {
    const float sx = AnyScale(random, false);
    const float sw = AnyScale(random, false);
    const Tensor a = Stored(ElementType::kUint8Q, {1, 2}, {255, 7}, Q({sx}));
    const Tensor b = Int8({2, 1}, {101, -3}, Q({sw}));
    OpRun run{"MatMul", {}, {&a, &b}, FloatType()};
    run.arithmetic = name;
    const mpq_class scale =
        tb::Binary32(tb::Q(static_cast<double>(sx)) * tb::Q(static_cast<double>(sw)));
    const mpq_class expected = tb::Binary32(scale * (255 * 101 - 21));
    EXPECT_EQ(tb::Q(static_cast<double>(Floats(run)[0])), expected) << name;
  }
}

// float32.S5: rounded to units of the accumulator, and no width cuts it off but the accumulator's.
TEST(Rows, BiasIsAnIntegerOfAnySize) {
  Random random(17);
  for (int round = 0; round < 200; ++round) {
    const float unit = AnyScale(random, false);
    const auto growth = static_cast<int>(random.In(-3, 90));
    const float scale = std::ldexp(AnyScale(random, false), growth);
    const long stored = random.In(INT32_MIN, INT32_MAX);
    const Tensor a = Int8({1, 1}, {1}, Q({unit}));
    const Tensor b = Int8({1, 1}, {random.In(-128, 127)}, Q({1.0F}));
    const Tensor c = Stored(ElementType::kInt32Q, {1}, {stored}, Q({scale}));
    const float y = std::ldexp(scale, 25);
    OpRun run{"Gemm", {}, {&a, &b, &c}, Int8Type(Q({y}))};
    run.arithmetic = "float32";
    const mpq_class real = tb::Q(static_cast<double>(scale)) * stored;
    const mpz_class sum = format::UnpackInt32(b)[0] +
                          tb::HalfEven(mpq_class(real / tb::Q(static_cast<double>(unit))));
    const mpq_class factor =
        tb::Binary32(tb::Q(static_cast<double>(unit)) / tb::Q(static_cast<double>(y)));
    const auto rounded = [&](const mpz_class& held) {
      const mpq_class product = tb::Binary32(tb::Binary32(mpq_class(held)) * factor);
      return tb::Clamp(tb::HalfEven(product), -128, 127);
    };
    EXPECT_EQ(Integers(run)[0], rounded(sum)) << growth;
    run.arithmetic = "fbgemm";
    mpz_class low;
    mpz_fdiv_r_2exp(low.get_mpz_t(), sum.get_mpz_t(), 32);
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(low.get_ui()));
    EXPECT_EQ(Integers(run)[0], rounded(wrapped)) << growth;
  }
}

// xnnpack.C1 has no bound from below.
TEST(Rows, XnnpackTakesAFactorThatUnderflows) {
  const Tensor a = Int8({1, 1}, {127}, Q({0x1p-100F}));
  OpRun run{"MatMul", {}, {&a, &a}, Int8Type(Q({1.0F}, {5}))};
  run.arithmetic = "xnnpack";
  EXPECT_EQ(Integers(run), Values{5});
}

TEST(Rows, Pow2ShiftsAndHalfUpIsAnAddAndAShift) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const auto n = static_cast<int>(random.In(-3, 12));
    Values values;
    for (int i = 0; i < 64; ++i) values.push_back(random.In(-32768, 32767));
    const Tensor a = Stored(ElementType::kInt16Q, {64, 1}, values, Q({0x1p-9F}));
    const Tensor b = Stored(ElementType::kInt16Q, {1, 1}, {97}, Q({0x1p3F}));
    OpRun run{"MatMul", {}, {&a, &b}};
    run.output = Type(ElementType::kInt16Q, Q({std::ldexp(1.0F, n - 6)}));
    run.arithmetic = "pow2-half-up";
    const Values up = Integers(run);
    run.arithmetic = "pow2";
    const Values even = Integers(run);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t acc = values[i] * 97;
      const mpq_class real = mpq_class(static_cast<long>(acc)) * tb::PowerOfTwo(-n);
      const std::int64_t shifted =
          n > 0 ? (acc + (std::int64_t{1} << (n - 1))) >> n : acc * (std::int64_t{1} << -n);
      ASSERT_EQ(up[i], std::clamp<std::int64_t>(shifted, -32768, 32767));
      ASSERT_EQ(even[i], tb::Clamp(tb::HalfEven(real), -32768, 32767));
    }
  }
}

// ---- quantizing ----

using Quantizer = std::function<mpz_class(const mpq_class& x, const mpq_class& scale, long offset)>;

void ExpectQuantize(const std::string& arithmetic, const Quantizer& quantize) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const float scale = AnyScale(random, round % 2 == 0);
    const auto offset = static_cast<std::int32_t>(random.In(-9, 9));
    std::vector<float> reals;
    for (int i = 0; i < 40; ++i) {
      // Multiples of half a step are ties, and neighbours of them nearly.
      const float tie = scale * (static_cast<float>(random.In(-150, 150)) * 0.5F);
      reals.push_back(i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? 1e9F : -1e9F));
    }
    const Tensor x = Float({40}, reals);
    OpRun run{"Cast", {Attribute::Int("to", 1003)}, {&x}, Int8Type(Q({scale}, {offset}))};
    run.arithmetic = arithmetic;
    const Values got = Integers(run);
    ASSERT_EQ(got.size(), 40U);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const mpz_class expected =
          quantize(tb::Q(static_cast<double>(reals[i])), tb::Q(static_cast<double>(scale)), offset);
      ASSERT_EQ(got[i], tb::Clamp(expected, -128, 127))
          << arithmetic << ": " << reals[i] << " / " << scale << " + " << offset;
    }
  }
}

TEST(Rows, QuantizeByDivisionOrReciprocal) {
  for (const char* name : {"float32", "onnx-reference", "float32-fma"}) {
    ExpectQuantize(name, [](const mpq_class& x, const mpq_class& scale, long offset) {
      return mpz_class(tb::HalfEven(tb::Binary32(x / scale)) + offset);
    });
  }
  for (const char* name : {"fbgemm", "xnnpack", "xnnpack-rndnu", "qnnpack"}) {
    ExpectQuantize(name, [](const mpq_class& x, const mpq_class& scale, long offset) {
      return mpz_class(tb::HalfEven(tb::Binary32(x * tb::Binary32(1 / scale))) + offset);
    });
  }
  for (const char* name : {"tflite", "tflite-double", "tflite-single"}) {
    ExpectQuantize(name, [](const mpq_class& x, const mpq_class& scale, long offset) {
      return mpz_class(tb::HalfAway(tb::Binary32(x / scale)) + offset);
    });
  }
}

TEST(Rows, QuantizeWithTheOffsetBeforeTheRounding) {
  ExpectQuantize("glow", [](const mpq_class& x, const mpq_class& scale, long offset) {
    return tb::HalfEven(tb::Binary32(tb::Binary32(x / scale) + offset));
  });
  for (const char* name : {"tvm-upward", "tvm-to-nearest"}) {
    ExpectQuantize(name, [](const mpq_class& x, const mpq_class& scale, long offset) {
      return tb::HalfAway(tb::Binary32(tb::Binary32(x / scale) + offset));
    });
  }
  ExpectQuantize("onednn", [](const mpq_class& x, const mpq_class& scale, long offset) {
    return tb::HalfEven(tb::Binary32(tb::Binary32(x * tb::Binary32(1 / scale)) + offset));
  });
}

}  // namespace
}  // namespace qtx::reference::testing::rows_test
