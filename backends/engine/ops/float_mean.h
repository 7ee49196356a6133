// Sums and means of FLOAT, and sums of squares, in arithmetic `exact`: binary64 that knows what
// each of its additions lost.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "engine/ops/reduction.h"

namespace qtx::backend::engine {

/// A sum of at most 2^40 binary64, as the sum in binary64 and what its roundings lost.
struct CompensatedSum {
  double sum = 0;
  double lost = 0;    // to be added to `sum`
  double losses = 0;  // magnitudes of what was lost: 0 if `sum` is exact

  // D. E. Knuth's TwoSum: The Art of Computer Programming, volume 2, 4.2.2, theorem B.
  void Add(double x) {
    const double total = sum + x;
    const double part = total - sum;
    const double error = (sum - (total - part)) + (x - part);
    sum = total;
    lost += error;
    losses += std::fabs(error);
  }
};

/// A value of binary64, and how far from it the real may be.
struct BoundedMean {
  double value = 0, error = 0;
};
/// (sum of `terms` numbers) / divisor.
inline BoundedMean MeanOf(const CompensatedSum& sum, std::int64_t terms, std::int64_t divisor) {
  const bool exact = sum.losses == 0 && (divisor & (divisor - 1)) == 0;
  const double value = (sum.sum + sum.lost) / static_cast<double>(divisor);
  const double error =
      sum.losses * static_cast<double>(terms) * 0x1p-51 + std::fabs(value) * 0x1p-51;
  return {value, exact ? 0 : error};
}

/// True for a sum of FLOAT elements, or of their squares, to a FLOAT.
bool TakesFloatMean(const NodePlan& node, const Sum& sum, const Value& y);
/// REQUIRES: TakesFloatMean.
std::unique_ptr<Step> MakeFloatMean(const NodePlan& node, Sum sum, Walk walk, Value* y);

}  // namespace qtx::backend::engine
