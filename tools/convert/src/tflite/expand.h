// Operators of ONNX that TFLite lacks, by those that it has.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `model` with several nodes in the place of each whose operator TFLite lacks, where some compute
/// the same on FLOAT: normalizations, activations, Clip to any bounds, convolutions and pools along
/// one axis. A quantized operand is read as FLOAT, the result is quantized once, as the node does.
/// What is not known of a node (its rank, a constant) leaves it as it is. The ledger names each.
format::Model WithoutMissingOperators(format::Model model, Ledger& ledger);

}  // namespace qtx::convert
