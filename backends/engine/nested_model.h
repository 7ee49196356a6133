// A node computed as another model: QLinear operators are ordinary ones on quantized tensors, whose
// parameters are inputs.
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

/// Prepares a model of the engine's own making, of one output. The bias of a Conv or Gemm is
/// multiplied by `bias_factor`, which stands in no file: it is in units of the accumulator then.
/// Its steps share `threads`, which outlives it.  Errors: those of PrepareModel.
Result<NestedModel> PrepareNested(const format::Model& model, const Kernels& kernels,
                                  Threads& threads, std::optional<float> bias_factor = {});

}  // namespace qtx::backend::engine
