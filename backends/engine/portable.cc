#include "engine/portable_kernels.h"

namespace qtx::backend::engine {
namespace {

std::int64_t Requantize(const std::int32_t* acc, std::int64_t n, const Rounding& rounding,
                        std::uint8_t* out, std::int32_t* doubtful) {
  return RequantizeFrom(0, acc, n, rounding, out, doubtful, 0);
}

std::int64_t Add(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                 const AddRounding& rounding, std::uint8_t* out, std::int32_t* doubtful) {
  return AddFrom(0, a, b, n, rounding, out, doubtful, 0);
}

}  // namespace

const Kernels& PortableKernels() {
  static constexpr int kColumns = 8;
  static const Kernels kKernels{
      .name = "portable",
      .wide = {.max_rows = 4,
               .columns = kColumns,
               .group = 1,
               .multiply = PortableMultiply<std::int16_t, kColumns, 1>,
               .interleave = PortableInterleave<std::int16_t, kColumns, 1>,
               .load = PortableLoadWide},
      .narrow = {},
      .depthwise = PortableDepthwise,
      .requantize = Requantize,
      .add = Add};
  return kKernels;
}

}  // namespace qtx::backend::engine
