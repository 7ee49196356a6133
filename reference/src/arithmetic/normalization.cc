#include "arithmetic/normalization.h"

#include <cmath>
#include <limits>

#include "arithmetic/root.h"

namespace qtx::reference {
namespace {

// The double that equals `x`, or NaN.
double AsDouble(const Dyadic& x) { return ExactDouble(x).value_or(std::nan("")); }

struct Sums {
  Real first, second;  // of the elements, and of their squares
};

// Integers of at most 33 bits, at most 2^28 of them: the sums have 61 and 94 bits.
Sums IntegerSums(const Operand& x, std::int64_t first, std::int64_t count) {
  std::int64_t sum = 0;
  __int128 squares = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::int64_t value = x.integer(i);
    sum += value;
    squares += static_cast<__int128>(value) * value;
  }
  const Rational scale(static_cast<double>(x.scale(first)));
  return {{true, 0, Rational(static_cast<long>(sum)) * scale},
          {true, 0, ToRational(squares) * scale * scale}};
}

Sums SumsOf(const Operand& x, std::int64_t first, std::int64_t count) {
  if (x.is_integer() && x.per_tensor()) return IntegerSums(x, first, count);
  ExactSum sum;
  ExactSum squares;
  for (std::int64_t i = first; i < first + count; ++i) {
    const Dyadic value = x.exact(i);
    sum.Add(value);
    squares.AddProduct(value, value);
  }
  return {sum.Value(), squares.Value()};
}

// float32.S3: the sum in order and its mean, then the squares of the differences.
void AddFloatMoments(const Operand& x, std::int64_t first, std::int64_t count, Centre centre,
                     float epsilon, Moments* moments) {
  const auto n = static_cast<float>(count);
  float sum = 0;
  if (centre == Centre::kMean) {
    for (std::int64_t i = first; i < first + count; ++i) sum += x.binary32(i);
  }
  moments->mean32 = sum / n;
  float squares = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    const float difference = x.binary32(i) - moments->mean32;
    squares += difference * difference;
  }
  moments->spread32 = squares / n + epsilon;
}

}  // namespace

Moments MomentsOf(const Operand& x, std::int64_t first, std::int64_t count, Centre centre,
                  float epsilon) {
  Moments moments;
  AddFloatMoments(x, first, count, centre, epsilon, &moments);
  const Sums sums = SumsOf(x, first, count);
  if (!sums.second.finite) {  // of an infinite mean no difference squared is a number
    if (centre == Centre::kMean) moments.mean = sums.first;
    const double spread = centre == Centre::kMean ? std::nan("") : sums.second.special;
    moments.spread = {false, spread, {}};
    return moments;
  }
  const Rational n(static_cast<long>(count));
  if (centre == Centre::kMean) moments.mean.value = sums.first.value / n;
  moments.spread.value = sums.second.value / n - moments.mean.value * moments.mean.value +
                         Rational(static_cast<double>(epsilon));
  return moments;
}

void Normalizer::SetMoments(Moments moments) {
  moments_ = std::move(moments);
  mean_ = NearestDouble(moments_.mean.value);
  inverse_ = 1 / std::sqrt(NearestDouble(moments_.spread.value));
}

void Normalizer::PutFloat32(std::int64_t element, const Coefficient& x, const Coefficient& gain,
                            const Coefficient& bias) {
  float y = (x.operand->binary32(x.index) - moments_.mean32) / std::sqrt(moments_.spread32);
  if (gain.operand != nullptr) y *= gain.operand->binary32(gain.index);
  if (bias.operand != nullptr) y += bias.operand->binary32(bias.index);
  output_->PutFloat(element, y);
}

// With u = 2^-53: the mean errs by u, 1 / sqrt(spread) by 4u (the spread u / 2 through the root,
// the root and the quotient u each), difference, two products and sum by u each, all relative to
// (|x| + |mean|) * |gain| * inverse + |bias|. That is less than 9u; 16u covers the bound's own
// roundings. Nothing underflows that matters but to 2^-1000: beside a y that is not DOUBLE (which
// goes the exact way) no operand is, so that a variance of n elements, all multiples of 2^-149, is
// one of 2^-298 / n^2, and a given one is an element plus a binary32.
bool Normalizer::PutFast(std::int64_t element, double x, double gain, double bias) {
  const double factor = gain * inverse_;
  const double value = (x - mean_) * factor + bias;
  const double magnitude = (std::abs(x) + std::abs(mean_)) * std::abs(factor) + std::abs(bias);
  if (!(magnitude < 0x1p1000)) return false;  // also NaN: an operand that is not a double
  return output_->PutIfCertain(element, {value, magnitude * 0x1p-49 + 0x1p-1000});
}

// factor / sqrt(spread) + bias: rational when the root is, or the factor 0; otherwise irrational,
// hence never a tie.
void Normalizer::PutRooted(std::int64_t element, const Rational& factor, const Rational& bias) {
  output_->CountFallback();
  if (factor == 0) return output_->PutReal(element, {true, 0, bias});
  if (const auto root = RationalRoot(moments_.spread.value, 2)) {
    return output_->PutReal(element, {true, 0, factor / *root + bias});
  }
  output_->PutEnclosed(element, [this, &factor, &bias](int bits) {
    return Interval(factor, bits) / Sqrt(Interval(moments_.spread.value, bits)) +
           Interval(bias, bits);
  });
}

// As IEEE 754 has it: an operand that is not finite, or a spread of zero or less. Signs decide;
// over an infinite root a finite difference is 0.
void Normalizer::PutSpecial(std::int64_t element, const Dyadic& x, const Dyadic& gain,
                            const Dyadic& bias) {
  const auto sign = [](const Real& real) {
    return real.finite ? static_cast<double>(sgn(real.value)) : real.special;
  };
  Real centred = ToReal(x);
  if (centred.finite && moments_.mean.finite) {
    centred.value -= moments_.mean.value;
  } else if (!moments_.mean.finite) {
    centred = {false, (centred.finite ? 0 : centred.special) - moments_.mean.special, {}};
  }
  const double product = sign(centred) / std::sqrt(sign(moments_.spread)) * sign(ToReal(gain));
  const Real added = ToReal(bias);
  if (std::isfinite(product) && added.finite) return output_->PutReal(element, added);
  output_->PutReal(element, {false, product + sign(added), {}});
}

void Normalizer::Put(std::int64_t element, const Coefficient& x, const Coefficient& gain,
                     const Coefficient& bias) {
  if (in_binary32_) return PutFloat32(element, x, gain, bias);
  const auto exact = [](const Coefficient& c, std::int64_t absent) {
    return c.operand == nullptr ? Dyadic{absent, 0} : c.operand->exact(c.index);
  };
  const Dyadic value = exact(x, 0);
  const Dyadic g = exact(gain, 1);
  const Dyadic b = exact(bias, 0);
  const auto finite = [](const Dyadic& d) { return d.kind == Dyadic::Kind::kFinite; };
  const bool usual = moments_.finite() && sgn(moments_.spread.value) > 0;
  if (!usual || !finite(value) || !finite(g) || !finite(b)) {
    return PutSpecial(element, value, g, b);
  }
  if (PutFast(element, AsDouble(value), AsDouble(g), AsDouble(b))) return;
  PutRooted(element, (ToRational(value) - moments_.mean.value) * ToRational(g), ToRational(b));
}

void PutMean(const Arithmetic& arithmetic, const Moments& moments, std::int64_t element,
             Output* output) {
  if (DomainFor(arithmetic, *output) == Domain::kFloat32) {
    return output->PutFloat(element, moments.mean32);
  }
  output->PutReal(element, moments.mean);
}

void PutInverse(const Arithmetic& arithmetic, const Moments& moments, std::int64_t element,
                Output* output) {
  Normalizer normalizer(arithmetic, output);
  if (normalizer.in_binary32_) {
    return output->PutFloat(element, 1 / std::sqrt(moments.spread32));
  }
  Moments about_zero = moments;
  about_zero.mean = {true, 0, 0};
  normalizer.SetMoments(about_zero);
  const Dyadic one{1, 0};
  if (!moments.finite() || sgn(moments.spread.value) <= 0) {
    return normalizer.PutSpecial(element, one, one, {0, 0});
  }
  const double inverse = normalizer.inverse_;
  if (!output->PutIfCertain(element, {inverse, inverse * 0x1p-49})) {
    normalizer.PutRooted(element, 1, 0);
  }
}

}  // namespace qtx::reference
