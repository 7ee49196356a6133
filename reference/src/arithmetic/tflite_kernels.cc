#include "arithmetic/tflite_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;

struct Entry {
  std::string_view op_type;
  Result<std::optional<format::Tensor>> (*run)(const Call&);
};

constexpr std::array kKernels = {
    Entry{"Gemm", RunTfliteHybrid}, Entry{"LeakyRelu", RunTfliteLeakyRelu},
    Entry{"Pow", RunTfliteRsqrt},   Entry{"Sigmoid", RunTfliteTable},
    Entry{"Tanh", RunTfliteTable},
};

bool HasOneScale(const std::optional<format::Quantization>& q) {
  return q && q->axis.empty() && q->scale.size() == 1 && !format::HasBase(*q);
}

}  // namespace

Result<std::optional<format::Tensor>> RunTfliteKernel(const Call& call) {
  const auto* entry = std::ranges::find(kKernels, call.node.op_type, &Entry::op_type);
  if (entry == kKernels.end() || !call.node.domain.empty()) {
    return std::optional<format::Tensor>();
  }
  return entry->run(call);
}

bool IsStoredUnary(const Call& call, bool wide) {
  const format::Tensor* x = call.Input(0);
  if (x == nullptr || call.outputs.empty()) return false;
  const OutputType& y = call.outputs[0];
  if (x->elem_type != y.elem_type || !HasOneScale(x->quantization) ||
      !HasOneScale(y.quantization)) {
    return false;
  }
  const bool narrow = x->elem_type == ElementType::kInt8Q || x->elem_type == ElementType::kUint8Q;
  return narrow || (wide && x->elem_type == ElementType::kInt16Q);
}

std::int64_t StoredHalfAway(float steps, std::int64_t element, const Output& y) {
  constexpr QuantizeRecipe kHalfAway{.tie = TieRule::kHalfAway};
  return QuantizedQuotient(steps, y.offset(element), kHalfAway, y.min(), y.max());
}

std::int64_t MultiplyTwice(std::int64_t value, FixedMultiplier multiplier) {
  return MultiplyFixed(value, multiplier, RequantizeRecipe::Rounds::kTwice, TieRule::kHalfUp);
}

}  // namespace qtx::reference
