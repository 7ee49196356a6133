// MatMulNBits on FLOAT16 or BFLOAT16 with real zero points: the product of binary32 that ONNX
// Runtime computes there.
//
//   A -> Cast FLOAT -> (Gather) -> MatMul -> (Add of the bias, a Cast FLOAT too) -> Cast back -> Y
//
// The reals of W, scale * code + base, are a sum that a type of 16 bits would round twice
// (quantization.S13), and ONNX Runtime rounds to binary32 alone.
// Source: ONNX Runtime 1.32, contrib_ops/cpu/quantization/matmul_nbits.cc, ComputeBUnpacked.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

/// Puts the Casts around a lifted product on reals of `real`, its Gather and its Add, if any.
/// REQUIRES: the origins of the three are complete.
void ComputeInFloat(const LiftContext& context, format::ElementType real, Lift& lift);

/// The values of 16 bits around such a product, and its Casts.
struct FloatProduct {
  std::string a, y, bias;  // bias: "" without one
  std::vector<const format::Node*> casts;
};

/// Finds what ComputeInFloat wrote around `product`; `gather` and `add` may be nullptr.  nullopt
/// where a Cast is missing, or a value between is read by others.
std::optional<FloatProduct> FindFloatProduct(const GraphIndex& index, const format::Node& product,
                                             const format::Node* gather, const format::Node* add);

}  // namespace qtx::convert
