// The parameters that QuantizeLinear and DequantizeLinear take as inputs.
#pragma once

#include "ops/common.h"

namespace qtx::reference {

/// FLOAT, FLOAT16 or BFLOAT16.
bool IsScaleType(format::ElementType type);

/// Inputs 1 (scale) and 2 (zero point) as the quantization of a tensor of shape `dims` and the
/// given storage type.  Errors: kInvalid when they break quantize_linear.C1 to .C4.
Result<format::Quantization> LinearParameters(const Call& call, const format::Dims& dims,
                                              format::ElementType storage);

}  // namespace qtx::reference
