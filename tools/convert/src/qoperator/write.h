// The extended form written as stock ONNX on integers.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// Every quantized value becomes a plain integer tensor of the same name, graph inputs and outputs
/// too: who runs the model quantizes for it. Scales and zero points are initializers, named by
/// quantization_annotation where there is one of each. Nodes become the operators they came as,
/// else QLinearConv and the like; a node that has no such operator stands between DequantizeLinear
/// and QuantizeLinear. Errors: kUnsupported, naming node or value and what cannot be said.
Result<Conversion> ToQOperator(const format::Model& model, const Options& options = {});

}  // namespace qtx::convert
