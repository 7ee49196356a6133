// What FLOAT kernels do beside float_kernels_test.cc and real_product_test.cc: images of two axes,
// weights of 8 bits, powers, conversions to integers and LSTM's products; against MPFR, rationals
// or integers.
#include <gmpxx.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/ops/gate_sums.h"
#include "support.h"

namespace qtx::backend::engine {
namespace float_paths {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }

float Rounded(const mpq_class& real) {
  mpfr_t value;
  mpfr_init2(value, 24);
  mpfr_set_q(value, real.get_mpq_t(), MPFR_RNDN);
  const float rounded = mpfr_get_flt(value, MPFR_RNDN);  // no subnormals here
  mpfr_clear(value);
  return rounded;
}

class FloatPathsTest : public testing::Test {
 protected:
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  // Few bits of exponents far apart: sums are often ties of binary32, and cancel.
  float Number() {
    const auto integer = static_cast<float>(Between(0, Between(0, 3) == 0 ? (1 << 24) - 1 : 7));
    const int exponent = Between(0, 2) == 0 ? -24 : 0;
    return std::ldexp(Between(0, 1) == 0 ? integer : -integer, exponent);
  }
  std::vector<float> Numbers(std::int64_t count) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(Number());
    return numbers;
  }
  static void ExpectFloats(const std::string& op, const std::vector<Argument>& arguments,
                           const Dims& dims, const std::vector<float>& expected,
                           const std::vector<Attribute>& attributes = {}) {
    for (const Kernels* kernels : KernelsUnderTest()) {
      for (const int threads : {1, 2}) {
        const auto y = ComputeOneNode(*kernels, op, arguments, Floats(dims, {}), attributes,
                                      Path::kFastest, threads);
        ASSERT_TRUE(y.has_value()) << y.error().message;
        const auto found = y->As<float>();
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
              << op << " element " << i << " by " << kernels->name << ": found " << found[i]
              << ", expected " << expected[i];
        }
      }
    }
  }
  std::mt19937 random_{3};
};

struct Axis {
  std::int64_t size, kernel, stride, dilation, pad;
  std::int64_t out() const { return (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1; }
};

class WindowTest : public FloatPathsTest {
 protected:
  Axis Draw(std::int64_t least, std::int64_t most) {
    Axis axis{Between(least, most), Between(1, 3), Between(1, 3), Between(1, 2), 0};
    axis.pad = Between(0, axis.kernel - 1);
    return axis;
  }
  static std::vector<Attribute> Attributes(const Axis& y, const Axis& x) {
    return {Attribute::Ints("strides", {y.stride, x.stride}),
            Attribute::Ints("dilations", {y.dilation, x.dilation}),
            Attribute::Ints("pads", {y.pad, x.pad, y.pad, x.pad})};
  }
  // Calls visit(index of the tap, index of the element in its plane) for the taps of position p
  // that are inside the input.
  template <typename Visit>
  static void ForTaps(const Axis& y, const Axis& x, std::int64_t p, Visit visit) {
    for (std::int64_t t = 0; t < y.kernel * x.kernel; ++t) {
      const std::int64_t i = p / x.out() * y.stride + t / x.kernel * y.dilation - y.pad;
      const std::int64_t j = p % x.out() * x.stride + t % x.kernel * x.dilation - x.pad;
      if (i >= 0 && i < y.size && j >= 0 && j < x.size) visit(t, i * x.size + j);
    }
  }
};

// Images of all widths, so that lines of the image are shared by taps or are each tap's own.
TEST_F(WindowTest, ConvRoundsTheExactSumOnce) {
  for (int round = 0; round < 40; ++round) {
    const Axis y = Draw(5, 12), x = Draw(5, round % 2 == 0 ? 7 : 30);
    const std::int64_t groups = Between(1, 2), filters = groups * Between(1, 9);
    const std::int64_t channels = groups * Between(1, 3), depth = channels / groups;
    const std::int64_t taps = y.kernel * x.kernel, positions = y.out() * x.out();
    const auto image = Numbers(2 * channels * y.size * x.size);
    const auto w = Numbers(filters * depth * taps), bias = Numbers(filters);
    std::vector<float> expected;
    for (std::int64_t i = 0; i < 2 * filters * positions; ++i) {
      const std::int64_t n = i / positions / filters, m = i / positions % filters;
      mpq_class sum(bias[At(m)]);
      for (std::int64_t c = 0; c < depth; ++c) {
        const std::int64_t channel = n * channels + m / (filters / groups) * depth + c;
        ForTaps(y, x, i % positions, [&](std::int64_t t, std::int64_t at) {
          sum += mpq_class(image[At(channel * y.size * x.size + at)]) *
                 mpq_class(w[At((m * depth + c) * taps + t)]);
        });
      }
      expected.push_back(Rounded(sum));
    }
    auto attributes = Attributes(y, x);
    attributes.push_back(Attribute::Int("group", groups));
    ExpectFloats("Conv",
                 {{"x", Floats({2, channels, y.size, x.size}, image)},
                  {"w", Floats({filters, depth, y.kernel, x.kernel}, w), true},
                  {"b", Floats({filters}, bias), true}},
                 {2, filters, y.out(), x.out()}, expected, attributes);
  }
}

// Results of one to three columns are taken column by column.
TEST_F(WindowTest, NarrowPoolsAreTheirWindows) {
  for (int round = 0; round < 40; ++round) {
    const Axis y = Draw(14, 30), x = Draw(5, 6);
    std::vector<float> image = Numbers(2 * y.size * x.size), greatest, means;
    image[At(Between(0, std::ssize(image) - 1))] = kNan;
    for (std::int64_t p = 0; p < 2 * y.out() * x.out(); ++p) {
      float most = -kInfinity;
      bool nan = false;
      std::int64_t count = 0;
      mpq_class sum;
      ForTaps(y, x, p % (y.out() * x.out()), [&](std::int64_t, std::int64_t at) {
        const float value = image[At(p / (y.out() * x.out()) * y.size * x.size + at)];
        nan = nan || std::isnan(value);
        most = std::max(most, value);
        if (!std::isnan(value)) sum += mpq_class(value);
        ++count;
      });
      greatest.push_back(nan ? kNan : most);
      means.push_back(nan ? kNan : Rounded(sum / mpq_class(count)));
    }
    auto attributes = Attributes(y, x);
    attributes.push_back(Attribute::Ints("kernel_shape", {y.kernel, x.kernel}));
    const std::vector<Argument> arguments{{"x", Floats({1, 2, y.size, x.size}, image)}};
    ExpectFloats("MaxPool", arguments, {1, 2, y.out(), x.out()}, greatest, attributes);
    ExpectFloats("AveragePool", arguments, {1, 2, y.out(), x.out()}, means, attributes);
  }
}

// Of INT8Q and of UINT8Q, whose differences from the offset have 8 bits or 9.
TEST_F(FloatPathsTest, GemmTakesWeightsOfBytes) {
  for (int round = 0; round < 30; ++round) {
    const bool is_signed = round % 2 == 0;
    const std::int64_t rows = Between(1, 5), depth = Between(1, 40), columns = Between(1, 60);
    const std::int32_t offset = is_signed ? 0 : static_cast<std::int32_t>(Between(100, 140));
    const float scale = std::ldexp(static_cast<float>(Between(1, 1 << 24)), -24);
    const auto a = Numbers(rows * depth), c = Numbers(columns);
    std::vector<std::int32_t> b;
    const std::int64_t least = is_signed ? -128 : round % 4 == 1 ? 0 : 60;
    for (std::int64_t i = 0; i < columns * depth; ++i) {
      b.push_back(static_cast<std::int32_t>(Between(least, is_signed ? 127 : 220)));
    }
    std::vector<float> expected;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      mpq_class sum;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum +=
            mpq_class(a[At(i / columns * depth + k)]) * (b[At(i % columns * depth + k)] - offset);
      }
      expected.push_back(Rounded(sum * mpq_class(scale) + mpq_class(c[At(i % columns)])));
    }
    const auto type = is_signed ? ElementType::kInt8Q : ElementType::kUint8Q;
    ExpectFloats("Gemm",
                 {{"a", Floats({rows, depth}, a)},
                  {"b", Quantized(type, {columns, depth}, {{scale, offset}}, b), true},
                  {"c", Floats({columns}, c), true}},
                 {rows, columns}, expected, {Attribute::Int("transB", 1)});
  }
}

// Two to 1600 bits, rounded once.
float Power(float x, float p) {
  mpfr_t base, exponent;
  mpfr_inits2(1600, base, exponent, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_flt(base, x, MPFR_RNDN);
  mpfr_set_flt(exponent, p, MPFR_RNDN);
  mpfr_pow(base, base, exponent, MPFR_RNDN);
  const float power = mpfr_get_flt(base, MPFR_RNDN);
  mpfr_clears(base, exponent, static_cast<mpfr_ptr>(nullptr));
  return power;
}

TEST_F(FloatPathsTest, PowersAreRoundedOnce) {
  std::vector<float> special{0, kInfinity, -kInfinity, kNan, 1, -1, 2, -3, 0x1p-149F, 0x1p127F};
  std::vector<float> x, p, expected;
  for (const float base : special) {
    for (const float exponent : {2.0F, 3.0F, 0.5F, -0.5F, -1.0F, 1.5F, 0.0F, kInfinity, kNan}) {
      x.push_back(base);
      p.push_back(exponent);
    }
  }
  for (int i = 0; i < 3'000; ++i) {
    const bool few = i % 3 == 0;  // bits, so that powers are rational and sometimes ties
    x.push_back(few ? static_cast<float>(Between(1, 400)) / 4
                    : std::bit_cast<float>(static_cast<std::uint32_t>(Between(0, 0x7F7FFFFF))));
    p.push_back(few ? static_cast<float>(Between(-8, 12)) / 2
                    : std::ldexp(static_cast<float>(Between(-(1 << 24), 1 << 24)),
                                 static_cast<int>(Between(-40, -18))));
  }
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(Power(x[i], p[i]));
  const auto count = static_cast<std::int64_t>(x.size());
  ExpectFloats("Pow", {{"x", Floats({count}, x)}, {"p", Floats({count}, p)}}, {count}, expected);
  for (const float each : {2.0F, 3.0F, 0.5F, -0.5F}) {
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = Power(x[i], each);
    ExpectFloats("Pow",
                 {{"x", Floats({count}, x)}, {"p", Floats({}, std::vector<float>{each}), true}},
                 {count}, expected);
  }
}

// Ties of both signs, what is next to them, and what the range clamps.
class CastTest : public FloatPathsTest {
 protected:
  std::vector<float> Quotients(float scale) {
    std::vector<float> x{1e30F, -1e30F, 0};
    for (int i = 0; i < 1'000; ++i) {
      const float tie = (static_cast<float>(Between(-150, 150)) + 0.5F) * scale;
      const std::array<float, 4> near{std::nextafter(tie, 1e9F), std::nextafter(tie, -1e9F), tie,
                                      Number() * scale};
      x.push_back(near[At(Between(0, 3))]);
    }
    return x;
  }
  static std::vector<std::int32_t> Stored(const std::vector<float>& x, float scale,
                                          std::int32_t offset, format::IntegerRange range) {
    std::vector<std::int32_t> stored;
    for (const float each : x) {
      const float within = std::clamp(each, -2e5F, 2e5F);  // beyond every range
      const auto rounded = RoundSlowly(Exactly(within), scale, offset, range);
      stored.push_back(static_cast<std::int32_t>(rounded));
    }
    return stored;
  }
};

TEST_F(CastTest, RoundsQuotientsHalfEven) {
  for (const auto type : {ElementType::kInt8Q, ElementType::kUint8Q, ElementType::kInt16Q}) {
    const std::int32_t offset = type == ElementType::kUint8Q ? 128 : -3;
    for (const float scale : {0.25F, 0.1F, 0x1.fffffep-3F, 3.0F}) {
      const std::vector<float> x = Quotients(scale);
      const auto expected = Stored(x, scale, offset, format::StorageRange(type));
      const auto count = static_cast<std::int64_t>(x.size());
      const auto type_of_y = Quantized(type, {count}, {{scale, offset}}, expected);
      for (const Kernels* kernels : KernelsUnderTest()) {
        EXPECT_EQ(RunOneNode(*kernels, "Cast", {{"x", Floats({count}, x)}}, type_of_y,
                             {Attribute::Int("to", static_cast<std::int64_t>(type))}),
                  expected)
            << kernels->name;
      }
    }
  }
}

// Vectors that are off by up to their errors: the sums of the true ones lie within the bounds.
TEST_F(FloatPathsTest, GateSumsHoldTheExactSums) {
  const auto drawn = [&](std::int64_t count, double error) {
    std::vector<Estimate> vector;
    for (std::int64_t i = 0; i < count; ++i) {
      vector.push_back({static_cast<double>(Number()) / 3, error});
    }
    return vector;
  };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t rows = 4 * Between(1, 9), input = Between(1, 20), hidden = rows / 4;
    const auto w = drawn(2 * rows * input, 0), r = drawn(2 * rows * hidden, 0);
    const double error = round % 2 == 0 ? 0 : 0x1p-20;
    const auto x = drawn(input, 0), h = drawn(hidden, error);
    for (const Kernels* kernels : KernelsUnderTest()) {
      const auto sums = GateSums::Make(*kernels, w, r, rows, input, hidden);
      ASSERT_NE(sums, nullptr);
      std::vector<Estimate> found;
      sums->Compute(1, x, h, found);
      for (std::int64_t g = 0; g < rows; ++g) {
        mpq_class sum, reach;
        for (std::int64_t k = 0; k < input; ++k) {
          sum += mpq_class(w[At((rows + g) * input + k)].value) * mpq_class(x[At(k)].value);
        }
        for (std::int64_t k = 0; k < hidden; ++k) {
          const mpq_class weight(r[At((rows + g) * hidden + k)].value);
          sum += weight * mpq_class(h[At(k)].value);
          reach += abs(weight) * mpq_class(error);
        }
        const mpq_class off = abs(sum - mpq_class(found[At(g)].value)) + reach;
        EXPECT_LE(off, mpq_class(found[At(g)].error));
      }
    }
  }
  const auto inexact = drawn(4, 0x1p-50);
  EXPECT_EQ(GateSums::Make(PortableKernels(), inexact, inexact, 4, 1, 1), nullptr);
}

}  // namespace
}  // namespace float_paths
}  // namespace qtx::backend::engine
