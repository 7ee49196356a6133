// Nodes on plain integers rewritten to nodes on reals between QuantizeLinear and DequantizeLinear.
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

/// The model with each node on integers whose parameters are constants as the plain operator
/// between pairs, such that FoldPairs gives every value its name back. A node that stays as it is
/// has a line in the ledger that says why.
/// Errors: kInvalid for a node that breaks its own rules, kUnsupported for an operator that has no
/// extended form and is not to be run as it is.
Result<Pairs> QOperatorsToPairs(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
