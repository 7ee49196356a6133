// The Arm backend: the engine with the best kernels that the processor can run.
#include "arm/arm.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <vector>

#include "arm/kernels/kernels.h"
#include "engine/engine.h"

namespace qtx::backend {

std::span<const engine::Kernels* const> ArmKernels() {
  static const std::vector<const engine::Kernels*> kBestFirst = [] {
    const unsigned long has = getauxval(AT_HWCAP);
    const unsigned long has2 = getauxval(AT_HWCAP2);
    const bool dot_product = (has & HWCAP_ASIMDDP) != 0;
    std::vector<const engine::Kernels*> tables;
    if (dot_product && (has2 & HWCAP2_I8MM) != 0) tables.push_back(&engine::I8mmKernels());
    const bool sve2 = dot_product && (has2 & HWCAP2_SVE2) != 0;
    // On vectors no longer than NEON's its tiles take more instructions than dotprod's.
    const bool longer = sve2 && engine::Sve2Kernels().bytes.lanes > 4;
    if (longer) tables.push_back(&engine::Sve2Kernels());
    if (dot_product) tables.push_back(&engine::DotProductKernels());
    if (sve2 && !longer) tables.push_back(&engine::Sve2Kernels());
    tables.push_back(&engine::NeonKernels());
    tables.push_back(&engine::PortableKernels());
    return tables;
  }();
  return kBestFirst;
}

Result<std::unique_ptr<Backend>> Make_arm(std::string_view options) {
  return engine::MakeBackend("arm", options, ArmKernels());
}

}  // namespace qtx::backend
