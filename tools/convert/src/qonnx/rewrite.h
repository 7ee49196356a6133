// Rewrites QONNX's operators as ONNX's own.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Rewrites quantizers as Q/DQ pairs with annotated outputs, quantized constants as quantized
/// initializers, and operators of channels_last with Transposes. A model without QONNX's operators
/// is unchanged.
/// Errors: kUnsupported, with the node and the reason; kInvalid.
Result<format::Model> RewriteQonnx(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
