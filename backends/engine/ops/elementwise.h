// Operators that compute each element of y from one element of each input, broadcast: by a table of
// what was computed before where stored values have few bits, else element by element.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/interval.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// What an element of y is, of the inputs' elements.
using ElementFunction = std::function<Real(std::span<const Number> operands)>;

/// y = function(inputs).  REQUIRES: CheckTypes; inputs broadcast to y.
/// A table of one operand of at most 8 bits is computed at once, larger ones as elements come.
std::unique_ptr<Step> MakeElementwise(std::vector<const Value*> inputs, Value* y,
                                      ElementFunction function);

/// The same for a function that gives y's stored bits.
using CodeFunction = std::function<std::uint64_t(std::span<const Number> operands)>;
std::unique_ptr<Step> MakeCoding(std::vector<const Value*> inputs, Value* y, CodeFunction function);

/// Whether elements of y can be looked up: parameters are per tensor, and the stored values one
/// depends on have at most 16 bits together.
bool FitsTable(std::span<const Value* const> inputs, const Value* y);

/// All inputs of the node.  Errors: those of NodePlan::Input.
Result<std::vector<const Value*>> AllInputs(const NodePlan& node);

}  // namespace qtx::backend::engine
