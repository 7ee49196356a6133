#include "arithmetic/stored_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "arithmetic/kernel_types.h"

namespace qtx::reference {
namespace {

using Rounds = RequantizeRecipe::Rounds;

constexpr std::int64_t kBlock = 16;  // channels of a vector: tflite_half_up.S4

// (m, e) with the division by `count` in it: tflite_float64.S3.
FixedMultiplier Divided(FixedMultiplier multiplier, std::int64_t count) {
  const int exponent = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
  const int gained = std::min({exponent, 32, 31 + multiplier.shift});
  const __int128 shifted = static_cast<__int128>(multiplier.mantissa) << gained;
  multiplier.mantissa = static_cast<std::int32_t>(shifted / count);
  multiplier.shift -= gained;
  return multiplier;
}

// The input's offset in steps of the output: tflite_half_up.S4.
float OffsetIn(const Operand& x, const Output& y) {
  return static_cast<float>(x.offset(0)) * x.scale(0) / y.scale(0);
}

// The cut of a binary32 that a half was added to: tflite_half_up.S4.
std::int64_t CutHalfAway(float value) {
  return static_cast<std::int64_t>(std::trunc(value + (value > 0 ? 0.5F : -0.5F)));
}

// An int32 as a processor converts it: beyond that range the least one.
std::int64_t CutToInt32(float value) {
  return std::abs(value) < 0x1p31F ? static_cast<std::int64_t>(value)
                                   : std::numeric_limits<std::int32_t>::min();
}

bool IsXnnpacks(const Call& call, StoredSum::Kind kind, const Operand& x, const Output& y) {
  return call.arithmetic.kernels == Arithmetic::Kernels::kXnnpack &&
         StandsFor(call.node, kind == StoredSum::Kind::kSum ? "SUM" : "MEAN") &&
         HasUnaryKernel(x.tensor(), y.tensor(), false) && x.scale(0) / y.scale(0) < 0x1p64F;
}

}  // namespace

std::optional<StoredSum> StoredSum::Make(const Call& call, Kind kind, const Operand& x,
                                         const Output& y, std::int64_t count) {
  if (IsXnnpacks(call, kind, x, y)) return StoredSum(Kernel::kXnnpack, kind, x, y, count);
  if (kind == Kind::kSum) {
    const bool has = HasSumKernel(call.arithmetic, call.node, x.tensor(), y.tensor());
    return has ? std::optional(StoredSum(Kernel::kTotal, kind, x, y, count)) : std::nullopt;
  }
  if (!HasMeanKernel(call.arithmetic, call.node, x.tensor(), y.tensor())) {
    return std::nullopt;
  }
  const bool image = kind == Kind::kImageMean && Is8Bit(x.tensor()) &&
                     call.arithmetic.litert == Arithmetic::LiteRt::kBuiltin &&
                     std::abs(OffsetIn(x, y)) < 0x1p31F;
  return StoredSum(image ? Kernel::kImage : Kernel::kDivided, kind, x, y, count);
}

StoredSum::StoredSum(Kernel kernel, Kind kind, const Operand& x, const Output& y,
                     std::int64_t count)
    : kernel_(kernel), offset_(y.offset(0)) {
  const float ratio = x.scale(0) / y.scale(0);
  const auto elements = static_cast<float>(count);
  switch (kernel) {
    case Kernel::kDivided:
      inputs_offset_ = x.offset(0) * count;
      multiplier_ = Divided(
          ToFixed(static_cast<double>(x.scale(0)) / static_cast<double>(y.scale(0))), count);
      break;
    case Kernel::kImage:
      multiplier_ = ToFixed(static_cast<double>(x.scale(0) / (elements * y.scale(0))));
      offset_ -= CutHalfAway(OffsetIn(x, y));
      // [N, C, 1, 1] of a GlobalAveragePool, [N, 1, 1, C] of a ReduceMean.
      channels_ = std::max(y.tensor().dims[1], y.tensor().dims[3]);
      blocked_ =
          x.tensor().elem_type == format::ElementType::kInt8Q ? channels_ / kBlock * kBlock : 0;
      break;
    case Kernel::kTotal:
      factor_ = ratio;
      start_ = -static_cast<float>(x.offset(0)) * ratio * elements;
      break;
    case Kernel::kXnnpack:
      factor_ = kind == Kind::kSum ? ratio : ratio * (1.0F / elements);
      start_ = static_cast<float>(offset_) - static_cast<float>(x.offset(0) * count) * factor_;
      break;
  }
}

std::int64_t StoredSum::StoredOf(std::int64_t element, std::int64_t sum) const {
  const std::int64_t steps =
      Accumulated(sum - inputs_offset_, RequantizeRecipe::Accumulator::kWrap32);
  if (kernel_ == Kernel::kTotal) {
    return Accumulated(
        CutToInt32(std::round(static_cast<float>(steps) * factor_ + start_)) + offset_,
        RequantizeRecipe::Accumulator::kWrap32);
  }
  if (kernel_ == Kernel::kXnnpack) {
    const float result = static_cast<float>(steps) * factor_ + start_;
    constexpr float kBeyond = 0x1p20F;
    return static_cast<std::int64_t>(
        RoundFloat(std::clamp(result, -kBeyond, kBeyond), TieRule::kHalfEven));
  }
  const bool blocked = kernel_ == Kernel::kImage && IsBlocked(element);
  const Rounds rounds = blocked ? Rounds::kTwiceHalfUp : Rounds::kTwiceWrapped;
  return MultiplyFixed(steps, multiplier_, rounds, TieRule::kHalfUp) + offset_;
}

}  // namespace qtx::reference
