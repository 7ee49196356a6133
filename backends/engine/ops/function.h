// Functions of one real: exact if the result is rational, otherwise enclosed in intervals narrow
// enough for the final rounding.
#pragma once

#include <functional>
#include <optional>

#include "engine/interval.h"
#include "engine/ops/types.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

using Function = std::function<Real(const Number&)>;

/// The function that an operator of one input applies to each element, with its attributes.
/// Errors: kUnsupported for another operator.
Result<Function> FunctionOf(const NodePlan& node);

Real SigmoidOf(const Number& x);
Real TanhOf(const Number& x);
/// The root of degree n of a number; NaN below zero.
Real RootOf(const Number& x, unsigned long n);
/// x to the power y, as pow of IEEE 754 defines it except for the sign of zero.
Real PowerOf(const Number& x, const Number& y);
/// The same modulo 2^64 for integers x and y >= 0; nullopt for others.
std::optional<Number> ModularPower(const Number& x, const Number& y);

}  // namespace qtx::backend::engine
