// ggml's products of FLOAT rows by constant blocks of 32 integers: tensors Q4_0 and Q8_0.
#pragma once

#include <optional>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// Output 0 of a MatMul or Gemm as ggml's kernel gives it, or nullopt where ggml.S1 does not take
/// the node: another operator, other types, or no FLOAT16 scale for each block of w.
/// REQUIRES: the arithmetic's kernels are kGgml or kGgmlAvx2.
Result<std::optional<format::Tensor>> RunGgmlProduct(const Call& call);

}  // namespace qtx::reference
