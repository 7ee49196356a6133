#include "functions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "qtx/formula/tree.h"

namespace qtx::formula {
namespace {

constexpr int kMany = kMaxFormulaNodes;
constexpr std::array kFunctions = {
    FunctionRow{"abs", Function::kAbs, 1, 1},
    FunctionRow{"floor", Function::kFloor, 1, 1},
    FunctionRow{"ceiling", Function::kCeiling, 1, 1},
    FunctionRow{"toward_zero", Function::kTowardZero, 1, 1},
    FunctionRow{"half_even", Function::kHalfEven, 1, 1},
    FunctionRow{"half_away", Function::kHalfAway, 1, 1},
    FunctionRow{"half_up", Function::kHalfUp, 1, 1},
    FunctionRow{"half_down", Function::kHalfDown, 1, 1},
    FunctionRow{"min", Function::kMin, 1, kMany},
    FunctionRow{"max", Function::kMax, 1, kMany},
    FunctionRow{"clamp", Function::kClamp, 1, 3},
    FunctionRow{"float16", Function::kFloat16, 1, 1},
    FunctionRow{"bfloat16", Function::kBfloat16, 1, 1},
    FunctionRow{"float32", Function::kFloat32, 1, 1},
    FunctionRow{"float64", Function::kFloat64, 1, 1},
    FunctionRow{"wrap", Function::kWrap, 2, 2},
    FunctionRow{"saturate", Function::kSaturate, 2, 2},
    FunctionRow{"exponent", Function::kExponent, 1, 1},
    FunctionRow{"sqrt", Function::kSqrt, 1, 1},
    FunctionRow{"exp", Function::kExp, 1, 1},
    FunctionRow{"ln", Function::kLn, 1, 1},
    FunctionRow{"tanh", Function::kTanh, 1, 1},
    FunctionRow{"sin", Function::kSin, 1, 1},
    FunctionRow{"cos", Function::kCos, 1, 1},
    FunctionRow{"tan", Function::kTan, 1, 1},
    FunctionRow{"asin", Function::kAsin, 1, 1},
    FunctionRow{"acos", Function::kAcos, 1, 1},
    FunctionRow{"atan", Function::kAtan, 1, 1},
    FunctionRow{"sinh", Function::kSinh, 1, 1},
    FunctionRow{"cosh", Function::kCosh, 1, 1},
    FunctionRow{"asinh", Function::kAsinh, 1, 1},
    FunctionRow{"acosh", Function::kAcosh, 1, 1},
    FunctionRow{"atanh", Function::kAtanh, 1, 1},
    FunctionRow{"erf", Function::kErf, 1, 1},
    FunctionRow{"if", Function::kIf, 3, 3},
    FunctionRow{"choose", Function::kChoose, 2, kMany},
    FunctionRow{"is_nan", Function::kIsNan, 1, 1},
    FunctionRow{"is_finite", Function::kIsFinite, 1, 1},
    FunctionRow{"codes", Function::kCodes, 1, 1},
    FunctionRow{"inside", Function::kInside, 1, kMany},
    FunctionRow{"shape", Function::kShape, 1, 1},
    FunctionRow{"size", Function::kSize, 2, 2},
    FunctionRow{"rank", Function::kRank, 1, 1},
    FunctionRow{"elements", Function::kElements, 1, 1},
    FunctionRow{"length", Function::kLength, 1, 1},
    FunctionRow{"values", Function::kValues, 1, 1},
    FunctionRow{"row_major", Function::kRowMajor, 2, 2},
    FunctionRow{"coordinates", Function::kCoordinates, 2, 2},
    FunctionRow{"type", Function::kType, 1, 1},
    FunctionRow{"type_code", Function::kTypeCode, 1, 1},
    FunctionRow{"real_type", Function::kRealTypeOf, 1, 1},
    FunctionRow{"bits", Function::kBits, 1, 1},
    FunctionRow{"parameters", Function::kParameters, 1, 1},
    FunctionRow{"scale_levels", Function::kScaleLevels, 1, 1},
    FunctionRow{"is_quantized", Function::kIsQuantized, 1, 1},
    FunctionRow{"is_per_tensor", Function::kIsPerTensor, 1, 1},
    FunctionRow{"axes", Function::kAxes, 1, 1},
    FunctionRow{"is_integer", Function::kIsInteger, 1, 1},
    FunctionRow{"is_signed", Function::kIsSigned, 1, 1},
    FunctionRow{"is_real", Function::kIsReal, 1, 1},
    FunctionRow{"is_initializer", Function::kIsInitializer, 1, 1},
    FunctionRow{"requantization", Function::kRequantization, 1, 1},
    FunctionRow{"has_integer_form", Function::kHasIntegerForm, 1, 1},
    FunctionRow{"table", Function::kTable, 1, 1},
    FunctionRow{"has_table", Function::kHasTable, 1, 1},
    FunctionRow{"stored", Function::kStored, 1, kMany},
    FunctionRow{"exact_real", Function::kExactReal, 1, kMany},
    FunctionRow{"is_negative", Function::kIsNegative, 1, kMany},
    FunctionRow{"scale", Function::kScale, 1, kMany},
    FunctionRow{"offset", Function::kOffset, 1, kMany},
    FunctionRow{"base", Function::kBase, 1, kMany},
    FunctionRow{"fine_scale", Function::kFineScale, 1, kMany},
    FunctionRow{"coarse_scale", Function::kCoarseScale, 1, kMany},
    FunctionRow{"fine_base", Function::kFineBase, 1, kMany},
    FunctionRow{"coarse_base", Function::kCoarseBase, 1, kMany},
    FunctionRow{"least", Function::kLeast, 1, 1},
    FunctionRow{"greatest", Function::kGreatest, 1, 1},
    FunctionRow{"count", Function::kCountOf, 1, 1},
    FunctionRow{"given", Function::kGiven, 1, 1},
    FunctionRow{"is_input", Function::kIsInput, 1, 1},
    FunctionRow{"origin_op", Function::kOrigin, 1, 1},
    FunctionRow{"origin_integer", Function::kOriginInteger, 3, 3},
};

using OnInterval = int (*)(mpfi_ptr, mpfi_srcptr);

// erf is increasing, so the bounds map to bounds; MPFI lacks erf.
int Erf(mpfi_ptr to, mpfi_srcptr x) {
  mpfr_erf(&to->left, &x->left, MPFR_RNDD);
  return mpfr_erf(&to->right, &x->right, MPFR_RNDU);
}

// A function that is `at_zero` at 0, tends to `below` and `above`, and is irrational elsewhere.
Number Transcendental(const Number& x, OnInterval function, const Number& at_zero,
                      const Number& below, const Number& above, Precision& precision) {
  if (IsNan(x)) return x;
  if (const auto* infinity = std::get_if<Infinity>(&x)) return infinity->sign < 0 ? below : above;
  if (const auto* rational = AsRational(x); rational != nullptr && *rational == 0) return at_zero;
  Interval value(precision.bits);
  function(value.get(), ToInterval(x, precision.bits).get());
  return value;
}

Number Logarithm(const Number& x, Precision& precision) {
  if (IsNan(x)) return x;
  const int sign = SignOf(x, precision);
  if (precision.undecided || sign < 0) return Nan{};
  if (sign == 0) return Infinity{-1};
  if (std::holds_alternative<Infinity>(x)) return x;
  if (const auto* rational = AsRational(x); rational != nullptr && *rational == 1) {
    return mpq_class(0);
  }
  Interval value(precision.bits);
  mpfi_log(value.get(), ToInterval(x, precision.bits).get());
  return value;
}

// A function that increases on [-1, 1], or decreases, and is rational at `root` alone, where it is
// 0; at -1 and 1 it has poles where `poles` says so.
Number OnUnit(const Number& x, OnInterval function, int root, bool poles, Precision& precision) {
  if (IsNan(x)) return x;
  const std::optional<int> above = Compare(x, mpq_class(1), precision);
  const std::optional<int> below = Compare(x, mpq_class(-1), precision);
  if (precision.undecided || *above > 0 || *below < 0) return Nan{};
  const int end = *above == 0 ? 1 : *below == 0 ? -1 : 0;
  if (poles && end != 0) return Infinity{end};
  const Number at = end != 0 ? Number(mpq_class(end)) : x;
  if (const auto* rational = AsRational(at); rational != nullptr && *rational == root) {
    return mpq_class(0);
  }
  Interval value(precision.bits);
  function(value.get(), ToInterval(at, precision.bits).get());
  return value;
}

Number InverseCosh(const Number& x, Precision& precision) {
  if (IsNan(x)) return x;
  const std::optional<int> order = Compare(x, mpq_class(1), precision);
  if (precision.undecided || *order < 0) return Nan{};
  if (*order == 0) return mpq_class(0);
  if (std::holds_alternative<Infinity>(x)) return x;
  Interval value(precision.bits);
  mpfi_acosh(value.get(), ToInterval(x, precision.bits).get());
  return value;
}

// The n-th root of a rational number of 0 or more, when it is rational.
std::optional<mpq_class> ExactRoot(const mpq_class& x, unsigned long n) {
  mpq_class root;
  if (mpz_root(root.get_num_mpz_t(), x.get_num_mpz_t(), n) == 0) return std::nullopt;
  if (mpz_root(root.get_den_mpz_t(), x.get_den_mpz_t(), n) == 0) return std::nullopt;
  return root;
}

Number SquareRoot(const Number& x, Precision& precision) {
  if (IsNan(x)) return x;
  const int sign = SignOf(x, precision);
  if (precision.undecided || sign < 0) return Nan{};
  if (std::holds_alternative<Infinity>(x)) return x;
  if (const auto* rational = AsRational(x)) {
    if (const auto root = ExactRoot(*rational, 2)) return *root;
  }
  Interval value(precision.bits);
  mpfi_sqrt(value.get(), ToInterval(x, precision.bits).get());
  return value;
}

std::optional<long> AsLong(const Number& x) {
  const auto* rational = AsRational(x);
  if (rational == nullptr || rational->get_den() != 1 || !rational->get_num().fits_slong_p()) {
    return std::nullopt;
  }
  return rational->get_num().get_si();
}

std::size_t BitsOf(const mpq_class& x) {
  return std::max(mpz_sizeinbase(x.get_num_mpz_t(), 2), mpz_sizeinbase(x.get_den_mpz_t(), 2));
}

// x to an integer power, when that is of a size to be computed.
std::optional<mpq_class> ExactPower(const mpq_class& x, long power) {
  const auto count = static_cast<unsigned long>(power);
  const unsigned long magnitude = power < 0 ? 0 - count : count;  // the least long has no negative
  if (magnitude > kMaxRationalBits || BitsOf(x) * magnitude > kMaxRationalBits) return std::nullopt;
  mpq_class result;
  mpz_pow_ui(result.get_num_mpz_t(), x.get_num_mpz_t(), magnitude);
  mpz_pow_ui(result.get_den_mpz_t(), x.get_den_mpz_t(), magnitude);
  if (power < 0) result = 1 / result;
  return result;
}

bool IsInteger(const mpq_class& x) { return x.get_den() == 1; }
bool IsOdd(const mpq_class& x) { return IsInteger(x) && mpz_odd_p(x.get_num_mpz_t()) != 0; }

// One of the two is infinite, the other no NaN; x is not 1, y not 0.
Number InfinitePower(const Number& x, const Number& y, Precision& precision) {
  const bool odd = AsRational(y) != nullptr && IsOdd(*AsRational(y));
  const int grows = SignOf(y, precision);
  if (const auto* base = std::get_if<Infinity>(&x)) {
    return grows < 0 ? Number(mpq_class(0)) : Number(Infinity{odd ? base->sign : 1});
  }
  const Number size = SignOf(x, precision) < 0 ? Negate(x) : x;
  const std::optional<int> order = Compare(size, mpq_class(1), precision);
  if (order == 0) return mpq_class(1);
  return (*order > 0) == (grows > 0) ? Number(Infinity{1}) : Number(mpq_class(0));
}

// e^(y ln |x|), negative for an odd power of a negative number.
Number IrrationalPower(const Number& x, const Number& y, bool negative, Precision& precision) {
  Interval value = ToInterval(x, precision.bits);
  mpfi_abs(value.get(), value.get());
  mpfi_log(value.get(), value.get());
  mpfi_mul(value.get(), value.get(), ToInterval(y, precision.bits).get());
  mpfi_exp(value.get(), value.get());
  if (negative) mpfi_neg(value.get(), value.get());
  return value;
}

// Where base is a rational to the power of the exponent's denominator, and the result not too long.
std::optional<mpq_class> RationalPower(const mpq_class& base, const mpq_class& exponent) {
  constexpr unsigned long kMaxRoot = 1UL << 16;
  if (!exponent.get_num().fits_slong_p() || exponent.get_den() > kMaxRoot) return std::nullopt;
  const auto root =
      IsInteger(exponent) ? std::optional(base) : ExactRoot(base, exponent.get_den().get_ui());
  if (!root) return std::nullopt;
  return ExactPower(*root, exponent.get_num().get_si());
}

Error Invalid(std::string message) { return Error{ErrorCode::kInvalid, "", std::move(message)}; }

Result<Number> Exponent(const Number& x, Precision& precision) {
  const auto* rational = AsRational(x);
  if (rational != nullptr && *rational != 0) return Number(mpq_class(ExponentOf(*rational)));
  if (const auto* interval = std::get_if<Interval>(&x)) {
    const bool apart = SignOf(x, precision) != 0;
    if (apart && mpfr_get_exp(interval->low()) == mpfr_get_exp(interval->high())) {
      return Number(mpq_class(mpfr_get_exp(interval->low()) - 1));
    }
    precision.undecided = true;
    return Number(Nan{});
  }
  return Invalid("found exponent(" + ToText(x) + "), expected a number other than 0");
}

// To two's complement of `bits` bits: wraps, or saturates.
Result<Number> ToWidth(Function function, const Number& x, const Number& width,
                       Precision& precision) {
  const auto bits = AsLong(width);
  constexpr long kWidest = 1024;
  if (!bits || *bits < 1 || *bits > kWidest) {
    return Invalid("found " + ToText(width) + " bits, expected 1 to 1024");
  }
  const mpz_class limit = TwoTo(*bits - 1).get_num();
  const auto* rational = AsRational(x);
  if (rational == nullptr && !IsNan(x) && function == Function::kSaturate) {
    const mpq_class least = -limit, greatest = limit - 1;
    if (*Compare(x, least, precision) < 0) return Number(least);
    if (*Compare(x, greatest, precision) > 0) return Number(greatest);
  }
  if (rational == nullptr || !IsInteger(*rational)) {
    return Invalid("found " + ToText(x) + ", expected an integer to bring to " +
                   std::to_string(*bits) + " bits");
  }
  const mpz_class value = rational->get_num();
  if (function == Function::kSaturate) {
    return Number(mpq_class(std::clamp(value, mpz_class(-limit), mpz_class(limit - 1))));
  }
  mpz_class rest = value + limit;
  mpz_fdiv_r_2exp(rest.get_mpz_t(), rest.get_mpz_t(), static_cast<mp_bitcnt_t>(*bits));
  return Number(mpq_class(rest - limit));
}

Number Extreme(std::span<const Number> numbers, int wanted, Precision& precision) {
  Number best = numbers[0];
  for (const Number& number : numbers.subspan(1)) {
    const auto order = Compare(number, best, precision);
    if (!order) return Nan{};
    if (*order == wanted) best = number;
  }
  return best;
}

Number Pi(Precision& precision) {
  Interval pi(precision.bits);
  mpfi_const_pi(pi.get());
  return pi;
}

// Its limits are no rational numbers.
Number InverseTangent(const Number& x, Precision& precision) {
  const auto* infinity = std::get_if<Infinity>(&x);
  if (infinity == nullptr) return Transcendental(x, mpfi_atan, mpq_class(0), x, x, precision);
  return Multiply(Pi(precision), mpq_class(infinity->sign, 2), precision);
}

// kSqrt to kErf.
Result<Number> OfReal(Function function, const Number& x, Precision& precision) {
  const Number zero = mpq_class(0), one = mpq_class(1), minus_one = mpq_class(-1);
  switch (function) {
    case Function::kSqrt:
      return SquareRoot(x, precision);
    case Function::kExp:
      return Transcendental(x, mpfi_exp, one, zero, Infinity{1}, precision);
    case Function::kLn:
      return Logarithm(x, precision);
    case Function::kTanh:
      return Transcendental(x, mpfi_tanh, zero, minus_one, one, precision);
    case Function::kSin:
      return Transcendental(x, mpfi_sin, zero, Nan{}, Nan{}, precision);
    case Function::kCos:
      return Transcendental(x, mpfi_cos, one, Nan{}, Nan{}, precision);
    case Function::kTan:
      return Transcendental(x, mpfi_tan, zero, Nan{}, Nan{}, precision);
    case Function::kAsin:
      return OnUnit(x, mpfi_asin, 0, /*poles=*/false, precision);
    case Function::kAcos:
      return OnUnit(x, mpfi_acos, 1, /*poles=*/false, precision);
    case Function::kAtan:
      return InverseTangent(x, precision);
    case Function::kSinh:
      return Transcendental(x, mpfi_sinh, zero, Infinity{-1}, Infinity{1}, precision);
    case Function::kCosh:
      return Transcendental(x, mpfi_cosh, one, Infinity{1}, Infinity{1}, precision);
    case Function::kAsinh:
      return Transcendental(x, mpfi_asinh, zero, Infinity{-1}, Infinity{1}, precision);
    case Function::kAcosh:
      return InverseCosh(x, precision);
    case Function::kAtanh:
      return OnUnit(x, mpfi_atanh, 0, /*poles=*/true, precision);
    case Function::kErf:
      return Transcendental(x, Erf, zero, minus_one, one, precision);
    default:
      return Invalid("expected a function of numbers");
  }
}

}  // namespace

std::span<const FunctionRow> Functions() { return kFunctions; }

const FunctionRow* FindFunction(std::string_view name) {
  const auto row = std::ranges::find(kFunctions, name, &FunctionRow::name);
  return row == kFunctions.end() ? nullptr : &*row;
}

Number Power(const Number& x, const Number& y, Precision& precision) {
  const auto *base = AsRational(x), *power = AsRational(y);
  if ((power != nullptr && *power == 0) || (base != nullptr && *base == 1)) return mpq_class(1);
  if (IsNan(x) || IsNan(y)) return Nan{};
  if (std::holds_alternative<Infinity>(x) || std::holds_alternative<Infinity>(y)) {
    return InfinitePower(x, y, precision);
  }
  const int sign = SignOf(x, precision);
  if (precision.undecided) return Nan{};
  if (sign == 0) {
    return SignOf(y, precision) > 0 ? Number(mpq_class(0)) : Number(Infinity{1});
  }
  if (sign < 0 && (power == nullptr || !IsInteger(*power))) return Nan{};
  if (base != nullptr && power != nullptr) {
    if (auto exact = RationalPower(*base, *power)) return *std::move(exact);
  }
  return IrrationalPower(x, y, sign < 0 && IsOdd(*power), precision);
}

Result<Number> Apply(Function function, std::span<const Number> arguments, Precision& precision) {
  if (function == Function::kPi) return Pi(precision);
  const Number& x = arguments[0];
  const auto round = [&](Rounding rounding) { return Number(Round(x, rounding, precision)); };
  const auto format = [&](std::size_t i) {
    return Number(RoundTo(kFloatFormats[i], x, precision));
  };
  switch (function) {
    case Function::kAbs:
      if (IsNan(x)) return x;
      return SignOf(x, precision) < 0 ? Negate(x) : x;
    case Function::kFloor:
      return round(Rounding::kFloor);
    case Function::kCeiling:
      return round(Rounding::kCeiling);
    case Function::kTowardZero:
      return round(Rounding::kTowardZero);
    case Function::kHalfEven:
      return round(Rounding::kHalfEven);
    case Function::kHalfAway:
      return round(Rounding::kHalfAway);
    case Function::kHalfUp:
      return round(Rounding::kHalfUp);
    case Function::kHalfDown:
      return round(Rounding::kHalfDown);
    case Function::kMin:
      return Extreme(arguments, -1, precision);
    case Function::kMax:
      return Extreme(arguments, 1, precision);
    case Function::kClamp: {
      const Number bounded = Extreme(std::array{x, arguments[1]}, 1, precision);
      return Extreme(std::array{bounded, arguments[2]}, -1, precision);
    }
    case Function::kFloat16:
      return format(0);
    case Function::kBfloat16:
      return format(1);
    case Function::kFloat32:
      return format(2);
    case Function::kFloat64:
      return format(3);
    case Function::kWrap:
    case Function::kSaturate:
      return ToWidth(function, x, arguments[1], precision);
    case Function::kExponent:
      return Exponent(x, precision);
    default:
      return OfReal(function, x, precision);
  }
}

}  // namespace qtx::formula
