// tflite.S12 and tflite_float64.S5: 16-bit activations.
#include "tflite_textbook.h"

namespace qtx::reference::testing {
namespace {

constexpr long kMin = -32768, kMax = 32767;

Quantization Scaled(Random& random) {
  return Q({static_cast<float>(std::exp2(static_cast<double>(random.In(-150, -50)) / 10))});
}

Tensor Random16(Random& random, const Dims& dims, const Quantization& q) {
  Tensor tensor = *format::MakeTensor(ElementType::kInt16Q, dims, q);
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.In(0, 255));
  return tensor;
}

// m15 and the shift of S12.
mpz_class Once15(const mpz_class& sum, const Pair& factor) {
  mpz_class m = Floor(factor.m + (1L << 15), 16);
  if (m > 32767) m = 32767;
  const auto shift = static_cast<unsigned long>(15 - factor.e);
  return Floor(sum * m + (mpz_class(1) << (shift - 1)), shift);
}

// One row of x by the weights of two outputs. 700 products of up to 2^22 leave 32 bits behind.
struct Layer {
  Layer(Random& random, int run) : scale(Scaled(random)), result(Q({scale.scale[0] * 40})) {
    const std::int64_t inputs = run % 2 == 0 ? 700 : 5;
    weights = run % 3 == 0 ? Q({0.02F}) : Q({0.02F, 0.013F}, {}, {0});
    x = Random16(random, {1, inputs}, scale);
    w = random.Tensor8({2, inputs}, weights);
    if (run % 4 == 0) {
      for (std::int16_t& value : x.As<std::int16_t>()) value = 32767;
      for (std::int8_t& value : w.As<std::int8_t>()) value = value < 0 ? -127 : 127;
    }
    Quantization unit = weights;
    for (float& value : unit.scale) value *= scale.scale[0];
    b = Stored(ElementType::kInt32Q, {2}, {random.In(-99999, 99999), -7}, unit);
  }
  mpz_class Sum(std::size_t output) const {
    const Values xs = format::UnpackIntegers(x), ws = format::UnpackIntegers(w);
    mpz_class sum(0);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      sum += static_cast<long>(xs[i] * ws[output * xs.size() + i]);
    }
    return sum;
  }
  long Bias(std::size_t output) const { return format::UnpackIntegers(b)[output]; }
  // x_scale * w_scale in binary64.
  double Unit(std::size_t output) const {
    return static_cast<double>(scale.scale[0]) *
           static_cast<double>(weights.scale[weights.axis.empty() ? 0 : output]);
  }
  double y() const { return static_cast<double>(result.scale[0]); }
  Values Run(const char* op, std::vector<Attribute> attributes,
             std::vector<const Tensor*> inputs) const {
    return Integers({op, std::move(attributes), std::move(inputs),
                     Type(ElementType::kInt16Q, result), "tflite"});
  }

  Quantization scale, weights, result;
  Tensor x, w, b;
};

TEST(TfliteWide, ConvKeepsItsSumIn64Bits) {
  Random random(12);
  for (int run = 0; run < 20; ++run) {
    Layer layer(random, run);
    Values expected;
    for (std::size_t o = 0; o < 2; ++o) {
      const Pair factor = ToPair(layer.Unit(o) / layer.y());
      expected.push_back(Clamped(Once15(layer.Sum(o) + layer.Bias(o), factor), kMin, kMax));
    }
    for (Tensor* tensor : {&layer.x, &layer.w}) tensor->dims.push_back(1);
    EXPECT_EQ(layer.Run("Conv", {}, {&layer.x, &layer.w, &layer.b}), expected);
  }
}

// With a bias: 64 bits, and binary64.
TEST(TfliteWide, FullyConnectedWithABiasRoundsABinary64) {
  Random random(12);
  for (int run = 0; run < 20; ++run) {
    const Layer layer(random, run);
    Values expected;
    for (std::size_t o = 0; o < 2; ++o) {
      const double sum = mpz_class(layer.Sum(o) + layer.Bias(o)).get_d();
      const double steps = std::round(sum * (layer.Unit(o) / layer.y()));
      expected.push_back(Clamped(mpz_class(steps), kMin, kMax));
    }
    EXPECT_EQ(layer.Run("Gemm", {Attribute::Int("transB", 1)}, {&layer.x, &layer.w, &layer.b}),
              expected);
  }
}

// Without: 32 bits that wrap, and 31 of the factor.
TEST(TfliteWide, FullyConnectedWithoutABiasWraps) {
  Random random(12);
  for (int run = 0; run < 20; ++run) {
    const Layer layer(random, run);
    Values expected;
    for (std::size_t o = 0; o < 2; ++o) {
      const double unit = layer.weights.axis.empty()
                              ? (B32(layer.scale.scale[0]) * B32(layer.weights.scale[0])).value()
                              : layer.Unit(o);
      const Pair factor = ToPair(unit / layer.y());
      const mpz_class sum = layer.Sum(o) - (Floor(layer.Sum(o) + (1L << 31), 32) << 32);
      const auto shift = static_cast<unsigned long>(31 - factor.e);
      const mpz_class half = mpz_class(1) << (shift - 1);
      expected.push_back(Clamped(Floor(sum * factor.m + half, shift), kMin, kMax));
    }
    EXPECT_EQ(layer.Run("Gemm", {Attribute::Int("transB", 1)}, {&layer.x, &layer.w}), expected);
  }
}

TEST(TfliteWide, AddAndSubKeep15BitsOfHeadroom) {
  Random random(13);
  for (int run = 0; run < 100; ++run) {
    const Quantization aq = Scaled(random), bq = Scaled(random), yq = Scaled(random);
    const Tensor a = Random16(random, {50}, aq), b = Random16(random, {50}, bq);
    const Values as = format::UnpackIntegers(a), bs = format::UnpackIntegers(b);
    const auto sa = static_cast<double>(aq.scale[0]), sb = static_cast<double>(bq.scale[0]);
    const double t = 2 * std::max(sa, sb);
    const Pair to_a = ToPair(sa / t), to_b = ToPair(sb / t);
    const Pair to_y = ToPair(t / (0x1p15 * static_cast<double>(yq.scale[0])));
    for (const bool subtract : {false, true}) {
      Values expected;
      for (std::size_t i = 0; i < as.size(); ++i) {
        const mpz_class u = Twice(mpz_class(static_cast<long>(as[i])) << 15, to_a);
        const mpz_class v = Twice(mpz_class(static_cast<long>(bs[i])) << 15, to_b);
        const mpz_class sum = u + (subtract ? -1 : 1) * v;
        expected.push_back(Clamped(Twice(sum, to_y), kMin, kMax));
      }
      EXPECT_EQ(
          Integers(
              {subtract ? "Sub" : "Add", {}, {&a, &b}, Type(ElementType::kInt16Q, yq), "tflite"}),
          expected);
    }
  }
}

TEST(TfliteWide, MulRoundsTwice) {
  Random random(14);
  for (int run = 0; run < 100; ++run) {
    const Quantization aq = Scaled(random), bq = Scaled(random);
    const Quantization yq = Q({aq.scale[0] * bq.scale[0] * 20000.3F});
    const Tensor a = Random16(random, {50}, aq), b = Random16(random, {50}, bq);
    const Values as = format::UnpackIntegers(a), bs = format::UnpackIntegers(b);
    const Pair factor = ToPair((B32(aq.scale[0]) * B32(bq.scale[0]) / B32(yq.scale[0])).value());
    Values expected;
    for (std::size_t i = 0; i < as.size(); ++i) {
      const mpz_class product(static_cast<long>(as[i] * bs[i]));
      expected.push_back(Clamped(Twice(product, factor), kMin, kMax));
    }
    EXPECT_EQ(Integers({"Mul", {}, {&a, &b}, Type(ElementType::kInt16Q, yq), "tflite"}), expected);
  }
}

// An offset, or another type of result, has no kernel: the exact result.
TEST(TfliteWide, HasNoKernelForOffsets) {
  const Tensor x = Stored(ElementType::kInt16Q, {1, 1}, {46000 / 2}, Q({0.7F}, {1}));
  const Tensor w = Int8({1, 1}, {2}, Q({1.0F}));
  const OpRun op{"Gemm", {}, {&x, &w}, Type(ElementType::kInt16Q, Q({1.0F})), "tflite"};
  OpRun exact = op;
  exact.arithmetic = "exact";
  EXPECT_EQ(Integers(op), Integers(exact));
}

// tflite_float64.S5: 70,000 exponentials near 2^15 - 1 leave 31 bits behind.  One value is ln 100
// steps of 0.001 above the others: 2^15 * 100 / 70,099 = 46.7, 2^15 / 70,099 = 0.47.
TEST(TfliteWide, SoftmaxOfALongRowIsExact) {
  Values steps(70'000, 100);
  steps[1] += 4605;
  const Tensor x = Stored(ElementType::kInt16Q, {1, 70'000}, steps, Q({0.001F}));
  Values expected(70'000, 0);
  expected[1] = 47;
  for (const char* arithmetic : {"tflite-float64", "tflite-half-up"}) {
    EXPECT_EQ(
        Integers({"Softmax", {}, {&x}, Type(ElementType::kInt16Q, Q({0x1p-15F})), arithmetic}),
        expected);
  }
}

}  // namespace
}  // namespace qtx::reference::testing
