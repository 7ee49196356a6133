// The x86 backend: the engine with the best kernels that the processor can run.
#include "x86/x86.h"

#include <cpuid.h>

#include <vector>

#include "engine/engine.h"
#include "x86/kernels/kernels.h"

namespace qtx::backend {
namespace {

// GCC 12 and clang 14 have no name for it: CPUID leaf 7, subleaf 1, EAX bit 4.
bool HasAvxVnni() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}

bool HasAvx512Vnni() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace

std::span<const engine::Kernels* const> X86Kernels() {
  static const std::vector<const engine::Kernels*> kBestFirst = [] {
    std::vector<const engine::Kernels*> tables;
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (HasAvx512Vnni()) tables.push_back(&engine::Avx512VnniKernels());
    if (has_avx2 && HasAvxVnni()) tables.push_back(&engine::AvxVnniKernels());
    if (has_avx2) tables.push_back(&engine::Avx2Kernels());
    if (__builtin_cpu_supports("sse4.1") != 0) tables.push_back(&engine::Sse41Kernels());
    tables.push_back(&engine::PortableKernels());
    return tables;
  }();
  return kBestFirst;
}

Result<std::unique_ptr<Backend>> Make_x86(std::string_view options) {
  return engine::MakeBackend("x86", options, X86Kernels());
}

}  // namespace qtx::backend
