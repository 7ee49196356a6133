// Models for targets without floating point.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Gives the output of each Conv, Gemm and MatMul its requantization, one multiplier and shift for
/// each scale of the weights, brings biases to INT32 in units of x_scale * w_scale, and says in the
/// ledger where the worst sum of the actual weights exceeds 32 bits.
/// Errors: kUnsupported (a node over FLOAT values without `--allow float`, scales that one
/// accumulator cannot have), kInvalid (a bias that 32 bits do not hold).
Result<void> MakeIntegerOnly(format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
