// tflite.S13 and tflite.S14.
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
