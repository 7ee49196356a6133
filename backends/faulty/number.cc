#include "number.h"

#include <mpfr.h>

#include <algorithm>

namespace qtx::backend::faulty {
namespace {

constexpr mpfr_prec_t kBits = 512;
constexpr mpfr_exp_t kSmallest = -4096;

class Real {
 public:
  explicit Real(mpfr_prec_t bits = kBits) { mpfr_init2(value_, bits); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }

  Exact ToExact() {
    if (mpfr_zero_p(value_) || mpfr_get_exp(value_) < kSmallest) return Exact(mpq_class(0));
    mpq_class rational;
    mpfr_get_q(rational.get_mpq_t(), value_);
    return Exact(rational);
  }

 private:
  mpfr_t value_;
};

// Every operand is dyadic, so as many bits as its numerator has hold it.
mpfr_prec_t BitsOf(const mpq_class& x) {
  return std::max<mpfr_prec_t>(
      kBits, static_cast<mpfr_prec_t>(mpz_sizeinbase(x.get_num().get_mpz_t(), 2)));
}

// What is left between the integer below a number and the number: rest against a half.
std::int64_t RoundFrom(std::int64_t below, int rest_against_half, bool integral, bool negative,
                       Tie tie) {
  if (integral || tie == Tie::kFloor) return below;
  if (tie == Tie::kTruncate) return negative ? below + 1 : below;
  if (rest_against_half != 0) return rest_against_half > 0 ? below + 1 : below;
  switch (tie) {
    case Tie::kUp:
      return below + 1;
    case Tie::kDown:
      return below;
    case Tie::kAway:
      return negative ? below : below + 1;
    default:
      return below % 2 == 0 ? below : below + 1;
  }
}

}  // namespace

Exact::Exact(double value) {
  if (std::isfinite(value)) {
    value_ = value;
  } else {
    special_ = value;
  }
}

Exact Exact::Special(double value) { return Exact(value); }

double Exact::Sign() const { return finite() ? sgn(value_) : special_; }

Exact operator+(const Exact& a, const Exact& b) {
  if (a.finite() && b.finite()) return Exact(mpq_class(a.value_ + b.value_));
  return Exact::Special((a.finite() ? 0 : a.special_) + (b.finite() ? 0 : b.special_));
}
Exact operator-(const Exact& a, const Exact& b) { return a + b * Exact(-1.0); }
Exact operator*(const Exact& a, const Exact& b) {
  if (a.finite() && b.finite()) return Exact(mpq_class(a.value_ * b.value_));
  return Exact::Special(a.Sign() * b.Sign());
}
Exact operator/(const Exact& a, const Exact& b) {
  if (a.finite() && b.finite() && sgn(b.value_) != 0) return Exact(mpq_class(a.value_ / b.value_));
  if (a.finite() && !b.finite() && !IsNan(b)) return Exact(mpq_class(0));
  return Exact::Special(a.Sign() / std::abs(b.Sign()) * (b.Sign() < 0 ? -1 : 1));
}
bool operator<(const Exact& a, const Exact& b) {
  if (a.finite() && b.finite()) return a.value_ < b.value_;
  return (a.finite() ? 0 : a.special_) < (b.finite() ? 0 : b.special_);
}

std::int64_t Round(const Exact& x, Tie tie) {
  if (!x.finite()) return x.special() < 0 ? -kFar : kFar;
  mpz_class below;
  mpz_fdiv_q(below.get_mpz_t(), x.value().get_num().get_mpz_t(), x.value().get_den().get_mpz_t());
  if (mpz_sizeinbase(below.get_mpz_t(), 2) > 62) return sgn(below) < 0 ? -kFar : kFar;
  const mpq_class rest = x.value() - below;
  return RoundFrom(below.get_si(), cmp(rest, mpq_class(1, 2)), sgn(rest) == 0, sgn(x.value()) < 0,
                   tie);
}

Exact NearestInteger(const Exact& x) {
  const mpq_class up = x.value() + mpq_class(1, 2);
  mpz_class nearest;
  mpz_fdiv_q(nearest.get_mpz_t(), up.get_num_mpz_t(), up.get_den_mpz_t());
  if (up.get_den() == 1 && mpz_odd_p(nearest.get_mpz_t()) != 0) nearest -= 1;
  return Exact(mpq_class(nearest));
}

std::int64_t Round(float x, Tie tie) {
  if (std::abs(x) >= static_cast<float>(kFar)) return x < 0 ? -kFar : kFar;
  const float below = std::floor(x);
  const float rest = x - below;  // exact: a multiple of x's last place, below 1
  return RoundFrom(static_cast<std::int64_t>(below),
                   rest > 0.5F   ? 1
                   : rest < 0.5F ? -1
                                 : 0,
                   rest == 0, x < 0, tie);
}

float ToFloat(const Exact& x) {
  if (!x.finite()) return static_cast<float>(x.special());
  // Binary32 has 24 bits and, subnormals counted, exponents from -148 to 128 of 0.1...
  const mpfr_exp_t least = mpfr_get_emin();
  const mpfr_exp_t greatest = mpfr_get_emax();
  mpfr_set_emin(-148);
  mpfr_set_emax(128);
  Real real(24);
  int inexact = mpfr_set_q(real.get(), x.value().get_mpq_t(), MPFR_RNDN);
  inexact = mpfr_check_range(real.get(), inexact, MPFR_RNDN);
  mpfr_subnormalize(real.get(), inexact, MPFR_RNDN);
  const float result = mpfr_get_flt(real.get(), MPFR_RNDN);
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);
  return result;
}

Exact Evaluate(Function function, const Exact& x) {
  if (!x.finite()) {
    const bool up = x.special() > 0;
    return Exact(up ? 1.0 : function == Function::kTanh ? -1.0 : 0.0);
  }
  Real real(BitsOf(x.value()));
  mpfr_set_q(real.get(), x.value().get_mpq_t(), MPFR_RNDN);
  Real result;
  if (function == Function::kTanh) {
    mpfr_tanh(result.get(), real.get(), MPFR_RNDN);
  } else if (function == Function::kExp) {
    mpfr_exp(result.get(), real.get(), MPFR_RNDN);
  } else {
    mpfr_neg(real.get(), real.get(), MPFR_RNDN);
    mpfr_exp(result.get(), real.get(), MPFR_RNDN);
    mpfr_add_ui(result.get(), result.get(), 1, MPFR_RNDN);
    mpfr_ui_div(result.get(), 1, result.get(), MPFR_RNDN);
  }
  return result.ToExact();
}

std::vector<Exact> Softmax(const std::vector<Exact>& x) {
  const Exact* greatest = &x.front();
  for (const Exact& one : x) greatest = *greatest < one ? &one : greatest;
  std::vector<Exact> result;
  Real sum;
  mpfr_set_ui(sum.get(), 0, MPFR_RNDN);
  std::vector<Real> shares(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const mpq_class difference = x[i].value() - greatest->value();
    Real exponent(BitsOf(difference));
    mpfr_set_q(exponent.get(), difference.get_mpq_t(), MPFR_RNDN);
    mpfr_exp(shares[i].get(), exponent.get(), MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), shares[i].get(), MPFR_RNDN);
  }
  for (Real& share : shares) {
    mpfr_div(share.get(), share.get(), sum.get(), MPFR_RNDN);
    result.push_back(share.ToExact());
  }
  return result;
}

}  // namespace qtx::backend::faulty
