#pragma once

#include "engine/kernels.h"

namespace qtx::backend::engine {

/// Kernels that only a processor with AVX2 may call.
const Kernels& Avx2Kernels();

}  // namespace qtx::backend::engine
