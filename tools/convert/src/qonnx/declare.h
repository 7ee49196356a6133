// Types of the values between, which exporters of QONNX leave out.
#pragma once

#include "qtx/format/model.h"

namespace qtx::convert {

/// Declares what nodes produce of reals: FLOAT, as all values are in QONNX, but for a transposed
/// quantized initializer, which keeps its integers. An operator on a quantized value leaves its
/// result's type open otherwise.
void DeclareReals(format::Graph& graph);

}  // namespace qtx::convert
