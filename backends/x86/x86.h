#pragma once

#include <memory>
#include <span>

#include "engine/kernels.h"
#include "qtx/backend/backend.h"

namespace qtx::backend {

/// The kernel tables this processor can run, best first.
std::span<const engine::Kernels* const> X86Kernels();

/// The x86 backend. QTX_X86_KERNELS=avx2 or =portable in the environment forces a table.
std::unique_ptr<Backend> Make_x86();

}  // namespace qtx::backend
