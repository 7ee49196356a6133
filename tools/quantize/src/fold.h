// Folding: equivalent rewrites of the float model that leave fewer values to quantize.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::quantize {

/// Turns FLOAT initializers that are graph inputs, and Constant nodes, into constants; MatMul and
/// Add of a bias into Gemm; and folds BatchNormalization into the preceding Conv, ConvTranspose or
/// Gemm:
///   w' = w * f,  b' = (b - mean) * f + beta,  f = gamma / sqrt(variance + epsilon),
/// in binary64, each rounded once to binary32.  Source: Jacob et al. 2018, (14).
/// Errors: those of Decode; kInvalid for a BatchNormalization whose vectors do not fit.
Result<void> Fold(format::Model& model, Ledger& ledger);

/// Removes the declarations of `values`.
void Undeclare(format::Graph& graph, const std::set<std::string>& values);

/// Removes the initializers that `before` reads and `model` does not.
void DropUnused(const format::Model& before, format::Model& model, Ledger& ledger);

/// Removes nodes whose op_type was cleared.
void Compact(format::Graph& graph);

}  // namespace qtx::quantize
