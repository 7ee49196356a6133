// ggml's products of FLOAT rows by constant weights: tensors Q4_0, Q8_0, and K-quants.
#pragma once

#include <optional>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// Whether the arithmetic has these kernels.
inline bool IsGgml(const Arithmetic& arithmetic) {
  return arithmetic.kernels == Arithmetic::Kernels::kGgml ||
         arithmetic.kernels == Arithmetic::Kernels::kGgmlAvx2;
}

/// Output 0 of a MatMul or Gemm as ggml's kernel gives it, or nullopt where neither ggml.S1
/// nor ggml.S5 takes the node: another operator, other types, or no FLOAT16 scale for each block.
/// REQUIRES: IsGgml(call.arithmetic).
Result<std::optional<format::Tensor>> RunGgmlProduct(const Call& call);

}  // namespace qtx::reference
