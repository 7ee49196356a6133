// The general path of Conv, MatMul, Gemm and the pools: each element of y is one reduction over
// pairs of elements, for all types and shapes, exactly, one element after another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/ops/types.h"
#include "engine/plan.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// The most terms all elements of one node may have together: some ten to thirty seconds of work.
inline constexpr std::int64_t kMostTerms = std::int64_t{1} << 30;

/// An element of each operand: itself, or a distance.
struct Pair {
  std::int64_t a = 0, b = 0;
};

/// Element plane * positions + position of y is made of a[plane.a + tap.a] and b[plane.b + tap.b]
/// over the taps of the position.
struct Walk {
  std::vector<Pair> planes;
  std::int64_t positions = 1;
  /// Fills in the taps of a position; the result is what a mean there divides by.
  std::function<std::int64_t(std::int64_t position, std::vector<Pair>& taps)> taps_at;
  double terms = 0;  // of all elements together
};

/// The positions of a window and their taps: pair.a goes through an input plane, pair.b through the
/// kernel, both row-major. The planes are left to the caller.  Errors: kUnsupported for a kernel of
/// 2^52 elements and more.
Result<Walk> WalkOf(const NodePlan& node, std::vector<WindowAxis> axes, bool count_padding);

/// y = (factor * sum of a * b + addend_factor * addend) / divisor, rounded once.
struct Sum {
  const Value* a = nullptr;
  const Value* b = nullptr;                // null: 1
  const Value* addend = nullptr;           // null: none
  std::vector<std::int64_t> addend_index;  // one a plane
  float factor = 1, addend_factor = 1;
  float addend_unit = 1;         // a further factor of the addend
  Plain plain = Plain::kDouble;  // what it takes beside reals
  // Of a product with weights: what integer arithmetics need to know.
  std::vector<std::int64_t> channel;  // one a plane
  std::int64_t channel_axis = -1;     // of b
};
/// In the node's arithmetic.  Errors: those of CheckTypes, kUnsupported for more than kMostTerms.
StepResult MakeSum(const NodePlan& node, Sum sum, Walk walk, Value* y);

/// y = the greatest of a, or the least; a NaN wins over all. Of nothing it is minus infinity, or
/// infinity.
struct Extreme {
  const Value* a = nullptr;
  bool least = false;
  Value* indices =
      nullptr;  // where not null: gets the element of a that won, the first of equal ones
  Plain plain = Plain::kNumbers;
};
/// Errors: those of MakeSum.
StepResult MakeExtreme(const NodePlan& node, Extreme extreme, Walk walk, Value* y);

/// y = the root of degree p of the sum of |a| to the power p.  REQUIRES: p in [1, 64].
/// Errors: those of MakeSum.
StepResult MakeNorm(const NodePlan& node, const Value* a, std::int64_t p, Walk walk, Value* y,
                    Plain plain);

}  // namespace qtx::backend::engine
