// Max, Mean, Min and Sum: operators of any number of inputs.
#pragma once

#include "arithmetic/extreme_finder.h"
#include "ops/common.h"

namespace qtx::reference {

/// The sum of the inputs, which are broadcast against each other; over their number for kMean.
/// Errors: those of OperandAt, kTooLarge.
enum class SumKind { kSum, kMean };
Result<format::Tensor> SumOfInputs(const Call& call, SumKind kind);

/// The greatest or least of the inputs, which are broadcast against each other.
/// Errors: those of OperandAt, kTooLarge.
Result<format::Tensor> ExtremeOfInputs(const Call& call, End end);

}  // namespace qtx::reference
