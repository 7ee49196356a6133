// The functions that a formula may call, over the numbers of number.h.
#pragma once

#include <span>
#include <string_view>

#include "formula/number.h"

namespace qtx::spec {

enum class Function {
  kAbs,
  kFloor,
  kCeiling,
  kTowardZero,
  kHalfEven,
  kHalfAway,
  kHalfUp,
  kHalfDown,
  kMin,
  kMax,
  kClamp,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kWrap,
  kSaturate,
  kExponent,
  kSqrt,
  kExp,
  kLn,
  kTanh,
  kErf,
  kPi,  // a name, not a call
  kIf,
  kChoose,
  kIsNan,
  kIsFinite,
  kInside,
  kSize,
};

struct FunctionRow {
  std::string_view name;
  Function function;
  int least;  // arguments
  int most;
};
std::span<const FunctionRow> Functions();
const FunctionRow* FindFunction(std::string_view name);

/// A function of numbers alone; kIf and those after it are the evaluator's.
/// Errors: kInvalid without a place, for invalid arguments (exponent of 0, bits of 1/2).
Result<Number> Apply(Function function, std::span<const Number> arguments, Precision& precision);

/// x to the power y: rational if that can be proved, IEEE 754 pow if an argument is not finite.
Number Power(const Number& x, const Number& y, Precision& precision);

}  // namespace qtx::spec
