// QuantizeLinear and DequantizeLinear folded into quantized types.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The model without the pairs whose parameters are constant: the values between them are
/// quantized. Every other node stays; where the model is as recorded (Recorded::all), so do pairs
/// that produce no annotated value. Values of `reals` are rounded to FLOAT before they are
/// quantized: a QuantizeLinear of one is a Cast.
/// Errors: kInvalid (parameters that no type can have, a value produced twice), kUnsupported
/// (subgraphs).
Result<format::Model> FoldPairs(const format::Model& model, bool as_recorded, Ledger& ledger,
                                const std::set<std::string>& reals = {});

}  // namespace qtx::convert
