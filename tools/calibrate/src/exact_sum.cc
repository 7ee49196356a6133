#include "exact_sum.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>

namespace qtx::calibrate {
namespace {

constexpr std::size_t kMaxBytes = 128;       // statistics.C6
constexpr std::int64_t kMaxExponent = 1024;  // statistics.C6
constexpr std::int64_t kQuotientBits = 64;   // more than the 53 that are kept, and a sticky bit

// (-1)^negative * magnitude * 2^exponent to binary64, half even. `inexact`: the magnitude was cut
// off. REQUIRES: then it has at least 55 bits, so that the bit put behind them decides ties.
double ToDouble(const Integer& magnitude, bool inexact, bool negative, std::int64_t exponent) {
  Integer wide;
  mpz_mul_2exp(wide.get(), magnitude.get(), 1);
  if (inexact) mpz_add_ui(wide.get(), wide.get(), 1);
  mpfr_t rounded;
  mpfr_init2(rounded, 53);
  mpfr_set_z_2exp(rounded, wide.get(), static_cast<mpfr_exp_t>(exponent - 1), MPFR_RNDN);
  const double result = mpfr_get_d(rounded, MPFR_RNDN);
  mpfr_clear(rounded);
  return negative ? -result : result;
}

std::int64_t Bits(const Integer& value) {
  return static_cast<std::int64_t>(mpz_sizeinbase(value.get(), 2));
}

void ShiftLeft(Integer& value, std::int64_t bits) {
  mpz_mul_2exp(value.get(), value.get(), static_cast<mp_bitcnt_t>(bits));
}

Integer FromCount(std::uint64_t count) {
  Integer value;
  mpz_import(value.get(), 1, -1, sizeof(count), 0, 0, &count);
  return value;
}

double Mean(const Integer& sum, std::int64_t exponent, const Integer& count) {
  const bool negative = mpz_sgn(sum.get()) < 0;
  Integer dividend;
  mpz_abs(dividend.get(), sum.get());
  const std::int64_t shift =
      std::max<std::int64_t>(0, kQuotientBits + Bits(count) - Bits(dividend));
  ShiftLeft(dividend, shift);
  Integer quotient, remainder;
  mpz_tdiv_qr(quotient.get(), remainder.get(), dividend.get(), count.get());
  const bool inexact = mpz_sgn(remainder.get()) != 0;
  return mpz_sgn(sum.get()) == 0 ? 0.0 : ToDouble(quotient, inexact, negative, exponent - shift);
}

// sqrt(numerator * 2^exponent) / count, exponent even, numerator > 0.
double Root(Integer numerator, std::int64_t exponent, const Integer& count) {
  const std::int64_t shift =
      std::max<std::int64_t>(0, kQuotientBits + Bits(count) - Bits(numerator) / 2);
  ShiftLeft(numerator, 2 * shift);
  Integer square, radicand, root;
  mpz_mul(square.get(), count.get(), count.get());
  mpz_tdiv_q(radicand.get(), numerator.get(), square.get());
  mpz_sqrt(root.get(), radicand.get());  // the root's floor is that of its radicand's floor
  Integer check;
  mpz_mul(check.get(), root.get(), root.get());
  mpz_mul(check.get(), check.get(), square.get());
  const bool inexact = mpz_cmp(check.get(), numerator.get()) != 0;
  return ToDouble(root, inexact, false, exponent / 2 - shift);
}

}  // namespace

format::ExactSum ToExactSum(const Integer& integer, std::int64_t exponent) {
  if (mpz_sgn(integer.get()) == 0) return {};
  const mp_bitcnt_t zeros = mpz_scan1(integer.get(), 0);
  Integer odd;
  mpz_tdiv_q_2exp(odd.get(), integer.get(), zeros);
  // Two's complement of n bytes holds -2^(8n-1) .. 2^(8n-1) - 1; an odd number is no such power,
  // but for -1, which takes one byte.
  const std::size_t bytes = mpz_sizeinbase(odd.get(), 2) / 8 + 1;
  if (mpz_sgn(odd.get()) < 0) {
    Integer power;
    mpz_setbit(power.get(), 8 * bytes);
    mpz_add(odd.get(), odd.get(), power.get());
  }
  format::ExactSum sum;
  sum.exponent = static_cast<std::int32_t>(exponent + static_cast<std::int64_t>(zeros));
  sum.integer.assign(bytes, '\0');
  mpz_export(sum.integer.data(), nullptr, -1, 1, 0, 0, odd.get());
  return sum;
}

Integer ToInteger(const format::ExactSum& sum) {
  Integer value;
  mpz_import(value.get(), sum.integer.size(), -1, 1, 0, 0, sum.integer.data());
  if (!sum.integer.empty() && (static_cast<unsigned char>(sum.integer.back()) & 0x80U) != 0) {
    Integer power;
    mpz_setbit(power.get(), 8 * sum.integer.size());
    mpz_sub(value.get(), value.get(), power.get());
  }
  return value;
}

Result<format::ExactSum> Add(const format::ExactSum& a, const format::ExactSum& b) {
  if (a.integer.empty()) return b;
  if (b.integer.empty()) return a;
  const std::int64_t exponent = std::min(a.exponent, b.exponent);
  Integer left = ToInteger(a), right = ToInteger(b);
  ShiftLeft(left, a.exponent - exponent);
  ShiftLeft(right, b.exponent - exponent);
  mpz_add(left.get(), left.get(), right.get());
  format::ExactSum sum = ToExactSum(left, exponent);
  if (sum.integer.size() > kMaxBytes || std::abs(sum.exponent) > kMaxExponent) {
    return Error{ErrorCode::kTooLarge, "moments", "found a sum of more than 128 bytes"};
  }
  return sum;
}

Result<MeanAndStd> Round(const format::Moments& moments) {
  const Integer count = FromCount(moments.count);
  const Integer sum = ToInteger(moments.sum);
  // count * sum_of_squares - sum^2 at one even exponent.
  const std::int64_t twice = 2 * std::int64_t{moments.sum.exponent};
  const std::int64_t exponent =
      std::min<std::int64_t>(twice, moments.sum_of_squares.exponent) / 2 * 2 - 2;
  Integer numerator = ToInteger(moments.sum_of_squares);
  ShiftLeft(numerator, moments.sum_of_squares.exponent - exponent);
  mpz_mul(numerator.get(), numerator.get(), count.get());
  Integer square;
  mpz_mul(square.get(), sum.get(), sum.get());
  ShiftLeft(square, twice - exponent);
  mpz_sub(numerator.get(), numerator.get(), square.get());
  if (mpz_sgn(numerator.get()) < 0) {
    return Error{ErrorCode::kInvalid, "moments", "expected count * sum_of_squares >= sum^2"};
  }
  MeanAndStd result{.mean = Mean(sum, moments.sum.exponent, count)};
  if (mpz_sgn(numerator.get()) != 0) result.std = Root(numerator, exponent, count);
  return result;
}

}  // namespace qtx::calibrate
