// QuantizeLinear and DequantizeLinear folded into quantized types.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The model without the pairs whose parameters are constant: the values between them are
/// quantized. Every other node stays.  Errors: kInvalid (parameters that no type can have, a value
/// produced twice), kUnsupported (subgraphs).
Result<format::Model> FoldPairs(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
