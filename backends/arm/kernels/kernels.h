// The tables of kernels, each defined in the file of its name and compiled for its instruction set.
#pragma once

#include "engine/kernels.h"

namespace qtx::backend::engine {

const Kernels& NeonKernels();
const Kernels& DotProductKernels();
const Kernels& I8mmKernels();
const Kernels& Sve2Kernels();

}  // namespace qtx::backend::engine
