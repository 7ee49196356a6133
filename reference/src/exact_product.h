// The exact product of any number of elements.
#pragma once

#include <gmpxx.h>

#include <cstdlib>
#include <limits>

#include "rational.h"

namespace qtx::reference {

/// A product without rounding: a whole number times a power of two, or what IEEE 754 gives.
class ExactProduct {
 public:
  /// How many an operator multiplies at most: the product has 2^18 bits.
  static constexpr std::ptrdiff_t kMostFactors = 4096;

  void Multiply(const Dyadic& factor) {
    special_ *= ToDouble(factor);
    finite_ = finite_ && factor.kind == Dyadic::Kind::kFinite;
    mantissa_ *= static_cast<long>(factor.mantissa);
    exponent_ += factor.exponent;
  }
  Real Value() const {
    if (!finite_) return {false, special_, {}};
    Real real;
    real.value = mantissa_;
    const auto shift = static_cast<mp_bitcnt_t>(std::abs(exponent_));
    mpq_ptr value = real.value.get_mpq_t();
    exponent_ < 0 ? mpq_div_2exp(value, value, shift) : mpq_mul_2exp(value, value, shift);
    return real;
  }

 private:
  // Zero, NaN, or the sign of a number or infinity: that is all a special product needs.
  static double ToDouble(const Dyadic& factor) {
    if (factor.kind == Dyadic::Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
    const double sign = factor.mantissa > 0 ? 1 : factor.mantissa < 0 ? -1 : 0;
    return factor.kind == Dyadic::Kind::kFinite ? sign
                                                : sign * std::numeric_limits<double>::infinity();
  }
  bool finite_ = true;
  double special_ = 1;
  mpz_class mantissa_ = 1;
  std::int64_t exponent_ = 0;
};

}  // namespace qtx::reference
