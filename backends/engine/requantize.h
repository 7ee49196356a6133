// Accumulators to stored values, rounded once: a kernel settles what binary32 can, binary64 and
// then exact arithmetic (exact.h) the few lanes that lie too close to a tie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/exact.h"
#include "engine/kernels.h"
#include "engine/scaling.h"
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
  /// For 8 bits.
  Narrowing Narrowed() const {
    return {static_cast<std::int16_t>(offset), static_cast<std::int16_t>(stored.min),
            static_cast<std::int16_t>(stored.max)};
  }
  StoredType AsStored() const { return {scale, offset, stored}; }
  bool operator==(const PerTensor& other) const {
    return scale == other.scale && offset == other.offset && stored.min == other.stored.min &&
           stored.max == other.stored.max;
  }
};
/// Errors: kUnsupported for another granularity or a storage that is not an integer of 1 to 32
/// bits.
Result<PerTensor> PerTensorOf(const format::Tensor& tensor);

/// One output channel: real = (accumulator * (scale + scale_low) + bias * bias_scale) / divisor,
/// exactly. In another epilogue than the exact one `bias` is an integer that the accumulator lacks.
struct Channel {
  double scale = 0;
  double scale_low = 0;  // rest of a product of three binary32 (Gemm's alpha), else 0
  double bias = 0;       // an integer, or 1 with the real in bias_scale
  double bias_scale = 0;
  std::int64_t divisor = 1;  // of a mean; below 2^32
};

/// Its conversions are const: threads share one.
class Requantizer {
 public:
  /// `type` gives type and parameters of the result: 8, 16 or 32 bit integers per tensor, or FLOAT.
  /// Elements are written as kernels hold them.
  /// Errors: kUnsupported for any other output.
  static Result<Requantizer> Make(std::vector<Channel> channels, const format::Tensor& type,
                                  const Kernels& kernels, Epilogue epilogue = {});
  /// `count` columns of one integer multiplier, to 8 bits.
  static Requantizer OfMultiplier(Epilogue::Kind kind, Multiplier multiplier, std::size_t count,
                                  const PerTensor& output, const Kernels& kernels);

  /// Accumulators [rows][columns], of channels `channel` and on, `stride` from row to row, to
  /// elements `element` + row * `out_stride` + column of `out`.
  /// As many as fill the last vector may be read of a row.
  struct Block {
    const std::int32_t* acc = nullptr;
    std::int64_t stride = 0, rows = 1, columns = 0;
    std::int64_t channel = 0, element = 0, out_stride = 0;
  };
  void Convert(const Block& block, std::byte* out) const;
  /// What a kernel needs to do the same for 8 bits from channel 0 on; null for other results and
  /// arithmetics than exact.
  std::optional<Rounding> ForKernel() const;
  /// One accumulator that may not fit int32 (at most 2^53).
  void Single(std::int64_t acc, std::int64_t channel, std::int64_t element, std::byte* out) const;

 private:
  Requantizer() = default;
  void AddLanes(const Channel& channel);
  Rounding RoundingFrom(std::int64_t channel) const;
  Result<void> SetScaling(Epilogue epilogue);
  void PutScaled(std::int64_t acc, std::int64_t channel, std::int64_t element,
                 std::byte* out) const;
  void EightBits(const Block& block, std::byte* out) const;

  std::vector<Channel> channels_;
  format::ElementType storage_ = format::ElementType::kUndefined;
  PerTensor output_;
  bool eight_bits_ = false;
  const Kernels* kernels_ = nullptr;
  std::vector<float> ratio_, bias_, threshold_;  // a vector's worth longer than channels_
  float least_ = 0.5F;                           // of all thresholds
  std::optional<Scaling> scaling_;               // in place of those where it is not exact
};

/// Writes `value` as element `index` of integer storage of 8, 16 or 32 bits.
void StoreInteger(format::ElementType storage, std::int64_t value, std::int64_t index,
                  std::byte* out);

/// Binary32 threshold beyond which a lane is doubtful, when the sum's fixed part is at most `bias`
/// and what is not clamped lies within `range`; -1 (always doubtful) where binary32 is of no use.
float DoubtThreshold(double bias, format::IntegerRange range);

}  // namespace qtx::backend::engine
