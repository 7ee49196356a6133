// Packs the weights of a product as B of MatMulNBits.
#pragma once

#include "qoperator/n_bits.h"

namespace qtx::convert {

struct NBitsInputs {
  NBitsShape shape;
  format::Tensor b, scales;
  std::optional<format::Tensor> zero_points;  // absent: all are the default
};

/// `w` has its quantized type, signed or unsigned; `origin` is that of a former MatMulNBits, or
/// nullptr.
/// Errors: kUnsupported if the scales do not fit their former type.
Result<NBitsInputs> PackNBits(format::Tensor w, const format::Origin* origin);

}  // namespace qtx::convert
