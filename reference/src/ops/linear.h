// The parameters that QuantizeLinear and DequantizeLinear take as inputs.
#pragma once

#include "ops/common.h"

namespace qtx::reference {

/// Inputs 1 (scale) and 2 (zero point) as the quantization of a tensor of shape `dims` and the
/// given storage type.  Errors: kInvalid when they break quantize_linear.C2 to .C4, kUnsupported
/// for a scale that is not FLOAT.
Result<format::Quantization> LinearParameters(const Call& call, const format::Dims& dims,
                                              format::ElementType storage);

}  // namespace qtx::reference
