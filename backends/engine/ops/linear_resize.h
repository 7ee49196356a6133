// Linear Resize of integers of 8 bits per tensor: sums of integers, rounded once.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// What one position along an axis is made of: (first * w[first] + second * w[second]) / divisor.
struct LinearPlace {
  std::int64_t first = 0, second = 0;
  std::int32_t first_weight = 1, second_weight = 0;
};
struct LinearAxis {
  std::vector<LinearPlace> places;  // of y
  std::int64_t divisor = 1;
  bool resized = false;
};

/// `axes`: of every dimension.  Errors: kUnsupported, before anything is planned, for other types
/// and for divisors whose sums might leave int32.
StepResult PrepareLinearResize(const NodePlan& node, const format::Dims& dims,
                               const std::vector<LinearAxis>& axes);

}  // namespace qtx::backend::engine
