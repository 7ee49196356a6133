// Operators that work element by element, pools, means and softmax.
#include <mpfr.h>

#include <bit>
#include <limits>

#include "support.h"

namespace qtx::backend::float_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Patterns over the whole range of binary32: every 65,537th, so that all of their bits vary.
Tensor Everywhere() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 65'537) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const float value : {0.0F, -0.0F, kInf, -kInf, kNaN, 88.72283F, 88.72284F, -87.33655F,
                            -103.97F, -104.0F, 0x1p-149F}) {
    values.push_back(value);
  }
  return Floats({static_cast<std::int64_t>(values.size())}, values);
}

using MpfrFunction = int (*)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

int Logistic(mpfr_t to, mpfr_srcptr x, mpfr_rnd_t round) {
  mpfr_neg(to, x, round);
  mpfr_exp(to, to, round);
  mpfr_add_ui(to, to, 1, round);
  return mpfr_ui_div(to, 1, to, round);
}

// The distance in ulp of the exact value, an ulp being no less than 2^-149.
double Ulps(MpfrFunction function, float x, float y) {
  mpfr_t exact;
  mpfr_init2(exact, 120);
  mpfr_set_flt(exact, x, MPFR_RNDN);
  function(exact, exact, MPFR_RNDN);
  const double magnitude = std::abs(mpfr_get_d(exact, MPFR_RNDN));
  const int exponent = magnitude == 0 ? -126 : std::max(-126, std::ilogb(magnitude));
  mpfr_sub_d(exact, exact, static_cast<double>(y), MPFR_RNDN);
  const double distance = std::abs(mpfr_get_d(exact, MPFR_RNDN));
  mpfr_clear(exact);
  return std::ldexp(distance, 23 - exponent);
}

void CheckFunction(const char* op, MpfrFunction function, double ulps) {
  const Tensor x = Everywhere();
  const Tensor y = Compute(op, {x});
  double most = 0;
  for (std::size_t i = 0; i < x.As<float>().size(); ++i) {
    const float in = x.As<float>()[i];
    const float out = y.As<float>()[i];
    if (std::isnan(in)) {
      EXPECT_TRUE(std::isnan(out));
    } else if (std::isinf(in) || std::isinf(out)) {
      mpfr_t exact;
      mpfr_init2(exact, 24);
      mpfr_set_flt(exact, in, MPFR_RNDN);
      function(exact, exact, MPFR_RNDN);
      EXPECT_TRUE(mpfr_get_flt(exact, MPFR_RNDN) == out || (mpfr_nan_p(exact) && std::isnan(out)))
          << in;
      mpfr_clear(exact);
    } else if (std::isnan(out)) {
      EXPECT_TRUE(function == mpfr_sqrt && in < 0) << in;
    } else {
      most = std::max(most, Ulps(function, in, out));
    }
  }
  EXPECT_LE(most, ulps) << op;
  for (const std::string& kernels : FloatKernels()) {
    const Tensor other = Compute(op, {x}, 0, {}, {2, kernels});
    for (std::size_t i = 0; i < x.As<float>().size(); ++i) {
      const float a = other.As<float>()[i];
      const float b = y.As<float>()[i];
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
                  (std::isnan(a) && std::isnan(b)))
          << kernels << " " << op << " " << x.As<float>()[i];
    }
  }
}

// exp(r): 0.2 ulp of the reduction, 0.25 of the polynomial, 0.5 of the last addition; below the
// normal numbers another half for the scaling. The others add as their formulas do.
TEST(Functions, AreWithinAFewUlp) {
  CheckFunction("Exp", mpfr_exp, 1.5);
  CheckFunction("Sigmoid", Logistic, 3);
  CheckFunction("Tanh", mpfr_tanh, 3);
  CheckFunction("Sqrt", mpfr_sqrt, 0.5);
}

// IEEE operations: that of binary64 rounded to binary32 is the correctly rounded one (Figueroa,
// When is double rounding innocuous?, 1995: 53 >= 2 * 24 + 2).
TEST(Binary, RoundsOnceAndBroadcasts) {
  Random random(3);
  const std::vector<std::pair<Dims, Dims>> shapes = {{{2, 3, 4, 5}, {2, 3, 4, 5}},
                                                     {{2, 3, 4, 5}, {5}},
                                                     {{2, 3, 4, 5}, {3, 1, 1}},
                                                     {{2, 3, 4, 5}, {2, 1, 4, 1}},
                                                     {{3, 1}, {1, 40}},
                                                     {{}, {7}},
                                                     {{1, 20'000}, {1}},
                                                     {{300, 100}, {300, 1}},
                                                     {{2, 0}, {1}},
                                                     {{2, 1, 3}, {1, 2, 1}},
                                                     {{1, 1, 3, 1}, {2, 2, 1, 5}},
                                                     {{}, {}}};
  for (const auto& [a_dims, b_dims] : shapes) {
    const Tensor a = RandomTensor(a_dims, random);
    const Tensor b = RandomTensor(b_dims, random);
    for (const std::string op : {"Add", "Sub", "Mul", "Div"}) {
      const Tensor y = Compute(op, {a, b}, 0, {}, {2});
      const auto source = [&](const Dims& dims, std::int64_t at) {
        std::int64_t index = 0;
        std::int64_t stride = 1;
        for (std::size_t i = 0; i < y.dims.size(); ++i) {
          const std::int64_t coordinate = at % y.dims[y.dims.size() - 1 - i];
          at /= y.dims[y.dims.size() - 1 - i];
          if (i >= dims.size()) continue;
          const std::int64_t dim = dims[dims.size() - 1 - i];
          index += (dim == 1 ? 0 : coordinate) * stride;
          stride *= dim;
        }
        return static_cast<std::size_t>(index);
      };
      for (std::int64_t i = 0; i < format::ElementCount(y); ++i) {
        const auto p = static_cast<double>(a.As<float>()[source(a_dims, i)]);
        const auto q = static_cast<double>(b.As<float>()[source(b_dims, i)]);
        const double exact = op == "Add"   ? p + q
                             : op == "Sub" ? p - q
                             : op == "Mul" ? p * q
                                           : p / q;
        ASSERT_EQ(y.As<float>()[static_cast<std::size_t>(i)], static_cast<float>(exact)) << op << i;
      }
    }
  }
}

TEST(Binary, RefusesShapesThatDoNotBroadcast) {
  const std::vector<Tensor> inputs = {Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})};
  const auto result = RunModel(OneNode("Add", inputs, 0), inputs);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().clause, "add.C2");
}

void ExpectBits(const Tensor& y, const std::vector<float>& expected) {
  ASSERT_EQ(y.As<float>().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float found = y.As<float>()[i];
    EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(found)
                                        : std::bit_cast<std::uint32_t>(found) ==
                                              std::bit_cast<std::uint32_t>(expected[i]))
        << i << ": " << found;
  }
}

TEST(Unary, KeepsNaNAndTheSignOfZero) {
  const Tensor x = Floats({7}, {-2, -0.0F, 0, 3, kNaN, kInf, -kInf});
  for (const std::string& kernels : FloatKernels()) {
    const Setting setting{1, kernels};
    ExpectBits(Compute("Relu", {x}, 0, {}, setting), {0, -0.0F, 0, 3, kNaN, kInf, 0});
    ExpectBits(Compute("LeakyRelu", {x}, 0, {Attribute::Float("alpha", 0.5F)}, setting),
               {-1, -0.0F, 0, 3, kNaN, kInf, -kInf});
    ExpectBits(Compute("Clip", {x, Floats({}, {-1}), Floats({}, {2})}, 2, {}, setting),
               {-1, -0.0F, 0, 2, kNaN, 2, -1});
    // fma(0.5, x, 0.25) clamped to 0 .. 1; x times it.
    ExpectBits(Compute("HardSigmoid", {x}, 0,
                       {Attribute::Float("alpha", 0.5F), Attribute::Float("beta", 0.25F)}, setting),
               {0, 0.25F, 0.25F, 1, kNaN, 1, 0});
    ExpectBits(Compute("HardSwish", {Floats({4}, {-3, 0, 3, 6})}, 0, {}, setting),
               {-0.0F, 0, 3, 6});
  }
}

TEST(Clip, TakesBoundsThatAreComputed) {
  const Tensor y = Compute("Clip", {Floats({3}, {-5, 0, 5}), Floats({}, {-1}), Floats({}, {1})}, 0);
  ExpectBits(y, {-1, 0, 1});
}

// mean 1, variance 4 - epsilon: (x - 1) * 3 / 2 + 10.
TEST(BatchNormalization, ScalesEachChannel) {
  const Tensor x = Floats({1, 2, 2}, {1, 3, 5, 7});
  const std::vector<Tensor> inputs = {x, Floats({2}, {3, 1}), Floats({2}, {10, 0}),
                                      Floats({2}, {1, 0}), Floats({2}, {3.5F, 0.5F})};
  const Tensor y = Compute("BatchNormalization", inputs, 4, {Attribute::Float("epsilon", 0.5F)});
  ExpectBits(y, {10, 13, 5, 7});
}

TEST(MaxPool, TakesTheGreatestAndNaN) {
  const Tensor x = Floats({1, 1, 2, 4}, {1, 5, 2, -7, kNaN, 3, -8, -9});
  const std::vector<Attribute> window = {Attribute::Ints("kernel_shape", {1, 2}),
                                         Attribute::Ints("strides", {1, 2}),
                                         Attribute::Ints("pads", {0, 1, 0, 1})};
  for (const std::string& kernels : FloatKernels()) {
    ExpectBits(Compute("MaxPool", {x}, 0, window, {1, kernels}), {1, 5, -7, kNaN, 3, -9});
  }
}

// Windows of 3, one element of padding: 2 elements, 3, 2; with the padding always 3. ceil_mode adds
// a window that begins at element 4 of 0 .. 4 with a pad after it, and what lies past that.
TEST(AveragePool, CountsPaddingIfAsked) {
  const Tensor x = Floats({1, 1, 5}, {1, 2, 3, 4, 5});
  const auto mean = [&](std::int64_t counts, std::int64_t stride, std::int64_t ceil) {
    return Compute(
        "AveragePool", {x}, 0,
        {Attribute::Ints("kernel_shape", {3}), Attribute::Ints("pads", {1, 1}),
         Attribute::Ints("strides", {stride}), Attribute::Int("count_include_pad", counts),
         Attribute::Int("ceil_mode", ceil)});
  };
  ExpectBits(mean(0, 2, 0), {1.5F, 3, 4.5F});
  ExpectBits(mean(1, 2, 0), {1, 3, 3});
  ExpectBits(mean(0, 3, 1), {1.5F, 4});
  ExpectBits(mean(1, 4, 1), {1, 3});
}

// As EfficientNet is exported: a window of as many rows and columns as the head has channels.
TEST(Pools, TakeKernelsBeyondTheImage) {
  const Tensor x = Floats({1, 1, 2, 2}, {1, 2, 4, 8});
  const std::vector<Attribute> window = {
      Attribute::Ints("kernel_shape", {320, 320}), Attribute::Ints("strides", {320, 320}),
      Attribute::Int("ceil_mode", 1), Attribute::Int("count_include_pad", 1)};
  ExpectBits(Compute("AveragePool", {x}, 0, window), {3.75F});
  ExpectBits(Compute("MaxPool", {x}, 0, {window.begin(), window.begin() + 3}), {8});
}

// Every 2-D window against sums in binary64: n - 1 roundings, one of the division.
TEST(Pools, AreWithinTheBoundForEveryWindow) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t kernel[2] = {1 + random.Below(3), 1 + random.Below(3)};
    const std::int64_t stride[2] = {1 + random.Below(3), 1 + random.Below(3)};
    const std::int64_t dilation[2] = {1 + random.Below(2), 1 + random.Below(2)};
    const std::int64_t pad[2] = {random.Below(kernel[0]), random.Below(kernel[1])};
    const std::int64_t in[2] = {5 + random.Below(3), 5 + random.Below(20)};
    const Tensor x = RandomTensor({2, 3, in[0], in[1]}, random);
    const std::vector<Attribute> window = {
        Attribute::Ints("kernel_shape", {kernel[0], kernel[1]}),
        Attribute::Ints("strides", {stride[0], stride[1]}),
        Attribute::Ints("dilations", {dilation[0], dilation[1]}),
        Attribute::Ints("pads", {pad[0], pad[1], pad[0], pad[1]})};
    auto means = RunModel(OneNode("AveragePool", {x}, 0, window, 19), {x}, {2});
    ASSERT_TRUE(means.has_value()) << means.error().Text();
    const Tensor& mean = means->front();
    const Tensor most = Compute("MaxPool", {x}, 0, window, {2});
    std::size_t at = 0;
    for (std::int64_t channel = 0; channel < 6; ++channel) {
      for (std::int64_t oy = 0; oy < mean.dims[2]; ++oy) {
        for (std::int64_t ox = 0; ox < mean.dims[3]; ++ox, ++at) {
          Sum sum;
          float greatest = -kInf;
          std::int64_t count = 0;
          for (std::int64_t k = 0; k < kernel[0] * kernel[1]; ++k) {
            const std::int64_t y = oy * stride[0] - pad[0] + k / kernel[1] * dilation[0];
            const std::int64_t z = ox * stride[1] - pad[1] + k % kernel[1] * dilation[1];
            if (y < 0 || y >= in[0] || z < 0 || z >= in[1]) continue;
            const float value =
                x.As<float>()[static_cast<std::size_t>((channel * in[0] + y) * in[1] + z)];
            sum.Add(static_cast<double>(value));
            greatest = std::max(greatest, value);
            ++count;
          }
          const auto n = static_cast<double>(count);
          ASSERT_EQ(most.As<float>()[at], greatest);
          ASSERT_LE(std::abs(static_cast<double>(mean.As<float>()[at]) - sum.value / n),
                    Bound(kernel[0] * kernel[1], sum.magnitude / n));
        }
      }
    }
  }
}

TEST(ReduceMean, IsTakenOverTheAxes) {
  const Tensor x = Floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ExpectBits(Compute("ReduceMean", {x}, 0, {Attribute::Ints("axes", {0, -1})}), {3.5F, 5.5F});
  ExpectBits(Compute("ReduceMean", {x}), {4.5F});
  EXPECT_EQ(
      Compute("ReduceMean", {x}, 0, {Attribute::Ints("axes", {1}), Attribute::Int("keepdims", 0)}),
      Floats({2, 2}, {2, 3, 6, 7}));
  EXPECT_EQ(Compute("GlobalAveragePool", {x}), Floats({2, 2, 1}, {1.5F, 3.5F, 5.5F, 7.5F}));
}

// 1, 2^-30 and -1: sums in binary64 keep the middle one.
TEST(ReduceMean, SumsInBinary64) {
  const Tensor x = Floats({1, 4}, {1, 0x1p-30F, -1, 0});
  ExpectBits(Compute("ReduceMean", {x}, 0, {Attribute::Ints("axes", {1})}), {0x1p-32F});
}

// Equal elements share 1; shifted by any constant the result is the same; one infinity is NaN.
TEST(Softmax, IsTakenAlongItsAxis) {
  const Tensor x = Floats({2, 2}, {1000, 1000, 0, -kInf});
  ExpectBits(Compute("Softmax", {x}), {0.5F, 0.5F, 1, 0});
  ExpectBits(Compute("Softmax", {x}, 0, {Attribute::Int("axis", 0)}), {1, 1, 0, 0});
  ExpectBits(Compute("Softmax", {Floats({1, 2}, {kInf, 0})}), {kNaN, kNaN});
  ExpectBits(Compute("Softmax", {Floats({1, 2}, {kNaN, 0})}), {kNaN, kNaN});
}

// Until opset 13 all axes from the given one on are one.
TEST(Softmax, FlattensInOldModels) {
  const Tensor x = Floats({1, 2, 2}, {3, 3, 3, 3});
  const auto y = RunModel(OneNode("Softmax", {x}, 0, {}, 11), {x});
  ASSERT_TRUE(y.has_value());
  ExpectBits(y->at(0), {0.25F, 0.25F, 0.25F, 0.25F});
}

// exp within 1.5 ulp on both sides of the quotient, a sum rounded once, the division: 4 ulp. The
// rounding of x - max changes exp by as much as it is off, which is at most 2^-24 |x - max|.
TEST(Softmax, IsWithinAFewUlp) {
  Random random(6);
  for (const std::int64_t n : {1, 3, 17, 1000}) {
    Tensor x = RandomTensor({n}, random);
    for (float& value : x.As<float>()) value *= 10;
    const Tensor y = Compute("Softmax", {x});
    double sum = 0;
    for (const float value : x.As<float>()) sum += std::exp(static_cast<double>(value));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double exact = std::exp(static_cast<double>(x.As<float>()[i])) / sum;
      const auto below = static_cast<double>(*std::ranges::max_element(x.As<float>())) -
                         static_cast<double>(x.As<float>()[i]);
      EXPECT_LE(std::abs(static_cast<double>(y.As<float>()[i]) - exact),
                (4 * 0x1p-23 + below * 0x1p-24) * exact);
    }
    for (const std::string& kernels : FloatKernels()) {
      EXPECT_EQ(Compute("Softmax", {x}, 0, {}, {1, kernels}), y);
    }
  }
}

}  // namespace
}  // namespace qtx::backend::float_test
