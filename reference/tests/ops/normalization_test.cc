// batch_normalization, group_normalization, instance_normalization, layer_normalization and
// rms_normalization, S1 on.
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reals = std::vector<mpq_class>;

// (x - mean) / sqrt(spread) * gain + bias: the root of 400 bits, everything else exact.
mpq_class Normalized(const mpq_class& x, const mpq_class& mean, const mpq_class& spread,
                     const mpq_class& gain, const mpq_class& bias) {
  const mpq_class root = TextbookValue([](mpfr_ptr v) { mpfr_sqrt(v, v, MPFR_RNDN); }, spread);
  return (x - mean) / root * gain + bias;
}

struct Statistics {
  mpq_class mean = 0, variance = 0;
};
Statistics Of(const Reals& reals, std::size_t first, std::size_t count, bool centred) {
  Statistics s;
  const mpq_class n(static_cast<unsigned long>(count));
  for (std::size_t i = first; centred && i < first + count; ++i) s.mean += reals[i] / n;
  for (std::size_t i = first; i < first + count; ++i) {
    const mpq_class difference = reals[i] - s.mean;
    s.variance += difference * difference / n;
  }
  return s;
}

constexpr float kEpsilon = 1e-5F;
const mpq_class kExactEpsilon(static_cast<double>(kEpsilon));

TEST(LayerNormalization, EqualsFourHundredBitsOnRandomRows) {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const Dims dims = {3, random.In(1, 9), random.In(1, 9)};
    const float factor = round % 3 == 0 ? 0x1p-130F : round % 3 == 1 ? 1.0F : 0x1p90F;
    Quantization q = round % 2 == 0 ? random.PerTensor() : random.PerAxis(2, dims[2]);
    for (float& scale : q.scale) scale *= factor;
    const Tensor x = random.Tensor8(dims, q);
    const Tensor gain = random.Tensor8({dims[2]}, random.PerTensor());
    const Tensor bias = random.Tensor8({dims[1], dims[2]}, random.PerTensor());
    const OutputType type = Int8Type(random.PerTensor());
    const Reals xs = TextbookReals(x);
    const Reals gains = TextbookReals(gain);
    const Reals biases = TextbookReals(bias);
    Reals expected;
    const auto size = static_cast<std::size_t>(dims[1] * dims[2]);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Statistics s = Of(xs, i / size * size, size, true);
      expected.push_back(Normalized(xs[i], s.mean, s.variance + kExactEpsilon,
                                    gains[i % gains.size()], biases[i % size]));
    }
    EXPECT_EQ(
        Integers({"LayerNormalization", {Attribute::Int("axis", -2)}, {&x, &gain, &bias}, type}),
        TextbookStored(expected, type, dims));
  }
}

TEST(RMSNormalization, EqualsFourHundredBitsOnRandomRows) {
  Random random(42);
  for (int round = 0; round < 60; ++round) {
    const Dims dims = {4, random.In(1, 40)};
    const Tensor x = random.Tensor8(dims, random.PerTensor());
    const Tensor gain = random.Tensor8({dims[1]}, random.PerTensor());
    const OutputType type = Type(ElementType::kInt16Q, Q({0x1.3p-9F}, {-5}));
    const Reals xs = TextbookReals(x);
    const Reals gains = TextbookReals(gain);
    Reals expected;
    const auto size = static_cast<std::size_t>(dims[1]);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Statistics s = Of(xs, i / size * size, size, false);
      expected.push_back(Normalized(xs[i], 0, s.variance + kExactEpsilon, gains[i % size], 0));
    }
    EXPECT_EQ(Integers({"RMSNormalization", {}, {&x, &gain}, type}),
              TextbookStored(expected, type, dims));
  }
}

TEST(InstanceNormalization, EqualsFourHundredBitsOnRandomChannels) {
  Random random(43);
  for (int round = 0; round < 60; ++round) {
    const Dims dims = {2, 3, random.In(1, 5), random.In(1, 5)};
    const Tensor x =
        random.Tensor8(dims, round % 2 == 0 ? random.PerTensor() : random.PerAxis(1, 3));
    const Tensor gain = random.Tensor8({3}, random.PerTensor());
    const Tensor bias = random.Tensor8({3}, random.PerTensor());
    const OutputType type = Int8Type(random.PerTensor());
    const Reals xs = TextbookReals(x);
    const Reals gains = TextbookReals(gain);
    const Reals biases = TextbookReals(bias);
    Reals expected;
    const auto size = static_cast<std::size_t>(dims[2] * dims[3]);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Statistics s = Of(xs, i / size * size, size, true);
      expected.push_back(Normalized(xs[i], s.mean, s.variance + kExactEpsilon, gains[i / size % 3],
                                    biases[i / size % 3]));
    }
    EXPECT_EQ(Integers({"InstanceNormalization", {}, {&x, &gain, &bias}, type}),
              TextbookStored(expected, type, dims));
  }
}

TEST(GroupNormalization, EqualsFourHundredBitsOnRandomGroups) {
  Random random(45);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t groups = random.In(1, 3);
    const Dims dims = {2, groups * random.In(1, 3), random.In(1, 5)};
    const Tensor x =
        random.Tensor8(dims, round % 2 == 0 ? random.PerTensor() : random.PerAxis(1, dims[1]));
    const Tensor gain = random.Tensor8({dims[1]}, random.PerTensor());
    const Tensor bias = random.Tensor8({dims[1]}, random.PerTensor());
    const OutputType type = Int8Type(random.PerTensor());
    const Reals xs = TextbookReals(x);
    const Reals gains = TextbookReals(gain);
    const Reals biases = TextbookReals(bias);
    Reals expected;
    const auto plane = static_cast<std::size_t>(dims[2]);
    const auto size = static_cast<std::size_t>(dims[1] / groups) * plane;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Statistics s = Of(xs, i / size * size, size, true);
      const std::size_t c = i / plane % gains.size();
      expected.push_back(
          Normalized(xs[i], s.mean, s.variance + kExactEpsilon, gains[c], biases[c]));
    }
    EXPECT_EQ(Integers({"GroupNormalization",
                        {Attribute::Int("num_groups", groups)},
                        {&x, &gain, &bias},
                        type}),
              TextbookStored(expected, type, dims));
  }
}

TEST(BatchNormalization, EqualsFourHundredBitsOnRandomChannels) {
  Random random(44);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = {2, 4, random.In(1, 6)};
    const Tensor x =
        random.Tensor8(dims, round % 2 == 0 ? random.PerTensor() : random.PerAxis(1, 4));
    const Tensor gain = random.Tensor8({4}, random.PerTensor());
    const Tensor bias = random.Tensor8({4}, random.PerTensor());
    const Tensor mean = random.Tensor8({4}, random.PerTensor());
    std::vector<float> variances;
    for (int c = 0; c < 4; ++c) {
      variances.push_back(
          std::ldexp(static_cast<float>(random.In(1, 99)), static_cast<int>(random.In(-140, 100))));
    }
    const Tensor variance = Float({4}, variances);
    const OutputType type = Int8Type(random.PerTensor());
    const Reals xs = TextbookReals(x);
    const Reals means = TextbookReals(mean);
    const Reals gains = TextbookReals(gain);
    const Reals biases = TextbookReals(bias);
    const Reals spreads = TextbookReals(variance);
    Reals expected;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const std::size_t c = i / static_cast<std::size_t>(dims[2]) % 4;
      expected.push_back(
          Normalized(xs[i], means[c], spreads[c] + kExactEpsilon, gains[c], biases[c]));
    }
    EXPECT_EQ(Integers({"BatchNormalization", {}, {&x, &gain, &bias, &mean, &variance}, type}),
              TextbookStored(expected, type, dims));
  }
}

// x = 1 3, mean 2, variance 1, no epsilon: -1 and 1 times 5/2 are ties at scale 1: to even.
TEST(LayerNormalization, RoundsARationalRootsTieToEven) {
  const Tensor x = Int8({2}, {1, 3}, Q({1.0F}));
  const Tensor gain = Int8({2}, {5, 7}, Q({0.5F}));
  OpRun run{"LayerNormalization",
            {Attribute::Float("epsilon", 0.0F)},
            {&x, &gain},
            Int8Type(Q({1.0F}, {3}))};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()), (Values{1, 7}));
  EXPECT_EQ(run.counters.exact_fallbacks, 2U);
}

// Equal elements have variance 0: without epsilon 0/0, as real zero; with it the bias.
TEST(LayerNormalization, FollowsIeeeWhereNothingVaries) {
  const Tensor x = Int8({2}, {9, 9}, Q({1.0F}));
  const Tensor gain = Float({2}, {1.0F, 1.0F});
  const Tensor bias = Float({2}, {2.0F, 3.0F});
  const auto with = [&](float epsilon) {
    return Integers({"LayerNormalization",
                     {Attribute::Float("epsilon", epsilon)},
                     {&x, &gain, &bias},
                     Int8Type(Q({1.0F}, {5}))});
  };
  EXPECT_THAT(with(0), ElementsAre(5, 5));
  EXPECT_THAT(with(1e-5F), ElementsAre(7, 8));
}

TEST(LayerNormalization, RefusesWhatIsNotOne) {
  const Tensor x = Int8({2, 2}, {1, 2, 3, 4}, Q({1.0F}));
  const Tensor gain = Int8({3}, {1, 2, 3}, Q({1.0F}));
  const OpRun run{"LayerNormalization", {}, {&x, &gain}, Int8Type(Q({1.0F}))};
  EXPECT_THAT(ErrorOf(run), HasSubstr("[layer_normalization.C3]"));
}

}  // namespace
}  // namespace qtx::reference::testing
