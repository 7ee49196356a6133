#include "dot.h"

#include <algorithm>

namespace qtx::backend::faulty {
namespace {

// One pair with its offsets, as the hardware would see it.
struct Term {
  std::int64_t x, x_offset, w, w_offset;
  std::int64_t product() const { return (x - x_offset) * (w - w_offset); }
};

std::int64_t Clamp16(std::int64_t value) {
  return std::clamp<std::int64_t>(value, INT16_MIN, INT16_MAX);
}
std::int64_t HalfEvenOfHalf(std::int64_t value) {
  return Round(static_cast<float>(value) / 2, Tie::kEven);
}

// Pairs of neighbouring channels, as vpmaddubsw adds them: unsigned times signed in saturating
// 16 bits; the unsigned offset's share leaves the sum at the end.
template <class Narrow>
std::int64_t SumOfPairs(const std::vector<Term>& terms, std::int64_t spatial, Narrow narrow) {
  const auto step = static_cast<std::size_t>(spatial);
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < step; ++k) {
    for (std::size_t i = k; i < terms.size(); i += 2 * step) {
      const std::size_t j = i + step;
      std::int64_t pair = terms[i].x * terms[i].w;
      if (j < terms.size()) pair += terms[j].x * terms[j].w;
      sum += narrow(pair);
    }
  }
  for (const Term& term : terms) sum -= term.x_offset * term.w;
  return sum;
}

void DistortTerms(const Call& call, const Factors& factors, std::vector<Term>& terms) {
  const bool odd = terms.size() % 2 != 0;
  const bool both_signed =
      factors.x->type == ElementType::kInt8Q && factors.w->type == ElementType::kInt8Q;
  for (Term& term : terms) {
    if (call.Is(Fault::kOffsetsExchanged)) std::swap(term.x_offset, term.w_offset);
    if (call.Is(Fault::kWeightOffsetIgnored)) term.w_offset = 0;
    if (call.Is(Fault::kOffsetOmittedForOddSizes) && odd && terms.size() > 1) term.x_offset = 0;
    if (call.Is(Fault::kUnsignedWeightsAsSigned) && factors.w->type == ElementType::kUint8Q) {
      term.w = static_cast<std::int8_t>(term.w);
    }
    if (call.Is(Fault::kWeightsHalved) && both_signed) {
      term.w = 2 * HalfEvenOfHalf(term.w - term.w_offset) + term.w_offset;
    }
  }
  const std::size_t count = terms.size();
  if (call.Is(Fault::kTailDropped) && count > 8) terms.resize(count / 8 * 8);
  if (call.Is(Fault::kOddLastDropped) && count > 1) terms.resize(count / 2 * 2);
}

// Width and order of the additions.
std::int64_t Sum(const Call& call, const Factors& factors, const std::vector<Term>& terms) {
  const bool symmetric =
      std::ranges::all_of(terms, [](const Term& term) { return term.w_offset == 0; });
  const bool u8s8 = factors.x->type == ElementType::kUint8Q &&
                    factors.w->type == ElementType::kInt8Q && symmetric;
  const bool s8s8 =
      factors.x->type == ElementType::kInt8Q && factors.w->type == ElementType::kInt8Q && symmetric;
  if (call.Is(Fault::kPairsSaturate) && u8s8) return SumOfPairs(terms, factors.spatial, Clamp16);
  if (call.Is(Fault::kPairsWrap) && s8s8) {
    return SumOfPairs(terms, factors.spatial, [](std::int64_t pair) {
      return std::int64_t{static_cast<std::int16_t>(pair)};
    });
  }
  std::int64_t sum = 0;
  float binary32 = 0;
  for (const Term& term : terms) {
    sum += term.product();
    binary32 += static_cast<float>(term.product());
    if (call.Is(Fault::kAccumulator16Bits)) sum = static_cast<std::int16_t>(sum);
    if (call.Is(Fault::kAccumulator24Bits)) {
      sum = std::clamp<std::int64_t>(sum, -(1 << 23), (1 << 23) - 1);
    }
  }
  if (call.Is(Fault::kAccumulatorFloat)) return Round(binary32, Tie::kEven);
  if (call.Is(Fault::kOffsetCountRoundedUp) && terms.size() > 1 && terms.size() % 4 != 0) {
    const auto missing = static_cast<std::int64_t>(4 - terms.size() % 4);
    sum += missing * terms[0].x_offset * terms[0].w_offset;
  }
  return sum;
}

}  // namespace

bool AddsIntegers(const Factors& factors) {
  const Values& x = *factors.x;
  const Values& w = *factors.w;
  const Values* bias = factors.bias;
  if (x.size() == 0 || w.size() == 0)
    return bias != nullptr && !bias->quantized && bias->real.empty();
  if (!x.quantized || !w.quantized || !x.per_tensor) return false;
  if (!x.has_integer_form() || !w.has_integer_form()) return false;
  if (bias != nullptr && bias->quantized && !bias->has_integer_form()) return false;
  if (factors.alpha != 1 || (bias != nullptr && factors.beta != 1)) return false;
  if (bias != nullptr && !bias->real.empty()) return false;
  if (bias != nullptr && bias->quantized && bias->stored.empty()) return false;
  const format::Quantization& q = *w.quantization;
  return w.per_tensor || (q.axis.size() == 1 && q.axis[0] == factors.channel_axis &&
                          (q.block_shape.empty() || q.block_shape[0] == 1));
}

bool HasIntegerAccumulator(const Factors& factors) {
  return AddsIntegers(factors) && format::BitWidth(factors.x->type) <= 16 &&
         format::BitWidth(factors.w->type) <= 16;
}

std::int64_t Dot(const Call& call, const Factors& factors, const std::vector<Pair>& pairs) {
  const Values& x = *factors.x;
  const Values& w = *factors.w;
  std::vector<Term> terms;
  terms.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    const std::size_t i = At(std::max<std::int64_t>(pair.x, 0));
    const std::size_t j = At(pair.w);
    Term term{x.stored[i], x.offset[i], w.stored[j], w.offset[j]};
    // Padding is real zero, which is stored as the offset.
    if (pair.x < 0) term.x = call.Is(Fault::kZeroPadding) ? 0 : term.x_offset;
    terms.push_back(term);
  }
  DistortTerms(call, factors, terms);
  return Sum(call, factors, terms);
}

template <class N>
N RealDot(const Factors& factors, const std::vector<Pair>& pairs, std::optional<std::size_t> bias) {
  N sum = FromDouble<N>(0);
  for (const Pair& pair : pairs) {
    if (pair.x < 0) continue;
    sum = sum + factors.x->Real<N>(At(pair.x)) * factors.w->Real<N>(At(pair.w));
  }
  if (factors.alpha != 1) sum = sum * FromDouble<N>(static_cast<double>(factors.alpha));
  if (!bias) return sum;
  N addend = factors.bias->Real<N>(*bias);
  if (factors.beta != 1) addend = FromDouble<N>(static_cast<double>(factors.beta)) * addend;
  return sum + addend;
}
template Exact RealDot(const Factors&, const std::vector<Pair>&, std::optional<std::size_t>);
template float RealDot(const Factors&, const std::vector<Pair>&, std::optional<std::size_t>);

// The bias brought to the accumulator's scale, rounded once.  Source: float32.S5.
template <class N>
Exact Requantizer<N>::BiasInUnits(float scales, std::size_t bias) const {
  const Values& b = *factors_.bias;
  const std::int64_t stored = b.stored[bias];
  if (!b.quantized) return FromInteger<Exact>(stored);
  if (b.scale[bias] == scales || call_.Is(Fault::kBiasScaleIgnored)) {
    return FromInteger<Exact>(stored - b.offset[bias]);
  }
  if (scales == 0) return Exact();
  return NearestInteger(b.Real<Exact>(bias) / Exact(static_cast<double>(scales)));
}

// gemmlowp's: a doubling high multiplication rounded half up, then a shift rounded half away.
template <class N>
void Requantizer<N>::PutTwice(std::size_t element, std::int64_t accumulator,
                              const mpq_class& multiplier) {
  mpq_class mantissa = multiplier;
  int shift = 0;
  for (; mantissa < mpq_class(1, 2); ++shift) mantissa *= 2;
  const Exact high = Exact(mpq_class(mantissa * static_cast<long>(accumulator)));
  const mpq_class once(static_cast<long>(Round(high, Tie::kUp)));
  const mpq_class twice = once / mpq_class(mpz_class(1) << static_cast<unsigned>(shift));
  writer_.PutStored(element, Round(Exact(twice), Tie::kAway) + writer_.offset(element));
}

template <>
void Requantizer<Exact>::Put(std::size_t element, std::int64_t accumulator, std::size_t w,
                             std::optional<std::size_t> bias) {
  const mpq_class scales = mpq_class(static_cast<double>(factors_.x->scale[0])) *
                           mpq_class(static_cast<double>(factors_.w->scale[w]));
  const bool in_units = bias && (!factors_.bias->quantized || call_.Is(Fault::kBiasScaleIgnored));
  if (in_units) accumulator += Round(BiasInUnits(0, *bias), Tie::kEven);
  Exact real(mpq_class(scales * static_cast<long>(accumulator)));
  if (bias && !in_units) {
    const Exact addend = factors_.bias->Real<Exact>(*bias);
    const auto units =
        call_.Is(Fault::kBiasSumWraps) ? Round(addend / Exact(scales), Tie::kEven) : 0;
    const auto wrapped = static_cast<std::int32_t>(accumulator + units);
    real = call_.Is(Fault::kBiasSumWraps) ? Exact(mpq_class(scales * wrapped)) : real + addend;
  } else if (call_.Is(Fault::kRequantizeRoundsTwice) && writer_.quantized()) {
    const mpq_class multiplier = scales / mpq_class(static_cast<double>(writer_.scale(element)));
    if (multiplier < 1) return PutTwice(element, accumulator, multiplier);
  }
  writer_.Put(element, real);
}

// Source: float32.S4.
template <>
void Requantizer<float>::Put(std::size_t element, std::int64_t accumulator, std::size_t w,
                             std::optional<std::size_t> bias) {
  const float x_scale = factors_.x->scale[0];
  const float w_scale = factors_.w->scale[w];
  const float scales = x_scale * w_scale;
  const Exact whole = FromInteger<Exact>(accumulator);
  const float sum = ToFloat(bias ? whole + BiasInUnits(scales, *bias) : whole);
  if (!writer_.quantized()) return writer_.Put(element, sum * scales);
  const float y_scale = writer_.scale(element);
  if (call_.Is(Fault::kScalesInOtherOrder)) {
    return writer_.PutQuotient(element, sum * (w_scale / y_scale * x_scale));
  }
  if (call_.Is(Fault::kRequantizeReciprocal)) {
    return writer_.PutQuotient(element, sum * scales * (1.0F / y_scale));
  }
  float multiplier = scales / y_scale;
  if (call_.Is(Fault::kMultiplier15Bits)) {
    int exponent = 0;
    const float mantissa = std::frexp(multiplier, &exponent);
    multiplier = std::ldexp(std::round(std::ldexp(mantissa, 15)), exponent - 15);
  }
  writer_.PutQuotient(element, sum * multiplier);
}

template class Requantizer<Exact>;
template class Requantizer<float>;

}  // namespace qtx::backend::faulty
