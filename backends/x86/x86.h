#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "engine/kernels.h"
#include "qtx/backend/backend.h"

namespace qtx::backend {

/// The kernel tables this processor can run, best first.
std::span<const engine::Kernels* const> X86Kernels();

/// The x86 backend. Options: kernels=NAME forces a table, threads=N.
/// Errors: kInvalid for other options, or kernels that this processor cannot run.
Result<std::unique_ptr<Backend>> Make_x86(std::string_view options);

}  // namespace qtx::backend
