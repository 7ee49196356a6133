#pragma once

#include <memory>
#include <span>

#include "engine/kernels.h"
#include "qtx/backend/backend.h"

namespace qtx::backend {

/// The kernel tables this processor can run, best first.
std::span<const engine::Kernels* const> ArmKernels();

/// The Arm backend. QTX_ARM_KERNELS=dotprod, =neon or =portable in the environment forces a table.
std::unique_ptr<Backend> Make_arm();

}  // namespace qtx::backend
