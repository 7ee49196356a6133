// Rewrites the model according to the plans.
#pragma once

#include "plan.h"

namespace qtx::quantize {

/// Sets types, replaces constants by integers, and inserts Casts between FLOAT and quantized
/// values. Changes `model`, which is that of the index.  Errors: those of weights.h and of Decode,
/// naming the initializer.
Result<void> Rewrite(format::Model& model, const std::vector<NodePlan>& plans,
                     const ValuePlans& values, const Options& options, Quantized& result,
                     Ledger& ledger);

}  // namespace qtx::quantize
