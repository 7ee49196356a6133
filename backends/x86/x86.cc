// The x86 backend: the engine with AVX2 kernels where the processor has them, plain C++ elsewhere.
#include "x86/x86.h"

#include <array>

#include "engine/engine.h"
#include "x86/kernels/avx2.h"

namespace qtx::backend {

std::span<const engine::Kernels* const> X86Kernels() {
  static const std::array kBestFirst{&engine::Avx2Kernels(), &engine::PortableKernels()};
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return std::span(kBestFirst).subspan(has_avx2 ? 0 : 1);
}

Result<std::unique_ptr<Backend>> Make_x86(std::string_view options) {
  return engine::MakeBackend("x86", options, X86Kernels());
}

}  // namespace qtx::backend
