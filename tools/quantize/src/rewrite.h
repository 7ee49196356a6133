// The model as the plans say.
#pragma once

#include "plan.h"

namespace qtx::quantize {

/// Types on values, integers in place of constants, Casts where FLOAT and quantized values meet.
/// `model` is the index's, and changed.  Errors: those of weights.h and of Decode, naming the
/// initializer.
Result<void> Rewrite(format::Model& model, const std::vector<NodePlan>& plans,
                     const ValuePlans& values, const Options& options, Quantized& result,
                     Ledger& ledger);

}  // namespace qtx::quantize
