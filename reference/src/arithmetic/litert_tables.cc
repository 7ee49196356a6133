// LiteRT's EXP and GELU of 8 and 16 bits, which look up a table of the function.
// Source: tflite_float64.S9.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"
#include "certified.h"
#include "interval.h"
#include "qtx/format/attributes.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// The binary32 nearest to 1 - erf(x).
float Erfc32(float x) {
  if (x >= 12) return 0;
  if (x <= -6) return 2;
  return NearestFloat([x](int bits) { return Erfc(Interval(Rational(x), bits)); });
}

float GeluByErf(float x) {
  constexpr float kRoot = 0x1.6a09e6p-1F;  // of 1/2
  return 0.5F * x * Erfc32(x * -kRoot);
}

float GeluByTanh(float x) {
  constexpr float kFactor = 0x1.988454p-1F;  // sqrt(2 / pi)
  return 0.5F * x * (1.0F + Tanh32(kFactor * (x + 0.044715F * x * x * x)));
}

using TableFunction = float (*)(float);

TableFunction FunctionOf(const format::Node& node) {
  if (node.op_type == "Exp") return Exp32;
  return format::Attributes(node).String("approximate") == "tanh" ? GeluByTanh : GeluByErf;
}

// 512 intervals over all values of 16 bits. An entry is lowered by half of what a line to the next
// is too high in the middle.
class WordTable {
 public:
  WordTable(TableFunction function, float x_scale, float y_scale)
      : function_(function), per_unit_(65536.0F / (y_scale * 32767.0F - y_scale * -32768.0F)) {
    const float first = x_scale * -32768.0F, last = x_scale * 32767.0F;
    const float step = (last - first) / 512.0F;
    const float half = step / 2.0F;
    for (std::size_t i = 0; i < 512; ++i) {
      const auto at = static_cast<float>(i);
      const float x = first + at * step;
      const float steps = std::round(Steps(x));
      const float line = std::round((Steps(first + (at + 1) * step) + steps) / 2.0F);
      const float excess = line - std::round(Steps(x + half));
      entries_[i] = Clamped(steps - std::round(excess / 2.0F));
    }
    entries_[512] = Clamped(std::round(Steps(last)));
  }

  int64_t operator()(int64_t x) const {
    const auto i = static_cast<std::size_t>(256 + (x >> 7));
    return entries_[i] + (((entries_[i + 1] - entries_[i]) * (x & 127) + 64) >> 7);
  }

 private:
  float Steps(float x) const { return function_(x) * per_unit_; }
  static int64_t Clamped(float steps) {
    return static_cast<int64_t>(std::clamp(steps, -32768.0F, 32767.0F));
  }

  TableFunction function_;
  float per_unit_;
  std::array<int64_t, 513> entries_ = {};
};

}  // namespace

// Source: LiteRT's kernels/{exp,activations}.cc, kernels/internal/common.h (LUTPopulate),
// kernels/internal/reference/gelu.h.
Result<std::optional<format::Tensor>> RunLiteRtTable(const Call& call) {
  const format::Tensor* x = call.Input(0);
  if (x == nullptr || call.outputs.empty() ||
      !HasTableKernel(call.arithmetic, call.node, *x, call.outputs[0])) {
    return std::optional<format::Tensor>();
  }
  const TableFunction function = FunctionOf(call.node);
  QTX_ASSIGN_OR_RETURN(const Operand input, Operand::Make(*x));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x->dims));
  const int64_t count = format::ElementCount(*x);
  if (!Is8Bit(*x)) {
    const WordTable table(function, x->quantization->scale[0],
                          call.outputs[0].quantization->scale[0]);
    for (int64_t i = 0; i < count; ++i) y.PutStored(i, table(input.integer(i)));
    return std::optional(y.Take());
  }
  for (int64_t i = 0; i < count; ++i) {
    const float value = function(input.scale(i) * static_cast<float>(input.integer(i)));
    y.PutStored(i, StoredHalfAway(value * (1.0F / y.scale(i)), i, y));
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
