// The functions that a formula may call, over the numbers of number.h.
#pragma once

#include <span>
#include <string_view>

#include "number.h"

namespace qtx::formula {

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
  kSqrt,  // from here to kErf, functions of one real
  kExp,
  kLn,
  kTanh,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kPi,  // a name, not a call
  kIf,  // from here on those that are not of numbers alone
  kChoose,
  kIsNan,
  kIsFinite,
  kCodes,
  // Of tensors and lists:
  kInside,
  kShape,
  kSize,
  kRank,
  kElements,
  kLength,
  kValues,
  kRowMajor,
  kCoordinates,
  kType,
  kTypeCode,
  kRealTypeOf,
  kBits,
  kParameters,
  kScaleLevels,
  kIsQuantized,
  kIsPerTensor,
  kAxes,
  kIsInteger,
  kIsSigned,
  kIsReal,
  kIsInitializer,
  kRequantization,
  kHasIntegerForm,
  kTable,
  kHasTable,
  kStored,  // from here to kCoarseBase, parts of one element
  kExactReal,
  kIsNegative,
  kScale,
  kOffset,
  kBase,
  kFineScale,
  kCoarseScale,
  kFineBase,
  kCoarseBase,
  kLeast,
  kGreatest,
  kCountOf,
  kGiven,
  kIsInput,
  kOrigin,
  kOriginInteger,
};

struct FunctionRow {
  std::string_view name;
  Function function;
  int least;  // arguments
  int most;
};
std::span<const FunctionRow> Functions();
const FunctionRow* FindFunction(std::string_view name);

/// Whether the function has a tensor as its first argument.
inline bool IsOfTensor(Function function) {
  return function >= Function::kInside && function != Function::kLength &&
         function != Function::kRowMajor && function != Function::kCoordinates;
}

/// Whether it gives a part of one element: without coordinates, of the one that broadcasts.
inline bool IsOfElement(Function function) {
  return function >= Function::kStored && function <= Function::kCoarseBase;
}

/// A function of numbers alone; kIf and those after it are the evaluator's.
/// Errors: kInvalid without a place, for invalid arguments (exponent of 0, bits of 1/2).
Result<Number> Apply(Function function, std::span<const Number> arguments, Precision& precision);

/// x to the power y: rational if that can be proved, IEEE 754 pow if an argument is not finite.
Number Power(const Number& x, const Number& y, Precision& precision);

}  // namespace qtx::formula
