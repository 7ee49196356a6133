// Source of all layouts: ggml-common.h and ggml-quants.c of llama.cpp (dequantize_row_iq1_s to
// dequantize_row_tq1_0), and quants.py of the gguf package 0.19.0.
#include "gguf/vectors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <vector>

#include "gguf/grids.h"
#include "qtx/format/bit_field.h"

namespace qtx::convert::gguf {
namespace {

using format::BitField;
using format::BitSpan;

constexpr std::size_t kValues = 256;
constexpr std::size_t kSigned = 8;  // values that share a field of signs

// How a record of IQ1 to IQ3 is laid out.
struct GridLayout {
  Grid grid;
  std::vector<BitSpan> index;   // of each vector
  std::vector<BitSpan> signs;   // of 8 values, or of 7 with the 8th of even parity; IQ1: none
  std::vector<BitSpan> delta;   // IQ1: the sign of what is added to 8 times the vector
  std::vector<BitSpan> factor;  // (factor - 1) / 2
  std::vector<BitSpan> half = {Bits(0, 16, 0, {1}, {16})};
};

// The binary16 of IQ1_M, in the high 4 bits of four words.
std::vector<BitSpan> ScatteredHalf() {
  std::vector<BitSpan> spans;
  for (std::int32_t i = 0; i < 4; ++i)
    spans.push_back(Bits(4 * i, 4, 48 * 8 + 12 + 16 * i, {1}, {4}));
  return spans;
}

GridLayout LayoutOf(std::string_view type) {
  if (type == "IQ2_XXS") {
    return {Iq2XxsGrid(),
            {Bits(0, 8, 16, {4, 8}, {8, 64})},
            {Bits(0, 7, 48, {4, 8}, {7, 64})},
            {},
            {Bits(0, 4, 76, {8}, {64})}};
  }
  if (type == "IQ2_XS") {
    return {Iq2XsGrid(),
            {Bits(0, 9, 16, {32}, {16})},
            {Bits(0, 7, 25, {32}, {16})},
            {},
            {Bits(0, 4, 66 * 8, {16}, {4})}};
  }
  if (type == "IQ2_S") {
    return {Iq2SGrid(),
            {Bits(0, 8, 16, {32}, {8}), Bits(8, 2, 66 * 8, {32}, {2})},
            {Bits(0, 8, 34 * 8, {32}, {8})},
            {},
            {Bits(0, 4, 74 * 8, {16}, {4})}};
  }
  if (type == "IQ3_XXS") {
    return {Iq3XxsGrid(),
            {Bits(0, 8, 16, {64}, {8})},
            {Bits(0, 7, 66 * 8, {4, 8}, {7, 32})},
            {},
            {Bits(0, 4, 66 * 8 + 28, {8}, {32})}};
  }
  if (type == "IQ3_S") {
    return {Iq3SGrid(),
            {Bits(0, 8, 16, {64}, {8}), Bits(8, 1, 66 * 8, {64}, {1})},
            {Bits(0, 8, 74 * 8, {32}, {8})},
            {},
            {Bits(0, 4, 106 * 8, {8}, {4})}};
  }
  if (type == "IQ1_S") {
    return {Iq1Grid(),
            {Bits(0, 8, 16, {32}, {8}), Bits(8, 3, 34 * 8, {4, 8}, {3, 16})},
            {},
            {Bits(0, 1, 34 * 8 + 15, {8}, {16})},
            {Bits(0, 3, 34 * 8 + 12, {8}, {16})}};
  }
  return {Iq1Grid(),
          {Bits(0, 8, 0, {32}, {8}), Bits(8, 3, 32 * 8, {32}, {4})},
          {},  // IQ1_M
          {Bits(0, 1, 32 * 8 + 3, {32}, {4})},
          {Bits(0, 3, 48 * 8, {4, 4}, {3, 16})},
          ScatteredHalf()};
}

// Values of one field of a record.
using FieldValues = std::array<std::uint32_t, 64>;

class GridCodec : public VectorCodec {
 public:
  GridCodec(const GridLayout& layout, std::int32_t record_bytes)
      : grid_(layout.grid),
        index_(layout.index, record_bytes),
        signs_(layout.signs, record_bytes),
        delta_(layout.delta, record_bytes),
        factor_(layout.factor, record_bytes),
        half_(layout.half, record_bytes),
        vector_of_(std::size_t{1} << (grid_.digit_bits * grid_.size), kNone) {
    for (std::size_t i = 0; i < grid_.vectors.size(); ++i)
      vector_of_[grid_.vectors[i]] = static_cast<std::int16_t>(i);
  }

  void Decode(std::span<const std::byte> record, VectorRecord& parts) const override {
    FieldValues values;
    index_.Read(record, values);
    const auto size = static_cast<std::size_t>(grid_.size);
    for (std::size_t i = 0; i < kValues; ++i) {
      const int value = grid_.Value(values[i / size], static_cast<int>(i % size));
      parts.values[i] = static_cast<std::int8_t>(value);
    }
    (IsIq1() ? delta_ : signs_).Read(record, values);
    for (std::size_t i = 0; i < kValues; ++i) {
      const int value = parts.values[i];
      parts.values[i] = static_cast<std::int8_t>(
          IsIq1() ? 8 * value + Delta(values[i / Shared()] != 0)
                  : (Negative(values[i / kSigned], i % kSigned) ? -value : value));
    }
    factor_.Read(record, values);
    for (std::size_t i = 0; i < factor_.size(); ++i)
      parts.factors[i] = static_cast<std::uint8_t>(2 * values[i] + 1);
    half_.Read(record, values);
    parts.half = static_cast<std::uint16_t>(values[0]);
  }

  bool Encode(const VectorRecord& parts, std::span<std::byte> record) const override {
    FieldValues values = {parts.half};
    half_.Write(values, record);
    for (std::size_t i = 0; i < factor_.size(); ++i) {
      const unsigned factor = parts.factors[i];
      if (factor % 2 == 0 || factor / 2 >= 1U << factor_.width()) return false;
      values[i] = factor / 2;
    }
    factor_.Write(values, record);
    if (IsIq1()) {
      for (std::size_t v = 0; v < delta_.size(); ++v) values[v] = IsMinus(parts, v * Shared());
      delta_.Write(values, record);
    } else {
      if (!FindSigns(parts, values)) return false;
      signs_.Write(values, record);
    }
    if (!FindVectors(parts, values)) return false;
    index_.Write(values, record);
    return true;
  }

 private:
  static constexpr std::int16_t kNone = -1;

  // A value of IQ1 is 8 times that of its vector, plus or minus 1, which `Shared` values share.
  bool IsIq1() const { return delta_.size() != 0; }
  std::size_t Shared() const { return kValues / delta_.size(); }
  static int Delta(bool minus) { return minus ? -1 : 1; }
  static bool IsMinus(const VectorRecord& parts, std::size_t i) {
    return (parts.values[i] + 16) % 8 == 7;
  }

  bool Negative(std::uint32_t signs, std::size_t i) const {
    if (signs_.width() == 7) signs |= static_cast<unsigned>(std::popcount(signs) % 2) << 7U;
    return (signs >> i & 1U) != 0;
  }

  bool FindSigns(const VectorRecord& parts, FieldValues& found) const {
    for (std::size_t v = 0; v < signs_.size(); ++v) {
      std::uint32_t signs = 0;
      for (std::size_t k = 0; k < kSigned; ++k)
        signs |= static_cast<std::uint32_t>(parts.values[v * kSigned + k] < 0) << k;
      if (signs_.width() == 7 && std::popcount(signs) % 2 != 0) return false;
      found[v] = signs;
    }
    return true;
  }

  bool FindVectors(const VectorRecord& parts, FieldValues& found) const {
    const auto size = static_cast<std::size_t>(grid_.size);
    for (std::size_t v = 0; v < index_.size(); ++v) {
      unsigned vector = 0;
      for (std::size_t k = 0; k < size; ++k) {
        const std::size_t i = v * size + k;
        int value = std::abs(parts.values[i]);
        if (IsIq1()) {
          const int eight = parts.values[i] - Delta(IsMinus(parts, i / Shared() * Shared()));
          if (eight % 8 != 0) return false;
          value = eight / 8;
        }
        const auto digit = std::ranges::find(grid_.values, value);
        if (digit == grid_.values.end()) return false;
        vector |= static_cast<unsigned>(digit - grid_.values.begin())
                  << (static_cast<unsigned>(grid_.digit_bits) * k);
      }
      if (vector_of_[vector] == kNone) return false;
      found[v] = static_cast<std::uint32_t>(vector_of_[vector]);
    }
    return true;
  }

  const Grid grid_;
  const BitField index_, signs_, delta_, factor_, half_;
  std::vector<std::int16_t> vector_of_;  // by its number
};

// Digits of base 3, less 1. A byte is a fraction of 5 digits (of 4 in the last bytes): its first
// digit is floor(3 byte / 256), the next that of 3 byte modulo 256.
class TernaryCodec : public VectorCodec {
 public:
  void Decode(std::span<const std::byte> record, VectorRecord& parts) const override {
    for (const Run& run : kRuns) {
      for (std::size_t i = 0; i < run.bytes; ++i) {
        auto fraction = static_cast<unsigned>(record[run.first_byte + i]);
        for (std::size_t n = 0; n < run.digits; ++n, fraction = fraction * 3 % 256) {
          parts.values[run.first_value + n * run.bytes + i] =
              static_cast<std::int8_t>(static_cast<int>(fraction * 3 / 256) - 1);
        }
      }
    }
    parts.half = static_cast<std::uint16_t>(static_cast<unsigned>(record[52]) |
                                            static_cast<unsigned>(record[53]) << 8U);
  }

  bool Encode(const VectorRecord& parts, std::span<std::byte> record) const override {
    for (const Run& run : kRuns) {
      for (std::size_t i = 0; i < run.bytes; ++i) {
        unsigned number = 0;
        for (std::size_t n = 0; n < kDigits; ++n) {
          const int value = n < run.digits ? parts.values[run.first_value + n * run.bytes + i] : -1;
          if (value < -1 || value > 1) return false;
          number = number * 3 + static_cast<unsigned>(value + 1);
        }
        record[run.first_byte + i] = static_cast<std::byte>((number * 256 + 242) / 243);
      }
    }
    record[52] = static_cast<std::byte>(parts.half & 0xffU);
    record[53] = static_cast<std::byte>(parts.half >> 8U);
    return true;
  }

 private:
  static constexpr std::size_t kDigits = 5;  // of a byte: 3^5 = 243
  struct Run {
    std::size_t first_byte, bytes, digits, first_value;
  };
  static constexpr std::array<Run, 3> kRuns = {{{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}}};
};

}  // namespace

std::unique_ptr<const VectorCodec> VectorCodec::Make(const GgmlType& type) {
  if (type.name == "TQ1_0") return std::make_unique<TernaryCodec>();
  return std::make_unique<GridCodec>(LayoutOf(type.name), static_cast<std::int32_t>(type.bytes));
}

}  // namespace qtx::convert::gguf
