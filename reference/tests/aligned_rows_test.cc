#include "aligned_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace qtx::reference {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::int64_t kRows = 3, kLength = 150;  // two whole blocks and a part of one

Tensor FloatsOf(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {ElementType::kFloat, {kRows, kLength}, std::nullopt, {bytes.begin(), bytes.end()}};
}

// Kulisch's sum, one product after the other.
Real Slowly(const Operand& a, std::int64_t i, const Operand& b, std::int64_t j) {
  ExactSum sum;
  for (std::int64_t k = 0; k < kLength; ++k) {
    sum.AddProduct(a.exact(i * kLength + k), b.exact(j * kLength + k));
  }
  return sum.Value();
}

void ExpectTheSameProducts(const Tensor& a, const Tensor& b) {
  const Operand left = Operand::Make(a).value();
  const Operand right = Operand::Make(b).value();
  const RowsView view = {0, kRows, kLength, kLength, 1};
  const AlignedRows x(left, view);
  const AlignedRows w(right, view);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      const Real expected = Slowly(left, i, right, j);
      const Real found = AlignedRows::Product(x, i, w, j).Value();
      ASSERT_EQ(found.finite, expected.finite);
      EXPECT_EQ(found.value, expected.value);
      EXPECT_TRUE(found.special == expected.special ||
                  (std::isnan(found.special) && std::isnan(expected.special)));
    }
  }
}

// Exponents within `spread` binades of each other; one value in eight is 0.
std::vector<float> Random(std::mt19937& random, int spread) {
  std::vector<float> values(kRows * kLength);
  for (float& value : values) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2;
    const auto mantissa = static_cast<float>(static_cast<int>(random() % (1U << 24)) - (1 << 23));
    value = random() % 8 == 0 ? 0 : std::ldexp(mantissa, exponent - 24);
  }
  return values;
}

// 62 bits are an alignment of at most 38 binades: some blocks fit, some do not.
TEST(AlignedRows, GiveTheExactSumWhateverTheExponents) {
  std::mt19937 random(5);
  for (const int spread : {1, 10, 36, 40, 60, 120, 240}) {
    ExpectTheSameProducts(FloatsOf(Random(random, spread)), FloatsOf(Random(random, spread)));
    ExpectTheSameProducts(FloatsOf(Random(random, spread)), FloatsOf(Random(random, 1)));
  }
}

TEST(AlignedRows, GiveWhatIeee754GivesOfInfinitiesAndNan) {
  std::mt19937 random(6);
  std::vector<float> values = Random(random, 8);
  values[7] = std::numeric_limits<float>::infinity();
  values[kLength + 70] = std::numeric_limits<float>::quiet_NaN();
  values[2 * kLength] = std::numeric_limits<float>::denorm_min();
  values[2 * kLength + 149] = -std::numeric_limits<float>::max();
  ExpectTheSameProducts(FloatsOf(values), FloatsOf(Random(random, 8)));
  ExpectTheSameProducts(FloatsOf(values), FloatsOf(values));
}

// Codes of 4 bits with a scale and a base for each 50 elements, as Q4_K has them.
TEST(AlignedRows, TakeScalesAndBasesOfBlocks) {
  std::mt19937 random(7);
  Tensor w = format::MakeTensor(ElementType::kUint4Q, {kRows, kLength}).value();
  w.quantization = format::Quantization{.axis = {0, 1}, .block_shape = {1, 50}};
  format::BlockFactors base;
  for (int i = 0; i < 9; ++i) {
    w.quantization->scale.push_back(static_cast<float>(random() % 4096 + 1) / 65536);
    base.value.push_back(-static_cast<float>(random() % 4096) / 8192);
  }
  w.quantization->base_levels = {base};
  for (std::byte& byte : w.bytes) byte = static_cast<std::byte>(random());
  ExpectTheSameProducts(FloatsOf(Random(random, 12)), w);
}

// quantization.S8: element [i, j] has parameter (i / 2, j / 3), whatever was asked for before.
TEST(Operand, FindsTheParametersOfElementsInAnyOrder) {
  Tensor t = format::MakeTensor(ElementType::kInt8Q, {5, 7}).value();
  t.quantization = format::Quantization{.axis = {1, 0}, .block_shape = {3, 2}};
  for (int i = 0; i < 9; ++i) t.quantization->scale.push_back(static_cast<float>(1 + i));
  for (std::byte& byte : t.bytes) byte = std::byte{1};
  const Operand operand = Operand::Make(t).value();
  std::mt19937 random(8);
  for (int n = 0; n < 500; ++n) {
    const auto i = static_cast<std::int64_t>(random() % 35);
    const std::int64_t parameter = i % 7 / 3 * 3 + i / 7 / 2;  // axis 1 comes first
    EXPECT_EQ(operand.scale(i), static_cast<float>(1 + parameter)) << i;
  }
}

}  // namespace
}  // namespace qtx::reference
