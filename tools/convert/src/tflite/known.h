// Values of a graph that are known before it runs.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `model` with an initializer in the place of each node whose results follow from constants and
/// sizes: Constant, ConstantOfShape, moved constants, and small tensors of integers, as the shapes
/// that exporters compute for Reshape and Expand. Outputs of the graph stay computed. All that is
/// made is at most as large as the model's constants, and 1 MiB. The ledger names each.
format::Model WithKnownValues(format::Model model, Ledger& ledger);

}  // namespace qtx::convert
