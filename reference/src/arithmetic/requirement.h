// What an arithmetic asks of a node before and after it runs.
#pragma once

#include "qtx/reference/op.h"

namespace qtx::reference {

/// Errors: kUnsupported, naming the clause, when a scale of the node is not what the arithmetic's
/// row requires (pow2.C1).
Result<void> CheckRequirement(const Call& call);

/// Errors: kUnsupported, naming the clause, when an output was refused since `refusals` was read
/// from the call's counters (fixed_point.C1, xnnpack.C1).
Result<void> CheckRefusals(const Call& call, std::uint64_t refusals);

}  // namespace qtx::reference
