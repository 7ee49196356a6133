// Max, Mean, Min and Sum: operators of any number of inputs.
#pragma once

#include "arithmetic/extreme_finder.h"
#include "ops/common.h"

namespace qtx::reference {

/// The sum of the inputs, which are broadcast against each other; over their number for kMean.
/// Errors: those of RealAt, kInvalid when the shapes cannot be broadcast, kTooLarge.
enum class SumKind { kSum, kMean };
Result<format::Tensor> SumOfInputs(const Call& call, SumKind kind);

/// The greatest or least of the inputs, which are broadcast against each other.
/// Errors: those of NumberAt, kInvalid when the shapes cannot be broadcast, kTooLarge.
Result<format::Tensor> ExtremeOfInputs(const Call& call, End end);

}  // namespace qtx::reference
