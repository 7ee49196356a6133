// LiteRT's HARD_SWISH of 8 bits, in fixed point of 16 bits.  Source: tflite_float64.S10.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "arithmetic/fixed16.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using std::int64_t;

constexpr int64_t kHalfRange = int64_t{1} << 15;

// A multiplier of 16 bits.
struct ShortMultiplier {
  explicit ShortMultiplier(float factor) {
    const FixedMultiplier wide = ToFixed(static_cast<double>(factor));
    constexpr int64_t kMost = std::numeric_limits<std::int32_t>::max() - kHalfRange;
    mantissa = wide.mantissa >= kMost ? kHalfRange - 1 : (wide.mantissa + kHalfRange) >> 16;
    exponent = wide.shift;
  }
  int64_t mantissa = 0;
  int exponent = 0;
};

// The doubled product's high half, half up; and towards zero.
int64_t High16(int64_t a, int64_t b) {
  const int64_t product = a * b;
  return Saturated16((product + (product >= 0 ? kHalfRange / 2 : 1 - kHalfRange / 2)) / kHalfRange);
}
int64_t HighCut16(int64_t a, int64_t b) { return Saturated16(a * b / kHalfRange); }

class Swish {
 public:
  Swish(float x_scale, float y_scale)
      : to_output_(x_scale / 128.0F / y_scale), to_bounds_(x_scale / 128.0F / (3.0F / 32768.0F)) {}

  // The kernel's shifts stay within 16 bits.
  bool Applies() const {
    return to_output_.exponent <= 0 && to_output_.exponent >= -14 && to_bounds_.exponent <= 15 &&
           to_bounds_.exponent >= -14;
  }

  // In steps of the output, of x in steps of the input.
  int64_t operator()(int64_t x) const {
    const int64_t fine = x * 128;
    const int64_t share = (Bounded(fine) + kHalfRange) >> 1;  // of 1, in units of 2^-15
    const int64_t product = HighCut16(share, High16(fine, to_output_.mantissa));
    return RoundShift(product, -to_output_.exponent, TieRule::kHalfAway);
  }

 private:
  // x / 3 between -1 and 1, in units of 2^-15.
  int64_t Bounded(int64_t fine) const {
    const int up = to_bounds_.exponent;
    if (up > 0) {
      const int64_t shifted = Saturated16(fine * (int64_t{1} << (up - 1)));
      return Saturated16(2 * High16(shifted, to_bounds_.mantissa));
    }
    return RoundShift(High16(fine, to_bounds_.mantissa), -up, TieRule::kHalfAway);
  }

  ShortMultiplier to_output_, to_bounds_;
};

}  // namespace

bool HasSwishKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y) {
  if (arithmetic.litert == Arithmetic::LiteRt::kNone || !HasUnaryKernel(x, y, false)) return false;
  return x.quantization != nullptr && y.quantization != nullptr &&
         Swish(x.quantization->scale[0], y.quantization->scale[0]).Applies();
}

// Source: LiteRT's kernels/activations.cc HardSwishPrepare, kernels/internal/reference/
// hard_swish.h.
Result<std::optional<format::Tensor>> RunLiteRtSwish(const Call& call) {
  const format::Tensor* x = call.Input(0);
  if (x == nullptr || call.outputs.empty() ||
      !HasSwishKernel(call.arithmetic, *x, call.outputs[0])) {
    return std::optional<format::Tensor>();
  }
  QTX_ASSIGN_OR_RETURN(const Operand input, Operand::Make(*x));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x->dims));
  const Swish swish(input.scale(0), y.scale(0));
  const int64_t count = format::ElementCount(*x);
  for (int64_t i = 0; i < count; ++i) y.PutStored(i, swish(input.integer(i)) + y.offset(i));
  return std::optional(y.Take());
}

}  // namespace qtx::reference
