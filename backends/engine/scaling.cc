#include "engine/scaling.h"

#include <algorithm>
#include <cmath>

namespace qtx::backend::engine {
namespace {

using Kind = Epilogue::Kind;

std::int64_t Clamped(std::int64_t rounded, const StoredType& type) {
  return std::clamp(rounded + type.offset, type.range.min, type.range.max);
}

template <typename T, typename Round>
std::int64_t RoundedBy(T quotient, const StoredType& type, Round round) {
  // A value beyond this is clamped in any case, and might not fit int64.
  constexpr T kFar = 0x1p40F;
  if (std::isnan(quotient)) return Clamped(0, type);
  if (quotient > kFar) return type.range.max;
  if (quotient < -kFar) return type.range.min;
  return Clamped(static_cast<std::int64_t>(round(quotient)), type);
}

}  // namespace

std::int64_t StoredOf(float quotient, const StoredType& type) {
  return RoundedBy(quotient, type, [](float q) { return std::nearbyint(q); });
}

std::int64_t StoredHalfAway(float quotient, const StoredType& type) {
  return RoundedBy(quotient, type, [](float q) { return std::round(q); });
}

Result<Scaling> Scaling::Make(Epilogue epilogue, std::span<const ScaledSum> sums,
                              const StoredType& output, std::int32_t lanes) {
  Scaling result;
  result.kind_ = epilogue.kind;
  result.output_ = output;
  for (const ScaledSum& sum : sums) {
    QTX_RETURN_IF_ERROR(result.AddChannel(sum, epilogue.narrow_scales));
  }
  result.Pad(lanes);
  return result;
}

Scaling Scaling::OfMultiplier(Kind kind, Multiplier multiplier, std::size_t count,
                              const StoredType& output, std::int32_t lanes) {
  Scaling result;
  result.kind_ = kind;
  result.output_ = output;
  result.addend_.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) result.AddMultiplier(multiplier);
  result.Pad(lanes);
  return result;
}

Result<void> Scaling::AddChannel(const ScaledSum& sum, bool narrow_scales) {
  addend_.push_back(sum.addend);
  vectors_ = vectors_ && sum.addend == 0;
  // From the exact product one rounding, as the product of two binary32 has it.
  const auto narrow = static_cast<float>(sum.scale);
  if (kind_ == Kind::kFloat32) {
    const float factor = narrow / static_cast<float>(output_.scale);
    factor_.push_back(factor);
    vectors_ = vectors_ && std::isfinite(factor);
    return {};
  }
  if (kind_ == Kind::kBinary64) {
    binary64_.push_back(sum.scale / output_.scale);
    vectors_ = false;
    return {};
  }
  const double product = narrow_scales ? static_cast<double>(narrow) : sum.scale;
  const Multiplier multiplier = MakeMultiplier(product / output_.scale);
  if (kind_ == Kind::kWide && multiplier.exponent > kLargestWideExponent) {
    return Error{ErrorCode::kUnsupported, "",
                 "the scales' quotient is 2^" + std::to_string(kLargestWideExponent) +
                     " or more, which 16-bit activations do not have",
                 "tflite.S12"};
  }
  AddMultiplier(multiplier);
  return {};
}

void Scaling::AddMultiplier(Multiplier multiplier) {
  multiplier_.push_back(multiplier);
  mantissa_.push_back(multiplier.mantissa);
  shift_.push_back(-multiplier.exponent);
  // The kernels shift right only.
  vectors_ = vectors_ && kind_ != Kind::kWide && multiplier.exponent <= 0;
}

void Scaling::Pad(std::int32_t lanes) {
  const std::size_t padded = addend_.size() + static_cast<std::size_t>(lanes);
  if (kind_ == Kind::kFloat32) {
    factor_.resize(padded);
  } else if (kind_ != Kind::kBinary64) {
    mantissa_.resize(padded);
    shift_.resize(padded);
  }
}

void Scaling::Bytes(const Kernels& kernels, const Sums& sums, std::int64_t channel) const {
  const auto c = static_cast<std::size_t>(channel);
  const Narrowing narrowing{static_cast<std::int16_t>(output_.offset),
                            static_cast<std::int16_t>(output_.range.min),
                            static_cast<std::int16_t>(output_.range.max)};
  if (kind_ == Kind::kFloat32) return kernels.scale(sums, {&factor_[c], narrowing});
  const auto multiply = kind_ == Kind::kOnce ? kernels.multiply_once : kernels.multiply_twice;
  multiply(sums, {&mantissa_[c], &shift_[c], narrowing});
}

std::int64_t Scaling::Stored(std::int64_t sum, std::int64_t channel) const {
  const auto c = static_cast<std::size_t>(channel);
  const std::int64_t total = sum + addend_[c];
  switch (kind_) {
    case Kind::kOnce:
      return Clamped(MultiplyOnce(Wrapped32(total), multiplier_[c]), output_);
    case Kind::kTwice:
      return Clamped(MultiplyTwice(Wrapped32(total), multiplier_[c]), output_);
    case Kind::kWide:
      return Clamped(MultiplyWide(total, multiplier_[c]), output_);
    case Kind::kBinary64:
      return RoundedBy(static_cast<double>(total) * binary64_[c], output_,
                       [](double q) { return std::round(q); });
    default:
      return StoredOf(static_cast<float>(total) * factor_[c], output_);
  }
}

float Scaling::Real(std::int64_t sum, std::int64_t channel) const {
  const auto c = static_cast<std::size_t>(channel);
  return static_cast<float>(sum + addend_[c]) * factor_[c];
}

}  // namespace qtx::backend::engine
