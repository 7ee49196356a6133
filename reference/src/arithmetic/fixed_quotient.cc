#include "arithmetic/fixed_quotient.h"

#include <array>
#include <bit>

#include "arithmetic/fixed_softmax.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// How often an int32 can be doubled.
int Headroom(int64_t value) {
  return std::countl_zero(static_cast<std::uint32_t>(value < 0 ? -value - 1 : value)) - 1;
}

// A right shift, half_away. From 32 places on the kernel's mask is all ones and a processor shifts
// by 32 less.
int64_t Shifted(int64_t value, int places) {
  if (places < 32) return RoundShift(value, places, TieRule::kHalfAway);
  return (value >> (places - 32)) + (value >= 0 ? 1 : 0);
}

int64_t DoubledHigh(int64_t a, int64_t b) {
  return MultiplyTwice(a, {static_cast<std::int32_t>(b), 0});
}

}  // namespace

std::optional<FixedQuotient> FixedQuotient::Make(const Call& call, const Operand& a,
                                                 const Operand& b, const Output& y) {
  if (!HasDivKernel(call.arithmetic, call.node, {a.tensor(), b.tensor(), y.tensor()})) {
    return std::nullopt;
  }
  const int64_t count = format::ElementCount(b.tensor());
  for (int64_t i = 0; i < count; ++i) {
    if (b.integer(i) == 0) return std::nullopt;
  }
  return FixedQuotient(ToFixed(static_cast<double>(a.scale(0) / (b.scale(0) * y.scale(0)))));
}

// Source: LiteRT's kernels/div.cc, kernels/internal/reference/div.h, kernels/internal/common.h
// GetReciprocal.
int64_t FixedQuotient::operator()(int64_t a, int64_t b) const {
  if (b < 0) return (*this)(-a, -b);
  const int doublings = 31 - std::countl_zero(static_cast<std::uint32_t>(b));
  const int64_t reciprocal = FixedReciprocal(b * (int64_t{1} << (30 - doublings)));
  const int headroom = Headroom(a);
  const int64_t quotient = DoubledHigh(a * (int64_t{1} << headroom), reciprocal);
  return Shifted(DoubledHigh(quotient, factor_.mantissa), doublings + headroom - factor_.shift);
}

}  // namespace qtx::reference
