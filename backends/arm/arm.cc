// The Arm backend: the engine with dot product kernels where the processor has them, NEON
// elsewhere.
#include "arm/arm.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <array>

#include "arm/kernels/kernels.h"
#include "engine/engine.h"

namespace qtx::backend {

std::span<const engine::Kernels* const> ArmKernels() {
  static const std::array kBestFirst{&engine::DotProductKernels(), &engine::NeonKernels(),
                                     &engine::PortableKernels()};
  const bool has_dot_product = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return std::span(kBestFirst).subspan(has_dot_product ? 0 : 1);
}

Result<std::unique_ptr<Backend>> Make_arm(std::string_view options) {
  return engine::MakeBackend("arm", options, ArmKernels());
}

}  // namespace qtx::backend
