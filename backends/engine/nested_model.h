// Models inside a node: a QLinear operator, whose scales and zero points are inputs, is computed as
// a model of the ordinary operator on quantized tensors.
#pragma once

#include <memory>
#include <optional>

#include "engine/kernels.h"
#include "engine/threads.h"
#include "qtx/backend/backend.h"

namespace qtx::backend::engine {

struct NestedModel {
  std::unique_ptr<PreparedModel> prepared;
  format::Dims dims;  // of its output
};

/// Prepares a model with one output that the engine itself has built. The bias of its Conv or Gemm
/// is multiplied by `bias_factor`, so that it may be in units of the accumulator; no file can
/// express that. The prepared model uses `threads`, which must outlive it.  Errors: those of
/// PrepareModel.
Result<NestedModel> PrepareNested(const format::Model& model, const Kernels& kernels,
                                  Threads& threads, std::optional<float> bias_factor = {});

}  // namespace qtx::backend::engine
