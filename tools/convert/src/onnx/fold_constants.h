// Folds what exporters put between a constant and the quantizer that reads it.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Replaces the nodes that compute an input of a quantizer, of an operator on integers, or a bound
/// of a Clip of integers from constants alone by an initializer of the same name and bits: copies
/// (Identity), moves (Reshape, Transpose, ...), ConstantOfShape, Clip, and a Cast that rounds
/// nothing. Removes the nodes and initializers that only they read. The ledger names each.
/// All that is made is at most as large as the model's constants, and 1 MiB: what would be larger
/// stays.
/// Errors: kInvalid and kUnreadable for an initializer that cannot be decoded; those of
/// GraphIndex::Of.
Result<format::Model> FoldConstants(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
