// Writes the extended form as stock ONNX on integers.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// Every quantized value becomes a plain integer tensor of the same name, including graph inputs
/// and outputs, which the caller must quantize. Scales and zero points become initializers, named
/// in quantization_annotation if per tensor. Nodes become the operators of their origin, else
/// QLinearConv etc.; nodes without such an operator stand between DequantizeLinear and
/// QuantizeLinear. Errors: kUnsupported, naming node or value and the reason.
Result<Conversion> ToQOperator(const format::Model& model, const Options& options = {});

}  // namespace qtx::convert
