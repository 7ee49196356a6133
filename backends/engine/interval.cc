#include "engine/interval.h"

#include <algorithm>

namespace qtx::backend::engine {
namespace {

// Every format ends far below; plain integers wrap, and are held to exact.S6's number of bits.
constexpr long kReach = kMostBits;

// One end of an interval, within what formats tell apart. `sign` is that of numbers next to a zero
// or an infinity: an interval's inside.
mpq_class Clipped(mpfr_srcptr end) {
  if (mpfr_zero_p(end) != 0) return 0;
  const int sign = mpfr_signbit(end) != 0 ? -1 : 1;
  if (mpfr_inf_p(end) != 0 || mpfr_get_exp(end) > kReach) return sign * PowerOfTwo(kReach);
  if (mpfr_get_exp(end) < -kReach) return sign * PowerOfTwo(-kReach);
  mpq_class value;
  mpfr_get_q(value.get_mpq_t(), end);
  return value;
}

// floor(x * 2^n) over 2^n.
mpq_class FloorAt(const mpq_class& x, unsigned long n) {
  const mpq_class scaled = x << n;
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), scaled.get_num_mpz_t(), scaled.get_den_mpz_t());
  return mpq_class(whole) >> n;
}

}  // namespace

Interval::Interval(const mpq_class& value, mpfr_prec_t bits) : Interval(bits) {
  mpfi_set_q(value_, value.get_mpq_t());
}
Interval::Interval(const Interval& other) : Interval(other.bits()) {
  mpfi_set(value_, other.value_);
}
Interval::Interval(Interval&& other) noexcept : Interval(mpfr_prec_t{MPFR_PREC_MIN}) {
  mpfi_swap(value_, other.value_);
}
Interval& Interval::operator=(Interval other) noexcept {
  mpfi_swap(value_, other.value_);
  return *this;
}
Interval::~Interval() { mpfi_clear(value_); }

std::pair<mpq_class, mpq_class> Interval::Ends() const {
  return {Clipped(&value_->left), Clipped(&value_->right)};
}

bool Interval::IsPoint() const {
  return mpfi_bounded_p(value_) != 0 && mpfr_equal_p(&value_->left, &value_->right) != 0;
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfi_add(y.value_, a.value_, b.value_);
  return y;
}
Interval operator-(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfi_sub(y.value_, a.value_, b.value_);
  return y;
}
Interval operator*(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfi_mul(y.value_, a.value_, b.value_);
  return y;
}
Interval operator/(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfi_div(y.value_, a.value_, b.value_);
  return y;
}
Interval operator-(const Interval& a) {
  Interval y(a.bits());
  mpfi_neg(y.value_, a.value_);
  return y;
}

Interval Exp(const Interval& x) {
  Interval y(x.bits());
  mpfi_exp(y.value_, x.value_);
  return y;
}
Interval Expm1(const Interval& x) {
  Interval y(x.bits());
  mpfi_expm1(y.value_, x.value_);
  return y;
}
Interval Log(const Interval& x) {
  Interval y(x.bits());
  mpfi_log(y.value_, x.value_);
  return y;
}
Interval Log1p(const Interval& x) {
  Interval y(x.bits());
  mpfi_log1p(y.value_, x.value_);
  return y;
}
Interval Sqrt(const Interval& x) {
  Interval y(x.bits());
  mpfi_sqrt(y.value_, x.value_);
  return y;
}
Interval Tanh(const Interval& x) {
  Interval y(x.bits());
  mpfi_tanh(y.value_, x.value_);
  return y;
}

// MPFI lacks these two. Both are monotonic, so the ends of the result are the function's values at
// the ends.
Interval Erf(const Interval& x) {
  Interval y(x.bits());
  mpfr_erf(&y.value_->left, &x.value_->left, MPFR_RNDD);
  mpfr_erf(&y.value_->right, &x.value_->right, MPFR_RNDU);
  return y;
}
Interval Erfc(const Interval& x) {
  Interval y(x.bits());
  mpfr_erfc(&y.value_->left, &x.value_->right, MPFR_RNDD);
  mpfr_erfc(&y.value_->right, &x.value_->left, MPFR_RNDU);
  return y;
}
Interval Root(const Interval& x, unsigned long n) {
  Interval y(x.bits());
  mpfr_rootn_ui(&y.value_->left, &x.value_->left, n, MPFR_RNDD);
  mpfr_rootn_ui(&y.value_->right, &x.value_->right, n, MPFR_RNDU);
  return y;
}

Interval GreaterOf(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfr_max(&y.value_->left, &a.value_->left, &b.value_->left, MPFR_RNDD);
  mpfr_max(&y.value_->right, &a.value_->right, &b.value_->right, MPFR_RNDU);
  return y;
}
Interval LesserOf(const Interval& a, const Interval& b) {
  Interval y(a.bits());
  mpfr_min(&y.value_->left, &a.value_->left, &b.value_->left, MPFR_RNDD);
  mpfr_min(&y.value_->right, &a.value_->right, &b.value_->right, MPFR_RNDU);
  return y;
}

Interval Interval::Pi(mpfr_prec_t bits) {
  Interval y(bits);
  mpfi_const_pi(y.value_);
  return y;
}
Interval Interval::Sigmoid(const Interval& x) {
  const Interval one(1, x.bits());
  return one / (one + Exp(-x));
}

mpq_class Simplest(const mpq_class& low, const mpq_class& high) {
  // More bits after the point only add numbers, so the least sufficient count is found by
  // bisection; at that count one number at most is in a narrow interval.
  const auto holds = [&](unsigned long n) { return FloorAt(high, n) >= low; };
  unsigned long most = 1;
  while (!holds(most)) most *= 2;
  unsigned long least = 0;
  while (least < most) {
    const unsigned long middle = least + (most - least) / 2;
    if (holds(middle)) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return FloorAt(high, least);
}

}  // namespace qtx::backend::engine
