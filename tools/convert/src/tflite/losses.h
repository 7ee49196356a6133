// What a written file gives back when it is read again.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// True when the two compute the same from the same: nodes, values, constants and what types say of
/// stored integers are equal, in the same order.
bool SameGraph(const format::Model& model, const format::Model& back);

/// Loses, by name, what `model` has and `back` has not: statistics, schemes, documentation,
/// origins. REQUIRES: SameGraph.  Errors: those of Ledger::Lose.
Result<void> LoseTheRest(const format::Model& model, const format::Model& back, Ledger& ledger);

}  // namespace qtx::convert
