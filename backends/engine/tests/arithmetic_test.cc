// Operators in float32 and in TFLite's arithmetics on every table: by hand, or against their
// clauses written out for one sum.
#include "engine/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "support.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

constexpr Arithmetic kInexact[] = {Arithmetic::kFloat32, Arithmetic::kTflite,
                                   Arithmetic::kTfliteDouble, Arithmetic::kTfliteSingle};

class ArithmeticTest : public testing::TestWithParam<const Kernels*> {
 protected:
  std::vector<std::int32_t> Run(Arithmetic arithmetic, const format::Model& model,
                                std::vector<Tensor> inputs, Path path = Path::kFastest) {
    const auto prepared =
        PrepareModel(model, *GetParam(), {.path = path, .arithmetic = arithmetic});
    EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
    if (!prepared.has_value()) return {};
    const auto outputs = (*prepared)->Run(inputs);
    EXPECT_TRUE(outputs.has_value());
    return format::UnpackInt32(outputs->front());
  }
  std::vector<std::int32_t> RunNode(Arithmetic arithmetic, const std::string& op_type,
                                    const std::vector<Argument>& arguments, const Tensor& y,
                                    std::vector<format::Attribute> attributes = {}) {
    std::vector<Tensor> inputs;
    for (const Argument& argument : arguments) {
      if (!argument.constant) inputs.push_back(argument.tensor);
    }
    return Run(arithmetic, OneNode(op_type, arguments, y, std::move(attributes)),
               std::move(inputs));
  }

  std::mt19937 random_{20240603};
};

format::Attribute Ints(const std::string& name, std::vector<std::int64_t> values) {
  format::Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kInts;
  attribute.ints = std::move(values);
  return attribute;
}
format::Attribute Int(const std::string& name, std::int64_t value) {
  format::Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

// (stored sum, scales) to the stored result, by the clauses and nothing of the engine.
std::int64_t FloorShift(__int128 value, int shift) {
  const __int128 divisor = __int128{1} << shift;
  const __int128 quotient = value / divisor;
  return static_cast<std::int64_t>(value % divisor < 0 ? quotient - 1 : quotient);
}

// tflite.S1 to S3 for factors below 1.
std::int64_t Fixed(std::int64_t sum, double factor, bool twice) {
  int e = 0;
  const auto m = static_cast<std::int64_t>(std::round(std::ldexp(std::frexp(factor, &e), 31)));
  if (!twice) return FloorShift(static_cast<__int128>(sum) * m + (__int128{1} << (30 - e)), 31 - e);
  const std::int64_t high = FloorShift(static_cast<__int128>(sum) * m + (1 << 30), 31);
  const double shifted = std::ldexp(static_cast<double>(high), e);  // exact: below 2^53
  return static_cast<std::int64_t>(std::round(shifted));            // half away
}

std::int64_t Expected(Arithmetic arithmetic, std::int64_t sum, float x, float w, float y,
                      bool depthwise, bool scalar_weights) {
  if (arithmetic == Arithmetic::kFloat32) {
    const float factor = (x * w) / y;
    return static_cast<std::int64_t>(std::nearbyint(static_cast<float>(sum) * factor));
  }
  const double product =
      scalar_weights ? static_cast<double>(x * w) : static_cast<double>(x) * static_cast<double>(w);
  const bool twice =
      arithmetic == Arithmetic::kTfliteDouble || (arithmetic == Arithmetic::kTflite && depthwise);
  return Fixed(sum, product / static_cast<double>(y), twice);
}

// One product a channel is enough to see every epilogue; 300 positions fill blocks of all lengths.
TEST_P(ArithmeticTest, ConvHasTheEpilogueOfItsKernel) {
  constexpr std::int64_t kChannels = 5;
  constexpr std::int64_t kPositions = 300;
  const float x_scale = 0x1.6c16c2p-7F;
  const float y_scale = 0.043F;
  const std::vector<Parameters> scales{{0.11F}, {0.25F}, {0.017F}, {0x1.8p-4F}, {0.9F}};
  for (const bool depthwise : {false, true}) {
    const std::int64_t inputs = depthwise ? kChannels : 1;
    const auto x = Random(ElementType::kInt8, inputs * kPositions, random_);
    const auto w = Random(ElementType::kInt8, kChannels, random_);
    const auto bias = Random(ElementType::kInt8, kChannels, random_);
    std::vector<Parameters> bias_scales;
    for (const Parameters& p : scales) bias_scales.push_back({x_scale * p.scale});
    const Tensor x_tensor =
        Quantized(ElementType::kInt8Q, {1, inputs, kPositions}, {{x_scale, 7}}, x);
    const Tensor y_tensor =
        Quantized(ElementType::kInt8Q, {1, kChannels, kPositions}, {{y_scale, -9}}, {});
    const std::vector<Argument> arguments{
        {"x", x_tensor},
        {"w", Quantized(ElementType::kInt8Q, {kChannels, 1, 1}, scales, w), true},
        {"b", Quantized(ElementType::kInt32Q, {kChannels}, bias_scales, bias), true}};
    for (const Arithmetic arithmetic : kInexact) {
      const auto got = RunNode(arithmetic, "Conv", arguments, y_tensor, {Int("group", inputs)});
      ASSERT_EQ(got.size(), static_cast<std::size_t>(kChannels * kPositions));
      for (std::int64_t c = 0; c < kChannels; ++c) {
        for (std::int64_t i = 0; i < kPositions; ++i) {
          const auto channel = static_cast<std::size_t>(c);
          const auto from = static_cast<std::size_t>((depthwise ? c * kPositions : 0) + i);
          const std::int64_t sum = (x[from] - 7) * w[channel] + bias[channel];
          const std::int64_t stored =
              Expected(arithmetic, sum, x_scale, scales[channel].scale, y_scale, depthwise, false) -
              9;
          ASSERT_EQ(got[static_cast<std::size_t>(c * kPositions + i)],
                    std::clamp<std::int64_t>(stored, -128, 127))
              << NameOf(arithmetic) << (depthwise ? " depthwise " : " ") << sum;
        }
      }
    }
  }
}

// MatMul is FULLY_CONNECTED: one rounding in tflite, and with one scale their product is a
// binary32.
TEST_P(ArithmeticTest, MatMulMultipliesTheScalesInBinary32) {
  const float a_scale = 0.1F;
  const float b_scale = 0.3F;
  const float y_scale = 0.7F;
  const auto a = Random(ElementType::kInt8, 64 * 3, random_);
  const auto b = Random(ElementType::kInt8, 3 * 9, random_);
  const std::vector<Argument> arguments{
      {"a", Quantized(ElementType::kInt8Q, {64, 3}, {{a_scale, 1}}, a)},
      {"b", Quantized(ElementType::kInt8Q, {3, 9}, {{b_scale, 0}}, b), true}};
  const Tensor y = Quantized(ElementType::kInt8Q, {64, 9}, {{y_scale, 2}}, {});
  for (const Arithmetic arithmetic : kInexact) {
    const auto got = RunNode(arithmetic, "MatMul", arguments, y);
    const auto general =
        Run(arithmetic, OneNode("MatMul", arguments, y), {arguments[0].tensor}, Path::kGeneral);
    for (std::size_t i = 0; i < got.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += (a[i / 9 * 3 + k] - 1) * b[k * 9 + i % 9];
      const std::int64_t stored =
          Expected(arithmetic, sum, a_scale, b_scale, y_scale, false, true) + 2;
      ASSERT_EQ(got[i], std::clamp<std::int64_t>(stored, -128, 127)) << NameOf(arithmetic);
      ASSERT_EQ(general[i], got[i]) << NameOf(arithmetic);
    }
  }
}

// A bias in other units is brought to those of the accumulator first, half even: 3 * 0.5 / 1 = 1.5
// gives 2, and -2.5 gives -2 (float32.S5, tflite.S4).
TEST_P(ArithmeticTest, BiasIsAddedInUnitsOfTheAccumulator) {
  const std::vector<std::int32_t> one{1};
  const std::vector<std::int32_t> weights{1, 1};
  const std::vector<std::int32_t> bias{3, -5};
  const std::vector<Argument> arguments{
      {"a", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, one)},
      {"b", Quantized(ElementType::kInt8Q, {1, 2}, {{1.0F}}, weights), true},
      {"c", Quantized(ElementType::kInt32Q, {2}, {{0.5F}}, bias), true}};
  const Tensor y = Quantized(ElementType::kInt8Q, {1, 2}, {{1.0F}}, {});
  for (const Arithmetic arithmetic : kInexact) {
    EXPECT_EQ(RunNode(arithmetic, "Gemm", arguments, y), (std::vector<std::int32_t>{3, -1}));
  }
}

// A bias too large for the int32 sums of a kernel: 2^30 + 1 times 2^-24 is 64.00000006, as a
// binary32 accumulator 64.
TEST_P(ArithmeticTest, BiasMayNeedMoreThanTheKernelsSums) {
  const std::vector<std::int32_t> one{1};
  const std::vector<std::int32_t> bias{1 << 30};
  const std::vector<Argument> arguments{
      {"a", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, one)},
      {"b", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, one), true},
      {"c", Quantized(ElementType::kInt32Q, {1}, {{1.0F}}, bias), true}};
  const Tensor y = Quantized(ElementType::kInt8Q, {1, 1}, {{0x1p24F}}, {});
  for (const Arithmetic arithmetic : kInexact) {
    EXPECT_EQ(RunNode(arithmetic, "Gemm", arguments, y), (std::vector<std::int32_t>{64}));
  }
}

// One bit stores +1 for what is not negative, and real zero is not (exact.S9): sums of 0, -1, 1.
TEST_P(ArithmeticTest, OneBitIsTheSignOfTheSum) {
  const std::vector<std::int32_t> a{0, -1, 1};
  const std::vector<std::int32_t> one{1};
  const std::vector<Argument> arguments{
      {"a", Quantized(ElementType::kInt8Q, {3, 1}, {{1.0F}}, a)},
      {"b", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, one), true}};
  const Tensor y = Quantized(ElementType::kBipolar1Q, {3, 1}, {{1.0F}}, {});
  for (const Arithmetic arithmetic : kInexact) {
    EXPECT_EQ(RunNode(arithmetic, "MatMul", arguments, y), (std::vector<std::int32_t>{1, -1, 1}));
  }
}

// a + b in units of y: 1/2, 1, 3/2, -1/2, -3/2. Exactly and in binary32 to even; TFLite's last
// multiplication by 1/2 * 2^-19 (two roundings) sends them away from zero, one rounding up.
TEST_P(ArithmeticTest, AddRoundsAsItsArithmetic) {
  const std::vector<std::int32_t> a{1, 2, 3, -1, -3};
  const std::vector<std::int32_t> b{0, 0, 0, 0, 0};
  const std::vector<Argument> arguments{{"a", Quantized(ElementType::kInt8Q, {5}, {{1.0F}}, a)},
                                        {"b", Quantized(ElementType::kInt8Q, {5}, {{1.0F}}, b)}};
  const Tensor y = Quantized(ElementType::kInt8Q, {5}, {{2.0F}}, {});
  const auto run = [&](Arithmetic arithmetic) { return RunNode(arithmetic, "Add", arguments, y); };
  EXPECT_EQ(run(Arithmetic::kExact), (std::vector<std::int32_t>{0, 1, 2, 0, -2}));
  EXPECT_EQ(run(Arithmetic::kFloat32), (std::vector<std::int32_t>{0, 1, 2, 0, -2}));
  EXPECT_EQ(run(Arithmetic::kTflite), (std::vector<std::int32_t>{1, 1, 2, -1, -2}));
  EXPECT_EQ(run(Arithmetic::kTfliteDouble), (std::vector<std::int32_t>{1, 1, 2, -1, -2}));
  EXPECT_EQ(run(Arithmetic::kTfliteSingle), (std::vector<std::int32_t>{1, 1, 2, 0, -1}));
}

// Sums and differences of all pairs of bytes in plain binary32, with broadcasting.
TEST_P(ArithmeticTest, AddSubAndMulAreOneBinary32OperationEach) {
  std::vector<std::int32_t> bytes;
  for (std::int32_t v = 0; v < 256; ++v) bytes.push_back(v);
  const float a_scale = 0.1F;
  const float b_scale = 0.037F;
  const float y_scale = 0.19F;
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  for (std::size_t i = 0; i < 65536; ++i) {
    rows.push_back(bytes[i / 256]);
    columns.push_back(bytes[i % 256]);
  }
  const std::vector<Argument> broadcast{
      {"a", Quantized(ElementType::kUint8Q, {256, 1}, {{a_scale, 100}}, bytes)},
      {"b", Quantized(ElementType::kUint8Q, {1, 256}, {{b_scale, 3}}, bytes)}};
  const std::vector<Argument> alike{
      {"a", Quantized(ElementType::kUint8Q, {256, 256}, {{a_scale, 100}}, rows)},
      {"b", Quantized(ElementType::kUint8Q, {256, 256}, {{b_scale, 3}}, columns)}};
  const Tensor y = Quantized(ElementType::kUint8Q, {256, 256}, {{y_scale, 90}}, {});
  for (const std::string op : {"Add", "Sub", "Mul"}) {
    const auto got = RunNode(Arithmetic::kFloat32, op, broadcast, y);
    ASSERT_EQ(RunNode(Arithmetic::kFloat32, op, alike, y), got) << op;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float a = static_cast<float>(bytes[i / 256] - 100) * a_scale;
      const float b = static_cast<float>(bytes[i % 256] - 3) * b_scale;
      const float real = op == "Add" ? a + b : op == "Sub" ? a - b : a * b;
      const auto rounded = static_cast<std::int64_t>(std::nearbyint(real / y_scale));
      ASSERT_EQ(got[i], std::clamp<std::int64_t>(rounded + 90, 0, 255)) << op;
    }
  }
}

// Means 1/2, -1/2 and 3/2 of stored values: away from zero in TFLite, whatever the table holds
// bytes as; to even else. For uint8 all is positive.
TEST_P(ArithmeticTest, AveragesStoredValuesHalfAwayInTflite) {
  const std::vector<format::Attribute> window{Ints("kernel_shape", {2}), Ints("strides", {2})};
  const auto run = [&](Arithmetic arithmetic, ElementType type, std::vector<std::int32_t> x,
                       std::int32_t offset) {
    const Tensor x_tensor = Quantized(type, {1, 1, 6}, {{0.5F, offset}}, x);
    return RunNode(arithmetic, "AveragePool", {{"x", x_tensor}},
                   Quantized(type, {1, 1, 3}, {{0.5F, offset}}, {}), window);
  };
  using Stored = std::vector<std::int32_t>;
  const Stored mixed{0, 1, 0, -1, 1, 2};
  const Stored positive{0, 1, 2, 3, 254, 255};
  for (const Arithmetic tflite :
       {Arithmetic::kTflite, Arithmetic::kTfliteDouble, Arithmetic::kTfliteSingle}) {
    EXPECT_EQ(run(tflite, ElementType::kInt8Q, mixed, 3), (Stored{1, -1, 2}));
    EXPECT_EQ(run(tflite, ElementType::kUint8Q, positive, 3), (Stored{1, 3, 255}));
  }
  // (stored - 3) * 0.5 in binary32: means -5/4, -7/4 .. over 0.5 are ties of (mean - 3).
  EXPECT_EQ(run(Arithmetic::kFloat32, ElementType::kInt8Q, mixed, 3), (Stored{1, -1, 1}));
  EXPECT_EQ(run(Arithmetic::kFloat32, ElementType::kUint8Q, positive, 0), (Stored{0, 2, 254}));
}

// Two equal elements: e = 1 each, k = 1 / (2 * y_scale), half away. With y_scale 1/5: 2.5 gives 3;
// exactly, and in binary32 divided by the scale, 2.5 to even gives 2 (0.2F is a little above 1/5,
// but 0.5 / 0.2F is 2.5 in binary32).
TEST_P(ArithmeticTest, SoftmaxRoundsHalfAwayInTflite) {
  const std::vector<std::int32_t> x{4, 4};
  const std::vector<Argument> arguments{{"x", Quantized(ElementType::kInt8Q, {1, 2}, {{1.0F}}, x)}};
  const Tensor y = Quantized(ElementType::kInt8Q, {1, 2}, {{0.2F}}, {});
  EXPECT_EQ(RunNode(Arithmetic::kTflite, "Softmax", arguments, y),
            (std::vector<std::int32_t>{3, 3}));
  EXPECT_EQ(RunNode(Arithmetic::kFloat32, "Softmax", arguments, y),
            (std::vector<std::int32_t>{2, 2}));
}

// QUANTIZE of a FLOAT: half away in TFLite, half even in binary32 (tflite.S9, float32.S2).
TEST_P(ArithmeticTest, QuantizingAFloatHasTheTieRuleOfItsArithmetic) {
  const std::vector<float> x{2.5F, -2.5F, 3.5F, NAN, INFINITY};
  const Tensor y = Quantized(ElementType::kInt8Q, {5}, {{1.0F, 3}}, {});
  const std::vector<format::Attribute> to{
      Int("to", static_cast<std::int64_t>(ElementType::kInt8Q))};
  EXPECT_EQ(RunNode(Arithmetic::kFloat32, "Cast", {{"x", Floats({5}, x)}}, y, to),
            (std::vector<std::int32_t>{5, 1, 7, 3, 127}));
  EXPECT_EQ(RunNode(Arithmetic::kTfliteSingle, "Cast", {{"x", Floats({5}, x)}}, y, to),
            (std::vector<std::int32_t>{6, 0, 7, 3, 127}));
}

// Relu of its own rescales by a binary32 quotient with one or two roundings; below zero the offset.
TEST_P(ArithmeticTest, ReluRescalesInIntegersInTflite) {
  const std::vector<std::int32_t> x{-7, 0, 1, 2, 3};
  const std::vector<Argument> arguments{{"x", Quantized(ElementType::kInt8Q, {5}, {{1.0F}}, x)}};
  const Tensor y = Quantized(ElementType::kInt8Q, {5}, {{4.0F, -5}}, {});
  using Stored = std::vector<std::int32_t>;
  EXPECT_EQ(RunNode(Arithmetic::kTflite, "Relu", arguments, y), (Stored{-5, -5, -4, -4, -4}));
  EXPECT_EQ(RunNode(Arithmetic::kTfliteSingle, "Relu", arguments, y), (Stored{-5, -5, -5, -4, -4}));
  EXPECT_EQ(RunNode(Arithmetic::kFloat32, "Relu", arguments, y), (Stored{-5, -5, -5, -5, -4}));
}

// FULLY_CONNECTED of FLOAT by 8-bit weights quantizes as it runs: exact would be another result,
// and weights that are computed have no kernel.
TEST_P(ArithmeticTest, DeclinesWhatItCannotComputeAsAsked) {
  const std::vector<float> x{1};
  const std::vector<std::int32_t> w{1};
  format::Model model = OneNode(
      "Gemm",
      {{"x", Floats({1, 1}, x)}, {"w", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, w)}},
      Floats({1, 1}, x), {Int("transB", 1)});
  ASSERT_TRUE(PrepareModel(model, *GetParam(), {.arithmetic = Arithmetic::kTflite}).has_value());
  model.graph.nodes[0].origin = format::Origin{.framework = "tflite", .op_type = "FULLY_CONNECTED"};
  const auto declined = PrepareModel(model, *GetParam(), {.arithmetic = Arithmetic::kTflite});
  ASSERT_FALSE(declined.has_value());
  EXPECT_EQ(declined.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(declined.error().where, "node 'Gemm' (Gemm)");
  EXPECT_EQ(declined.error().message,
            "weights that are computed, or this large, beside a quantized x");
}

// 16-bit activations have no multiplier of 2^7 and more (tflite.S12).
TEST_P(ArithmeticTest, DeclinesFactorsThatSixteenBitsDoNotHave) {
  const std::vector<std::int32_t> one{1};
  const std::vector<Argument> arguments{
      {"a", Quantized(ElementType::kInt16Q, {1, 1}, {{128.0F}}, one)},
      {"b", Quantized(ElementType::kInt8Q, {1, 1}, {{1.0F}}, one)}};
  const format::Model model =
      OneNode("MatMul", arguments, Quantized(ElementType::kInt16Q, {1, 1}, {{1.0F}}, {}));
  const auto declined = PrepareModel(model, *GetParam(), {.arithmetic = Arithmetic::kTflite});
  ASSERT_FALSE(declined.has_value());
  EXPECT_EQ(declined.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(declined.error().clause, "tflite.S12");
  EXPECT_TRUE(PrepareModel(model, *GetParam(), {.arithmetic = Arithmetic::kFloat32}).has_value());
}

class FloatArithmeticTest : public ArithmeticTest {
 protected:
  std::vector<float> Numbers(std::int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(normal(random_));
    return numbers;
  }
  // The bits of y, NaN as one value.
  std::vector<std::uint32_t> RunFloats(Arithmetic arithmetic, const format::Model& model,
                                       std::vector<Tensor> inputs) {
    const auto prepared = PrepareModel(model, *GetParam(), {.arithmetic = arithmetic});
    EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
    if (!prepared.has_value()) return {};
    const auto outputs = (*prepared)->Run(inputs);
    EXPECT_TRUE(outputs.has_value());
    const auto floats = outputs->front().As<float>();
    return Bits({floats.begin(), floats.end()});
  }
  static std::vector<std::uint32_t> Bits(const std::vector<float>& numbers) {
    std::vector<std::uint32_t> bits(numbers.size());
    std::ranges::transform(numbers, bits.begin(), [](float number) {
      return std::isnan(number) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(number);
    });
    return bits;
  }
  static std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
};

// Products and sums are rounded apart, in the order of the depth: float32.S3.
TEST_P(FloatArithmeticTest, GemmSumsInBinary32) {
  for (const std::int64_t columns : {1, 7, 16, 47, 48, 49, 64, 100, 145}) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 18}) {
      const std::int64_t depth = 1 + columns % 30;
      const auto a = Numbers(rows * depth), b = Numbers(depth * columns), c = Numbers(columns);
      std::vector<float> expected;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t m = 0; m < columns; ++m) {
          float sum = 0;
          for (std::int64_t k = 0; k < depth; ++k) {
            const float product = a[At(r * depth + k)] * b[At(k * columns + m)];
            sum += product;
          }
          expected.push_back(sum + c[At(m)]);
        }
      }
      const Tensor x = Floats({rows, depth}, a);
      const auto model = OneNode(
          "Gemm",
          {{"a", x}, {"b", Floats({depth, columns}, b), true}, {"c", Floats({columns}, c), true}},
          Floats({rows, columns}, {}));
      ASSERT_EQ(RunFloats(Arithmetic::kFloat32, model, {x}), Bits(expected)) << columns;
    }
  }
}

// A Conv along one axis of two channels.
struct Line {
  std::int64_t size, kernel, stride, pad;

  float SumAt(std::int64_t p, std::span<const float> x, std::span<const float> filter) const {
    float sum = 0;
    for (std::int64_t c = 0; c < 2; ++c) {
      for (std::int64_t t = 0; t < kernel; ++t) {
        const std::int64_t at = p * stride + t - pad;
        if (at < 0 || at >= size) continue;
        const float product = x[static_cast<std::size_t>(c * size + at)] *
                              filter[static_cast<std::size_t>(c * kernel + t)];
        sum += product;
      }
    }
    return sum;
  }
};

// Padding takes no part: an infinite weight outside x makes no NaN.
TEST_P(FloatArithmeticTest, ConvSumsInBinary32WithoutPadding) {
  for (int round = 0; round < 40; ++round) {
    const std::int64_t kernel = 1 + round % 4, stride = 1 + round % 3, size = 9 + 7 * round;
    const std::int64_t filters = 1 + round % 6, pad = round % 3;
    const std::int64_t out = (size + 2 * pad - kernel) / stride + 1;
    auto x = Numbers(2 * size), w = Numbers(filters * 2 * kernel);
    if (round % 4 == 3) w[0] = INFINITY;
    std::vector<float> expected;
    const Line line{size, kernel, stride, pad};
    for (std::int64_t m = 0; m < filters; ++m) {
      const auto filter = std::span(w).subspan(At(m * 2 * kernel), At(2 * kernel));
      for (std::int64_t p = 0; p < out; ++p) expected.push_back(line.SumAt(p, x, filter));
    }
    const Tensor image = Floats({1, 2, size}, x);
    const auto model = OneNode("Conv", {{"x", image}, {"w", Floats({filters, 2, kernel}, w), true}},
                               Floats({1, filters, out}, {}),
                               {Ints("strides", {stride}), Ints("pads", {pad, pad})});
    ASSERT_EQ(RunFloats(Arithmetic::kFloat32, model, {image}), Bits(expected)) << round;
  }
}

// Sums in row-major order, of several planes at once and of the rest.
TEST_P(FloatArithmeticTest, AveragePoolSumsInBinary32) {
  const std::int64_t height = 6, width = 7;
  for (const std::int64_t planes : {1, 8, 11}) {
    const auto x = Numbers(planes * height * width);
    const Tensor image = Floats({1, planes, height, width}, x);
    std::vector<float> expected;
    for (std::int64_t i = 0; i < planes * height * width; ++i) {
      const std::int64_t row = i / width % height, column = i % width;
      float sum = 0;
      std::int64_t count = 0;
      for (std::int64_t r = std::max<std::int64_t>(row - 1, 0); r < row + 2; ++r) {
        for (std::int64_t c = column; c < column + 2; ++c) {
          if (r >= height || c >= width) continue;
          sum += x[At((i / (height * width) * height + r) * width + c)];
          ++count;
        }
      }
      expected.push_back(sum / static_cast<float>(count));
    }
    const auto model = OneNode("AveragePool", {{"x", image}}, Floats(image.dims, {}),
                               {Ints("kernel_shape", {3, 2}), Ints("pads", {1, 0, 1, 1})});
    ASSERT_EQ(RunFloats(Arithmetic::kFloat32, model, {image}), Bits(expected)) << planes;
  }
}

// tflite.S14, written out: a result without its bias.
float HybridResult(std::span<const float> row, std::span<const std::int32_t> weights, float scale) {
  float greatest = 0;
  for (const float element : row) greatest = std::max(greatest, std::fabs(element));
  const float factor = 127 / greatest;
  std::int64_t whole = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const float quotient = row[k] * factor;
    whole += (row[k] == 0 ? 0 : std::clamp<long>(std::lround(quotient), -127, 127)) * weights[k];
  }
  const float unit = greatest / 127;
  const float step = unit * scale;
  return static_cast<float>(whole) * step;
}

// A row of zeros, ties, and the exact product where a number is infinite.
TEST_P(FloatArithmeticTest, HybridQuantizesRows) {
  for (const std::int64_t columns : {1, 5, 16, 100}) {
    const std::int64_t rows = columns == 5 ? 30 : 3, depth = 2 * columns + 11;
    const float scale = 0.037F;
    auto x = Numbers(rows * depth);
    std::fill_n(x.begin() + depth, depth, 0.0F);
    for (std::int64_t k = 0; k < depth; ++k)
      x[At(2 * depth + k)] = 0.5F * static_cast<float>(k % 9);
    x[At(2 * depth)] = 127;  // the factor is 1: halves are ties
    const auto w = Random(ElementType::kInt8Q, columns * depth, random_);
    const auto bias = Numbers(columns);
    std::vector<float> expected;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto row = std::span(x).subspan(At(i * depth), At(depth));
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto column = std::span(w).subspan(At(j * depth), At(depth));
        const float scaled = HybridResult(row, column, scale);
        expected.push_back(bias[At(j)] + scaled);
      }
    }
    Tensor in = Floats({rows, depth}, x);
    const Argument weights{"w", Quantized(ElementType::kInt8Q, {columns, depth}, {{scale, 0}}, w),
                           true};
    auto model = OneNode("Gemm", {{"x", in}, weights, {"c", Floats({columns}, bias), true}},
                         Floats({rows, columns}, {}), {Int("transB", 1)});
    model.graph.nodes[0].origin.emplace();
    model.graph.nodes[0].origin->framework = "tflite";
    model.graph.nodes[0].origin->op_type = "FULLY_CONNECTED";
    ASSERT_EQ(RunFloats(Arithmetic::kTflite, model, {in}), Bits(expected)) << columns;
    for (const float number : {INFINITY, NAN}) {
      in.As<float>()[At(depth)] = number;
      EXPECT_EQ(RunFloats(Arithmetic::kTflite, model, {in}),
                RunFloats(Arithmetic::kExact, model, {in}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTables, FloatArithmeticTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST_P(ArithmeticTest, BackendListsExactFirstAndRefusesUnknownNames) {
  const Kernels* const table = GetParam();
  const auto backend = MakeBackend("x", "", {&table, 1});
  ASSERT_TRUE(backend.has_value());
  EXPECT_EQ(
      (*backend)->Describe()->arithmetics,
      (std::vector<std::string>{"exact", "float32", "tflite", "tflite-double", "tflite-single"}));
  const std::vector<std::int32_t> one{1};
  const Tensor x = Quantized(ElementType::kInt8Q, {1}, {{1.0F}}, one);
  const format::Model model = OneNode("Relu", {{"x", x}}, x);
  EXPECT_TRUE((*backend)->Prepare(model, "").has_value());
  const auto refused = (*backend)->Prepare(model, "pow2");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().where, "arithmetic");
}

INSTANTIATE_TEST_SUITE_P(AllTables, ArithmeticTest, testing::ValuesIn(KernelsUnderTest()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace qtx::backend::engine
