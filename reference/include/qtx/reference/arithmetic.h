// Named arithmetics as points in a space of recipes: data, not code. The functions of
// src/arithmetic/ interpret these coordinates and never look at the name.
// Source: spec/arithmetic/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::reference {

enum class TieRule { kHalfEven, kHalfAway, kHalfUp, kTowardZero };

/// What an operator without an integer accumulator computes in: exact reals; binary32 values in the
/// stated order; or stored integers, as TFLite's kernels do.
enum class Domain { kExact, kFloat32, kStored };

/// How a real becomes a stored integer.
struct QuantizeRecipe {
  enum class Value { kExact, kFloat32 } value = Value::kExact;  // width of the quotient
  enum class Step { kDivide, kReciprocal } step = Step::kDivide;
  enum class Offset { kAfterRounding, kBeforeRounding } offset = Offset::kAfterRounding;
  TieRule tie = TieRule::kHalfEven;
};

/// How an integer accumulator becomes a stored integer.
struct RequantizeRecipe {
  // kExact: the exact rational.  kFloat32: binary32(accumulator) * binary32 multiplier.
  // kFixed31: Q0.31 multiplier rounded half away from the binary64 ratio, then a shift.
  enum class Multiplier { kExact, kFloat32, kFixed31 } multiplier = Multiplier::kExact;
  // Association of x_scale * w_scale / y_scale: the product in binary32 or binary64, then the ratio
  // in binary32 (multiplier kFloat32) or binary64 (kFixed31); kAllFloat32: both in binary32.
  enum class Product { kFloat32, kFloat64, kAllFloat32 } product = Product::kFloat64;
  // kTwice: the doubling high multiply rounds, then the right shift rounds half away.
  enum class Rounds { kOnce, kTwice } rounds = Rounds::kOnce;
  TieRule tie = TieRule::kHalfEven;  // of the one rounding, or of the first of two
};

/// How two addends reach the scale of their sum.
struct AddRecipe {
  enum class Kind { kDomain, kShifted } kind = Kind::kDomain;  // as `domain`, or in fixed point
  int left_shift = 0;  // kShifted: bits of headroom before the three multiplications
};

/// How an average of stored integers is rounded when `domain` is kStored.
struct AverageRecipe {
  TieRule tie = TieRule::kHalfAway;
};

/// One row of the space.
struct Arithmetic {
  std::string_view name;
  Domain domain = Domain::kExact;
  QuantizeRecipe quantize;
  RequantizeRecipe requantize;            // every operator with an accumulator, and signed x
  RequantizeRecipe depthwise_requantize;  // Conv where each group has one input channel, signed x
  RequantizeRecipe unsigned_requantize;   // all of them with an unsigned x
  // Instead of the recipe's own product in Gemm and MatMul when w has one scale.
  RequantizeRecipe::Product scalar_product = RequantizeRecipe::Product::kFloat64;
  RequantizeRecipe rescale;     // one quantized type to another: Cast, Reshape, ...
  RequantizeRecipe activation;  // Relu, Clip
  RequantizeRecipe multiply;    // Mul
  AddRecipe add;
  AverageRecipe average;
};

/// How often the certified fast path was in doubt and exact arithmetic decided.
struct Counters {
  std::uint64_t rounded = 0;          // results rounded in arithmetic with an exact coordinate
  std::uint64_t exact_fallbacks = 0;  // of those, how many the error bound could not decide
};

std::span<const Arithmetic> Arithmetics();
/// Errors: kInvalid, listing the names there are.
Result<const Arithmetic*> FindArithmetic(std::string_view name);

}  // namespace qtx::reference
