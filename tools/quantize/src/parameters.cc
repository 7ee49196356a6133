#include "qtx/quantize/parameters.h"

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "qtx/format/tensor_type.h"

namespace qtx::quantize {
namespace {

using format::IntegerRange;
using format::Scheme;

// mpq_class has no constructor from 64-bit integers everywhere; stored ranges fit a long.
mpq_class Integer(std::int64_t value) { return {static_cast<long>(value)}; }

// The least binary32 that is at least `value`; infinity past the largest.
float RoundedUp(const mpq_class& value) {
  auto rounded = static_cast<float>(value.get_d());  // get_d cuts off, so never above `value`
  while (std::isfinite(rounded) && mpq_class(static_cast<double>(rounded)) < value)
    rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  return rounded;
}

// The least power of two that is at least `value`, as RoundedUp.
float PowerRoundedUp(const mpq_class& value) {
  const float scale = RoundedUp(value);
  if (!std::isfinite(scale)) return scale;
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);
  return fraction == 0.5F ? scale : std::ldexp(1.0F, exponent);
}

std::int64_t HalfEven(const mpq_class& value) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  const int side = cmp(value - mpq_class(floor), mpq_class(1, 2));
  if (side > 0 || (side == 0 && mpz_odd_p(floor.get_mpz_t()) != 0)) ++floor;
  return floor.fits_slong_p() != 0 ? floor.get_si()
                                   : (sgn(floor) < 0 ? std::numeric_limits<std::int64_t>::min()
                                                     : std::numeric_limits<std::int64_t>::max());
}

bool IsPow2(Scheme scheme) {
  return scheme == Scheme::kAsymmetricPow2 || scheme == Scheme::kSymmetricPow2;
}

// Whether stored zero is real zero, for a range from `lo` on.
bool IsCentred(Scheme scheme, double lo) {
  return scheme == Scheme::kSymmetric || scheme == Scheme::kSymmetricPow2 ||
         (scheme == Scheme::kSymmetricUint8 && lo < 0);
}

Result<mpq_class> CentredScale(double lo, double hi, const IntegerRange& stored) {
  const mpq_class above = mpq_class(hi) / Integer(stored.max);
  if (lo == 0) return above;
  if (stored.min == 0) {
    return Error{ErrorCode::kInvalid, "",
                 "found values from " + format::HexFloat(lo) +
                     ", expected none below 0 for a symmetric scheme of an unsigned storage"};
  }
  const mpq_class below = mpq_class(lo) / Integer(stored.min);
  return above < below ? below : above;
}

// `top` stands for the upper end: qmax, or what comes after it.
Result<Parameters> ParametersOf(const Range& range, const TypeSpec& spec, std::int64_t top,
                                float least_scale = 0) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max) || range.min > range.max) {
    return Error{ErrorCode::kInvalid, "",
                 "found the range " + format::HexFloat(range.min) + " to " +
                     format::HexFloat(range.max) + ", expected finite min <= max"};
  }
  const double lo = std::min(range.min, 0.0);
  const double hi = std::max(range.max, 0.0);
  const IntegerRange stored = StoredRange(spec);
  const bool centred = IsCentred(spec.scheme, lo);
  mpq_class exact = (mpq_class(hi) - mpq_class(lo)) / Integer(top - stored.min);
  if (centred) {
    QTX_ASSIGN_OR_RETURN(exact, CentredScale(lo, hi, {stored.min, top}));
  }
  const mpq_class least(static_cast<double>(least_scale));
  if (exact < least) exact = least;
  Parameters parameters;
  if (exact > 0) parameters.scale = IsPow2(spec.scheme) ? PowerRoundedUp(exact) : RoundedUp(exact);
  if (!std::isfinite(parameters.scale)) {
    return Error{ErrorCode::kInvalid, "",
                 "the range " + format::HexFloat(lo) + " to " + format::HexFloat(hi) +
                     " needs a scale beyond binary32"};
  }
  if (centred) return parameters;
  const mpq_class zero =
      Integer(stored.min) - mpq_class(lo) / mpq_class(static_cast<double>(parameters.scale));
  parameters.offset = static_cast<std::int32_t>(std::clamp(HalfEven(zero), stored.min, stored.max));
  return parameters;
}

}  // namespace

IntegerRange StoredRange(const TypeSpec& spec) {
  IntegerRange range = format::StorageRange(spec.storage);
  if (spec.narrow && range.min < 0) range.min = -range.max;
  return range;
}

Result<Parameters> ChooseParameters(const Range& range, const TypeSpec& spec, float least_scale) {
  return ParametersOf(range, spec, StoredRange(spec).max, least_scale);
}

Result<Parameters> FixedParameters(const Range& range, const TypeSpec& spec) {
  return ParametersOf(range, spec, StoredRange(spec).max + 1);
}

format::Quantization ToQuantization(const Parameters& parameters, const TypeSpec& spec) {
  format::Quantization q;
  q.scale = {parameters.scale};
  if (parameters.offset != 0) q.offset = {parameters.offset};
  q.scheme = spec.scheme;
  const IntegerRange stored = StoredRange(spec);
  if (stored != format::StorageRange(spec.storage)) q.quant_min = stored.min;
  return q;
}

std::int64_t StoredOf(double real, const Parameters& parameters, const IntegerRange& stored) {
  if (std::isnan(real)) return parameters.offset;
  if (std::isinf(real)) return real < 0 ? stored.min : stored.max;
  const mpq_class quotient = mpq_class(real) / mpq_class(static_cast<double>(parameters.scale));
  // Before the offset is added, so that it cannot overflow: no stored range and offset pass 2^31.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::int64_t rounded = std::clamp(HalfEven(quotient), -kFar, kFar);
  return std::clamp(rounded + parameters.offset, stored.min, stored.max);
}

}  // namespace qtx::quantize
