// The tables of kernels, each defined in the file of its name and compiled for its instruction set.
#pragma once

#include "engine/kernels.h"

namespace qtx::backend::engine {

const Kernels& Sse41Kernels();
const Kernels& Avx2Kernels();
const Kernels& AvxVnniKernels();
const Kernels& Avx512VnniKernels();

}  // namespace qtx::backend::engine
