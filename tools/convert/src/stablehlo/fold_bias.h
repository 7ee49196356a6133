// The usual chain of quantized products, as one node of ONNX.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Conv, or MatMul of matrices, whose sum has 32 bits in units of x_scale * w_scale (to within
/// binary32's rounding), perhaps with a constant added in the same type, then a Cast: these become
/// one Conv, MatMul or Gemm with that bias and the type of the Cast, which nothing rounds between.
void FoldBiases(format::Graph& graph, Ledger& ledger);

/// Whether a scale is a product of two but for rounding: two units in the last place.
bool AreScalesOfOneUnit(float scale, float product);

}  // namespace qtx::convert
