#include "arithmetic/power.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "arithmetic/root.h"

namespace qtx::reference {
namespace {

// Exact powers have at most so many bits, and lie within 2^+-kExactReach. Beyond either, a power of
// an odd mantissa above 1 has more bits than a tie of any type, or is past the range of every type.
constexpr std::int64_t kExactBits = 4096;
constexpr std::int64_t kExactReach = 1 << 14;

// The same number with an odd mantissa, or 0.
Dyadic Normal(Dyadic x) {
  if (x.mantissa == 0) return {0, 0, x.kind};
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(x.mantissa));
  x.mantissa /= std::int64_t{1} << zeros;
  x.exponent += zeros;
  return x;
}

bool IsInteger(const Dyadic& normal) { return normal.exponent >= 0; }
bool IsOdd(const Dyadic& normal) { return normal.exponent == 0 && normal.mantissa != 0; }

// The integer, moved to +-2^62 when it is beyond that.
std::int64_t Clamped(const Dyadic& integer) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  const bool fits = integer.exponent < 62 &&
                    std::abs(integer.mantissa) <= (kLimit >> std::min(integer.exponent, 62));
  if (fits) return integer.mantissa * (std::int64_t{1} << integer.exponent);
  return integer.mantissa < 0 ? -kLimit : kLimit;
}

double Special(const Dyadic& value) {
  if (value.kind == Dyadic::Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(std::numeric_limits<double>::infinity(),
                       static_cast<double>(value.mantissa));
}

// IEEE 754's pow where x is 0 or an operand is not finite. Of x only its sign and side of 1 matter
// there, of y its sign and whether it is an odd integer.
double Limit(const Dyadic& x, const Dyadic& y) {
  const auto like = [](const Dyadic& d, double plain) {
    if (d.kind != Dyadic::Kind::kFinite) return Special(d);
    return d.mantissa == 0 ? 0 : std::copysign(plain, static_cast<double>(d.mantissa));
  };
  const Dyadic magnitude{std::abs(x.mantissa), x.exponent, x.kind};
  int side = 0;  // of |x| about 1
  if (x.kind == Dyadic::Kind::kFinite) side = Compare(magnitude, {1, 0, Dyadic::Kind::kFinite});
  return std::pow(like(x, side == 0 ? 1 : side < 0 ? 0.5 : 2), like(y, IsOdd(y) ? 1 : 2));
}

Rational PowerOfTwo(std::int64_t exponent) {
  return ToRational({1, static_cast<std::int32_t>(exponent), Dyadic::Kind::kFinite});
}

// x^n for a positive x with an odd mantissa, where its size is bounded.
std::optional<Rational> IntegerPower(const Dyadic& x, std::int64_t n) {
  const __int128 shift = static_cast<__int128>(x.exponent) * n;
  if (x.mantissa == 1) {
    // Past the reach every type saturates or has nothing but 0.
    return PowerOfTwo(
        static_cast<std::int64_t>(std::clamp<__int128>(shift, -kExactReach, kExactReach)));
  }
  const auto bits =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(x.mantissa)));
  const std::int64_t magnitude = std::abs(n);
  if (magnitude > kExactBits || magnitude * bits > kExactBits) return std::nullopt;
  if (shift > kExactReach || shift < -kExactReach) return std::nullopt;
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), static_cast<unsigned long>(x.mantissa),
                static_cast<unsigned long>(magnitude));
  const Rational odd = n < 0 ? Rational(1) / Rational(power) : Rational(power);
  return odd * PowerOfTwo(static_cast<std::int64_t>(shift));
}

// x^(2^-roots) for a positive x with an odd mantissa, where it is rational.
std::optional<Dyadic> RepeatedRoot(Dyadic x, int roots) {
  for (; roots > 0 && (x.mantissa != 1 || x.exponent != 0); --roots) {
    mpz_class root;
    mpz_class rest;
    const mpz_class mantissa(static_cast<long>(x.mantissa));
    mpz_sqrtrem(root.get_mpz_t(), rest.get_mpz_t(), mantissa.get_mpz_t());
    if (rest != 0 || x.exponent % 2 != 0) return std::nullopt;
    x = {root.get_si(), x.exponent / 2, Dyadic::Kind::kFinite};
  }
  return x;
}

// x^y for a positive x, where it is rational and of bounded size.
std::optional<Rational> RationalPower(const Dyadic& x, const Dyadic& y) {
  if (IsInteger(y)) return IntegerPower(x, Clamped(y));
  // y is an odd number over a power of two: the roots come first, and must all be rational.
  const std::optional<Dyadic> root = RepeatedRoot(x, -y.exponent);
  return root ? IntegerPower(*root, y.mantissa) : std::nullopt;
}

// x^y for a positive x, where it is rational and of bounded size.
std::optional<Rational> RationalPower(Rational x, const Dyadic& y) {
  for (int roots = -y.exponent; roots > 0 && x != 1; --roots) {
    auto root = RationalRoot(x, 2);
    if (!root) return std::nullopt;
    x = *std::move(root);
  }
  if (x == 1) return x;
  const std::int64_t n = IsInteger(y) ? Clamped(y) : y.mantissa;
  const std::int64_t magnitude = std::abs(n);
  const auto bits = static_cast<std::int64_t>(
      std::max(mpz_sizeinbase(x.get_num_mpz_t(), 2), mpz_sizeinbase(x.get_den_mpz_t(), 2)));
  if (magnitude > kExactBits || magnitude * bits > kExactReach) return std::nullopt;
  Rational power;
  mpz_pow_ui(power.get_num_mpz_t(), x.get_num_mpz_t(), static_cast<unsigned long>(magnitude));
  mpz_pow_ui(power.get_den_mpz_t(), x.get_den_mpz_t(), static_cast<unsigned long>(magnitude));
  return n < 0 ? Rational(1 / power) : power;
}

Enclosure PowerEnclosure(Rational magnitude, const Dyadic& y, bool negative) {
  return [base = std::move(magnitude), exponent = ToRational(y), negative](int bits) {
    Interval power = Exp(Log(Interval(base, bits)) * Interval(exponent, bits));
    return negative ? Interval(0, bits) - power : power;
  };
}

bool IsPlainInteger(const format::Tensor& tensor) {
  return !tensor.quantization && format::IsIntegerStorage(tensor.elem_type);
}

// libm's pow is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 are taken, and an
// absolute bound where it is subnormal. Without bound where it is not finite, and of a base of 0.
Approximation ApproximatePower(double x, double y) {
  const double power = std::pow(x, y);
  if (x == 0 || !std::isfinite(power)) return {0, std::numeric_limits<double>::infinity()};
  return {power, std::abs(power) * 0x1p-51 + 0x1p-1000};
}

float FloatOf(const Power& power) {
  if (!power.exact) return NearestFloat(power.enclose);
  return power.exact->finite ? NearestFloat(power.exact->value)
                             : static_cast<float>(power.exact->special);
}

}  // namespace

Power PowerOf(const Dyadic& base, const Dyadic& exponent) {
  const Dyadic x = Normal(base);
  const Dyadic y = Normal(exponent);
  const bool finite = x.kind == Dyadic::Kind::kFinite && y.kind == Dyadic::Kind::kFinite;
  if (!finite || x.mantissa == 0) {
    const double limit = Limit(x, y);
    if (!std::isfinite(limit)) return {Real{false, limit, {}}, {}};
    return {Real{true, 0, Rational(limit)}, {}};
  }
  if (y.mantissa == 0) return {Real{true, 0, 1}, {}};
  if (x.mantissa < 0 && !IsInteger(y)) {
    return {Real{false, std::numeric_limits<double>::quiet_NaN(), {}}, {}};
  }
  const bool negative = x.mantissa < 0 && IsOdd(y);
  const Dyadic magnitude{std::abs(x.mantissa), x.exponent, x.kind};
  if (auto power = RationalPower(magnitude, y)) {
    return {Real{true, 0, negative ? Rational(-*power) : *std::move(power)}, {}};
  }
  return {std::nullopt, PowerEnclosure(ToRational(magnitude), y, negative)};
}

Power PowerOf(const Rational& x, const Dyadic& exponent) {
  const Dyadic y = Normal(exponent);
  if (y.mantissa == 0) return {Real{true, 0, 1}, {}};
  if (x == 0) {
    if (y.mantissa > 0) return {Real{true, 0, 0}, {}};
    return {Real{false, std::numeric_limits<double>::infinity(), {}}, {}};
  }
  if (x < 0 && !IsInteger(y)) {
    return {Real{false, std::numeric_limits<double>::quiet_NaN(), {}}, {}};
  }
  const bool negative = x < 0 && IsOdd(y);
  Rational magnitude = abs(x);
  if (auto power = RationalPower(magnitude, y)) {
    return {Real{true, 0, negative ? Rational(-*power) : *std::move(power)}, {}};
  }
  return {std::nullopt, PowerEnclosure(std::move(magnitude), y, negative)};
}

float NearestPower(float x, float y) {
  const auto base = static_cast<double>(x);
  const auto exponent = static_cast<double>(y);
  if (std::isfinite(x) && std::isfinite(y)) {
    if (const auto certain = CertainlyFloat(ApproximatePower(base, exponent))) return *certain;
  }
  return FloatOf(PowerOf(ToDyadic(base), ToDyadic(exponent)));
}

PowerPutter::PowerPutter(const Arithmetic& arithmetic, const Operand& x, const Operand& y,
                         Output* output)
    : domain_(DomainFor(arithmetic, *output)),
      x_(&x),
      y_(&y),
      output_(output),
      integers_(IsPlainInteger(x.tensor()) && IsPlainInteger(output->tensor())) {}

// x^y modulo 2^64 for an integer y >= 0, which may be as large as it likes.  Source: pow.S5.
bool PowerPutter::PutModular(std::int64_t element, std::int64_t ix, const Dyadic& y) {
  if (!integers_ || y.kind != Dyadic::Kind::kFinite || y.mantissa < 0 || !IsInteger(y))
    return false;
  auto factor = static_cast<std::uint64_t>(x_->integer(ix));
  std::uint64_t power = 1;
  for (auto n = static_cast<std::uint64_t>(y.mantissa); n != 0; n >>= 1, factor *= factor) {
    if (n % 2 != 0) power *= factor;
  }
  for (int i = 0; i < y.exponent; ++i) power *= power;
  output_->PutInteger(element, static_cast<std::int64_t>(power));
  return true;
}

void PowerPutter::PutExact(std::int64_t element, const Dyadic& x, const Dyadic& y) {
  const Power power = PowerOf(x, y);
  if (power.exact) return output_->PutReal(element, *power.exact);
  output_->PutEnclosed(element, power.enclose);
}

void PowerPutter::Put(std::int64_t element, std::int64_t ix, std::int64_t iy) {
  const Dyadic x = x_->exact(ix);
  const Dyadic y = y_->exact(iy);
  if (PutModular(element, ix, Normal(y))) return;
  if (domain_ == Domain::kFloat32) {
    return output_->PutFloat(element, NearestPower(x_->binary32(ix), y_->binary32(iy)));
  }
  const bool finite = x.kind == Dyadic::Kind::kFinite && y.kind == Dyadic::Kind::kFinite;
  const auto base = finite ? ExactDouble(x) : std::nullopt;
  const auto exponent = finite ? ExactDouble(y) : std::nullopt;
  if (base && exponent && output_->PutIfCertain(element, ApproximatePower(*base, *exponent))) {
    return;
  }
  output_->CountFallback();
  PutExact(element, x, y);  // also tflite.S11
}

}  // namespace qtx::reference
