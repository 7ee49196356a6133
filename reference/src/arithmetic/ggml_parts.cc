#include "arithmetic/ggml_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"

namespace qtx::reference {

using format::ElementType;
using format::Tensor;

float ToHalf(float value) {
  if (std::isnan(value)) return value;
  if (std::abs(value) >= 65520.0F) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 1, -14) - 10;
  return std::ldexp(RoundFloat(std::ldexp(value, -unit), TieRule::kHalfEven), unit);
}

bool HasNonzeroBase(const format::Quantization& q) {
  return format::HasBase(q) && std::ranges::any_of(q.base_levels[0].value,
                                                   [](float base) { return base != 0; });
}

std::optional<std::size_t> GgmlSummedAxis(const Call& call) {
  const Tensor* x = call.Input(0);
  const Tensor* w = call.Input(1);
  const bool gemm = call.node.op_type == "Gemm";
  if ((!gemm && call.node.op_type != "MatMul") || x == nullptr || w == nullptr ||
      call.outputs.empty() || !call.IsInitializer(1)) {
    return std::nullopt;
  }
  const bool has_types = x->elem_type == ElementType::kFloat &&
                         call.outputs[0].elem_type == ElementType::kFloat &&
                         format::IsQuantized(w->elem_type) && w->quantization;
  if (!has_types || w->dims.size() != 2 || format::ElementCount(*x) == 0 || HasOffset(*w) ||
      HasHalfReals(*w)) {
    return std::nullopt;
  }
  if (!gemm) return 0;
  if (call.Input(2) != nullptr || call.Int("transA") != 0 || call.Float("alpha") != 1) {
    return std::nullopt;
  }
  return call.Int("transB") == 0 ? 0 : 1;
}

}  // namespace qtx::reference
