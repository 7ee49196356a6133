// Operators that apply a function of one real to every element.
#pragma once

#include <optional>

#include "arithmetic/function.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// y = f(x), element by element.
Result<format::Tensor> RunUnary(const Call& call, const RealFunction& f);

/// The RealFunction::special of a function on [-1, 1].
std::optional<double> NanBeyondOne(const Rational& x);

/// The functions of the operators Sigmoid and Tanh, for those that are built of them.
RealFunction SigmoidFunction();
RealFunction TanhFunction();

}  // namespace qtx::reference
