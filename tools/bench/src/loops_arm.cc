// As loops_x86.cc, for aarch64.
#if defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <vector>

#include "loops.h"

namespace qtx::bench {
namespace {

#define QTX_SIXTEEN(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define QTX_CLEAR(i) "movi v" #i ".16b, #0\n"
#define QTX_LOOP(ARCHITECTURE, STEP)                                                               \
  asm volatile(ARCHITECTURE QTX_SIXTEEN(QTX_CLEAR) QTX_CLEAR(30)                                   \
                   QTX_CLEAR(31) ".p2align 5\n1:\n" QTX_SIXTEEN(STEP) "subs %0, %0, #1\nb.ne 1b\n" \
               : "+r"(count)                                                                       \
               :                                                                                   \
               : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",   \
                 "v12", "v13", "v14", "v15", "v30", "v31")

#define QTX_FMLA(i) "fmla v" #i ".4s, v30.4s, v31.4s\n"
void Fmla(long count) { QTX_LOOP("", QTX_FMLA); }

#define QTX_SMLAL(i) "smlal v" #i ".4s, v30.4h, v31.4h\n"
void Smlal(long count) { QTX_LOOP("", QTX_SMLAL); }

#define QTX_SDOT(i) "sdot v" #i ".4s, v30.16b, v31.16b\n"
void Sdot(long count) { QTX_LOOP(".arch armv8.2-a+dotprod\n", QTX_SDOT); }

#define QTX_SMMLA(i) "smmla v" #i ".4s, v30.16b, v31.16b\n"
void Smmla(long count) { QTX_LOOP(".arch armv8.2-a+i8mm\n", QTX_SMMLA); }

constexpr double kSums = 16;
constexpr double kMultiplyAdd = 2;

std::vector<PeakLoop> FindLoops() {
  std::vector<PeakLoop> loops = {
      {"fmla", true, kMultiplyAdd * kSums * 4, &Fmla},
      {"smlal", false, kMultiplyAdd * kSums * 4, &Smlal},
  };
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) {
    loops.push_back({"sdot", false, kMultiplyAdd * kSums * 16, &Sdot});
  }
  if ((getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) {
    loops.push_back({"smmla", false, kMultiplyAdd * kSums * 32, &Smmla});
  }
  return loops;
}

}  // namespace

std::span<const PeakLoop> PeakLoops() {
  static const std::vector<PeakLoop> kLoops = FindLoops();
  return kLoops;
}

void ReadAll(const std::byte* data, std::size_t bytes) {
  const std::byte* end = data + bytes;
  asm volatile(
      "1:\nldp q0, q1, [%0]\nldp q2, q3, [%0, #32]\nldp q4, q5, [%0, #64]\n"
      "ldp q6, q7, [%0, #96]\nadd %0, %0, #128\ncmp %0, %1\nb.lo 1b\n"
      : "+r"(data)
      : "r"(end)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
}

}  // namespace qtx::bench

#endif
