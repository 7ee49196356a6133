// QONNX's operators rewritten in ONNX's own.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The model with its quantizers as Q/DQ pairs whose types are annotated on the values after them,
/// constants behind quantizers as quantized initializers, and the operators of channels_last
/// between Transposes. A model without QONNX's operators stays as it is.
/// Errors: kUnsupported, naming the node and why the extended form cannot say it; kInvalid.
Result<format::Model> RewriteQonnx(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
