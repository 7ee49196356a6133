// Calls of a model's own functions that quantize.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `model` with each call of one of its functions replaced by the function's nodes, where the
/// function quantizes, or takes what a DequantizeLinear gives or gives what a QuantizeLinear takes.
/// Functions that are no longer called go; the others stay as they are.
/// Errors: kUnsupported where a function imports other opsets in which its nodes mean something
/// else; kInvalid for functions that call themselves; kTooLarge past kMaxExpandedNodes.
Result<format::Model> ExpandFunctions(format::Model model, Ledger& ledger);

inline constexpr std::size_t kMaxExpandedNodes = std::size_t{1} << 17;

}  // namespace qtx::convert
