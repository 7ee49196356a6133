// The base of a type and its scale: what a real takes.  Source: spec/format/quantization.md,
// quantization.C18.
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

}  // namespace

std::optional<LevelFault> CheckBases(ElementType storage, const Quantization& q) {
  const bool offsets_fit = q.offset.empty() || q.offset.size() == q.scale.size();
  if (!HasBase(q) || !offsets_fit) return std::nullopt;  // C4 says the rest
  const IntegerRange range = StoredRange(storage, q);
  for (std::size_t i = 0; i < q.base_levels[0].value.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const float base = BaseAt(q, at);
    const float scale = ScaleAt(q, at);
    if (base == 0 || !std::isfinite(scale) || !(scale > 0)) continue;
    const std::int64_t offset = OffsetAt(q, at);
    const auto steps =
        static_cast<double>(std::max(std::abs(range.min - offset), std::abs(range.max - offset)));
    const int unit = std::min(LowestBit(scale), LowestBit(base));
    // Rounding cannot bring a sum above 2^53 to one that is not: 2^53 is a binary64 itself.
    const double greatest = std::ldexp(static_cast<double>(scale), -unit) * steps +
                            std::ldexp(std::fabs(static_cast<double>(base)), -unit);
    if (greatest <= 0x1p53) continue;
    return LevelFault{"quantization.C18", "base_levels",
                      "scale " + HexFloat(static_cast<double>(scale)) + " and base " +
                          HexFloat(static_cast<double>(base)) + " of parameter " +
                          std::to_string(i) + " give reals of more than 53 bits"};
  }
  return std::nullopt;
}

}  // namespace qtx::format
