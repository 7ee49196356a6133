// A constant quantized as QONNX computes it.
#pragma once

#include <cstdint>

#include "qonnx/parameters.h"

namespace qtx::convert {

struct QuantizedConstant {
  format::Tensor tensor;     // of the quantizer's type
  std::int64_t rounded = 0;  // elements whose real is not the binary32 that QONNX computes
};

/// `real` through `quantizer`, every step in binary32 as QONNX takes it: quotient, zero point,
/// range, rounding.
/// Source: qonnx, int_quant of custom_op/general/intquant.py, binary_quant of bipolar_quant.py,
/// float_quant of floatquant.py.  Errors: kInvalid for NaN, kUnsupported when `real` is not FLOAT.
/// REQUIRES: the axes of the quantizer fit `real`'s dims.
Result<QuantizedConstant> QuantizeConstant(const format::Tensor& real,
                                           const QonnxQuantizer& quantizer);

}  // namespace qtx::convert
