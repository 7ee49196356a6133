// Registers are named in the assembly: a compiler that allocates them spills accumulators. Sums of
// zeros take as long as any.
#if defined(__x86_64__)

#include <cpuid.h>

#include <vector>

#include "loops.h"

namespace qtx::bench {
namespace {

#define QTX_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define QTX_CLEAR(i) "vxorps %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n"
// Twelve independent sums hide the latency of every instruction here.
#define QTX_LOOP(STEP)                                                                         \
  asm volatile(QTX_TWELVE(QTX_CLEAR) QTX_CLEAR(12) QTX_CLEAR(13) QTX_CLEAR(14) QTX_CLEAR(      \
                   15) ".p2align 5\n1:\n" QTX_TWELVE(STEP) "dec %0\njnz 1b\nvzeroupper\n"      \
               : "+r"(count)                                                                   \
               :                                                                               \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

#define QTX_FMA256(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n"
void Fma256(long count) { QTX_LOOP(QTX_FMA256); }

#define QTX_FMA512(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #i "\n"
void Fma512(long count) { QTX_LOOP(QTX_FMA512); }

#define QTX_MADD256(i) \
  "vpmaddwd %%ymm12, %%ymm13, %%ymm15\nvpaddd %%ymm15, %%ymm" #i ", %%ymm" #i "\n"
void Madd256(long count) { QTX_LOOP(QTX_MADD256); }

#define QTX_MADD512(i) \
  "vpmaddwd %%zmm12, %%zmm13, %%zmm15\nvpaddd %%zmm15, %%zmm" #i ", %%zmm" #i "\n"
void Madd512(long count) { QTX_LOOP(QTX_MADD512); }

#define QTX_MADDUBS256(i)                  \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm15\n" \
  "vpmaddwd %%ymm14, %%ymm15, %%ymm15\nvpaddd %%ymm15, %%ymm" #i ", %%ymm" #i "\n"
void Maddubs256(long count) { QTX_LOOP(QTX_MADDUBS256); }

#define QTX_DPBUSD256(i) "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" #i "\n"
void Dpbusd256(long count) { QTX_LOOP(QTX_DPBUSD256); }

#define QTX_DPBUSD_EVEX256(i) "%{evex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" #i "\n"
void DpbusdEvex256(long count) { QTX_LOOP(QTX_DPBUSD_EVEX256); }

#define QTX_DPBUSD512(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n"
void Dpbusd512(long count) { QTX_LOOP(QTX_DPBUSD512); }

// CPUID leaf 7.1, EAX bit 4: Clang 14's __builtin_cpu_supports does not know the name.
bool HasAvxVnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 &&
         (eax >> 4 & 1U) != 0;
}

constexpr double kSums = 12;
constexpr double kMultiplyAdd = 2;

std::vector<PeakLoop> FindLoops() {
  std::vector<PeakLoop> loops;
  const auto add = [&](bool here, const char* name, bool floats, int lanes, void (*run)(long)) {
    if (here) loops.push_back({name, floats, kMultiplyAdd * kSums * lanes, run});
  };
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool avx512 = __builtin_cpu_supports("avx512bw");
  const bool vnni512 = __builtin_cpu_supports("avx512vnni");
  add(avx2 && __builtin_cpu_supports("fma"), "vfmadd231ps 256", true, 8, &Fma256);
  add(avx512, "vfmadd231ps 512", true, 16, &Fma512);
  add(avx2, "vpmaddwd 256", false, 16, &Madd256);
  add(avx512, "vpmaddwd 512", false, 32, &Madd512);
  add(avx2, "vpmaddubsw 256", false, 32, &Maddubs256);
  if (HasAvxVnni()) {
    add(true, "vpdpbusd 256", false, 32, &Dpbusd256);
  } else {
    add(vnni512 && __builtin_cpu_supports("avx512vl"), "vpdpbusd 256", false, 32, &DpbusdEvex256);
  }
  add(vnni512, "vpdpbusd 512", false, 64, &Dpbusd512);
  return loops;
}

// Eight loads of 32 bytes an iteration.
void Read256(const std::byte* data, std::size_t bytes) {
  const std::byte* end = data + bytes;
  asm volatile(
      ".p2align 5\n1:\n"
      "vmovaps (%0), %%ymm0\nvmovaps 32(%0), %%ymm1\nvmovaps 64(%0), %%ymm2\n"
      "vmovaps 96(%0), %%ymm3\nvmovaps 128(%0), %%ymm4\nvmovaps 160(%0), %%ymm5\n"
      "vmovaps 192(%0), %%ymm6\nvmovaps 224(%0), %%ymm7\n"
      "add $256, %0\ncmp %1, %0\njb 1b\nvzeroupper\n"
      : "+r"(data)
      : "r"(end)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

void Read512(const std::byte* data, std::size_t bytes) {
  const std::byte* end = data + bytes;
  asm volatile(
      ".p2align 5\n1:\n"
      "vmovaps (%0), %%zmm0\nvmovaps 64(%0), %%zmm1\nvmovaps 128(%0), %%zmm2\n"
      "vmovaps 192(%0), %%zmm3\nvmovaps 256(%0), %%zmm4\nvmovaps 320(%0), %%zmm5\n"
      "vmovaps 384(%0), %%zmm6\nvmovaps 448(%0), %%zmm7\n"
      "add $512, %0\ncmp %1, %0\njb 1b\nvzeroupper\n"
      : "+r"(data)
      : "r"(end)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

void Read128(const std::byte* data, std::size_t bytes) {
  const std::byte* end = data + bytes;
  asm volatile(
      "1:\nmovaps (%0), %%xmm0\nmovaps 16(%0), %%xmm1\nmovaps 32(%0), %%xmm2\n"
      "movaps 48(%0), %%xmm3\nadd $64, %0\ncmp %1, %0\njb 1b\n"
      : "+r"(data)
      : "r"(end)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}

}  // namespace

std::span<const PeakLoop> PeakLoops() {
  static const std::vector<PeakLoop> kLoops = FindLoops();
  return kLoops;
}

void ReadAll(const std::byte* data, std::size_t bytes) {
  static const auto kRead = __builtin_cpu_supports("avx512f") ? &Read512
                            : __builtin_cpu_supports("avx2")  ? &Read256
                                                              : &Read128;
  kRead(data, bytes);
}

}  // namespace qtx::bench

#endif
