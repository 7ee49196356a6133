// Rewrites of the float model that keep its function, so that fewer values need parameters.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::quantize {

/// FLOAT initializers that are graph inputs, too, become constants, and so do Constant nodes; a
/// MatMul of matrices and the Add of a bias a Gemm; a BatchNormalization goes into the Conv,
/// ConvTranspose or Gemm before it:
///   w' = w * f,  b' = (b - mean) * f + beta,  f = gamma / sqrt(variance + epsilon),
/// in binary64, each rounded once to binary32.  Source: Jacob et al. 2018, (14).
/// Errors: those of Decode; kInvalid for a BatchNormalization whose vectors do not fit.
Result<void> Fold(format::Model& model, Ledger& ledger);

/// The declarations of `values` among the graph's values, taken away.
void Undeclare(format::Graph& graph, const std::set<std::string>& values);

/// Takes away the initializers that `before` reads and `model` does not.
void DropUnused(const format::Model& before, format::Model& model, Ledger& ledger);

/// Takes out the nodes whose op_type was cleared.
void Compact(format::Graph& graph);

}  // namespace qtx::quantize
