// Requantizes accumulators to stored values, rounded once. A kernel rounds in binary32; lanes too
// close to a tie are decided in binary64 and then in exact arithmetic (exact.h).
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
  /// The stored range minus the offset: the range to which a rounded real / scale is clamped.
  format::IntegerRange Rounded() const { return {stored.min - offset, stored.max - offset}; }
  /// REQUIRES: 8 bits.
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
/// exactly. In an inexact epilogue `bias` is an integer to be added to the accumulator.
struct Channel {
  double scale = 0;
  double scale_low = 0;  // rounding error of a product of three binary32 (Gemm's alpha), else 0
  double bias = 0;       // an integer, or 1 with the real in bias_scale
  double bias_scale = 0;
  std::int64_t divisor = 1;  // of a mean; below 2^32
};

/// Converts accumulators of all channels. Its conversions are const, so that threads can share one
/// object.
class Requantizer {
 public:
  /// `type` has type and parameters of the result: integers of 8, 16 or 32 bits quantized per
  /// tensor, or FLOAT. Elements are those of a buffer.  Errors: kUnsupported for any other type.
  static Result<Requantizer> Make(std::vector<Channel> channels, const format::Tensor& type,
                                  const Kernels& kernels, Epilogue epilogue = {});
  /// `count` channels with one integer multiplier, to 8 bits.
  static Requantizer OfMultiplier(Epilogue::Kind kind, Multiplier multiplier, std::size_t count,
                                  const PerTensor& output, const Kernels& kernels);

  /// Converts accumulators [rows][columns], the rows `stride` apart, to elements `element` + row *
  /// `out_stride` + column of `out`. Column 0 is channel `channel`. May read a row to the end of
  /// its last vector.
  struct Block {
    const std::int32_t* acc = nullptr;
    std::int64_t stride = 0, rows = 1, columns = 0;
    std::int64_t channel = 0, element = 0, out_stride = 0;
  };
  void Convert(const Block& block, std::byte* out) const;
  /// The parameters with which a kernel converts to 8 bits in exact arithmetic, from channel 0 on;
  /// nullopt for other results and arithmetics.
  std::optional<Rounding> ForKernel() const;
  /// Converts one accumulator of magnitude at most 2^53.
  void Single(std::int64_t acc, std::int64_t channel, std::int64_t element, std::byte* out) const;

 private:
  Requantizer() = default;
  void AddLanes(const Channel& channel);
  float ThresholdOf(const Channel& channel, double unit, double bias) const;
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
  std::vector<float> ratio_, bias_, threshold_;  // one vector longer than channels_
  float least_ = 1;                              // the smallest threshold
  std::optional<Scaling> scaling_;               // used instead in inexact arithmetics
};

/// Writes `value` as element `index` of integer storage of 8, 16 or 32 bits.
void StoreInteger(format::ElementType storage, std::int64_t value, std::int64_t index,
                  std::byte* out);

/// The threshold of Rounding for a channel whose bias is at most `bias` in magnitude and whose
/// unclamped results are within `range`; -1 (always doubtful) if binary32 is not precise enough.
float DoubtThreshold(double bias, format::IntegerRange range);

/// True if scale / unit is exactly 2^-k, 0 <= k <= 14: products of it with integers of at most 24
/// bits are exact in binary32.
bool IsShift(double scale, double unit);
/// The threshold of lanes that binary32 rounds exactly: none is doubtful.
inline constexpr float kNoDoubt = 1;

}  // namespace qtx::backend::engine
