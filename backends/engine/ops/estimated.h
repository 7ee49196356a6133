// Reals in computations of many steps, in binary64 with proven error bounds: what Enclosed is with
// intervals, a thousand times faster and rarely in doubt.
#pragma once

#include <gmpxx.h>

#include <span>
#include <vector>

#include "engine/ops/estimate.h"
#include "engine/ops/reals.h"

namespace qtx::backend::engine {

// Every bound includes the roundings of the bound itself. What overflows or is no number has an
// error that is not finite, and so has all that it becomes part of.
Estimate operator+(const Estimate& a, const Estimate& b);
Estimate operator*(const Estimate& a, const Estimate& b);
Estimate operator-(const Estimate& a);
Estimate SigmoidOf(const Estimate& x);
Estimate TanhOf(const Estimate& x);
/// The same with a smaller error, and ten times as slow.
Estimate CarefulSigmoidOf(const Estimate& x);
Estimate CarefulTanhOf(const Estimate& x);
Estimate ReluOf(const Estimate& x);
/// Clamped to [-bound, bound], a binary32.
Estimate Clamped(const Estimate& x, const mpq_class& bound);
/// `sum` plus the dot product of row and vector.
Estimate Dot(std::span<const Estimate> row, std::span<const Estimate> vector, Estimate sum);

/// The elements of a tensor.  REQUIRES: IsRealOutput of its type, and CheckReals.
std::vector<Estimate> EstimatedOf(const format::Tensor& tensor);

}  // namespace qtx::backend::engine
