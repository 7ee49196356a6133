// W of a product packed again as B of MatMulNBits.
#pragma once

#include "qoperator/n_bits.h"

namespace qtx::convert {

struct NBitsInputs {
  NBitsShape shape;
  format::Tensor b, scales;
  std::optional<format::Tensor> zero_points;  // absent: all are the default
};

/// `w` with its quantized type, signed or not; `origin` is that of a node that was MatMulNBits, or
/// nullptr.
/// Errors: kUnsupported where the scales do not fit the type they had.
Result<NBitsInputs> PackNBits(format::Tensor w, const format::Origin* origin);

}  // namespace qtx::convert
