// Functions, Softmax, means, pools and binary operations of FLOAT in `exact`, against MPFR with
// 1600 bits rounded once, or against comparisons one by one; the same bits from several threads.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support.h"

namespace qtx::backend::engine {
namespace float_kernels {
namespace {

using format::Attribute;
using format::Dims;
using format::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// exp(-1000) next to 1 has its place in them.
constexpr mpfr_prec_t kBits = 1600;

class Wide {
 public:
  Wide(double value = 0) {  // NOLINT: a double is a number
    mpfr_init2(value_, kBits);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Wide(const Wide& other) : Wide() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Wide& operator=(const Wide& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Wide() { mpfr_clear(value_); }

  friend Wide operator+(const Wide& a, const Wide& b) { return a.With(mpfr_add, b); }
  friend Wide operator-(const Wide& a, const Wide& b) { return a.With(mpfr_sub, b); }
  friend Wide operator*(const Wide& a, const Wide& b) { return a.With(mpfr_mul, b); }
  friend Wide operator/(const Wide& a, const Wide& b) { return a.With(mpfr_div, b); }
  Wide Apply(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) const {
    Wide y;
    function(y.value_, value_, MPFR_RNDN);
    return y;
  }
  float Rounded() const { return mpfr_get_flt(value_, MPFR_RNDN); }  // subnormals, too, only once
  double Nearly() const { return mpfr_get_d(value_, MPFR_RNDN); }

 private:
  Wide With(int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Wide& b) const {
    Wide y;
    operation(y.value_, value_, b.value_, MPFR_RNDN);
    return y;
  }
  mpfr_t value_;
};

// The same binary32, but for the sign of zero and the bits of NaN, which exact.S5 leaves open.
bool Same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class FloatKernelsTest : public testing::Test {
 protected:
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  // Any bits: as often tiny as huge.
  float AnyFloat() { return std::bit_cast<float>(static_cast<std::uint32_t>(random_())); }
  // Few bits, so that sums and means are often ties.
  float Coarse() {
    return std::ldexp(static_cast<float>(Between(-8, 8)), Between(0, 9) == 0 ? -24 : 0);
  }

  static void ExpectFloats(const std::string& op, const std::vector<Argument>& arguments,
                           const Dims& dims, const std::vector<float>& expected,
                           const std::vector<Attribute>& attributes = {}) {
    for (const Kernels* kernels : KernelsUnderTest()) {
      for (const int threads : {1, 2, 8}) {
        if (threads != 1 && kernels != KernelsUnderTest().front()) continue;
        const auto model = OneNode(op, arguments, Floats(dims, {}), attributes);
        const auto prepared = PrepareModel(model, *kernels, {.threads = threads});
        ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
        std::vector<Tensor> inputs;
        for (const Argument& a : arguments) {
          if (!a.constant) inputs.push_back(a.tensor);
        }
        const auto y = (*prepared)->Run(inputs);
        ASSERT_TRUE(y.has_value()) << y.error().message;
        const auto found = y->front().As<float>();
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_PRED2(Same, found[i], expected[i])
              << op << " element " << i << " by " << kernels->name << " on " << threads;
        }
      }
    }
  }
  std::mt19937 random_{11};
};

Wide SigmoidOf(const Wide& x) { return Wide(1) / (Wide(1) + (Wide(0) - x).Apply(mpfr_exp)); }

class FunctionTest : public FloatKernelsTest {
 protected:
  // What rounds to 0, 1, a subnormal or infinity; any bits; and mostly from 2^-40 to 2^7.
  float Draw() {
    switch (Between(0, 9)) {
      case 0:
        return special_[static_cast<std::size_t>(Between(0, std::ssize(special_) - 1))];
      case 1:
        return AnyFloat();
      default:
        const float magnitude = std::ldexp(static_cast<float>(Between(1, 1 << 24)),
                                           static_cast<int>(Between(-40, -17)));
        return Between(0, 1) == 0 ? magnitude : -magnitude;
    }
  }
  std::vector<float> Drawn(std::int64_t count) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < count; ++i) x.push_back(Draw());
    return x;
  }
  template <typename Expected>
  static void ExpectFunction(const std::string& op, const std::vector<float>& x,
                             const Expected& expected,
                             const std::vector<Attribute>& attributes = {}) {
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<float> y(x.size());
    std::ranges::transform(x, y.begin(), expected);
    ExpectFloats(op, {{"x", Floats({count}, x)}}, {count}, y, attributes);
  }

  const std::vector<float> special_{0.0F,        -0.0F,     kInfinity,  -kInfinity,     kNan,
                                    1.0F,        -1.0F,     0x1p-149F,  -0x1p-149F,     0x1p-126F,
                                    88.72283F,   88.72284F, -87.33655F, -103.97207F,    -103.97208F,
                                    -103.27893F, -104.0F,   200.0F,     -200.0F,        -200.5F,
                                    1e30F,       -1e30F,    9.010913F,  -9.010913F,     16.635532F,
                                    -17.0F,      0x1p-12F,  0x1p-13F,   0x1.fffffep-14F};
};

float RoundedExp(float x) { return Wide(x).Apply(mpfr_exp).Rounded(); }
float RoundedTanh(float x) { return Wide(x).Apply(mpfr_tanh).Rounded(); }
float RoundedSigmoid(float x) { return SigmoidOf(x).Rounded(); }

// Every length of a last vector, then many.
TEST_F(FunctionTest, AreRoundedOnce) {
  for (std::int64_t n = 1; n <= 21; ++n) {
    std::vector<float> x = n == 21 ? special_ : std::vector<float>();
    const std::vector<float> drawn = Drawn(n == 21 ? 3000 : n);
    x.insert(x.end(), drawn.begin(), drawn.end());
    ExpectFunction("Exp", x, RoundedExp);
    ExpectFunction("Tanh", x, RoundedTanh);
    ExpectFunction("Sigmoid", x, RoundedSigmoid);
  }
}

float RoundedHardSwish(float x) {
  if (std::isnan(x)) return kNan;
  if (x <= -3 || x >= 3) return x < 0 ? 0 : x;
  const Wide wide(x);
  return (wide * (wide + Wide(3)) / Wide(6)).Rounded();
}
float RoundedHardSigmoid(float x) {
  if (std::isnan(x)) return kNan;
  const Wide line = Wide(x) * Wide(0.2F) + Wide(0.3F);
  const double nearly = line.Nearly();
  if (nearly <= 0 || nearly >= 1) return nearly <= 0 ? 0 : 1;
  return line.Rounded();
}
float RoundedLeakyRelu(float x) { return x < 0 ? (Wide(x) * Wide(0.1F)).Rounded() : x; }
float RoundedSqrt(float x) { return x < 0 ? kNan : Wide(x).Apply(mpfr_sqrt).Rounded(); }
float RoundedReciprocal(float x) { return x == 0 ? kInfinity : (Wide(1) / Wide(x)).Rounded(); }

TEST_F(FunctionTest, OfFewOperationsAreRoundedOnce) {
  std::vector<float> x{0.0F, -0.0F, kInfinity,       -kInfinity, kNan,
                       3.0F, -3.0F, -0x1.800002p+1F, 0x1p-149F};
  for (int i = 0; i < 3000; ++i)
    x.push_back(i % 3 == 0 ? AnyFloat() : static_cast<float>(Between(-400, 400)) / 100);
  ExpectFunction("HardSwish", x, RoundedHardSwish);
  ExpectFunction("HardSigmoid", x, RoundedHardSigmoid,
                 {Attribute::Float("alpha", 0.2F), Attribute::Float("beta", 0.3F)});
  ExpectFunction("LeakyRelu", x, RoundedLeakyRelu, {Attribute::Float("alpha", 0.1F)});
  ExpectFunction("Sqrt", x, RoundedSqrt);
  ExpectFunction("Reciprocal", x, RoundedReciprocal);
}

TEST_F(FloatKernelsTest, ExponentialsAreWithinTheirBound) {
  for (const Kernels* kernels : KernelsUnderTest()) {
    std::vector<double> x{0, -0.34657359, 0.34657359, -200, 200};
    while (x.size() < 3'003) {
      x.push_back(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random_),
                             static_cast<int>(Between(-30, 7))));
    }
    std::vector<double> y(x.size());
    kernels->exponentials(x.data(), static_cast<std::int64_t>(x.size()), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Wide exact = Wide(x[i]).Apply(mpfr_exp);
      ASSERT_LE(std::fabs(((Wide(y[i]) - exact) / exact).Nearly()), 0x1p-49)
          << x[i] << " by " << kernels->name;
    }
  }
}

// A row of a NaN, an infinity, or of nothing but minus infinities has no shares.
std::vector<float> SoftmaxRow(const std::vector<float>& x, bool logarithms) {
  float greatest = -kInfinity;
  bool defined = true;
  for (const float each : x) {
    greatest = std::max(greatest, each);
    defined = defined && !std::isnan(each);
  }
  if (!defined || std::isinf(greatest)) return std::vector<float>(x.size(), kNan);
  Wide sum;
  for (const float each : x) sum = sum + (Wide(each) - Wide(greatest)).Apply(mpfr_exp);
  std::vector<float> y;
  for (const float each : x) {
    const Wide below = Wide(each) - Wide(greatest);
    y.push_back(logarithms ? (below - sum.Apply(mpfr_log)).Rounded()
                           : (below.Apply(mpfr_exp) / sum).Rounded());
  }
  return y;
}

class SoftmaxTest : public FloatKernelsTest {
 protected:
  // Equal ones, ones near or far from each other, or with one that is special.
  std::vector<float> DrawRow(std::int64_t length) {
    std::vector<float> row;
    const auto kind = static_cast<std::size_t>(Between(0, 6));
    const float spread = kind == 0 ? 0.0F : std::ldexp(1.0F, static_cast<int>(Between(-20, 9)));
    for (std::int64_t i = 0; i < length; ++i) {
      row.push_back(3 + spread * static_cast<float>(Between(-1000, 1000)) / 1000);
    }
    constexpr std::array kSpecial{-kInfinity, kNan, kInfinity, 500.0F};
    if (kind >= 1 && kind <= kSpecial.size()) {
      row[static_cast<std::size_t>(Between(0, length - 1))] = kSpecial[kind - 1];
    }
    return row;
  }
  // Rows along the last or the first of two axes.
  void ExpectRows(bool logarithms, bool last) {
    const std::int64_t rows = Between(1, 5), length = Between(1, 21);
    std::vector<float> x(static_cast<std::size_t>(rows * length)), expected(x.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::vector<float> drawn = DrawRow(length), result = SoftmaxRow(drawn, logarithms);
      for (std::int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>(last ? row * length + i : i * rows + row);
        x[at] = drawn[static_cast<std::size_t>(i)];
        expected[at] = result[static_cast<std::size_t>(i)];
      }
    }
    const Dims dims = last ? Dims{rows, length} : Dims{length, rows};
    ExpectFloats(logarithms ? "LogSoftmax" : "Softmax", {{"x", Floats(dims, x)}}, dims, expected,
                 {Attribute::Int("axis", last ? 1 : 0)});
  }
};

TEST_F(SoftmaxTest, IsRoundedOnce) {
  for (int round = 0; round < 60; ++round) ExpectRows(/*logarithms=*/false, round % 2 == 0);
}
TEST_F(SoftmaxTest, LogarithmsAreRoundedOnce) {
  for (int round = 0; round < 60; ++round) ExpectRows(/*logarithms=*/true, round % 2 == 0);
}

Wide SumOf(const std::vector<float>& x) {
  Wide sum;
  for (const float each : x) sum = sum + Wide(each);
  return sum;
}

struct Line {
  std::int64_t kernel, stride, dilation, pad, size, out;
};

class PoolTest : public FloatKernelsTest {
 protected:
  Line DrawLine() {
    Line line{Between(1, 4), Between(1, 3), Between(1, 2), 0, Between(9, 40), 0};
    line.pad = Between(0, line.kernel - 1);
    line.out = (line.size + 2 * line.pad - (line.kernel - 1) * line.dilation - 1) / line.stride + 1;
    return line;
  }
  // Elements of plane c that window p has.
  static std::vector<float> Window(const std::vector<float>& x, const Line& line, std::int64_t c,
                                   std::int64_t p) {
    std::vector<float> window;
    for (std::int64_t t = 0; t < line.kernel; ++t) {
      const std::int64_t at = p * line.stride + t * line.dilation - line.pad;
      if (at >= 0 && at < line.size)
        window.push_back(x[static_cast<std::size_t>(c * line.size + at)]);
    }
    return window;
  }
  // Three planes; y of every window of each.
  template <typename Draw, typename Pool>
  static void ExpectPool(const std::string& op, const Line& line,
                         const std::vector<Attribute>& attributes, const Draw& draw,
                         const Pool& pool) {
    std::vector<float> x, expected;
    for (std::int64_t i = 0; i < 3 * line.size; ++i) x.push_back(draw());
    for (std::int64_t p = 0; p < 3 * line.out; ++p) {
      const auto window = Window(x, line, p / line.out, p % line.out);
      ASSERT_FALSE(window.empty());
      expected.push_back(pool(window));
    }
    ExpectFloats(op, {{"x", Floats({1, 3, line.size}, x)}}, {1, 3, line.out}, expected, attributes);
  }
  static std::vector<Attribute> AttributesOf(const Line& line) {
    return {Attribute::Ints("kernel_shape", {line.kernel}),
            Attribute::Ints("strides", {line.stride}),
            Attribute::Ints("dilations", {line.dilation}),
            Attribute::Ints("pads", {line.pad, line.pad})};
  }
};

TEST_F(PoolTest, MeansAreRoundedOnce) {
  for (int round = 0; round < 40; ++round) {
    const Line line = DrawLine();
    const bool counts = round % 2 == 0;
    const auto draw = [&] {
      return round % 4 == 0 ? AnyFloat() : round % 4 == 1 ? Coarse() : Coarse() / 3;
    };
    const auto mean = [&](const std::vector<float>& window) {
      const auto taps = static_cast<double>(window.size());
      return (SumOf(window) / Wide(counts ? static_cast<double>(line.kernel) : taps)).Rounded();
    };
    auto attributes = AttributesOf(line);
    attributes.push_back(Attribute::Int("count_include_pad", counts ? 1 : 0));
    ExpectPool("AveragePool", line, attributes, draw, mean);
  }
}

float GreatestOf(const std::vector<float>& window) {
  float greatest = -kInfinity;
  for (const float each : window) {
    if (std::isnan(each)) return kNan;
    greatest = std::max(greatest, each);
  }
  return greatest;
}

TEST_F(PoolTest, TheGreatestIsANanOrAnElement) {
  for (int round = 0; round < 40; ++round) {
    const Line line = DrawLine();
    const auto draw = [&] {
      const std::int64_t kind = Between(0, 19);
      return kind == 0 ? kNan : kind < 4 ? -kInfinity : Coarse();
    };
    ExpectPool("MaxPool", line, AttributesOf(line), draw, GreatestOf);
  }
}

class ReductionTest : public FloatKernelsTest {
 protected:
  // Numbers of one size or of all sizes; in some rounds an infinity or two.
  std::vector<float> DrawNumbers(std::int64_t count, int round) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < count; ++i) {
      const int exponent = round % 4 == 0 ? static_cast<int>(Between(-149, 120)) : 0;
      x.push_back(std::ldexp(Coarse(), exponent));
    }
    if (round % 5 == 0) x[static_cast<std::size_t>(Between(0, count - 1))] = kInfinity;
    if (round % 7 == 0) x[static_cast<std::size_t>(Between(0, count - 1))] = -kInfinity;
    return x;
  }
};

TEST_F(ReductionTest, IsRoundedOnce) {
  for (int round = 0; round < 40; ++round) {
    const std::int64_t rows = Between(1, 40), length = Between(1, 70);
    const std::vector<float> x = DrawNumbers(rows * length, round);
    std::vector<float> sums, means, squares;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<float> row(x.begin() + r * length, x.begin() + (r + 1) * length);
      Wide square;
      for (const float each : row) square = square + Wide(each) * Wide(each);
      sums.push_back(SumOf(row).Rounded());
      means.push_back((SumOf(row) / Wide(static_cast<double>(length))).Rounded());
      squares.push_back(square.Rounded());
    }
    const std::vector<std::int64_t> axis{1};
    const std::vector<Argument> arguments{{"x", Floats({rows, length}, x)},
                                          {"axes", Integers({1}, axis), true}};
    const std::vector<Attribute> drop{Attribute::Int("keepdims", 0)};
    ExpectFloats("ReduceSum", arguments, {rows}, sums, drop);
    ExpectFloats("ReduceMean", arguments, {rows}, means, drop);
    ExpectFloats("ReduceSumSquare", arguments, {rows}, squares, drop);
  }
}

// A zero has no sign (div.S3), and NaN wins (max.S3, min.S3).
TEST_F(FloatKernelsTest, BinaryOperationsAreThoseOfTheirClauses) {
  const std::vector<float> special{0.0F,       -0.0F,     kInfinity,
                                   -kInfinity, kNan,      1.0F,
                                   -3.0F,      0x1p-149F, std::numeric_limits<float>::max()};
  std::vector<float> a, b;
  for (const float left : special) {
    for (const float right : special) {
      a.push_back(left);
      b.push_back(right);
    }
  }
  for (int i = 0; i < 5'000; ++i) {
    a.push_back(AnyFloat());
    b.push_back(AnyFloat());
  }
  const auto count = static_cast<std::int64_t>(a.size());
  std::vector<float> sum, quotient, greatest, least, sloped;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool nan = std::isnan(a[i]) || std::isnan(b[i]);
    sum.push_back((Wide(a[i]) + Wide(b[i])).Rounded());
    quotient.push_back((Wide(a[i]) / Wide(b[i] == 0 ? 0.0 : b[i])).Rounded());
    greatest.push_back(nan ? kNan : std::max(a[i], b[i]));
    least.push_back(nan ? kNan : std::min(a[i], b[i]));
    sloped.push_back(a[i] < 0 ? (Wide(a[i]) * Wide(b[i])).Rounded() : a[i]);
  }
  const std::vector<Argument> arguments{{"a", Floats({count}, a)}, {"b", Floats({count}, b)}};
  ExpectFloats("Add", arguments, {count}, sum);
  ExpectFloats("Div", arguments, {count}, quotient);
  ExpectFloats("Max", arguments, {count}, greatest);
  ExpectFloats("Min", arguments, {count}, least);
  ExpectFloats("PRelu", arguments, {count}, sloped);
}

}  // namespace
}  // namespace float_kernels
}  // namespace qtx::backend::engine
