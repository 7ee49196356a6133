// q_linear_add.S1 and .S2, q_linear_mul.S1 and .S2, q_linear_concat.S1, q_linear_leaky_relu.S1,
// q_linear_average_pool.S1 and .S2, q_linear_global_average_pool.S1, q_linear_sigmoid.S1,
// q_linear_softmax.S1.
#include <cmath>

#include "stock_textbook.h"
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Values All(ElementType storage) {
  const format::IntegerRange range = format::StorageRange(storage);
  Values values;
  for (std::int64_t v = range.min; v <= range.max; ++v) values.push_back(v);
  return values;
}

struct Pairs {  // 65,536 of them: a column and a row
  StockTensor a, b, c;
};

Pairs RandomPairs(StockRandom& random, float c_scale) {
  const ElementType type = random.Byte();
  return {{type, {256, 1}, All(type), random.One(type, random.Scale())},
          {type, {256}, All(type), random.One(type, random.Scale())},
          {type, {1}, {0}, random.One(type, c_scale)}};
}

Values RunPairs(const char* op, const Pairs& p, const char* arithmetic) {
  return MicrosoftIntegers(op, {},
                           {&p.a.stored, &p.a.scale, &p.a.zero, &p.b.stored, &p.b.scale, &p.b.zero,
                            &p.c.scale, &p.c.zero},
                           p.c.stored.elem_type, arithmetic);
}

TEST(QLinearBinary, EqualsTheTextbookForAllPairsOfBytes) {
  StockRandom random(71);
  for (int round = 0; round < 6; ++round) {
    const bool adds = round % 2 == 0;
    const Pairs p = RandomPairs(random, random.Scale() * (adds ? 2.0F : 16.0F));
    const auto as = p.a.Reals();
    const auto bs = p.b.Reals();
    std::vector<mpq_class> reals;
    for (const mpq_class& a : as) {
      for (const mpq_class& b : bs) reals.push_back(adds ? mpq_class(a + b) : mpq_class(a * b));
    }
    EXPECT_EQ(RunPairs(adds ? "QLinearAdd" : "QLinearMul", p, "exact"),
              TextbookStored(reals, p.c.type, {256, 256}));
  }
}

// onnxruntime.S1 and .S2 in the order of their words. A column plus a row: the column, which is
// constant along the last axis, is added first. Scales of few decimals, as real models have, give
// quotients next to ties.
TEST(QLinearBinary, AddsTheZeroPointBeforeRoundingInOnnxRuntime) {
  StockRandom random(72);
  for (int round = 0; round < 8; ++round) {
    const bool adds = round % 2 == 0;
    Pairs p = RandomPairs(random, round < 4 ? 0x1p-3F : 0.05F);
    if (round >= 4) {
      p.a = {p.a.stored.elem_type, {256, 1}, All(p.a.stored.elem_type), Q({0.05F}, {0})};
      p.b = {p.a.stored.elem_type, {256}, All(p.a.stored.elem_type), Q({0.05F}, {16})};
    }
    const format::IntegerRange range = format::StorageRange(p.c.stored.elem_type);
    const auto scale = [](const StockTensor& t) { return t.quantized.quantization->scale[0]; };
    const auto zero = [](const StockTensor& t) {
      return static_cast<float>(t.quantized.quantization->offset[0]);
    };
    const float a_ratio = scale(p.a) / scale(p.c), b_ratio = scale(p.b) / scale(p.c);
    const float constant = zero(p.c) - std::fma(b_ratio, zero(p.b), a_ratio * zero(p.a));
    const float factor = scale(p.a) * scale(p.b) / scale(p.c);
    Values expected;
    for (std::int64_t i = range.min; i <= range.max; ++i) {
      for (std::int64_t k = range.min; k <= range.max; ++k) {
        const auto a = static_cast<float>(i), b = static_cast<float>(k);
        const float sum = std::fma(b, b_ratio, std::fma(a, a_ratio, constant));
        const float product = (a - zero(p.a)) * (b - zero(p.b)) * factor;
        const float shifted = adds ? sum : product + zero(p.c);
        expected.push_back(std::clamp<std::int64_t>(std::llrint(shifted), range.min, range.max));
      }
    }
    EXPECT_EQ(RunPairs(adds ? "QLinearAdd" : "QLinearMul", p, "onnxruntime"), expected);
  }
}

TEST(QLinearBinary, HoldsAtExtremeScales) {
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F, 0x1.fffffep+120F}) {
    const StockTensor a(ElementType::kInt8, {3}, {-128, 3, 127}, Q({scale}, {0}));
    const StockTensor c(ElementType::kInt8, {3}, {0, 0, 0}, Q({scale}, {1}));
    const Pairs sum{a, a, c};
    EXPECT_THAT(RunPairs("QLinearAdd", sum, "exact"), ElementsAre(-128, 7, 127));
  }
}

TEST(QLinearConcat, EqualsTheTextbook) {
  StockRandom random(73);
  for (int round = 0; round < 20; ++round) {
    const ElementType ta = random.Byte(), tb = random.Byte(), ty = random.Byte();
    const StockTensor a = random.Of(ta, {3, 40}, random.One(ta, random.Scale()));
    const StockTensor b = random.Of(tb, {2, 40}, random.One(tb, random.Scale()));
    const StockTensor y(ty, {}, {0}, random.One(ty, random.Scale()));
    auto reals = a.Reals();
    std::ranges::copy(b.Reals(), std::back_inserter(reals));
    EXPECT_EQ(
        MicrosoftIntegers(
            "QLinearConcat", {Attribute::Int("axis", 0)},
            {&y.scale, &y.zero, &a.stored, &a.scale, &a.zero, &b.stored, &b.scale, &b.zero}, ty),
        TextbookStored(reals, y.type, {5, 40}));
  }
}

Values RunUnary(const char* op, std::vector<Attribute> attributes, const StockTensor& x,
                const StockTensor& y, const char* arithmetic = "exact") {
  return MicrosoftIntegers(op, std::move(attributes),
                           {&x.stored, &x.scale, &x.zero, &y.scale, &y.zero}, y.stored.elem_type,
                           arithmetic);
}

TEST(QLinearLeakyRelu, EqualsTheTextbookForEveryByte) {
  StockRandom random(74);
  for (int round = 0; round < 40; ++round) {
    const ElementType type = random.Byte();
    const float alpha = round % 2 == 0 ? 0.25F : 0.01F;
    const StockTensor x(type, {256}, All(type), random.One(type, random.Scale()));
    const StockTensor y(type, {}, {0}, random.One(type, random.Scale()));
    auto reals = x.Reals();
    for (mpq_class& real : reals) {
      if (real < 0) real *= mpq_class(static_cast<double>(alpha));
    }
    EXPECT_EQ(RunUnary("QLinearLeakyRelu", {Attribute::Float("alpha", alpha)}, x, y),
              TextbookStored(reals, y.type, {256}));
  }
}

TEST(QLinearSigmoid, EqualsTheTextbookForEveryByte) {
  StockRandom random(75);
  const MpfrFunction sigmoid = [](mpfr_ptr x) {
    mpfr_neg(x, x, MPFR_RNDN);
    mpfr_exp(x, x, MPFR_RNDN);
    mpfr_add_ui(x, x, 1, MPFR_RNDN);
    mpfr_ui_div(x, 1, x, MPFR_RNDN);
  };
  for (int round = 0; round < 10; ++round) {
    const ElementType type = random.Byte();
    const StockTensor x(type, {256}, All(type), random.One(type, random.Scale()));
    const StockTensor y(type, {}, {0}, random.One(type, 0x1p-8F));
    std::vector<mpq_class> reals;
    for (const mpq_class& real : x.Reals()) reals.push_back(TextbookValue(sigmoid, real));
    EXPECT_EQ(RunUnary("QLinearSigmoid", {}, x, y), TextbookStored(reals, y.type, {256}));
  }
}

TEST(QLinearSoftmax, EqualsTheExtendedOperatorsTextbookOnRowsOfTwo) {
  // softmax(x, y) = sigmoid(x - y): of logits 0 and 2 steps of 1/2 it is sigmoid(-1) = 0.268941.
  const StockTensor x(ElementType::kUint8, {1, 2}, {7, 9}, Q({0.5F}, {7}));
  const StockTensor y(ElementType::kUint8, {}, {0}, Q({0x1p-8F}, {2}));
  EXPECT_THAT(RunUnary("QLinearSoftmax", {Attribute::Int("opset", 13)}, x, y),
              ElementsAre(71, 189));  // 68.85, 187.15
}

// The mean of each window of three along the one spatial axis, without padding.
TEST(QLinearAveragePool, EqualsTheTextbook) {
  StockRandom random(76);
  for (int round = 0; round < 20; ++round) {
    const ElementType type = random.Byte();
    const StockTensor x = random.Of(type, {1, 2, 30}, random.One(type, random.Scale()));
    const StockTensor y(type, {}, {0}, random.One(type, random.Scale()));
    const auto xs = x.Reals();
    std::vector<mpq_class> reals;
    std::vector<mpq_class> totals(2, 0);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      totals[i / 30] += xs[i] / 30;
      if (i % 30 < 28) reals.push_back((xs[i] + xs[i + 1] + xs[i + 2]) / 3);
    }
    EXPECT_EQ(RunUnary("QLinearAveragePool", {Attribute::Ints("kernel_shape", {3})}, x, y),
              TextbookStored(reals, y.type, {1, 2, 28}));
    EXPECT_EQ(RunUnary("QLinearGlobalAveragePool", {}, x, y),
              TextbookStored(totals, y.type, {1, 2, 1}));
  }
}

TEST(QLinear, NamesTheInputOfTheStockOperator) {
  const StockTensor a(ElementType::kInt8, {2}, {1, 2}, Q({1.0F}, {0}));
  const StockTensor b(ElementType::kInt8, {3}, {1, 2, 3}, Q({1.0F}, {0}));
  OpRun run{"QLinearAdd",
            {},
            {&a.stored, &a.scale, &a.zero, &b.stored, &a.zero, &b.zero, &a.scale, &a.zero},
            PlainType(ElementType::kInt8)};
  run.domain = "com.microsoft";
  EXPECT_THAT(ErrorOf(run), HasSubstr("input[4] 'in4': found type INT8, expected FLOAT"));
  run.inputs[4] = &b.scale;
  EXPECT_THAT(ErrorOf(run), HasSubstr("cannot be broadcast"));
}

}  // namespace
}  // namespace qtx::reference::testing
