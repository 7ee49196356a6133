// Compares a model with what its written file reads back as.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// True when both compute the same: equal nodes, values, constants and quantized types, in the same
/// order.
bool SameGraph(const format::Model& model, const format::Model& back);

/// Records as losses what `model` has and `back` lacks: statistics, schemes, documentation,
/// origins. REQUIRES: SameGraph.  Errors: those of Ledger::Lose.
Result<void> LoseTheRest(const format::Model& model, const format::Model& back, Ledger& ledger);

}  // namespace qtx::convert
