#include "interval.h"

#include <mpfi_io.h>

#include "qtx/format/mpfr_cache.h"

namespace qtx::reference {
namespace {

constexpr int kExtreme = 2000;

Rational PowerOfTwo(int exponent) { return ToRational({1, exponent, Dyadic::Kind::kFinite}); }

// `upwards` says to which side a value too near to zero is moved.
Rational EndOf(mpfr_srcptr end, bool upwards) {
  const int sign = mpfr_sgn(end);
  if (sign == 0) return 0;
  const bool huge = mpfr_inf_p(end) != 0 || mpfr_get_exp(end) > kExtreme;
  if (huge) return PowerOfTwo(kExtreme) * sign;
  if (mpfr_get_exp(end) < -kExtreme) {
    const bool outwards = upwards == (sign > 0);
    return PowerOfTwo(outwards ? -kExtreme : -kExtreme - 1) * sign;
  }
  Rational exact;
  mpfr_get_q(exact.get_mpq_t(), end);
  return exact;
}

// The number of 64 bits nearest to `value`.
Rational Nearest64(const Rational& value) {
  format::OwnMpfrCache();
  mpfr_t rounded;
  mpfr_init2(rounded, 64);
  mpfr_set_q(rounded, value.get_mpq_t(), MPFR_RNDN);
  Rational nearest;
  mpfr_get_q(nearest.get_mpq_t(), rounded);
  mpfr_clear(rounded);
  return nearest;
}

}  // namespace

Interval::Interval(const Rational& value, int bits) {
  format::OwnMpfrCache();
  mpfi_init2(value_, bits);
  mpfi_set_q(value_, value.get_mpq_t());
}

Interval::Interval(const Dyadic& value, int bits) {
  format::OwnMpfrCache();
  mpfi_init2(value_, bits);
  mpfi_set_si(value_, value.mantissa);
  mpfi_mul_2si(value_, value_, value.exponent);
}

Interval::Interval(const Interval& other) {
  mpfi_init2(value_, mpfi_get_prec(other.value_));
  mpfi_set(value_, other.value_);
}

Interval::Interval(Interval&& other) noexcept {
  mpfi_init2(value_, MPFR_PREC_MIN);
  mpfi_swap(value_, other.value_);
}

Interval& Interval::operator=(Interval other) noexcept {
  mpfi_swap(value_, other.value_);
  return *this;
}

bool Interval::IsBelow(const Rational& magnitude) const {
  const Rational negative = -magnitude;
  return mpfr_cmp_q(&value_->left, negative.get_mpq_t()) > 0 &&
         mpfr_cmp_q(&value_->right, magnitude.get_mpq_t()) < 0;
}
Rational Interval::low() const { return EndOf(&value_->left, /*upwards=*/false); }
Rational Interval::high() const { return EndOf(&value_->right, /*upwards=*/true); }

Interval& Interval::operator+=(const Interval& b) {
  mpfi_add(value_, value_, b.value_);
  return *this;
}
Interval& Interval::operator-=(const Interval& b) {
  mpfi_sub(value_, value_, b.value_);
  return *this;
}
Interval& Interval::operator*=(const Interval& b) {
  mpfi_mul(value_, value_, b.value_);
  return *this;
}
Interval& Interval::operator/=(const Interval& b) {
  mpfi_div(value_, value_, b.value_);
  return *this;
}

Interval& Interval::operator<<=(std::int64_t exponent) {
  mpfi_mul_2si(value_, value_, exponent);
  return *this;
}

Interval Max(Interval a, const Interval& b) {  // increasing in both
  mpfr_max(&a.value_->left, &a.value_->left, &b.value_->left, MPFR_RNDD);
  mpfr_max(&a.value_->right, &a.value_->right, &b.value_->right, MPFR_RNDU);
  return a;
}
Interval Min(Interval a, const Interval& b) {
  mpfr_min(&a.value_->left, &a.value_->left, &b.value_->left, MPFR_RNDD);
  mpfr_min(&a.value_->right, &a.value_->right, &b.value_->right, MPFR_RNDU);
  return a;
}

Interval Exp(Interval x) {
  mpfi_exp(x.value_, x.value_);
  return x;
}
Interval Expm1(Interval x) {
  mpfi_expm1(x.value_, x.value_);
  return x;
}
Interval Log(Interval x) {
  mpfi_log(x.value_, x.value_);
  return x;
}
Interval Log1p(Interval x) {
  mpfi_log1p(x.value_, x.value_);
  return x;
}
Interval Sqrt(Interval x) {
  mpfi_sqrt(x.value_, x.value_);
  return x;
}
Interval Root(Interval x, unsigned degree) {  // increasing, like Erf
  mpfr_rootn_ui(&x.value_->left, &x.value_->left, degree, MPFR_RNDD);
  mpfr_rootn_ui(&x.value_->right, &x.value_->right, degree, MPFR_RNDU);
  return x;
}
Interval Tanh(Interval x) {
  mpfi_tanh(x.value_, x.value_);
  return x;
}
Interval Sin(Interval x) {
  mpfi_sin(x.value_, x.value_);
  return x;
}
Interval Cos(Interval x) {
  mpfi_cos(x.value_, x.value_);
  return x;
}
Interval Tan(Interval x) {
  mpfi_tan(x.value_, x.value_);
  return x;
}
Interval Asin(Interval x) {
  mpfi_asin(x.value_, x.value_);
  return x;
}
Interval Acos(Interval x) {
  mpfi_acos(x.value_, x.value_);
  return x;
}
Interval Atan(Interval x) {
  mpfi_atan(x.value_, x.value_);
  return x;
}
Interval Sinh(Interval x) {
  mpfi_sinh(x.value_, x.value_);
  return x;
}
Interval Cosh(Interval x) {
  mpfi_cosh(x.value_, x.value_);
  return x;
}
Interval Asinh(Interval x) {
  mpfi_asinh(x.value_, x.value_);
  return x;
}
Interval Acosh(Interval x) {
  mpfi_acosh(x.value_, x.value_);
  return x;
}
Interval Atanh(Interval x) {
  mpfi_atanh(x.value_, x.value_);
  return x;
}
Interval Erf(Interval x) {  // increasing, and correctly rounded by MPFR on either side
  mpfr_erf(&x.value_->left, &x.value_->left, MPFR_RNDD);
  mpfr_erf(&x.value_->right, &x.value_->right, MPFR_RNDU);
  return x;
}
Interval Erfc(Interval x) {  // decreasing: the ends change places
  mpfr_swap(&x.value_->left, &x.value_->right);
  mpfr_erfc(&x.value_->left, &x.value_->left, MPFR_RNDD);
  mpfr_erfc(&x.value_->right, &x.value_->right, MPFR_RNDU);
  return x;
}
Interval Pi(int bits) {
  Interval pi(0, bits);
  mpfi_const_pi(pi.value_);
  return pi;
}

Rational Decided(const Enclosure& enclose, const Rational& scale,
                 const std::function<bool(const Rational&, const Rational&)>& same) {
  for (int bits = kFirstBits;; bits *= 2) {
    const Interval x = enclose(bits);
    Rational low = x.low();
    const Rational high = x.high();
    if (same(low, high)) return low;
    if (bits >= kLastBits) return Nearest64((low + high) / 2 / scale) * scale;
  }
}

float NearestFloat(const Enclosure& enclose) {
  return NearestFloat(Decided(enclose, 1, [](const Rational& low, const Rational& high) {
    return NearestFloat(low) == NearestFloat(high);
  }));
}

}  // namespace qtx::reference
