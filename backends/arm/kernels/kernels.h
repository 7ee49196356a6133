#pragma once

#include "engine/kernels.h"

namespace qtx::backend::engine {

/// Kernels for any ARMv8-A processor.
const Kernels& NeonKernels();

/// NeonKernels with int8 products by SDOT: only a processor with the dot product extension may call
/// them.
const Kernels& DotProductKernels();

}  // namespace qtx::backend::engine
