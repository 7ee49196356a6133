// Each operator on each kernel table, against direct loops over integers and RoundSlowly.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support.h"

namespace qtx::backend::engine::operators_test {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

constexpr ElementType kInt8Q = ElementType::kInt8Q;
constexpr ElementType kUint8Q = ElementType::kUint8Q;

class OperatorsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  Tensor RandomTensor(ElementType type, Dims dims, std::vector<Parameters> parameters,
                      std::int64_t axis = 0) {
    const auto count = format::ElementCount(dims);
    return Quantized(type, dims, std::move(parameters), Random(type, *count, random_), axis);
  }
  // `count` parameters with scales around `scale` and, where asked for, offsets.
  std::vector<Parameters> RandomParameters(std::size_t count, float scale, int offsets) {
    std::uniform_real_distribution<float> factor(0.5F, 1.5F);
    std::uniform_int_distribution<int> offset(0, offsets);
    std::vector<Parameters> result(count);
    for (auto& p : result) p = {scale * factor(random_), offset(random_)};
    return result;
  }
  std::vector<std::int32_t> Run(const std::string& op, const std::vector<Argument>& arguments,
                                const Tensor& output, std::vector<Attribute> attributes = {}) {
    return RunOneNode(*GetParam(), op, arguments, output, std::move(attributes));
  }
  std::mt19937 random_{7};
};

std::int32_t Centred(const Tensor& tensor, const std::vector<std::int32_t>& stored, std::int64_t i,
                     std::int64_t parameter = 0) {
  return stored[static_cast<std::size_t>(i)] - format::OffsetAt(*tensor.quantization, parameter);
}

struct ConvCase {
  std::int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  std::int64_t height = 1, width = 1, kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  std::int64_t OutH() const {
    return (top + height + bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
  }
  std::int64_t OutW() const {
    return (left + width + right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1;
  }
};

struct ConvOperands {
  const Tensor& x;
  const Tensor& w;
  std::vector<std::int32_t> xs, ws;
};
// One accumulator of Conv as ONNX defines it.
std::int64_t SumAt(const ConvCase& c, const ConvOperands& operands, std::int64_t n, std::int64_t m,
                   std::int64_t oy, std::int64_t ox) {
  const auto& [x, w, xs, ws] = operands;
  const std::int64_t depth = c.channels / c.groups;
  const std::int64_t group = m / (c.filters / c.groups);
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t ky = 0; ky < c.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < c.kernel_w; ++kx) {
        const std::int64_t y = oy * c.stride_h - c.top + ky * c.dilation_h;
        const std::int64_t z = ox * c.stride_w - c.left + kx * c.dilation_w;
        if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
        const std::int64_t from =
            ((n * c.channels + group * depth + k) * c.height + y) * c.width + z;
        const std::int64_t weight = ((m * depth + k) * c.kernel_h + ky) * c.kernel_w + kx;
        sum += std::int64_t{Centred(x, xs, from)} *
               Centred(w, ws, weight, w.quantization->scale.size() == 1 ? 0 : m);
      }
    }
  }
  return sum;
}

void ExpectConv(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& b,
                const Tensor& y, const std::vector<std::int32_t>& actual) {
  const ConvOperands operands{x, w, format::UnpackInt32(x), format::UnpackInt32(w)};
  const auto bias = format::UnpackInt32(b);
  const auto range = format::StoredRange(y.elem_type, *y.quantization);
  ASSERT_EQ(actual.size(), static_cast<std::size_t>(c.batch * c.filters * c.OutH() * c.OutW()));
  std::size_t i = 0;
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t m = 0; m < c.filters; ++m) {
      const auto channel = static_cast<std::size_t>(m);
      for (std::int64_t oy = 0; oy < c.OutH(); ++oy) {
        for (std::int64_t ox = 0; ox < c.OutW(); ++ox, ++i) {
          const Dyadic real =
              Exactly(SumAt(c, operands, n, m, oy, ox)) * Exactly(x.quantization->scale[0]) *
                  Exactly(format::ScaleAt(*w.quantization, m)) +
              Exactly(std::int64_t{bias[channel]}) * Exactly(format::ScaleAt(*b.quantization, m));
          ASSERT_EQ(actual[i], RoundSlowly(real, y.quantization->scale[0],
                                           OffsetAt(*y.quantization, 0), range))
              << "output " << i;
        }
      }
    }
  }
}

std::vector<Attribute> AttributesOf(const ConvCase& c) {
  return {Attribute::Ints("pads", {c.top, c.left, c.bottom, c.right}),
          Attribute::Ints("strides", {c.stride_h, c.stride_w}),
          Attribute::Ints("dilations", {c.dilation_h, c.dilation_w}),
          Attribute::Int("group", c.groups)};
}

const std::vector<ConvCase>& ConvCases() {
  static const std::vector<ConvCase> kCases{
      {.channels = 5, .filters = 7, .height = 3, .width = 9},                // 1x1
      {.batch = 2, .channels = 33, .filters = 13, .height = 5, .width = 7},  // odd everything
      {.channels = 3,
       .filters = 8,
       .height = 9,
       .width = 11,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .bottom = 1,
       .right = 1},  // first layer of a net
      {.channels = 4,
       .filters = 6,
       .height = 7,
       .width = 6,
       .kernel_h = 3,
       .kernel_w = 2,
       .dilation_h = 2,
       .dilation_w = 3,
       .top = 1,
       .left = 2,
       .bottom = 3,
       .right = 0},
      {.channels = 8,
       .filters = 12,
       .groups = 4,
       .height = 6,
       .width = 5,
       .kernel_h = 3,
       .kernel_w = 3,
       .top = 1,
       .left = 1,
       .bottom = 1,
       .right = 1},  // grouped
      {.batch = 2,
       .channels = 6,
       .filters = 6,
       .groups = 6,
       .height = 18,
       .width = 17,
       .kernel_h = 3,
       .kernel_w = 3,
       .top = 1,
       .left = 1,
       .bottom = 1,
       .right = 1},  // depthwise
      {.channels = 3,
       .filters = 6,
       .groups = 3,
       .height = 21,
       .width = 19,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .top = 0,
       .left = 0,
       .bottom = 1,
       .right = 1},  // multiplier 2
      {.channels = 4,
       .filters = 4,
       .groups = 4,
       .height = 25,
       .width = 5,
       .kernel_h = 10,
       .kernel_w = 4,
       .stride_h = 3,
       .top = 2},  // even taps, stride 3
      {.channels = 64,
       .filters = 9,
       .height = 20,
       .width = 20,
       .kernel_h = 3,
       .kernel_w = 3,
       .top = 1,
       .left = 1,
       .bottom = 1,
       .right = 1},  // several blocks
  };
  return kCases;
}

TEST_P(OperatorsTest, ConvIsExactForEveryKindOfWindowTypeAndOffset) {
  for (const ConvCase& c : ConvCases()) {
    for (const ElementType x_type : {kInt8Q, kUint8Q}) {
      for (const ElementType w_type : {kInt8Q, kUint8Q}) {
        const auto filters = static_cast<std::size_t>(c.filters);
        const bool per_axis = x_type == kInt8Q;
        const Tensor x =
            RandomTensor(x_type, {c.batch, c.channels, c.height, c.width}, {{0.0235F, 17}});
        const Tensor w = RandomTensor(
            w_type, {c.filters, c.channels / c.groups, c.kernel_h, c.kernel_w},
            RandomParameters(per_axis ? filters : 1, 0.004F, w_type == kUint8Q ? 250 : 0));
        std::vector<std::int32_t> bias(filters);
        for (auto& value : bias) value = static_cast<std::int32_t>(random_() % 20000) - 10000;
        const Tensor b =
            Quantized(ElementType::kInt32Q, {c.filters}, RandomParameters(filters, 1e-4F, 0), bias);
        const float scale =
            0.03F * std::sqrt(static_cast<float>(c.channels / c.groups * c.kernel_h * c.kernel_w));
        const Tensor y =
            Quantized(x_type, {c.batch, c.filters, c.OutH(), c.OutW()}, {{scale, 3}}, {});
        ExpectConv(c, x, w, b, y,
                   Run("Conv", {{"x", x}, {"w", w, true}, {"b", b, true}}, y, AttributesOf(c)));
      }
    }
  }
}

// Scales that are powers of two: one output in sixteen is a tie.
TEST_P(OperatorsTest, ConvSendsTiesToEven) {
  const ConvCase c{.channels = 6, .filters = 5, .height = 9, .width = 13};
  const Tensor x = RandomTensor(kInt8Q, {1, 6, 9, 13}, {{0x1p-4F, -3}});
  const Tensor w = Quantized(kInt8Q, {5, 6, 1, 1}, {{0x1p-5F, 0}}, Random(kInt8Q, 30, random_));
  const std::vector<std::int32_t> bias{0, 8, 24, -8, 40};
  const Tensor b = Quantized(ElementType::kInt32Q, {5}, {{0x1p-9F, 0}}, bias);
  for (const float scale : {0x1p-5F, 0x1p-2F, 0x1p0F}) {
    const Tensor y = Quantized(kInt8Q, {1, 5, 9, 13}, {{scale, 1}}, {});
    ExpectConv(c, x, w, b, y, Run("Conv", {{"x", x}, {"w", w, true}, {"b", b, true}}, y));
  }
}

// 40000 products of 255 * 255 pass 2^31: sums that would wrap come out right.
TEST_P(OperatorsTest, ConvSumsPastInt32) {
  const std::int64_t depth = 40000;
  const std::vector<std::int32_t> full(static_cast<std::size_t>(depth), 255);
  const Tensor x = Quantized(kUint8Q, {1, depth, 1}, {{1, 0}}, full);
  const Tensor w = Quantized(kUint8Q, {1, depth, 1}, {{1, 0}}, full);
  // 40000 * 65025 / 2^25 = 77.5 and a little: 2601000000 / 33554432 = 77.516.
  const Tensor y = Quantized(kUint8Q, {1, 1, 1}, {{0x1p25F, 0}}, {});
  EXPECT_EQ(Run("Conv", {{"x", x}, {"w", w, true}}, y), std::vector<std::int32_t>{78});
}

TEST_P(OperatorsTest, GemmIsExactInEachTranspositionAndWithAlphaAndBeta) {
  const std::int64_t rows = 7, depth = 19, columns = 21;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Tensor a =
          RandomTensor(kInt8Q, transpose_a ? Dims{depth, rows} : Dims{rows, depth}, {{0.05F, -9}});
      const Tensor b = RandomTensor(
          kInt8Q, transpose_b ? Dims{columns, depth} : Dims{depth, columns},
          RandomParameters(static_cast<std::size_t>(columns), 0.01F, 0), transpose_b ? 0 : 1);
      const Tensor c = RandomTensor(ElementType::kInt8Q, {columns}, {{1, 0}});
      const auto bias = format::UnpackInt32(c);
      const Tensor bias_tensor = Quantized(ElementType::kInt32Q, {columns}, {{0.002F, 0}}, bias);
      const Tensor y = Quantized(kUint8Q, {rows, columns}, {{0.11F, 128}}, {});
      const float alpha = 0.7F;
      const float beta = -1.25F;
      const auto actual =
          Run("Gemm", {{"a", a}, {"b", b, true}, {"c", bias_tensor, true}}, y,
              {Attribute::Float("alpha", alpha), Attribute::Float("beta", beta),
               Attribute::Int("transA", transpose_a), Attribute::Int("transB", transpose_b)});
      const auto as = format::UnpackInt32(a);
      const auto bs = format::UnpackInt32(b);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t n = 0; n < columns; ++n) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < depth; ++k) {
            sum += std::int64_t{Centred(a, as, transpose_a ? k * rows + r : r * depth + k)} *
                   Centred(b, bs, transpose_b ? n * depth + k : k * columns + n, n);
          }
          const Dyadic product =
              Exactly(sum) * Exactly(0.05F) * Exactly(ScaleAt(*b.quantization, n)) * Exactly(alpha);
          const Dyadic addend = Exactly(std::int64_t{bias[static_cast<std::size_t>(n)]}) *
                                Exactly(0.002F) * Exactly(beta);
          ASSERT_EQ(actual[static_cast<std::size_t>(r * columns + n)],
                    RoundSlowly(product + addend, 0.11F, 128, {0, 255}));
        }
      }
    }
  }
}

TEST_P(OperatorsTest, MatMulBroadcastsComputedOperands) {
  const Tensor a = RandomTensor(kUint8Q, {2, 1, 3, 5}, {{0.5F, 100}});
  const Tensor b = RandomTensor(kInt8Q, {4, 5, 2}, {{0.25F, 7}});
  const Tensor y = Quantized(kInt8Q, {2, 4, 3, 2}, {{100, 0}}, {});
  const auto actual = Run("MatMul", {{"a", a}, {"b", b}}, y);
  const auto as = format::UnpackInt32(a);
  const auto bs = format::UnpackInt32(b);
  ASSERT_EQ(actual.size(), 48U);
  for (std::int64_t i = 0; i < 48; ++i) {
    const std::int64_t column = i % 2, row = i / 2 % 3, right = i / 6 % 4, left = i / 24;
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < 5; ++k) {
      sum += std::int64_t{Centred(a, as, (left * 3 + row) * 5 + k)} *
             Centred(b, bs, (right * 5 + k) * 2 + column);
    }
    EXPECT_EQ(actual[static_cast<std::size_t>(i)],
              RoundSlowly(Exactly(sum) * Exactly(0.125F), 100, 0, {-128, 127}));
  }
}

// All 65,536 pairs of stored values, with scales that make many sums ties.
TEST_P(OperatorsTest, AddIsExactForEveryPair) {
  std::vector<std::int32_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i) - 128;
  for (const auto& [a_scale, b_scale, y_scale] :
       {std::array{1.0F, 1.0F, 2.0F}, std::array{0x1p-5F, 0x1p-3F, 0x1p-1F},
        std::array{0.03F, 0.047F, 0.061F}, std::array{0x1p-3F, 0x1p-140F, 0x1p-3F}}) {
    const Tensor a = Quantized(kInt8Q, {256, 1}, {{a_scale, 5}}, all);
    const Tensor b = Quantized(kInt8Q, {1, 256}, {{b_scale, -7}}, all);
    const Tensor y = Quantized(kInt8Q, {256, 256}, {{y_scale, 3}}, {});
    const auto actual = Run("Add", {{"a", a}, {"b", b}}, y);
    for (std::size_t i = 0; i < 65536; ++i) {
      const std::int64_t left = all[i / 256] - 5;
      const std::int64_t right = all[i % 256] + 7;
      if (b_scale < 1e-30F) {
        // Too far apart for 126 bits; the small operand never reaches a rounding, both scales of a
        // and y agree.
        ASSERT_EQ(actual[i], std::clamp<std::int64_t>(left + 3, -128, 127));
        continue;
      }
      const Dyadic real = Exactly(left) * Exactly(a_scale) + Exactly(right) * Exactly(b_scale);
      ASSERT_EQ(actual[i], RoundSlowly(real, y_scale, 3, {-128, 127})) << left << ' ' << right;
    }
  }
}

TEST_P(OperatorsTest, AveragePoolCountsPaddingOnlyWhenAsked) {
  const std::array<std::int32_t, 4> stored{10, 11, 13, 20};
  const Tensor x = Quantized(kInt8Q, {1, 1, 2, 2}, {{1, 2}}, stored);
  const Tensor y = Quantized(kInt8Q, {1, 1, 1, 1}, {{0.5F, 1}}, {});
  std::vector<Attribute> attributes{Attribute::Ints("kernel_shape", {3, 3}),
                                    Attribute::Ints("pads", {1, 1, 0, 0})};
  // Reals 8 9 11 18: 46/4 = 11.5, halved scale 23, plus 1.
  EXPECT_EQ(Run("AveragePool", {{"x", x}}, y, attributes), std::vector<std::int32_t>{24});
  attributes.push_back(Attribute::Int("count_include_pad", 1));
  // 46/9/0.5 = 10.22: 10, plus 1.
  EXPECT_EQ(Run("AveragePool", {{"x", x}}, y, attributes), std::vector<std::int32_t>{11});
  EXPECT_EQ(Run("GlobalAveragePool", {{"x", x}}, y), std::vector<std::int32_t>{24});
}

TEST_P(OperatorsTest, MaxPoolComparesSignedValues) {
  const std::array<std::int32_t, 4> stored{-128, -5, -100, -7};
  const Tensor x = Quantized(kInt8Q, {1, 1, 4}, {{1, 0}}, stored);
  const Tensor y = Quantized(kInt8Q, {1, 1, 3}, {{2, 0}}, {});
  // Maxima -5 -5 -7 over 2: -2.5 to even -2, -3.5 to even -4.
  EXPECT_EQ(Run("MaxPool", {{"x", x}}, y, {Attribute::Ints("kernel_shape", {2})}),
            (std::vector<std::int32_t>{-2, -2, -4}));
}

TEST_P(OperatorsTest, SoftmaxIsCorrectlyRoundedAndUniformRowsAreRational) {
  const std::array<std::int32_t, 6> stored{0, 0, 0, 10, 0, -10};
  const Tensor x = Quantized(kInt8Q, {2, 3}, {{0.1F, 0}}, stored);
  const Tensor y = Quantized(kInt8Q, {2, 3}, {{0x1p-8F, -128}}, {});
  // 256/3 = 85.33; e/(e + 1 + 1/e) = 0.66524096 -> 170.30, 0.24472847 -> 62.65, 0.09003057
  // -> 23.05.
  EXPECT_EQ(Run("Softmax", {{"x", x}}, y),
            (std::vector<std::int32_t>{-43, -43, -43, 42, -65, -105}));
  // 1/2 over scale 1: a tie, and to even is 0; over axis 0 the columns are 0:10, 0:0, 0:-10.
  const Tensor half = Quantized(kUint8Q, {2, 3}, {{1, 0}}, {});
  EXPECT_EQ(Run("Softmax", {{"x", x}}, half, {Attribute::Int("axis", 0)}),
            (std::vector<std::int32_t>{0, 0, 1, 1, 0, 0}));
}

TEST_P(OperatorsTest, ConversionsRoundOnceAndClip) {
  const std::array<std::int32_t, 5> stored{-128, -3, 0, 5, 127};
  const Tensor x = Quantized(kInt8Q, {5}, {{0.5F, 0}}, stored);
  const Tensor y = Quantized(kUint8Q, {5}, {{1, 10}}, {});
  EXPECT_EQ(Run("Identity", {{"x", x}}, y), (std::vector<std::int32_t>{0, 8, 10, 12, 74}));
  EXPECT_EQ(Run("Relu", {{"x", x}}, y), (std::vector<std::int32_t>{10, 10, 10, 12, 74}));
  const std::array<float, 1> six{6};
  EXPECT_EQ(Run("Clip", {{"x", x}, {"", {}}, {"max", Floats({}, six), true}}, y),
            (std::vector<std::int32_t>{0, 8, 10, 12, 16}));
  const std::array<float, 5> reals{NAN, INFINITY, -INFINITY, 2.5F, -1.5F};
  EXPECT_EQ(Run("Cast", {{"x", Floats({5}, reals)}}, y,
                {Attribute::Int("to", static_cast<std::int64_t>(kUint8Q))}),
            (std::vector<std::int32_t>{10, 255, 0, 12, 8}));
}

// At ties, next to them, and anywhere; more than a kernel takes at once, with and without NaN.
TEST_P(OperatorsTest, CastRoundsFloatsOnce) {
  for (const auto type : {kInt8Q, kUint8Q}) {
    const format::IntegerRange range = format::StorageRange(type);
    for (const float scale : {0.1F, 0x1p-3F, 3e-5F, 7e20F, 0x1p-120F}) {
      std::vector<float> reals;
      for (int i = 0; i < 3 * 700; ++i) {
        const float tie = (static_cast<float>(i % 600 - 300) + 0.5F) * scale;
        reals.push_back(i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? INFINITY : -INFINITY));
      }
      const auto dims = format::Dims{std::ssize(reals)};
      const Tensor y = Quantized(type, dims, {{scale, 3}}, {});
      const Attribute to = Attribute::Int("to", static_cast<std::int64_t>(type));
      const auto actual = Run("Cast", {{"x", Floats(dims, reals)}}, y, {to});
      for (std::size_t i = 0; i < reals.size(); ++i) {
        ASSERT_EQ(actual[i], RoundSlowly(Exactly(reals[i]), scale, 3, range)) << reals[i];
      }
      reals[1500] = NAN;
      const auto with_nan = Run("Cast", {{"x", Floats(dims, reals)}}, y, {to});
      for (std::size_t i = 0; i < reals.size(); ++i) {
        ASSERT_EQ(with_nan[i], i == 1500 ? 3 : actual[i]) << reals[i];
      }
    }
  }
}

// Windows with padding, strides and dilations, few channels and lines of many bytes.
TEST_P(OperatorsTest, MaxPoolTakesTheGreatestOfEachWindow) {
  for (const std::int64_t channels : {1, 3, 8, 40}) {
    const std::int64_t height = 9, width = 31;
    const Tensor x = RandomTensor(kInt8Q, {2, channels, height, width}, {{1, 0}});
    const auto stored = format::UnpackInt32(x);
    for (const std::int64_t stride : {1, 2, 3}) {
      const std::int64_t rows = (height + 1 - 3) / stride + 1;
      const std::int64_t columns = (width + 2 - 5) / stride + 1;
      const Tensor y = Quantized(kInt8Q, {2, channels, rows, columns}, {{1, 0}}, {});
      const auto actual = Run(
          "MaxPool", {{"x", x}}, y,
          {Attribute::Ints("kernel_shape", {3, 3}), Attribute::Ints("dilations", {1, 2}),
           Attribute::Ints("pads", {1, 1, 0, 1}), Attribute::Ints("strides", {stride, stride})});
      for (std::int64_t i = 0; i < std::ssize(actual); ++i) {
        const std::int64_t plane = i / (rows * columns);
        const std::int64_t top = i / columns % rows * stride - 1;
        const std::int64_t left = i % columns * stride - 1;
        std::int32_t greatest = -128;
        for (std::int64_t r = std::max<std::int64_t>(top, 0); r < top + 3; ++r) {
          for (std::int64_t c = left; c < left + 5; c += 2) {
            if (r >= height || c < 0 || c >= width) continue;
            greatest = std::max(greatest,
                                stored[static_cast<std::size_t>((plane * height + r) * width + c)]);
          }
        }
        ASSERT_EQ(actual[static_cast<std::size_t>(i)], greatest) << i;
      }
    }
  }
}

TEST_P(OperatorsTest, MovementConvertsAndPadsWithRealZero) {
  const std::array<std::int32_t, 6> stored{1, 2, 3, 4, 5, 6};
  const Tensor x = Quantized(kInt8Q, {2, 3}, {{1, 1}}, stored);
  const Tensor moved = Quantized(kInt8Q, {3, 2}, {{1, 0}}, {});
  EXPECT_EQ(Run("Transpose", {{"x", x}}, moved), (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
  const std::array<std::int64_t, 2> shape{3, -1};
  EXPECT_EQ(Run("Reshape", {{"x", x}, {"shape", Integers({2}, shape), true}}, moved),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  const std::array<std::int64_t, 6> columns{1, 2, 0, 1, 1, 2};
  EXPECT_EQ(Run("Gather", {{"x", x}, {"columns", Integers({6}, columns), true}},
                Quantized(kInt8Q, {2, 6}, {{1, 1}}, {}), {Attribute::Int("axis", 1)}),
            (std::vector<std::int32_t>{2, 3, 1, 2, 2, 3, 5, 6, 4, 5, 5, 6}));
  const std::array<std::int64_t, 4> pads{0, 1, 1, 0};
  const Tensor padded = Quantized(kInt8Q, {3, 4}, {{1, 1}}, {});
  EXPECT_EQ(Run("Pad", {{"x", x}, {"pads", Integers({4}, pads), true}}, padded),
            (std::vector<std::int32_t>{1, 1, 2, 3, 1, 4, 5, 6, 1, 1, 1, 1}));
  const Tensor joined = Quantized(kInt8Q, {2, 4}, {{1, 1}}, {});
  const std::array<std::int32_t, 2> more{7, 8};
  const Tensor z = Quantized(kInt8Q, {2, 1}, {{2, 0}}, more);
  EXPECT_EQ(Run("Concat", {{"x", x}, {"z", z}}, joined, {Attribute::Int("axis", 1)}),
            (std::vector<std::int32_t>{1, 2, 3, 15, 4, 5, 6, 17}));
}

INSTANTIATE_TEST_SUITE_P(AllTables, OperatorsTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace qtx::backend::engine::operators_test
