#include "arithmetic/requantizer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace qtx::reference {

using Multiplier = RequantizeRecipe::Multiplier;
using Product = RequantizeRecipe::Product;

Requantizer::Requantizer(const RequantizeRecipe& recipe, AccumulatorScales scales, Output* output)
    : recipe_(recipe), scales_(std::move(scales)), output_(output) {
  if (recipe_.multiplier == Multiplier::kExact || !output_->per_tensor()) return;
  const float y = output_->scale(0);
  for (std::size_t c = 0; c < scales_.w.size(); ++c) {
    float_factors_.push_back(FloatFactor(c, y));
    fixed_factors_.push_back(ToFixed(DoubleFactor(c, y)));
  }
}

float Requantizer::FloatFactor(std::size_t channel, float y) const {
  if (recipe_.product != Product::kFloat64) return scales_.x * w(channel) / y;
  const double product = static_cast<double>(scales_.x) * static_cast<double>(w(channel));
  return static_cast<float>(product / static_cast<double>(y));
}

double Requantizer::DoubleFactor(std::size_t channel, float y) const {
  const float narrow = scales_.x * w(channel);
  if (recipe_.product == Product::kAllFloat32) return static_cast<double>(narrow / y);
  const double wide = static_cast<double>(scales_.x) * static_cast<double>(w(channel));
  const double product = recipe_.product == Product::kFloat64 ? wide : static_cast<double>(narrow);
  return product / static_cast<double>(y);
}

std::int64_t Requantizer::WithBias(std::size_t channel, std::int64_t accumulator,
                                   const Bias& bias) const {
  if (bias.scale == 0) return accumulator;
  const float product = scales_.x * w(channel);
  if (recipe_.multiplier == Multiplier::kFixed31 || bias.scale == product) {
    return accumulator + bias.integer;
  }
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;  // a bias is an int32
  const Term term{bias.integer, static_cast<double>(bias.scale)};
  if (const auto sure = CertainlyRounded(Quotient({&term, 1}, 1, product), -kLimit, kLimit - 1)) {
    return accumulator + *sure;
  }
  const Rational exact = ExactQuotient({&term, 1}, 1, product);
  return accumulator + QuantizedInteger(exact, 0, QuantizeRecipe{}, -kLimit, kLimit - 1);
}

void Requantizer::PutFloat32(std::int64_t element, std::size_t channel, std::int64_t sum) {
  const float factor = float_factors_.empty()
                           ? FloatFactor(channel, output_->scale(element))
                           : float_factors_[float_factors_.size() == 1 ? 0 : channel];
  const float scaled = static_cast<float>(sum) * factor;  // one product, float32.S4
  if (!output_->is_integer()) return output_->PutFloat(element, scaled);
  QuantizeRecipe rounding;
  rounding.value = QuantizeRecipe::Value::kFloat32;
  rounding.tie = recipe_.tie;
  // Dividing by 1 changes nothing: what remains is the rounding, the offset and the clamp.
  output_->PutStored(element, QuantizedFloat(scaled, 1.0F, output_->offset(element), rounding,
                                             output_->min(), output_->max()));
}

void Requantizer::PutFixed(std::int64_t element, std::size_t channel, std::int64_t sum) {
  const FixedMultiplier factor = fixed_factors_.empty()
                                     ? ToFixed(DoubleFactor(channel, output_->scale(element)))
                                     : fixed_factors_[fixed_factors_.size() == 1 ? 0 : channel];
  output_->PutStored(
      element, MultiplyFixed(sum, factor, recipe_.rounds, recipe_.tie) + output_->offset(element));
}

void Requantizer::Put(std::int64_t element, std::size_t channel, std::int64_t accumulator,
                      const Bias& bias) {
  switch (recipe_.multiplier) {
    case Multiplier::kExact: {
      // Two factors of 24 bits: the product of the scales is exact in binary64.
      const std::array<Term, 2> terms = {
          Term{accumulator, static_cast<double>(scales_.x) * static_cast<double>(w(channel))},
          Term{bias.integer, static_cast<double>(bias.scale)}};
      return output_->PutTerms(element, {terms.data(), bias.scale == 0 ? 1U : 2U});
    }
    case Multiplier::kFloat32:
      return PutFloat32(element, channel, WithBias(channel, accumulator, bias));
    case Multiplier::kFixed31:
      return PutFixed(element, channel, WithBias(channel, accumulator, bias));
  }
}

}  // namespace qtx::reference
