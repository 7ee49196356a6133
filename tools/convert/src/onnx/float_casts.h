// Values that are quantized, between operators and at inputs that take none.
#pragma once

#include "qtx/format/model.h"

namespace qtx::convert {

/// An operator of ONNX without a section in spec/ops/ or of com.microsoft, or one that is a
/// quantizer itself.  Source: graph.C7, quantize_linear.C1, dynamic_quantize_linear.C1.
bool HasNoQuantizedOperands(const format::Node& node);

/// A Cast to FLOAT before each quantized value at an input where the catalogue allows none, and one
/// to the quantized type after each that a node of HasNoQuantizedOperands gives.
void AddFloatCasts(format::Model& model);

}  // namespace qtx::convert
