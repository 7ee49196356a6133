// q_linear_conv.S1 to .S4, q_linear_mat_mul.S1 to .S4, q_gemm.S1 to .S5, conv_integer.S1,
// mat_mul_integer.S1 and .S2.
#include <cmath>

#include "stock_textbook.h"

namespace qtx::reference::testing::q_linear_product_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Products of a [m, k] and b [k, n], row by row.
std::vector<mpq_class> Product(const std::vector<mpq_class>& a, const std::vector<mpq_class>& b,
                               std::size_t m, std::size_t k, std::size_t n) {
  std::vector<mpq_class> reals;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      mpq_class sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      reals.push_back(sum);
    }
  return reals;
}

TEST(QLinearMatMul, EqualsTheTextbookForEachGranularity) {
  StockRandom random(81);
  for (int round = 0; round < 40; ++round) {
    const ElementType ta = random.Byte(), tb = random.Byte(), ty = random.Byte();
    const std::int64_t m = random.In(2, 4), k = random.In(1, 20), n = random.In(2, 4);
    const StockTensor a = random.Of(
        ta, {m, k}, round % 2 == 0 ? random.One(ta, random.Scale()) : random.Each(ta, 0, m));
    const StockTensor b = random.Of(
        tb, {k, n}, round % 4 < 2 ? random.One(tb, random.Scale()) : random.Each(tb, 1, n));
    const StockTensor y(ty, {}, {0}, random.One(ty, random.Scale() * 512));
    const auto reals = Product(a.Reals(), b.Reals(), static_cast<std::size_t>(m),
                               static_cast<std::size_t>(k), static_cast<std::size_t>(n));
    const std::vector<const Tensor*> inputs = {&a.stored, &a.scale, &a.zero,  &b.stored,
                                               &b.scale,  &b.zero,  &y.scale, &y.zero};
    EXPECT_EQ(Integers({"QLinearMatMul", {}, inputs, PlainType(ty)}),
              TextbookStored(reals, y.type, {m, n}));
  }
}

TEST(MatMulInteger, EqualsTheIntegersForEachGranularity) {
  StockRandom random(82);
  for (int round = 0; round < 40; ++round) {
    const ElementType ta = random.Byte(), tb = random.Byte();
    const std::int64_t m = random.In(2, 4), k = random.In(1, 20), n = random.In(2, 4);
    Quantization qa = round % 2 == 0 ? random.One(ta, 1) : random.Each(ta, 0, m);
    Quantization qb = round % 4 < 2 ? random.One(tb, 1) : random.Each(tb, 1, n);
    std::ranges::fill(qa.scale, 1.0F);
    std::ranges::fill(qb.scale, 1.0F);
    const StockTensor a = random.Of(ta, {m, k}, qa);
    const StockTensor b = random.Of(tb, {k, n}, qb);
    Values expected;
    for (const mpq_class& sum : Product(a.Reals(), b.Reals(), static_cast<std::size_t>(m),
                                        static_cast<std::size_t>(k), static_cast<std::size_t>(n))) {
      expected.push_back(sum.get_num().get_si());
    }
    for (const char* arithmetic : {"exact", "float32", "tflite"}) {
      EXPECT_EQ(Integers({"MatMulInteger",
                          {},
                          {&a.stored, &b.stored, &a.zero, &b.zero},
                          PlainType(ElementType::kInt32),
                          arithmetic}),
                expected);
    }
  }
}

// 2^18 products of 255 * 255 exceed 2^32: what is left of 17045913600 is its low 32 bits.
TEST(MatMulInteger, WrapsTheSumAlone) {
  constexpr std::int64_t kLength = 1 << 18;
  const Tensor a = Stored(ElementType::kUint8, {1, kLength}, Values(kLength, 255));
  const Tensor b = Stored(ElementType::kUint8, {kLength, 1}, Values(kLength, 255));
  EXPECT_THAT(Integers({"MatMulInteger", {}, {&a, &b}, PlainType(ElementType::kInt32)}),
              ElementsAre(17045913600 - 4 * (std::int64_t{1} << 32)));
}

struct Geometry {
  std::int64_t channels, depth, length, kernel;
};

// One spatial axis, one group, a pad of one on both sides; the bias in units of the accumulator.
std::vector<mpq_class> TextbookConv(const StockTensor& x, const StockTensor& w, const Tensor* bias,
                                    const Geometry& g) {
  const auto xs = x.Reals();
  const auto ws = w.Reals();
  const auto& scales = w.quantized.quantization->scale;
  std::vector<mpq_class> reals;
  for (std::int64_t m = 0; m < g.channels; ++m)
    for (std::int64_t i = 0; i < g.length + 3 - g.kernel; ++i) {
      mpq_class sum = 0;
      const auto channel = static_cast<std::size_t>(m);
      if (bias != nullptr) {
        const float scale = scales[scales.size() == 1 ? 0 : channel];
        sum = mpq_class(static_cast<long>(bias->As<std::int32_t>()[channel])) *
              mpq_class(static_cast<double>(x.quantized.quantization->scale[0])) *
              mpq_class(static_cast<double>(scale));
      }
      for (std::int64_t c = 0; c < g.depth; ++c)
        for (std::int64_t u = 0; u < g.kernel; ++u) {
          const std::int64_t at = i + u - 1;
          if (at < 0 || at >= g.length) continue;
          sum += xs[static_cast<std::size_t>(c * g.length + at)] *
                 ws[static_cast<std::size_t>((m * g.depth + c) * g.kernel + u)];
        }
      reals.push_back(sum);
    }
  return reals;
}

TEST(QLinearConv, EqualsTheTextbook) {
  StockRandom random(83);
  for (int round = 0; round < 40; ++round) {
    const ElementType tx = random.Byte(), tw = random.Byte(), ty = random.Byte();
    const Geometry g{random.In(2, 4), random.In(1, 3), 9, random.In(1, 3)};
    const StockTensor x = random.Of(tx, {1, g.depth, g.length}, random.One(tx, random.Scale()));
    const StockTensor w =
        random.Of(tw, {g.channels, g.depth, g.kernel},
                  round % 2 == 0 ? random.One(tw, random.Scale()) : random.Each(tw, 0, g.channels));
    const StockTensor y(ty, {}, {0}, random.One(ty, random.Scale() * 256));
    Values addends;
    for (std::int64_t m = 0; m < g.channels; ++m) addends.push_back(random.In(-40000, 40000));
    const Tensor bias = Stored(ElementType::kInt32, {g.channels}, addends);
    const Tensor* given = round % 3 == 0 ? nullptr : &bias;
    const auto reals = TextbookConv(x, w, given, g);
    EXPECT_EQ(Integers({"QLinearConv",
                        {Attribute::Ints("pads", {1, 1})},
                        {&x.stored, &x.scale, &x.zero, &w.stored, &w.scale, &w.zero, &y.scale,
                         &y.zero, given},
                        PlainType(ty)}),
              TextbookStored(reals, y.type, {g.channels, g.length + 3 - g.kernel}));
  }
}

// scale^2 = 1 + 2^-22 + 2^-46, in binary32 1 + 2^-22: five of it over twice that are above 5 / 2,
// or the tie itself.
TEST(QLinearConv, TakesTheBiasAtTheExactProductOfTheScales) {
  const float scale = 1.0F + 0x1p-23F;  // the square is 1 + 2^-22 + 2^-46
  const StockTensor x(ElementType::kInt8, {1, 1, 1}, {0}, Q({scale}, {0}));
  const StockTensor y(ElementType::kInt8, {}, {0}, Q({2 * (1.0F + 0x1p-22F)}, {0}));
  const Tensor bias = Stored(ElementType::kInt32, {1}, {5});
  const std::vector<const Tensor*> inputs = {&x.stored, &x.scale, &x.zero, &x.stored, &x.scale,
                                             &x.zero,   &y.scale, &y.zero, &bias};
  const OutputType type = PlainType(ElementType::kInt8);
  EXPECT_THAT(Integers({"QLinearConv", {}, inputs, type}), ElementsAre(3));  // above 5 / 2
  EXPECT_THAT(Integers({"QLinearConv", {}, inputs, type, "float32"}), ElementsAre(2));
}

TEST(ConvInteger, EqualsTheIntegers) {
  StockRandom random(84);
  for (int round = 0; round < 30; ++round) {
    const ElementType tx = random.Byte(), tw = random.Byte();
    const Geometry g{random.In(2, 4), random.In(1, 3), 9, random.In(1, 3)};
    Quantization qw = round % 2 == 0 ? random.One(tw, 1) : random.Each(tw, 0, g.channels);
    std::ranges::fill(qw.scale, 1.0F);
    const StockTensor x = random.Of(tx, {1, g.depth, g.length}, random.One(tx, 1));
    const StockTensor w = random.Of(tw, {g.channels, g.depth, g.kernel}, qw);
    Values expected;
    for (const mpq_class& sum : TextbookConv(x, w, nullptr, g)) {
      expected.push_back(sum.get_num().get_si());
    }
    EXPECT_EQ(Integers({"ConvInteger",
                        {Attribute::Ints("pads", {1, 1})},
                        {&x.stored, &w.stored, &x.zero, &w.zero},
                        PlainType(ElementType::kInt32),
                        round % 3 == 0 ? "float32" : "exact"}),
              expected);
  }
}

TEST(QGemm, EqualsTheTextbookForEveryAlpha) {
  StockRandom random(85);
  for (int round = 0; round < 40; ++round) {
    const ElementType ta = random.Byte(), tb = random.Byte(), ty = random.Byte();
    const std::int64_t m = 3, k = random.In(1, 20), n = 4;
    const float alpha = round % 4 == 0 ? 1.0F : round % 4 == 1 ? -0.75F : 0.1F;
    const StockTensor a = random.Of(ta, {m, k}, random.One(ta, random.Scale()));
    const StockTensor b = random.Of(
        tb, {k, n}, round % 2 == 0 ? random.One(tb, random.Scale()) : random.Each(tb, 1, n));
    const StockTensor y(ty, {}, {0}, random.One(ty, random.Scale() * 256));
    const Tensor c = Stored(ElementType::kInt32, {n}, {12345, -777, 1, 0});
    auto reals = Product(a.Reals(), b.Reals(), 3, static_cast<std::size_t>(k), 4);
    const auto& scales = b.quantized.quantization->scale;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const float scale = scales[scales.size() == 1 ? 0 : i % 4];
      reals[i] += mpq_class(static_cast<long>(c.As<std::int32_t>()[i % 4])) *
                  mpq_class(static_cast<double>(a.quantized.quantization->scale[0])) *
                  mpq_class(static_cast<double>(scale));
      reals[i] *= mpq_class(static_cast<double>(alpha));
    }
    EXPECT_EQ(MicrosoftIntegers("QGemm", {Attribute::Float("alpha", alpha)},
                                {&a.stored, &a.scale, &a.zero, &b.stored, &b.scale, &b.zero, &c,
                                 &y.scale, &y.zero},
                                ty),
              TextbookStored(reals, y.type, {m, n}));
  }
}

// Nothing is summed; what remains is the bias.
TEST(QGemm, AddsTheBiasToAnEmptySum) {
  const StockTensor a(ElementType::kInt8, {1, 0}, {}, Q({0.5F}, {0}));
  const StockTensor b(ElementType::kInt8, {0, 1}, {}, Q({0.5F}, {0}));
  const StockTensor y(ElementType::kInt8, {}, {0}, Q({1.0F}, {0}));
  const Tensor c = Stored(ElementType::kInt32, {1}, {10});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(MicrosoftIntegers("QGemm", {},
                                  {&a.stored, &a.scale, &a.zero, &b.stored, &b.scale, &b.zero, &c,
                                   &y.scale, &y.zero},
                                  ElementType::kInt8, arithmetic),
                ElementsAre(2));  // 2.5, to even
  }
}

TEST(QLinearConv, NamesTheInputThatDoesNotFit) {
  const StockTensor x(ElementType::kInt8, {1, 1, 1}, {0}, Q({1.0F}, {0}));
  const StockTensor w(ElementType::kInt8, {1, 2, 1}, {0, 0}, Q({1.0F}, {0}));
  const Tensor scales = Float({3}, {1.0F, 1.0F, 1.0F});
  const OutputType type = PlainType(ElementType::kInt8);
  EXPECT_THAT(
      ErrorOf({"QLinearConv",
               {},
               {&x.stored, &x.scale, &x.zero, &w.stored, &w.scale, &w.zero, &scales, &x.zero},
               type}),
      HasSubstr("input[7] 'in7': found shape [], expected [3], as its scale"));
  EXPECT_THAT(
      ErrorOf({"QLinearConv",
               {},
               {&x.stored, &x.scale, &x.zero, &w.stored, &w.scale, &w.zero, &x.scale, &x.zero},
               type}),
      HasSubstr("[q_linear_conv.C4]"));
}

}  // namespace
}  // namespace qtx::reference::testing::q_linear_product_test
