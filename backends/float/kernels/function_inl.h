// Exponential functions in fused multiply-adds, so that they are the same bits everywhere.
#if defined(QTX_FLOAT_FUNCTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QTX_FLOAT_FUNCTION_INL_H_
#undef QTX_FLOAT_FUNCTION_INL_H_
#else
#define QTX_FLOAT_FUNCTION_INL_H_
#endif

#include "float/kernels/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace qtx::backend::floats::HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Lanes>;

/// x = n * ln 2 + r, |r| <= 0.35; n as an integer. REQUIRES: |x| < 2^20, or NaN, where n is unused.
struct Reduced {
  Vector n, r;
};
HWY_INLINE Reduced Reduce(Vector x) {
  // ln 2 in two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980): n times
  // the first is exact, as that has 15 trailing zeros.
  const Vector n = hn::Round(hn::Mul(x, Set(0x1.715476p+0F)));
  const Vector r = Fma(n, Set(-0x1.62e4p-1F), x);
  return {n, Fma(n, Set(-0x1.7f7d1cp-20F), r)};
}

/// exp(r) - 1 for |r| <= 0.35: Taylor's polynomial of degree 7; the next term is below r * 2^-27.
HWY_INLINE Vector ExpM1Polynomial(Vector r) {
  Vector p = Set(1.0F / 5040);
  p = Fma(p, r, Set(1.0F / 720));
  p = Fma(p, r, Set(1.0F / 120));
  p = Fma(p, r, Set(1.0F / 24));
  p = Fma(p, r, Set(1.0F / 6));
  p = Fma(p, r, Set(0.5F));
  return Fma(hn::Mul(r, r), p, r);
}

/// 2^n for integers n of [-126, 127].
HWY_INLINE Vector PowerOfTwo(Vector n) {
  const Integers d;
  const auto exponent = hn::Add(hn::ConvertTo(d, n), hn::Set(d, 127));
  return hn::BitCast(Lanes(), hn::ShiftLeft<23>(exponent));
}

/// Within 2 ulp; subnormal results with one rounding more.
HWY_INLINE Vector Exp(Vector x) {
  const Reduced reduced = Reduce(Clamp(x, Set(-110), Set(100)));
  const Vector e = hn::Add(ExpM1Polynomial(reduced.r), Set(1));
  // In two steps, as n reaches beyond the exponents of normal numbers.
  const Vector half = hn::Floor(hn::Mul(reduced.n, Set(0.5F)));
  const Vector scaled = hn::Mul(e, PowerOfTwo(half));
  const Vector y = hn::Mul(scaled, PowerOfTwo(hn::Sub(reduced.n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// 1 / (1 + exp(-x)), of exp(-|x|), which cannot overflow.
HWY_INLINE Vector Sigmoid(Vector x) {
  const Vector e = Exp(hn::Neg(hn::Abs(x)));
  const Vector numerator = hn::IfThenElse(hn::Lt(x, Set(0)), e, Set(1));
  return hn::Div(numerator, hn::Add(e, Set(1)));
}

/// -m / (2 + m) with the sign of x, m = exp(-2 |x|) - 1, which is accurate near 0.
HWY_INLINE Vector Tanh(Vector x) {
  const Vector twice = hn::Mul(Set(-2), hn::Abs(x));
  const Reduced reduced = Reduce(Clamp(twice, Set(-40), Set(0)));
  const Vector power = PowerOfTwo(reduced.n);
  const Vector m = Fma(power, ExpM1Polynomial(reduced.r), hn::Sub(power, Set(1)));
  const Vector y = hn::Div(hn::Neg(m), hn::Add(m, Set(2)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

}  // namespace qtx::backend::floats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
