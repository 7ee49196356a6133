// Accumulators to stored values, rounded once: a kernel settles what binary32 can, binary64 and
// then exact arithmetic (exact.h) the few lanes that lie too close to a tie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/exact.h"
#include "engine/kernels.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// Parameters of a per-tensor quantized value.
struct PerTensor {
  double scale = 1;
  std::int32_t offset = 0;
  format::IntegerRange stored;  // inclusive, narrowed by quant_min and quant_max
  /// The stored range seen from the offset: what a rounded real/scale is clamped to.
  format::IntegerRange Rounded() const { return {stored.min - offset, stored.max - offset}; }
};
/// Errors: kUnsupported for another granularity or a storage that is not an integer of 1 to 32
/// bits.
Result<PerTensor> PerTensorOf(const format::Tensor& tensor);

/// One output channel: real = (accumulator + correction) * (scale + scale_low) + bias * bias_scale,
/// exactly.
struct Channel {
  std::int32_t correction = 0;  // of operands whose offset was not subtracted
  double scale = 0;
  double scale_low = 0;  // rest of a product of three binary32 (Gemm's alpha), else 0
  double bias = 0;       // an integer, or 1 with the real in bias_scale
  double bias_scale = 0;
};

class Requantizer {
 public:
  /// `output` gives type and parameters: 8, 16 or 32 bit integers per tensor, or FLOAT.
  /// Errors: kUnsupported for any other output.
  static Result<Requantizer> Make(std::vector<Channel> channels, const format::Tensor& output,
                                  const Kernels& kernels);

  /// `n` accumulators of one channel to elements first..first+n of `out`.
  void Row(const std::int32_t* acc, std::int64_t n, std::int64_t channel, std::int64_t first,
           std::byte* out) {
    Convert(acc, n, channel, 0, first, out);
  }
  /// The same with accumulator i of channel `channel` + i.
  void Columns(const std::int32_t* acc, std::int64_t n, std::int64_t channel, std::int64_t first,
               std::byte* out) {
    Convert(acc, n, channel, 1, first, out);
  }
  /// One accumulator that may not fit int32 (at most 2^53), without its channel's correction.
  void Single(std::int64_t acc, std::int64_t channel, std::int64_t element, std::byte* out) const;

 private:
  Requantizer() = default;
  void AddLanes(const Channel& channel);
  void Convert(const std::int32_t* acc, std::int64_t n, std::int64_t channel, std::int64_t step,
               std::int64_t first, std::byte* out);

  std::vector<Channel> channels_;
  format::ElementType storage_ = format::ElementType::kUndefined;
  PerTensor output_;
  const Kernels* kernels_ = nullptr;
  std::vector<std::int32_t> correction_;
  std::vector<float> ratio_, bias_, threshold_;
  std::vector<std::int32_t> doubtful_;
};

/// Writes `value` as element `index` of integer storage of 8, 16 or 32 bits.
void StoreInteger(format::ElementType storage, std::int64_t value, std::int64_t index,
                  std::byte* out);

/// Binary32 threshold beyond which a lane is doubtful, when the sum's fixed part is at most `bias`
/// and what is not clamped lies within `range`; -1 (always doubtful) where binary32 is of no use.
float DoubtThreshold(double bias, format::IntegerRange range);

}  // namespace qtx::backend::engine
