// FLOAT Conv, MatMul and Gemm in `exact` against sums in rationals, rounded once by MPFR; the same
// bits from several threads.
#include <gmpxx.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>

#include "support.h"

namespace qtx::backend::engine {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

float Rounded(const mpq_class& real) {
  mpfr_t value;
  mpfr_init2(value, 24);
  mpfr_set_q(value, real.get_mpq_t(), MPFR_RNDN);
  const float rounded = mpfr_get_flt(value, MPFR_RNDN);  // no subnormals here
  mpfr_clear(value);
  return rounded;
}

class RealProductTest : public testing::Test {
 protected:
  // Few bits of exponents far apart: sums are often ties of binary32, and cancel.
  float Number() {
    const int bits = static_cast<int>(random_() % 4 == 0 ? 24 : 3);
    const auto integer = static_cast<float>(random_() % (1U << bits));
    const float exponent = random_() % 3 == 0 ? -24 : 0;
    return std::ldexp(random_() % 2 == 0 ? integer : -integer, static_cast<int>(exponent));
  }
  std::vector<float> Numbers(std::int64_t count) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(Number());
    return numbers;
  }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  static void ExpectFloats(const std::string& op, const std::vector<Argument>& arguments,
                           const Tensor& type, const std::vector<float>& expected,
                           const std::vector<Attribute>& attributes = {}) {
    for (const Kernels* kernels : KernelsUnderTest()) {
      for (const int threads : {1, 2, 8}) {
        const auto y =
            ComputeOneNode(*kernels, op, arguments, type, attributes, Path::kFastest, threads);
        ASSERT_TRUE(y.has_value()) << y.error().message;
        const auto found = y->As<float>();
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(found[i], expected[i])
              << op << " element " << i << " by " << kernels->name << " on " << threads;
        }
      }
    }
  }
  std::mt19937 random_{5};
};

TEST_F(RealProductTest, GemmRoundsTheExactSumOnce) {
  for (int round = 0; round < 30; ++round) {
    // The last two are worth several threads.
    const std::int64_t rows = round < 28 ? Between(1, 6) : 41;
    const std::int64_t depth = Between(1, 40) + (round < 28 ? 0 : 20);
    const std::int64_t columns = Between(1, 60) + (round < 28 ? 0 : 70);
    const auto a = Numbers(rows * depth), b = Numbers(depth * columns), c = Numbers(columns);
    std::vector<float> expected;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t m = 0; m < columns; ++m) {
        mpq_class sum(c[static_cast<std::size_t>(m)]);
        for (std::int64_t k = 0; k < depth; ++k) {
          sum += mpq_class(a[static_cast<std::size_t>(r * depth + k)]) *
                 mpq_class(b[static_cast<std::size_t>(k * columns + m)]);
        }
        expected.push_back(Rounded(sum));
      }
    }
    const bool constant = round % 2 == 0;
    ExpectFloats("Gemm",
                 {{"a", Floats({rows, depth}, a)},
                  {"b", Floats({depth, columns}, b), constant},
                  {"c", Floats({columns}, c), constant}},
                 Floats({rows, columns}, {}), expected);
  }
}

// A line of 2 channels: y[p] = sum over channels and taps of w * x[stride * p + dilation * t -
// pad].
TEST_F(RealProductTest, ConvTakesStridesDilationsAndPadding) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t kernel = Between(1, 4), stride = Between(1, 3), dilation = Between(1, 2);
    // The last one is worth several threads.
    const std::int64_t size = round < 59 ? Between(9, 70) : 6'000, pad = Between(0, 3);
    const std::int64_t filters = round < 59 ? Between(1, 6) : 21;
    const std::int64_t out = (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
    const auto x = Numbers(2 * size), w = Numbers(filters * 2 * kernel);
    std::vector<float> expected;
    for (std::int64_t m = 0; m < filters; ++m) {
      for (std::int64_t p = 0; p < out; ++p) {
        mpq_class sum;
        for (std::int64_t c = 0; c < 2; ++c) {
          for (std::int64_t t = 0; t < kernel; ++t) {
            const std::int64_t at = p * stride + t * dilation - pad;
            if (at < 0 || at >= size) continue;
            sum += mpq_class(x[static_cast<std::size_t>(c * size + at)]) *
                   mpq_class(w[static_cast<std::size_t>((m * 2 + c) * kernel + t)]);
          }
        }
        expected.push_back(Rounded(sum));
      }
    }
    ExpectFloats("Conv",
                 {{"x", Floats({1, 2, size}, x)}, {"w", Floats({filters, 2, kernel}, w), true}},
                 Floats({1, filters, out}, {}), expected,
                 {Attribute::Ints("strides", {stride}), Attribute::Ints("dilations", {dilation}),
                  Attribute::Ints("pads", {pad, pad})});
  }
}

// Groups of few filters and channels, whose columns have elements of their own, and of many; images
// of 2 batches with padding on all sides but one.
TEST_F(RealProductTest, ConvTakesGroups) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t groups = Between(1, 19), channels = Between(1, round % 4 == 0 ? 9 : 2);
    const std::int64_t filters = Between(1, round % 4 == 1 ? 18 : 3), stride = Between(1, 2);
    const std::int64_t height = Between(1, 4), width = Between(1, 9);
    const std::int64_t out_y = (height + 2 - 2) / stride + 1, out_x = (width + 1 - 1) / stride + 1;
    const auto x = Numbers(2 * groups * channels * height * width);
    const auto w = Numbers(groups * filters * channels * 2);
    const auto bias = Numbers(groups * filters);
    const auto product = [&](std::int64_t plane, std::int64_t i, std::int64_t j, std::size_t tap) {
      const bool inside = i >= 0 && i < height && j < width;
      const auto at = static_cast<std::size_t>((plane * height + i) * width + j);
      return inside ? mpq_class(mpq_class(x[at]) * mpq_class(w[tap])) : mpq_class();
    };
    std::vector<float> expected;
    for (std::int64_t plane = 0; plane < 2 * groups * filters; ++plane) {
      const std::int64_t n = plane / (groups * filters), m = plane % (groups * filters);
      for (std::int64_t p = 0; p < out_y * out_x; ++p) {
        mpq_class sum(bias[static_cast<std::size_t>(m)]);
        for (std::int64_t t = 0; t < channels * 2; ++t) {  // a kernel of 2 x 1
          const std::int64_t channel = (n * groups + m / filters) * channels + t / 2;
          sum += product(channel, p / out_x * stride + t % 2 - 1, p % out_x * stride,
                         static_cast<std::size_t>(m * channels * 2 + t));
        }
        expected.push_back(Rounded(sum));
      }
    }
    ExpectFloats("Conv",
                 {{"x", Floats({2, groups * channels, height, width}, x)},
                  {"w", Floats({groups * filters, channels, 2, 1}, w), round % 3 != 0},
                  {"b", Floats({groups * filters}, bias), true}},
                 Floats({2, groups * filters, out_y, out_x}, {}), expected,
                 {Attribute::Ints("strides", {stride, stride}), Attribute::Int("group", groups),
                  Attribute::Ints("pads", {1, 0, 1, 1})});
  }
}

// 2^24 + 1 is a tie, which goes to the even 2^24; 2^-30 more decides it. Binary64 has all bits of
// the sum; the bound does not.
TEST_F(RealProductTest, DecidesTiesExactly) {
  for (const float more : {0.0F, 0x1p-30F, -0x1p-30F}) {
    const std::vector<float> a{0x1p24F, 1, more};
    ExpectFloats(
        "MatMul",
        {{"a", Floats({1, 3}, a)}, {"b", Floats({3, 1}, std::vector<float>{1, 1, 1}), true}},
        Floats({1, 1}, {}), {more > 0 ? 0x1p24F + 2 : 0x1p24F});
  }
}

}  // namespace
}  // namespace qtx::backend::engine
