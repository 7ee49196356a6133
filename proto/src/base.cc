// The base of a type and its scale: what a real takes.  Source: spec/format/quantization.md,
// quantization.C18 and C21.
#include <algorithm>
#include <bit>
#include <cmath>

#include "levels.h"
#include "qtx/format/tensor_type.h"

namespace qtx::format {
namespace {

// The exponent of the lowest bit of a finite value other than 0.
int LowestBit(float value) {
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<std::uint32_t>(std::ldexp(fraction, 24));
  return exponent - 24 + std::countr_zero(mantissa);
}

// |scale| * steps + |base| is at most 2^53 u, u being the lowest bit that scale and base have.
// REQUIRES: finite values other than 0.
bool AddUpInBinary64(float scale, std::uint64_t steps, float base) {
  const int unit = std::min(LowestBit(scale), LowestBit(base));
  const double scale_units = std::ldexp(std::fabs(static_cast<double>(scale)), -unit);
  const double base_units = std::ldexp(std::fabs(static_cast<double>(base)), -unit);
  if (base_units > 0x1p53 || (steps != 0 && scale_units > 0x1p53)) return false;
  if (steps == 0) return true;
  // At most 2^53 * 2^32: integers of 128 bits, for the sum itself need not be a binary64.
  const auto sum = static_cast<unsigned __int128>(scale_units) * steps +
                   static_cast<unsigned __int128>(base_units);
  return sum <= static_cast<unsigned __int128>(0x1p53);
}

// The sum of two binary64 is one: what rounding it leaves (Knuth's TwoSum) is 0.
bool SumIsBinary64(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b) == 0;
}

// Whether all scales and bases together are so coarse and so small that none of their sums has more
// than 53 bits. False says nothing; most tensors need no look at each parameter.
bool AllAddUp(const Quantization& q, std::uint64_t steps) {
  double greatest_scale = 0, greatest_base = 0;
  int unit = 1024;
  const auto look = [&unit](const std::vector<float>& values, double& greatest) {
    for (const float value : values) {
      const auto code = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t exponent = code >> 23U & 0xffU, fraction = code & 0x7fffffU;
      const std::uint32_t mantissa = exponent == 0 ? fraction : fraction | 0x800000U;
      if (mantissa == 0) continue;
      const int lowest =
          static_cast<int>(std::max(exponent, 1U)) - 150 + std::countr_zero(mantissa);
      unit = std::min(unit, lowest);
      greatest = std::max(greatest, std::fabs(static_cast<double>(value)));
    }
  };
  look(q.scale, greatest_scale);
  look(q.base_levels[0].value, greatest_base);
  // One bit less than there are, for what these two operations round.
  return greatest_scale * static_cast<double>(steps) + greatest_base < std::ldexp(0x1p52, unit);
}

// quantization.C21. A scale times a value of the book has at most 48 bits, so it is a binary64.
std::optional<LevelFault> CheckBookSums(const Quantization& q) {
  for (std::size_t i = 0; i < q.base_levels[0].value.size(); ++i) {
    const auto base = static_cast<double>(q.base_levels[0].value[i]);
    const auto scale = static_cast<double>(ScaleAt(q, static_cast<std::int64_t>(i)));
    if (base == 0 || !std::isfinite(scale)) continue;
    const auto inexact = std::ranges::find_if(q.code_book, [&](float value) {
      return std::isfinite(value) && !SumIsBinary64(scale * static_cast<double>(value), base);
    });
    if (inexact == q.code_book.end()) continue;
    return LevelFault{"quantization.C21", "base_levels",
                      "scale " + HexFloat(scale) + " times " +
                          HexFloat(static_cast<double>(*inexact)) + " of the code book plus base " +
                          HexFloat(base) + " of parameter " + std::to_string(i) +
                          " has more than 53 bits"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LevelFault> CheckBases(ElementType storage, const Quantization& q) {
  const bool offsets_fit = q.offset.empty() || q.offset.size() == q.scale.size();
  if (!HasBase(q) || !offsets_fit) return std::nullopt;  // C4 says the rest
  if (HasCodeBook(q)) return CheckBookSums(q);
  const IntegerRange range = StoredRange(storage, q);
  if (q.offset.empty()) {
    const std::int64_t steps = std::max(std::abs(range.min), std::abs(range.max));
    if (AllAddUp(q, static_cast<std::uint64_t>(steps))) return std::nullopt;
  }
  for (std::size_t i = 0; i < q.base_levels[0].value.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const float base = BaseAt(q, at);
    const float scale = ScaleAt(q, at);
    if (base == 0 || !std::isfinite(scale) || scale == 0) continue;
    const std::int64_t offset = OffsetAt(q, at);
    const auto steps = static_cast<std::uint64_t>(
        std::max(std::abs(range.min - offset), std::abs(range.max - offset)));
    if (AddUpInBinary64(scale, steps, base)) continue;
    return LevelFault{"quantization.C18", "base_levels",
                      "scale " + HexFloat(static_cast<double>(scale)) + " and base " +
                          HexFloat(static_cast<double>(base)) + " of parameter " +
                          std::to_string(i) + " give reals of more than 53 bits"};
  }
  return std::nullopt;
}

}  // namespace qtx::format
