// QONNX's operators rewritten in ONNX's own.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The model with its quantizers as Q/DQ pairs whose types are annotated on the values after them,
/// constants behind quantizers as quantized initializers, and the operators of channels_last
/// between Transposes. A model without QONNX's operators stays as it is. Of one that is not as
/// recorded (Recorded::all), FLOAT values that lack a type get one.
/// Errors: kUnsupported, naming the node and why the extended form cannot say it; kInvalid.
Result<format::Model> RewriteQonnx(const format::Model& model, bool as_recorded, Ledger& ledger);

}  // namespace qtx::convert
