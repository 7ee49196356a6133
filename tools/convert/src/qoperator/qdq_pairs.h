// Rewrites nodes on plain integers as nodes on reals between QuantizeLinear/DequantizeLinear pairs.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

struct Pairs {
  format::Model model;
  std::set<std::string> reals;  // FLOAT results of operators that round to binary32
};

/// Rewrites each node on integers with constant parameters as the plain operator between pairs, so
/// that FoldPairs restores every value's name. The ledger has the reason for every node that is
/// kept.
/// Errors: kInvalid for a node that breaks its own rules, kUnsupported for an operator that has no
/// extended form and must not be kept.
Result<Pairs> QOperatorsToPairs(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
