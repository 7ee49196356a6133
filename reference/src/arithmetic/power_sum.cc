#include "arithmetic/power_sum.h"

#include <cmath>

#include "arithmetic/root.h"

namespace qtx::reference {
namespace {

// Integers of at most 17 bits and a sign under one scale: 2^28 squares stay below 2^63.
bool IsSmall(const Operand& input) {
  if (!input.is_integer() || !input.per_tensor()) return false;
  if (format::BitWidth(input.tensor().elem_type) > 16) return false;
  constexpr std::int64_t kLargest = std::int64_t{1} << 16;
  return !input.tensor().quantization ||
         std::abs(static_cast<std::int64_t>(format::OffsetAt(*input.tensor().quantization, 0))) <=
             kLargest;
}

Rational ToThe(const Rational& magnitude, unsigned p) {
  Rational power;  // stays in lowest terms
  mpz_pow_ui(power.get_num_mpz_t(), magnitude.get_num_mpz_t(), p);
  mpz_pow_ui(power.get_den_mpz_t(), magnitude.get_den_mpz_t(), p);
  return power;
}

// The sign of x, or 1, as a factor. The magnitude of the least INT64 is no mantissa.
Dyadic SignOf(const Dyadic& x) { return {.mantissa = x.mantissa < 0 ? -1 : 1}; }

// One operation, or none: the binary32 nearest to |x|^p.
float Power32(float x, unsigned p) {
  if (p == 1 || !std::isfinite(x)) return std::abs(x);
  if (p == 2) return x * x;
  return NearestFloat(ToThe(Rational(static_cast<double>(std::abs(x))), p));
}

float Root32(float sum, unsigned p) {
  if (p == 1 || !std::isfinite(sum)) return sum;
  if (p == 2) return std::sqrt(sum);
  return NearestRoot(Rational(static_cast<double>(sum)), p);
}

}  // namespace

PowerSum::PowerSum(const Arithmetic& arithmetic, Norm norm, const Operand& input, Output* output)
    : domain_(DomainFor(arithmetic, *output)),
      norm_(norm),
      input_(&input),
      output_(output),
      small_(norm.p <= 2 && IsSmall(input)) {}

void PowerSum::PutFloat32(std::int64_t element, std::span<const std::int64_t> sources) {
  float sum = 0;
  for (const std::int64_t source : sources) sum += Power32(input_->binary32(source), norm_.p);
  output_->PutFloat(element, norm_.root ? Root32(sum, norm_.p) : sum);
}

void PowerSum::PutIntegers(std::int64_t element, std::span<const std::int64_t> sources) {
  const auto scale = static_cast<double>(input_->scale(0));
  Term sum{0, norm_.p == 2 ? scale * scale : scale};  // exact: two factors of 24 bits
  for (const std::int64_t source : sources) {
    const std::int64_t x = input_->integer(source);
    sum.integer += norm_.p == 2 ? x * x : std::abs(x);
  }
  if (!norm_.root || norm_.p == 1) return output_->PutTerms(element, {&sum, 1});
  // With u = 2^-53: converting the sum costs u, its root half of that and one u, the product u.
  const double root = std::sqrt(static_cast<double>(sum.integer)) * scale;
  if (output_->PutIfCertain(element, {root, root * 0x1p-51})) return;
  output_->CountFallback();
  PutRoot(element, {true, 0, ExactQuotient({&sum, 1}, 1, 1.0F)}, 2, output_);
}

Real PowerSum::ExactPowers(std::span<const std::int64_t> sources) const {
  ExactSum sum;
  Rational powers = 0;
  for (const std::int64_t source : sources) {
    const Dyadic x = input_->exact(source);
    if (norm_.p == 2) {
      sum.AddProduct(x, x);
    } else if (norm_.p == 1 || x.kind != Dyadic::Kind::kFinite) {
      sum.AddProduct(x, SignOf(x));
    } else {
      powers += ToThe(abs(ToRational(x)), norm_.p);
    }
  }
  Real total = sum.Value();
  if (total.finite) total.value += powers;
  return total;
}

void PowerSum::PutExact(std::int64_t element, std::span<const std::int64_t> sources) {
  const Real total = ExactPowers(sources);
  if (!norm_.root || norm_.p == 1 || !total.finite) return output_->PutReal(element, total);
  // Reals that are not plain numbers lie between 2^-170 and 2^170, so that this conversion, which
  // truncates, costs 2u, half of that in the root, which adds one u.
  const double root = norm_.p == 2 ? std::sqrt(total.value.get_d()) : 0;
  if (norm_.p == 2 && output_->PutIfCertain(element, {root, root * 0x1p-51})) return;
  output_->CountFallback();
  PutRoot(element, total, norm_.p, output_);
}

void PowerSum::Put(std::int64_t element, std::span<const std::int64_t> sources) {
  if (domain_ == Domain::kFloat32) return PutFloat32(element, sources);
  if (small_) return PutIntegers(element, sources);
  PutExact(element, sources);
}

}  // namespace qtx::reference
