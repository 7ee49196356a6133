// Functions of one real as the specification has them: exact where they are rational, otherwise
// enclosed as narrowly as their one rounding needs.
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
/// x to the power y, as IEEE 754 pow has it but for the sign of zero.
Real PowerOf(const Number& x, const Number& y);
/// The same modulo 2^64, however large; nullopt unless both are integers, y not negative.
std::optional<Number> ModularPower(const Number& x, const Number& y);

}  // namespace qtx::backend::engine
