// Quantizes constants as QONNX does.
#pragma once

#include <cstdint>

#include "qonnx/parameters.h"

namespace qtx::convert {

struct QuantizedConstant {
  format::Tensor tensor;     // of the quantizer's type
  std::int64_t rounded = 0;  // elements whose real differs from QONNX's binary32
};

/// Applies `quantizer` to `real`, each step in binary32 as in QONNX: quotient, zero point, range,
/// rounding.
/// Source: qonnx, int_quant of custom_op/general/intquant.py, binary_quant of bipolar_quant.py,
/// float_quant of floatquant.py.  Errors: kInvalid for NaN, kUnsupported when `real` is not FLOAT.
/// REQUIRES: the axes of the quantizer fit `real`'s dims.
Result<QuantizedConstant> QuantizeConstant(const format::Tensor& real,
                                           const QonnxQuantizer& quantizer);

}  // namespace qtx::convert
