// Add, Sub and Mul of 16 bits against integers alone.
#include <gtest/gtest.h>

#include "support.h"

namespace qtx::backend::engine {
namespace word_binary {
namespace {

using format::Dims;
using format::ElementType;

class WordBinaryTest : public testing::Test {
 protected:
  void Expect(const std::string& op, ElementType a_type, ElementType b_type, ElementType y_type) {
    // Powers of two make ties; others are as scales come.
    constexpr std::array kScales{0.5F, 1.0F, 2.0F, 0.0371F, 1.7F, 0x1.8p-9F};
    const auto scale = [&] { return kScales[random_() % kScales.size()]; };
    const auto offset = [&](ElementType type) {
      const bool is_signed = type == ElementType::kInt16Q || type == ElementType::kInt8Q;
      return static_cast<std::int32_t>(random_() % 100) - (is_signed ? 50 : 0);
    };
    const Parameters a{scale(), offset(a_type)}, b{scale(), offset(b_type)};
    Parameters y{scale(), offset(y_type)};
    if (op == "Mul") y.scale *= 4096;
    const std::int64_t rows = 3, columns = 1 + static_cast<std::int64_t>(random_() % 700);
    const Dims dims{rows, columns};
    auto left = Random(a_type, rows * columns, random_);
    auto right = Random(b_type, columns, random_);
    if (op == "Mul") right[0] = b.offset;
    const auto format_range = format::StorageRange(y_type);
    std::vector<std::int32_t> expected;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Dyadic u = Exactly(std::int64_t{left[i] - a.offset}) * Exactly(a.scale);
      const std::int64_t d = right[i % right.size()] - b.offset;
      const Dyadic v = Exactly(op == "Sub" ? -d : d) * Exactly(b.scale);
      expected.push_back(static_cast<std::int32_t>(
          RoundSlowly(op == "Mul" ? u * v : u + v, y.scale, y.offset, format_range)));
    }
    for (const Kernels* kernels : KernelsUnderTest()) {
      ASSERT_EQ(RunOneNode(*kernels, op,
                           {{"a", Quantized(a_type, dims, {a}, left)},
                            {"b", Quantized(b_type, {columns}, {b}, right)}},
                           Quantized(y_type, dims, {y}, {})),
                expected)
          << op << " by " << kernels->name;
    }
  }
  std::mt19937 random_{17};
};

TEST_F(WordBinaryTest, RoundsOnceTiesToEven) {
  constexpr std::array kTypes{ElementType::kInt16Q, ElementType::kUint16Q, ElementType::kInt8Q,
                              ElementType::kUint8Q};
  for (int round = 0; round < 60; ++round) {
    const auto type = [&](std::size_t most) { return kTypes[random_() % most]; };
    for (const char* op : {"Add", "Sub", "Mul"}) Expect(op, type(2), type(4), type(4));
  }
}

}  // namespace
}  // namespace word_binary
}  // namespace qtx::backend::engine
