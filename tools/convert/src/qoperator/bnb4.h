// com.microsoft.MatMulBnb4: y = A * W with W of 4 bits, of bitsandbytes' FP4 or NF4.
//
//   B: the codes of [N, K] one after another, two to a byte, the first in the HIGH bits
//   absmax: a factor for each block_size of them; a block may go on in the next row
//   W[n, k] = absmax[(n * K + k) / block_size] * table[code]; the product is with its transpose,
//   or with transB 0 with W itself
//
// In the extended form W is the second operand of MatMul, UINT4Q with a code book. Where rows are
// no whole blocks, each element has a scale of its own.
// Source: ONNX Runtime docs/ContribOperators.md;
// contrib_ops/cpu/quantization/blockwise_quant_block_bnb4.h.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

Result<std::optional<Lift>> LiftBnb4(const LiftContext& context, const format::Node& node);

/// Whether `type` has the table of a MatMulBnb4 that `origin` says it was.
bool IsBnb4Weight(const format::TensorType& type, const format::Origin& origin);

struct Bnb4Inputs {
  format::Tensor b, absmax;
};

/// The inputs of the former node, for `w` of which IsBnb4Weight holds.  nullopt where it no longer
/// has its sizes or blocks.  Errors: kUnsupported if the scales do not fit their former type.
Result<std::optional<Bnb4Inputs>> PackBnb4(const format::Tensor& w, const format::Origin& origin);

}  // namespace qtx::convert
