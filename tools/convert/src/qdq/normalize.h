// Normalizes the patterns in which exporters write QuantizeLinear and DequantizeLinear.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Afterwards every quantized value is a QuantizeLinear or an initializer, followed by
/// DequantizeLinears:
/// - a QuantizeLinear of a FLOAT initializer (PyTorch, TensorFlow) becomes its integers, as
///   QuantizeLinear computes them;
/// - a Clip of the integers, computed or in an initializer (Brevitas: 2 to 7 bits, narrow ranges),
///   becomes quant_min and quant_max.
/// Errors: kInvalid (parameters that no type can have, NaN to be quantized), kUnsupported
/// (subgraphs).
Result<format::Model> NormalizePairs(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
