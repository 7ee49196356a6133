// Vectors that other projects publish, through the rows that they belong to.
#include <algorithm>
#include <cmath>
#include <random>

#include "../run_op.h"
#include "arithmetic/round.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

Values Quantized(const std::string& arithmetic, const std::vector<float>& reals,
                 const OutputType& type) {
  const Tensor x = Float({static_cast<std::int64_t>(reals.size())}, reals);
  const auto code = static_cast<std::int64_t>(type.elem_type);
  OpRun run{"Cast", {Attribute::Int("to", code)}, {&x}, type};
  run.arithmetic = arithmetic;
  return Integers(run);
}

// tensorflow issue 102943: 585 times binary32(1 / 90) is 6.50000016.
TEST(Published, Tensorflow102943) {
  const Tensor a = Int8({1, 5}, {117, 117, 117, 117, 117}, Q({1.0F / 90.0F}));
  const Tensor b = Int8({5, 1}, {1, 1, 1, 1, 1}, Q({1.0F}));
  OpRun run{"MatMul", {}, {&a, &b}, Int8Type(Q({1.0F}))};
  for (const char* name : {"float32", "xnnpack", "fbgemm", "onednn"}) {
    run.arithmetic = name;
    EXPECT_THAT(Integers(run), ElementsAre(6)) << name;
  }
  for (const char* name : {"exact", "tflite-double", "tflite-single", "onnx-reference",
                           "xnnpack-rndnu", "qnnpack", "tvm-upward", "fixed-point"}) {
    run.arithmetic = name;
    EXPECT_THAT(Integers(run), ElementsAre(7)) << name;
  }
  // Nine bits of multiplier: (585 * 364 + 2^14) >> 15, 6.998 floored.
  run.arithmetic = "glow";
  EXPECT_THAT(Integers(run), ElementsAre(6));
}

// FBGEMM QuantUtils.h: scale 0.00214854861, x 0.273939937, 128 by the reciprocal, 127 by division.
TEST(Published, FbgemmsReciprocal) {
  const OutputType type = Type(ElementType::kUint8Q, Q({0.00214854861F}));
  EXPECT_THAT(Quantized("fbgemm", {0.273939937F}, type), ElementsAre(128));
  EXPECT_THAT(Quantized("float32", {0.273939937F}, type), ElementsAre(127));
  EXPECT_THAT(Quantized("exact", {0.273939937F}, type), ElementsAre(127));
}

// tinygrad PR 9301: -2.5 / (5 / 255) is -127.49999 divided, -127.5 by the reciprocal.
TEST(Published, TinygradsQuotient) {
  const OutputType type = Int8Type(Q({5.0F / 255.0F}));
  EXPECT_THAT(Quantized("float32", {-2.5F}, type), ElementsAre(-127));
  EXPECT_THAT(Quantized("fbgemm", {-2.5F}, type), ElementsAre(-128));
}

// tensorflow issue 25087: 7984 * 1583594044 * 2^-40, through TOSA's declared multipliers: 12 twice
// rounded, 11 once. int16 operands make the accumulator: 7984 = 7984 * 1.
TEST(Published, Tensorflow25087) {
  const auto scale = static_cast<float>(1583594044.0 * 0x1p-40);
  const Tensor a = Stored(ElementType::kInt16Q, {1, 1}, {7984}, Q({scale}));
  const Tensor b = Int8({1, 1}, {1}, Q({1.0F}));
  Quantization y = Q({1.0F});
  y.requantization = format::Requantization{{1583594044}, {9}};
  OpRun run{"MatMul", {}, {&a, &b}, Int8Type(y)};
  run.arithmetic = "fixed-point-double";
  EXPECT_THAT(Integers(run), ElementsAre(12));
  run.arithmetic = "fixed-point";
  EXPECT_THAT(Integers(run), ElementsAre(11));
}

// qonnx's table of rounding modes: ROUND (half even), HALF_UP (half away) and DOWN (toward zero).
TEST(Published, QonnxsRoundingModes) {
  struct Row {
    float value;
    float round, half_up, down;
  };
  constexpr Row kRows[] = {{5.5F, 6, 6, 5},     {2.5F, 2, 3, 2},     {1.6F, 2, 2, 1},
                           {1.1F, 1, 1, 1},     {1.0F, 1, 1, 1},     {-1.0F, -1, -1, -1},
                           {-1.1F, -1, -1, -1}, {-1.6F, -2, -2, -1}, {-2.5F, -2, -3, -2},
                           {-5.5F, -6, -6, -5}};
  for (const Row& row : kRows) {
    EXPECT_EQ(RoundFloat(row.value, TieRule::kHalfEven), row.round) << row.value;
    EXPECT_EQ(RoundFloat(row.value, TieRule::kHalfAway), row.half_up) << row.value;
    EXPECT_EQ(RoundFloat(row.value, TieRule::kTowardZero), row.down) << row.value;
    EXPECT_EQ(RoundFloat(static_cast<double>(row.value), TieRule::kHalfEven),
              static_cast<double>(row.round));
  }
}

// ---- gemmlowp's doc/quantization_example.cc, whose output doc/quantization.md prints ----

struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> values;  // row-major
  float scale = 0;
  std::int32_t offset = 0;
  Values stored;
};

// The example fills column by column from one engine with its default seed.
Matrix RandomMatrix(std::int64_t rows, std::int64_t columns, std::mt19937* engine) {
  std::uniform_real_distribution<float> distribution(-1, 1);
  Matrix m{rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) {
      m.values[static_cast<std::size_t>(r * columns + c)] = distribution(*engine);
    }
  }
  return m;
}

// Its choice of parameters and its quantizer, half away after the offset.
void ChooseParameters(Matrix* m) {
  const auto [low, high] = std::ranges::minmax(m->values);
  const float min = std::min(low, 0.0F);
  const double scale = static_cast<double>((std::max(high, 0.0F) - min) / 255.0F);
  m->scale = static_cast<float>(scale);
  m->offset = static_cast<std::int32_t>(std::round(-static_cast<double>(min) / scale));
  for (const float value : m->values) {
    const float quotient = static_cast<float>(m->offset) + value / m->scale;
    m->stored.push_back(std::lround(std::clamp(quotient, 0.0F, 255.0F)));
  }
}

TEST(Published, GemmlowpsQuantizationExample) {
  std::mt19937 engine;
  Matrix lhs = RandomMatrix(2, 4, &engine);
  Matrix rhs = RandomMatrix(4, 3, &engine);
  Matrix product{2, 3, std::vector<float>(6)};
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      product.values[i] += lhs.values[i / 3 * 4 + k] * rhs.values[k * 3 + i % 3];
    }
  }
  for (Matrix* m : {&lhs, &rhs, &product}) ChooseParameters(m);
  // As printed: the same engine and distribution as where the text was made.
  ASSERT_THAT(lhs.stored, ElementsAre(208, 236, 0, 238, 3, 214, 255, 29));
  ASSERT_THAT(rhs.stored, ElementsAre(152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247));
  ASSERT_EQ(product.offset, 118);
  const auto tensor = [](const Matrix& m) {
    return Stored(ElementType::kUint8Q, {m.rows, m.columns}, m.stored, Q({m.scale}, {m.offset}));
  };
  const Tensor a = tensor(lhs);
  const Tensor b = tensor(rhs);
  OpRun run{"MatMul", {}, {&a, &b}};
  run.output = Type(ElementType::kUint8Q, Q({product.scale}, {product.offset}));
  for (const char* name : {"qnnpack", "tflite-double"}) {
    run.arithmetic = name;
    EXPECT_THAT(Integers(run), ElementsAre(168, 115, 255, 0, 66, 151)) << name;
  }
}

// The same integers in ONNX's documentation of QLinearMatMul, the scales cut to three digits: one
// result is another.
TEST(Published, OnnxsQLinearMatMul) {
  const Tensor a = Stored(ElementType::kUint8Q, {2, 4}, {208, 236, 0, 238, 3, 214, 255, 29},
                          Q({0.0066F}, {113}));
  const Tensor b =
      Stored(ElementType::kUint8Q, {4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247},
             Q({0.00705F}, {114}));
  OpRun run{"MatMul", {}, {&a, &b}, Type(ElementType::kUint8Q, Q({0.0107F}, {118}))};
  for (const char* name : {"onnx-reference", "float32", "exact", "tflite", "fixed-point"}) {
    run.arithmetic = name;
    EXPECT_THAT(Integers(run), ElementsAre(168, 115, 255, 1, 66, 151)) << name;
  }
}

}  // namespace
}  // namespace qtx::reference::testing
