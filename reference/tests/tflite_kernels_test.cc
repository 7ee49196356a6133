// tflite.S13 to tflite.S16.
#include "tflite_textbook.h"

namespace qtx::reference::testing {
namespace {

Values AllBytes() {
  Values values;
  for (std::int64_t v = -128; v < 128; ++v) values.push_back(v);
  return values;
}

Quantization RandomType(Random& random) {
  return Q({static_cast<float>(std::exp2(static_cast<double>(random.In(-80, 0)) / 10))},
           {static_cast<std::int32_t>(random.In(-128, 127))});
}

void CheckTable(const std::string& op, B32 (*f)(const B32&)) {
  Random random(13);
  for (int run = 0; run < 60; ++run) {
    const Quantization x = RandomType(random);
    const Quantization y = run % 2 == 0 ? Q({0x1p-8F}, {-128}) : RandomType(random);
    const Tensor input = Int8({256}, AllBytes(), x);
    Values expected;
    for (const std::int64_t stored : AllBytes()) {
      const B32 v = B32(x.scale[0]) * B32(static_cast<double>(stored - x.offset[0]));
      const B32 steps = f(v) * (B32(1) / B32(y.scale[0]));
      const long rounded = Clamp(steps.HalfAway(), -100000, 100000);
      expected.push_back(Clamp(rounded + y.offset[0], -128, 127));
    }
    EXPECT_EQ(Integers({op, {}, {&input}, Int8Type(y), "tflite"}), expected);
  }
}

B32 Logistic(const B32& v) { return B32(1) / (B32(1) + (B32(0) - v).Apply(mpfr_exp)); }

TEST(TfliteKernels, LogisticIsATableInBinary32) { CheckTable("Sigmoid", Logistic); }

TEST(TfliteKernels, TanhIsATableInBinary32) {
  CheckTable("Tanh", [](const B32& v) { return v.Apply(mpfr_tanh); });
}

TEST(TfliteKernels, LeakyReluMultipliesEachSideTwiceRounded) {
  Random random(14);
  for (int run = 0; run < 40; ++run) {
    Quantization x = RandomType(random), y = RandomType(random);
    const float alpha = static_cast<float>(random.In(-30, 60)) * 0.03F;
    const bool wide = run % 8 == 0;
    if (wide) x.offset = y.offset = {};
    Values stored = AllBytes();
    for (std::int64_t& v : stored) v = wide ? v * 257 + 128 : v;
    const ElementType type = wide ? ElementType::kInt16Q : ElementType::kInt8Q;
    const Tensor input = Stored(type, {256}, stored, x);
    const Pair same = ToPair((B32(x.scale[0]) / B32(y.scale[0])).value());
    const Pair slope = ToPair((B32(x.scale[0]) * B32(std::abs(alpha)) / B32(y.scale[0])).value());
    Values expected;
    for (const std::int64_t v : stored) {
      const long d = v - format::OffsetAt(x, 0);
      const mpz_class scaled =
          d >= 0 ? Twice(d, same) : mpz_class(Twice(d, slope) * (alpha < 0 ? -1 : 1));
      const mpz_class sum = scaled + format::OffsetAt(y, 0);
      const long limit = wide ? 32768 : 128;
      expected.push_back(Clamped(sum, -limit, limit - 1));
    }
    EXPECT_EQ(
        Integers(
            {"LeakyRelu", {Attribute::Float("alpha", alpha)}, {&input}, Type(type, y), "tflite"}),
        expected)
        << x.scale[0] << " " << y.scale[0] << " " << alpha;
  }
}

// S16 as it is written: numbers of 28 fractional bits, products by High, powers of two by shifts.
Pair TextbookRoot(long d) {
  if (d == 1) return {(mpz_class(1) << 31) - 1, 0};
  unsigned long p = 0;
  while ((d << (2 * p)) < (1L << 27)) ++p;
  const mpz_class a = mpz_class(d << (2 * p)) / 2;
  const mpz_class h = Pot(a, 1), three_halves = mpz_class(3) << 27;
  mpz_class t = mpz_class(1) << 28;
  for (int step = 0; step < 5; ++step) {
    const mpz_class cube = High(High(t, t), t) << 6;
    t = (High(three_halves, t) - High(h, cube)) << 3;
  }
  const mpz_class root_of_half(std::floor(std::sqrt(0.5) * 0x1p31 + 0.5));
  return {High(t, root_of_half), static_cast<long>(p) - 11};
}

TEST(TfliteKernels, RsqrtIteratesInFixedPoint) {
  Random random(16);
  for (int run = 0; run < 100; ++run) {
    const Quantization x = Q({static_cast<float>(std::exp2(random.In(-12, 4)))}, {-128});
    const Quantization y = RandomType(random);
    const Tensor input = Int8({256}, AllBytes(), x);
    const Tensor exponent = Float({}, {-0.5F});
    const double root = B32(x.scale[0]).Apply(mpfr_sqrt).value();
    Pair factor = ToPair(1 / (B32(root) * B32(y.scale[0])).value());
    factor.e -= 20;
    Values expected = {127};
    for (long d = 1; d < 256; ++d) {
      Pair inverse = TextbookRoot(d);
      inverse.e += 20;
      const mpz_class sum = Twice(Twice(1, inverse), factor) + y.offset[0];
      expected.push_back(Clamped(sum, -128, 127));
    }
    OpRun op{"Pow", {}, {&input, &exponent}, Int8Type(y), "tflite"};
    op.tflite_kernel = "RSQRT";
    EXPECT_EQ(Integers(op), expected) << y.scale[0];
  }
}

TEST(TfliteKernels, HybridQuantizesEachRowByItsGreatestMagnitude) {
  Random random(17);
  for (int run = 0; run < 50; ++run) {
    const Quantization w = Q({random.Scale()});
    const Tensor weights = random.Tensor8({3, 7}, w);
    const Values stored = format::UnpackIntegers(weights);
    std::vector<float> xs(14);
    for (float& x : xs) x = static_cast<float>(random.In(-9999, 9999)) * 0x1.3p-9F;
    if (run == 0) std::fill(xs.begin(), xs.begin() + 7, 0.0F);
    const std::vector<float> bias = {0.5F, -100.25F, 0.0F};
    std::vector<float> expected;
    for (std::size_t row = 0; row < 2; ++row) {
      double greatest = 0;
      for (std::size_t i = 0; i < 7; ++i) {
        greatest = std::max(greatest, std::abs(static_cast<double>(xs[row * 7 + i])));
      }
      const B32 scale = greatest == 0 ? B32(1) : B32(greatest) / B32(127);
      for (std::size_t o = 0; o < 3; ++o) {
        std::int64_t dot = 0;
        for (std::size_t i = 0; i < 7 && greatest != 0; ++i) {
          const B32 steps = B32(xs[row * 7 + i]) * (B32(127) / B32(greatest));
          dot += Clamp(steps.HalfAway(), -127, 127) * stored[o * 7 + i];
        }
        const B32 product = B32(static_cast<double>(dot)) * (scale * B32(w.scale[0]));
        expected.push_back(static_cast<float>((B32(bias[o]) + product).value()));
      }
    }
    const Tensor x = Float({2, 7}, xs), b = Float({3}, bias);
    OpRun op{"Gemm", {Attribute::Int("transB", 1)}, {&x, &weights, &b}, FloatType(), "tflite"};
    op.tflite_kernel = "FULLY_CONNECTED";
    EXPECT_EQ(Floats(op), expected);
  }
}

}  // namespace
}  // namespace qtx::reference::testing
