// Folds QuantizeLinear and DequantizeLinear into quantized types.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Removes pairs with constant parameters and makes the values between them quantized. Other nodes
/// are kept; if the model matches its record (Recorded::all), also pairs that produce no annotated
/// value. Values of `reals` are rounded to FLOAT before quantizing, so a QuantizeLinear of one
/// becomes a Cast.
/// Errors: kInvalid (parameters that no type can have, a value produced twice), kUnsupported
/// (subgraphs).
Result<format::Model> FoldPairs(const format::Model& model, bool as_recorded, Ledger& ledger,
                                const std::set<std::string>& reals = {});

}  // namespace qtx::convert
