// Operators that apply a function of one real to every element.
#pragma once

#include "arithmetic/function.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// Whether y = f(x) is defined between tensors of a plain integer type too (exact.S10).
enum class Integers { kRefused, kAccepted };

/// y = f(x), element by element. Both are real, or both DOUBLE.
Result<format::Tensor> RunUnary(const Call& call, const RealFunction& f,
                                Integers integers = Integers::kRefused);

/// The functions of the operators Sigmoid and Tanh, for those that are built of them.
RealFunction SigmoidFunction();
RealFunction TanhFunction();

/// Errors: kInvalid for an attribute that is an infinity or NaN.
Result<void> CheckFinite(const format::Node& node);

}  // namespace qtx::reference
