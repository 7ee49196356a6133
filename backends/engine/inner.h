// A node computed as another model: QLinear operators are ordinary ones on quantized tensors, whose
// parameters are inputs.
#pragma once

#include <memory>

#include "engine/kernels.h"
#include "engine/threads.h"
#include "qtx/backend/backend.h"

namespace qtx::backend::engine {

struct InnerModel {
  std::unique_ptr<PreparedModel> prepared;
  format::Dims dims;  // of its output
};

/// Prepares a model of the engine's own making, of one output. It may have attributes that stand in
/// no file: `bias_factor` of Conv and Gemm, by which the bias is multiplied.
/// Its steps share `threads`, which outlives it.  Errors: those of PrepareModel.
Result<InnerModel> PrepareInner(const format::Model& model, const Kernels& kernels,
                                Threads& threads);

}  // namespace qtx::backend::engine
