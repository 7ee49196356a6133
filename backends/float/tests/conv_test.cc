// Conv against sums of exact products in binary64, over every small window.
#include <cmath>

#include "support.h"

namespace qtx::backend::float_test {
namespace {

struct Axis {
  std::int64_t in, kernel, stride, dilation, pad_begin, pad_end;
  std::int64_t out() const {
    return (pad_begin + in + pad_end - ((kernel - 1) * dilation + 1)) / stride + 1;
  }
  bool valid() const { return pad_begin + in + pad_end >= (kernel - 1) * dilation + 1; }
};

struct Case {
  std::int64_t batch, channels, outputs, groups;
  Axis y, x;
};

Sum Expected(const Case& c, const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t n,
             std::int64_t o, std::int64_t oy, std::int64_t ox) {
  Sum sum;
  sum.Add(static_cast<double>(b.As<float>()[static_cast<std::size_t>(o)]));
  const std::int64_t depth = c.channels / c.groups;
  const std::int64_t first = o / (c.outputs / c.groups) * depth;
  for (std::int64_t i = 0; i < depth; ++i) {
    for (std::int64_t ky = 0; ky < c.y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < c.x.kernel; ++kx) {
        const std::int64_t iy = oy * c.y.stride + ky * c.y.dilation - c.y.pad_begin;
        const std::int64_t ix = ox * c.x.stride + kx * c.x.dilation - c.x.pad_begin;
        if (iy < 0 || iy >= c.y.in || ix < 0 || ix >= c.x.in) continue;
        const std::int64_t at = ((n * c.channels + first + i) * c.y.in + iy) * c.x.in + ix;
        const std::int64_t weight = ((o * depth + i) * c.y.kernel + ky) * c.x.kernel + kx;
        sum.Add(static_cast<double>(x.As<float>()[static_cast<std::size_t>(at)]) *
                static_cast<double>(w.As<float>()[static_cast<std::size_t>(weight)]));
      }
    }
  }
  return sum;
}

void Check(const Case& c, Random& random) {
  const std::int64_t depth = c.channels / c.groups;
  const Tensor x = RandomTensor({c.batch, c.channels, c.y.in, c.x.in}, random);
  const Tensor w = RandomTensor({c.outputs, depth, c.y.kernel, c.x.kernel}, random);
  const Tensor b = RandomTensor({c.outputs}, random);
  const std::vector<Attribute> attributes = {
      Attribute::Ints("strides", {c.y.stride, c.x.stride}),
      Attribute::Ints("dilations", {c.y.dilation, c.x.dilation}),
      Attribute::Ints("pads", {c.y.pad_begin, c.x.pad_begin, c.y.pad_end, c.x.pad_end}),
      Attribute::Int("group", c.groups)};
  const Tensor result = Compute("Conv", {x, w, b}, 2, attributes);
  ASSERT_EQ(result.dims, (Dims{c.batch, c.outputs, c.y.out(), c.x.out()}));
  const std::int64_t roundings = depth * c.y.kernel * c.x.kernel;
  const float* y = result.As<float>().data();
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      for (std::int64_t oy = 0; oy < c.y.out(); ++oy) {
        for (std::int64_t ox = 0; ox < c.x.out(); ++ox, ++y) {
          const Sum sum = Expected(c, x, w, b, n, o, oy, ox);
          ASSERT_LE(std::abs(static_cast<double>(*y) - sum.value), Bound(roundings, sum.magnitude))
              << "[" << n << "," << o << "," << oy << "," << ox << "]";
        }
      }
    }
  }
  for (const std::string& kernels : FloatKernels()) {
    EXPECT_EQ(Compute("Conv", {x, w, b}, 2, attributes, {2, kernels}), result) << kernels;
    EXPECT_EQ(Compute("Conv", {x, w, b}, 0, attributes, {1, kernels}), result) << kernels;
  }
}

template <typename F>
void ForEachAxis(F f) {
  for (std::int64_t in = 4; in <= 5; ++in) {
    for (std::int64_t kernel = 1; kernel <= 3; ++kernel) {
      for (std::int64_t stride = 1; stride <= 2; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
          for (std::int64_t pads = 0; pads < 9; ++pads) {
            const Axis axis{in, kernel, stride, dilation, pads / 3, pads % 3};
            if (axis.valid()) f(axis);
          }
        }
      }
    }
  }
}

// One axis takes all values while the other has one of a few.
TEST(Conv, IsWithinTheBoundForEveryWindow) {
  Random random(1);
  const Axis others[] = {{5, 3, 2, 1, 1, 0}, {3, 1, 1, 1, 0, 0}, {6, 2, 1, 2, 0, 2}};
  for (const Axis& other : others) {
    ForEachAxis([&](const Axis& axis) {
      Check({1, 2, 3, 1, axis, other}, random);
      Check({2, 2, 4, 2, other, axis}, random);
    });
  }
}

// Counts on both sides of what a tile takes: rows of 6 and 8, vectors of 1, 8 and 16 columns.
TEST(Conv, IsWithinTheBoundAroundTheSizesOfTiles) {
  Random random(2);
  for (const std::int64_t outputs : {1, 5, 6, 7, 8, 9, 17}) {
    for (const std::int64_t columns : {1, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 65}) {
      Check({1, 3, outputs, 1, {1, 1, 1, 1, 0, 0}, {columns, 1, 1, 1, 0, 0}}, random);
      Check({1, outputs, outputs, outputs, {3, 3, 1, 1, 1, 1}, {columns, 3, 1, 1, 1, 1}}, random);
    }
  }
}

// Deeper than a block of the product, so that sums are put down and taken up again.
TEST(Conv, IsWithinTheBoundWhereSumsAreInterrupted) {
  Random random(3);
  Check({1, 700, 9, 1, {1, 1, 1, 1, 0, 0}, {50, 1, 1, 1, 0, 0}}, random);
  Check({1, 90, 130, 1, {9, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}}, random);
}

TEST(Conv, TakesOneSpatialAxis) {
  const Tensor x = Floats({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = Floats({1, 1, 2}, {1, 10});
  const Tensor y = Compute("Conv", {x, w}, 1, {Attribute::Ints("pads", {1, 0})});
  EXPECT_EQ(y, Floats({1, 1, 4}, {10, 21, 32, 43}));
}

// 4 elements, stride 2, kernel 3: two results, one element of padding: at the end for SAME_UPPER
// (1+2+3, 3+4), at the beginning for SAME_LOWER (1+2, 2+3+4).
TEST(Conv, PadsAsAutoPadSays) {
  const Tensor x = Floats({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = Floats({1, 1, 3}, {1, 1, 1});
  const auto sums = [&](const char* auto_pad) {
    return Compute("Conv", {x, w}, 1,
                   {Attribute::Ints("strides", {2}), Attribute::String("auto_pad", auto_pad)});
  };
  EXPECT_EQ(sums("SAME_UPPER"), Floats({1, 1, 2}, {6, 7}));
  EXPECT_EQ(sums("SAME_LOWER"), Floats({1, 1, 2}, {3, 9}));
  EXPECT_EQ(sums("VALID"), Floats({1, 1, 1}, {6}));
}

// 1 + 2^-24 * 2^-1 and so on: products that one rounding of the sum keeps and two would lose. By
// the order bias, then channels: ((-1 + (1 + 2^-12)^2) + ..), (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24,
// whose last bit a rounded product has lost.
TEST(Conv, FusesMultiplicationAndAddition) {
  const float a = 1 + 0x1p-12F;
  for (const std::string& kernels : FloatKernels()) {
    const Tensor y =
        Compute("Conv", {Floats({1, 1, 1}, {a}), Floats({1, 1, 1}, {a}), Floats({1}, {-1})}, 2, {},
                {1, kernels});
    EXPECT_EQ(y.As<float>()[0], 0x1p-11F + 0x1p-24F) << kernels;
  }
}

// 2^24 + 1 is 2^24 (to even), so from the bias on: (2^24 + 1) + 1 = 2^24, but 1 + 1 + 2^24 is 2
// more.
TEST(Conv, AddsTheBiasFirst) {
  const Tensor y = Compute(
      "Conv", {Floats({1, 2, 1}, {1, 1}), Floats({1, 2, 1}, {1, 1}), Floats({1}, {0x1p24F})}, 2);
  EXPECT_EQ(y.As<float>()[0], 0x1p24F);
}

TEST(Conv, HasNoResultsOfAnEmptyBatch) {
  Tensor x = Floats({0, 1, 3}, {});
  const Tensor y = Compute("Conv", {x, Floats({1, 1, 2}, {1, 1})}, 1);
  EXPECT_EQ(y.dims, (Dims{0, 1, 2}));
}

TEST(Conv, LetsNaNAndInfinityThrough) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Floats({1, 1, 6}, {1, nan, 1, 1, inf, 1});
  for (const std::string& kernels : FloatKernels()) {
    for (const std::int64_t groups : {1, 2}) {  // as a product and tap by tap
      Tensor both = Floats({1, groups, 6}, {});
      for (std::int64_t g = 0; g < groups; ++g) {
        std::ranges::copy(x.As<float>(), both.As<float>().begin() + 6 * g);
      }
      const Tensor w = Floats({groups, 1, 2}, std::vector<float>(std::size_t(2 * groups), -1));
      const Tensor y =
          Compute("Conv", {both, w}, 1, {Attribute::Int("group", groups)}, {1, kernels});
      const auto values = y.As<float>();
      EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << kernels;
      EXPECT_EQ(values[2], -2) << kernels;
      EXPECT_EQ(values[3], -inf) << kernels;
      EXPECT_EQ(values[4], -inf) << kernels;
    }
  }
}

Error ErrorOf(const std::vector<Tensor>& inputs, std::vector<Attribute> attributes = {}) {
  const auto model = OneNode("Conv", inputs, 0, std::move(attributes));
  const auto result = RunModel(model, inputs);
  EXPECT_FALSE(result.has_value());
  return result.has_value() ? Error{} : result.error();
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = Floats({1, 2, 3}, std::vector<float>(6));
  const Tensor w = Floats({1, 2, 2}, std::vector<float>(4));
  EXPECT_EQ(ErrorOf({x, Floats({1, 3, 2}, std::vector<float>(6))}).clause, "conv.C3");
  const std::vector<std::vector<Attribute>> wrong = {
      {Attribute::Int("group", 0)},           {Attribute::Int("group", 2)},
      {Attribute::Ints("strides", {0})},      {Attribute::Ints("strides", {1, 1})},
      {Attribute::Ints("pads", {-1, 0})},     {Attribute::Ints("pads", {1})},
      {Attribute::Ints("kernel_shape", {3})}, {Attribute::String("auto_pad", "MOST")},
      {Attribute::Ints("dilations", {8})},
  };
  for (const auto& attributes : wrong) {
    EXPECT_EQ(ErrorOf({x, w}, attributes).code, ErrorCode::kInvalid) << attributes[0].name;
  }
  EXPECT_EQ(ErrorOf({x, w, Floats({2}, {0, 0})}).clause, "conv.C4");
  EXPECT_EQ(ErrorOf({x, Floats({1, 2, 2, 1}, std::vector<float>(4))}).code, ErrorCode::kInvalid);
}

// 2^24 pads on both axes: 2^48 results.
TEST(Conv, RefusesResultsTooLargeBeforeTheyAreAllocated) {
  const Tensor x = Floats({1, 1, 1, 1}, {1});
  const std::int64_t pad = std::int64_t{1} << 24;
  EXPECT_EQ(ErrorOf({x, x}, {Attribute::Ints("pads", {pad, pad, pad, pad})}).code,
            ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace qtx::backend::float_test
