#include "arithmetic/requantizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "qtx/format/accumulator.h"

namespace qtx::reference {
namespace {

using Multiplier = RequantizeRecipe::Multiplier;

// Mantissa and shift that the value itself declares: requantization.S2.
FixedMultiplier Declared(const format::Requantization& declared, std::size_t channel) {
  const std::size_t i = declared.multiplier.size() == 1 ? 0 : channel;
  return {declared.multiplier[i], -declared.shift[i]};
}

const format::Requantization* DeclaredBy(const Output& output, RequantizeRecipe::Origin origin) {
  const auto& quantization = output.tensor().quantization;
  if (origin != RequantizeRecipe::Origin::kDeclared || !quantization) return nullptr;
  const auto& declared = quantization->requantization;
  return declared && !declared->multiplier.empty() ? &*declared : nullptr;
}

// tflite.S12.
FixedMultiplier To15(const FixedMultiplier& factor) {
  constexpr std::int64_t kLargest = (1 << 15) - 1;
  const std::int64_t rounded = RoundShift(factor.mantissa, 16, TieRule::kHalfUp);
  return {static_cast<std::int32_t>(std::min(rounded, kLargest)), factor.shift, 15};
}

// tflite.S4.
std::int64_t TfliteBias(const Bias& bias, double unit) {
  if (format::IsUnitOfProducts(bias.scale, unit)) return bias.integer;
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const Term term{bias.integer, static_cast<double>(bias.scale)};
  return QuantizedInteger(ExactQuotient({&term, 1}, 1, 1.0F) / Rational(unit), 0, QuantizeRecipe{},
                          -kLimit, kLimit - 1);
}

// exponents: of q * 2^e with 0.5 <= q < 1. A factor that underflows to 0 lies below every bound, an
// infinite one above, so that only a range without the bound takes it (xnnpack.C1, tvm_upward.C1).
bool Takes(const ExponentRange& range, double number, int exponent, float alpha) {
  if (range.clause.empty()) return true;
  if (alpha < 0 || (alpha == 0 && !range.takes_zero)) return false;
  constexpr int kLeastExponent = std::numeric_limits<double>::min_exponent -
                                 std::numeric_limits<double>::digits;  // below 2^-1074
  if (number == 0) return range.min < kLeastExponent;
  if (std::isinf(number)) exponent = std::numeric_limits<double>::max_exponent + 1;
  return number > 0 && exponent >= range.min && exponent <= range.max;
}

// A sum beyond 64 bits as an accumulator of that width holds it: its low bits, or the end of the
// range.
std::int64_t AccumulatedWide(const mpz_class& sum, RequantizeRecipe::Accumulator width) {
  using enum RequantizeRecipe::Accumulator;
  if (width == kClamp48 || width == kClamp24) {
    constexpr std::int64_t kBeyondBoth = std::int64_t{1} << 62;
    return Accumulated(sgn(sum) < 0 ? -kBeyondBoth : kBeyondBoth, width);
  }
  mpz_class low;
  mpz_fdiv_r_2exp(low.get_mpz_t(), sum.get_mpz_t(), 64);
  return Accumulated(static_cast<std::int64_t>(low.get_ui()), width);
}

bool FitsIn62Bits(const mpz_class& value) { return mpz_sizeinbase(value.get_mpz_t(), 2) <= 62; }

}  // namespace

Requantizer::Requantizer(const RequantizeRecipe& recipe, AccumulatorScales scales, Output* output)
    : recipe_(recipe), scales_(std::move(scales)), output_(output) {
  if (recipe_.multiplier == Multiplier::kExact) return;
  if (!output_->per_tensor()) {
    CheckFactors(*output_->tensor().quantization);
    return;
  }
  const float y = output_->scale(0);
  for (std::size_t c = 0; c < scales_.w.size(); ++c) factors_.push_back(MakeFactor(c, y));
}

void Requantizer::CheckFactors(const format::Quantization& y) const {
  if (recipe_.exponents.clause.empty()) return;
  const bool along_channels =
      scales_.w.size() == y.scale.size() && y.axis == format::Dims{scales_.y_axis};
  for (std::size_t c = 0; c < scales_.w.size(); ++c) {
    for (std::size_t k = 0; k < y.scale.size(); ++k) {
      if (!along_channels || k == c) MakeFactor(c, y.scale[k]);
    }
  }
}

double Requantizer::Number(std::size_t channel, float y) const {
  if (recipe_.factor.order == FactorRecipe::Order::kQuotientFirst) {
    if (recipe_.factor.ratio == Width::kFloat32) {
      return static_cast<double>(scales_.x * (w(channel) / y));
    }
    return static_cast<double>(scales_.x) *
           (static_cast<double>(w(channel)) / static_cast<double>(y));
  }
  const float narrow = scales_.x * w(channel);
  if (recipe_.factor.ratio == Width::kFloat32) return static_cast<double>(narrow / y);
  const bool rounds_product = recipe_.factor.scales == Width::kFloat32;
  if (!rounds_product &&
      scales_.alpha != 1) {  // three factors of 24 bits are more than binary64 has
    return NearestDouble(Rational(scales_.alpha) * Rational(scales_.x_alone) *
                         Rational(w(channel)) / Rational(y));
  }
  const double product = rounds_product
                             ? static_cast<double>(narrow)
                             : static_cast<double>(scales_.x) * static_cast<double>(w(channel));
  return product / static_cast<double>(y);
}

Requantizer::Factor Requantizer::MakeFactor(std::size_t channel, float y) const {
  Factor factor;
  if (recipe_.multiplier == Multiplier::kTwoSteps ||
      recipe_.factor.order == FactorRecipe::Order::kReciprocal) {
    factor.number = static_cast<double>(scales_.x * w(channel));
    factor.step = 1.0F / y;
    return factor;
  }
  factor.number = Number(channel, y);
  const format::Requantization* declared = DeclaredBy(*output_, recipe_.origin);
  int exponent = 0;
  std::frexp(factor.number, &exponent);
  if (recipe_.multiplier == Multiplier::kMantissa) {
    factor.fixed = declared != nullptr ? Declared(*declared, channel)
                                       : ToFixed(factor.number, recipe_.mantissa_bits);
    exponent = factor.fixed.mantissa == 0 ? exponent : factor.fixed.shift;
    if (recipe_.narrowed == RequantizeRecipe::Narrowed::kTo15) factor.fixed = To15(factor.fixed);
  }
  if (!Takes(recipe_.exponents, factor.number, exponent, scales_.alpha)) {
    output_->Refuse(recipe_.exponents.clause);
    factor.fixed = {};
  } else if (recipe_.multiplier == Multiplier::kPreShift) {
    factor.shifted = ToPreShift(static_cast<float>(factor.number));
  }
  return factor;
}

std::optional<std::int64_t> Requantizer::SmallBias(std::size_t channel, const Bias& bias) const {
  if (bias.scale == 0 || recipe_.bias == RequantizeRecipe::Bias::kReal) return 0;
  if (recipe_.bias == RequantizeRecipe::Bias::kStored) {
    const double unit = static_cast<double>(scales_.x) * static_cast<double>(w(channel));  // exact
    return TfliteBias(bias, unit);
  }
  const float product = scales_.x * w(channel);
  if (bias.scale == product) return bias.integer;
  // Scales whose product underflows: the multiplier is 0 then, and nothing added to it is seen.
  if (product == 0) return 0;
  constexpr std::int64_t kCertain = std::int64_t{1} << 39;  // beyond it the exact path decides
  const Term term{bias.integer, static_cast<double>(bias.scale)};
  const auto sure = CertainlyRounded(Quotient({&term, 1}, 1, product), -kCertain, kCertain);
  if (sure && std::abs(*sure) < kCertain) return sure;
  const mpz_class exact = WideBias(channel, bias);
  return FitsIn62Bits(exact) ? std::optional(std::int64_t{exact.get_si()}) : std::nullopt;
}

mpz_class Requantizer::WideBias(std::size_t channel, const Bias& bias) const {
  const Term term{bias.integer, static_cast<double>(bias.scale)};
  return Round(ExactQuotient({&term, 1}, 1, scales_.x * w(channel)), TieRule::kHalfEven);
}

template <typename T>
void Requantizer::PutQuotient(std::int64_t element, T scaled) {
  if (!output_->is_integer()) return output_->PutFloat(element, static_cast<float>(scaled));
  QuantizeRecipe rounding;
  rounding.tie = recipe_.tie;
  rounding.offset = recipe_.offset;
  rounding.nan = recipe_.nan;
  output_->PutStored(element, QuantizedQuotient(scaled, output_->offset(element), rounding,
                                                output_->min(), output_->max()));
}

// onednn.S2: each line one binary32 operation.
void Requantizer::PutTwoSteps(std::int64_t element, const Factor& factor, float sum,
                              const Bias& bias) {
  float value = sum * static_cast<float>(factor.number);
  if (bias.scale != 0) {
    const float addend = static_cast<float>(bias.integer) * bias.scale;
    value += addend;
  }
  PutQuotient(element, value * factor.step);
}

void Requantizer::PutProduct(std::int64_t element, std::size_t channel, const FloatSum& sum,
                             const Bias& bias) {
  Factor own;
  const Factor& factor = FactorAt(element, channel, &own);
  if (recipe_.multiplier == Multiplier::kTwoSteps) {
    return PutTwoSteps(element, factor, sum.binary32, bias);
  }
  if (recipe_.factor.order == FactorRecipe::Order::kReciprocal) {
    return PutQuotient(element, sum.binary32 * static_cast<float>(factor.number) * factor.step);
  }
  if (recipe_.product == Width::kFloat64) return PutQuotient(element, sum.binary64 * factor.number);
  PutQuotient(element, sum.binary32 * static_cast<float>(factor.number));
}

std::int64_t Requantizer::Scaled(std::int64_t element, std::size_t channel,
                                 std::int64_t accumulator) const {
  Factor own;
  const Factor& factor = FactorAt(element, channel, &own);
  const std::int64_t sum = Accumulated(accumulator, recipe_.accumulator);
  if (recipe_.multiplier == Multiplier::kPreShift) return MultiplyPreShifted(sum, factor.shifted);
  return MultiplyFixed(sum, factor.fixed, RoundsOf(channel), recipe_.tie);
}

RequantizeRecipe::Rounds Requantizer::RoundsOf(std::size_t channel) const {
  if (recipe_.block == 0) return recipe_.rounds;
  const std::int64_t channels = output_->tensor().dims[static_cast<std::size_t>(scales_.y_axis)];
  const bool whole = static_cast<std::int64_t>(channel) < channels / recipe_.block * recipe_.block;
  return whole ? recipe_.rounds : RequantizeRecipe::Rounds::kTwiceWrapped;
}

void Requantizer::PutHeld(std::int64_t element, std::size_t channel, std::int64_t sum,
                          const Bias& bias) {
  if (IsFixed()) {
    return output_->PutStored(element, Scaled(element, channel, sum) + output_->offset(element));
  }
  const std::int64_t held = Accumulated(sum, recipe_.accumulator);
  PutProduct(element, channel, {static_cast<float>(held), static_cast<double>(held)}, bias);
}

void Requantizer::Put(std::int64_t element, std::size_t channel, std::int64_t accumulator,
                      const Bias& bias) {
  if (recipe_.multiplier == Multiplier::kExact) {
    // Two factors of 24 bits: the product of the scales is exact in binary64.
    const std::array<Term, 2> terms = {
        Term{accumulator, static_cast<double>(scales_.x) * static_cast<double>(w(channel))},
        Term{bias.integer, static_cast<double>(bias.scale)}};
    return output_->PutTerms(element, {terms.data(), bias.scale == 0 ? 1U : 2U});
  }
  const auto addend = SmallBias(channel, bias);
  if (!addend) {
    return PutWide(element, channel, mpz_class(static_cast<long>(accumulator)), bias);
  }
  PutHeld(element, channel, accumulator + *addend, bias);
}

void Requantizer::PutWide(std::int64_t element, std::size_t channel, const mpz_class& accumulator,
                          const Bias& bias) {
  const auto addend = SmallBias(channel, bias);
  const mpz_class sum =
      accumulator + (addend ? mpz_class(static_cast<long>(*addend)) : WideBias(channel, bias));
  if (FitsIn62Bits(sum)) return PutHeld(element, channel, sum.get_si(), bias);
  if (!IsFixed() && recipe_.accumulator == RequantizeRecipe::Accumulator::kExact) {
    const Rational real(sum);
    return PutProduct(element, channel, {NearestFloat(real), NearestDouble(real)}, bias);
  }
  PutHeld(element, channel, AccumulatedWide(sum, recipe_.accumulator), bias);
}

}  // namespace qtx::reference
