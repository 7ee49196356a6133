// Operators that compute each element of y from one element of each input, with broadcasting. Where
// stored values have few bits, a table holds the results.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/interval.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Computes an element of y from the inputs' elements.
using ElementFunction = std::function<Real(std::span<const Number> operands)>;

/// y = function(inputs).  REQUIRES: CheckTypes; inputs broadcast to y.
/// A table of at most 8 bits is computed at preparation; a larger one is filled as elements come.
std::unique_ptr<Step> MakeElementwise(std::vector<const Value*> inputs, Value* y,
                                      ElementFunction function);

/// The same for a function whose results are the stored bits of y.
using CodeFunction = std::function<std::uint64_t(std::span<const Number> operands)>;
std::unique_ptr<Step> MakeCoding(std::vector<const Value*> inputs, Value* y, CodeFunction function);

/// True if elements of y can be looked up: parameters are per tensor, and the stored values of one
/// element of each input have at most 16 bits together.
bool FitsTable(std::span<const Value* const> inputs, const Value* y);

/// All inputs of the node.  Errors: those of NodePlan::Input.
Result<std::vector<const Value*>> AllInputs(const NodePlan& node);

}  // namespace qtx::backend::engine
