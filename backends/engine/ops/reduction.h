// The general path of Conv, MatMul, Gemm and the pools: an exact reduction over pairs of elements
// for each element of y, for all types and shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/ops/types.h"
#include "engine/plan.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// Limit on the number of terms of a node, which take ten to thirty seconds.
inline constexpr std::int64_t kMostTerms = std::int64_t{1} << 30;

/// Indices of an element of each operand, or distances between elements.
struct Pair {
  std::int64_t a = 0, b = 0;
};

/// Element plane * positions + position of y is the reduction of a[plane.a + tap.a] and b[plane.b +
/// tap.b] over the taps of the position.
struct Walk {
  std::vector<Pair> planes;
  std::int64_t positions = 1;
  /// Sets the taps of a position and returns the divisor of a mean there.
  std::function<std::int64_t(std::int64_t position, std::vector<Pair>& taps)> taps_at;
  double terms = 0;  // of all elements together
};

/// The positions of a window and their taps: pair.a is an index of an input plane, pair.b of the
/// kernel, both row-major. The caller sets the planes.  Errors: kUnsupported for a kernel of 2^52
/// elements and more.
Result<Walk> WalkOf(const NodePlan& node, std::vector<WindowAxis> axes, bool count_padding);

/// y = (factor * sum of a * b + addend_factor * addend) / divisor, rounded once.
struct Sum {
  const Value* a = nullptr;
  const Value* b = nullptr;                // null: 1
  const Value* addend = nullptr;           // null: none
  std::vector<std::int64_t> addend_index;  // one a plane
  float factor = 1, addend_factor = 1;
  float addend_unit = 1;         // a further factor of the addend
  bool counts_padding = false;   // the divisor has it, and padding is there
  Plain plain = Plain::kDouble;  // allowed types beside reals
  // Of a product with weights, for integer arithmetics:
  std::vector<std::int64_t> channel;  // one a plane
  std::int64_t channel_axis = -1;     // of b
};
/// In the node's arithmetic.  Errors: those of CheckTypes, kUnsupported for more than kMostTerms.
StepResult MakeSum(const NodePlan& node, Sum sum, Walk walk, Value* y);

/// y = the greatest or the least of a, or NaN if one is NaN; minus infinity or infinity if there is
/// no element.
struct Extreme {
  const Value* a = nullptr;
  bool least = false;
  Value* indices =
      nullptr;  // if not nullptr: the index of that element of a, the first of equal ones
  Plain plain = Plain::kNumbers;
};
/// Errors: those of MakeSum.
StepResult MakeExtreme(const NodePlan& node, Extreme extreme, Walk walk, Value* y);

/// y = the root of degree p of the sum of |a| to the power p.  REQUIRES: p in [1, 64].
/// Errors: those of MakeSum.
StepResult MakeNorm(const NodePlan& node, const Value* a, std::int64_t p, Walk walk, Value* y,
                    Plain plain);

}  // namespace qtx::backend::engine
