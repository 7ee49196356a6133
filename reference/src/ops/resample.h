// Where an element of a resized axis takes its value: coordinates as exact rationals.
// Source: resize.S2 to resize.S6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// One axis of Resize.
struct ResizedAxis {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Rational scale = 1;
  Rational length;  // scale * from (times the extent of the roi): `to` before it was made whole
  Rational roi_start = 0;
  Rational roi_end = 1;
};

/// The attributes that say how coordinates map.
struct ResizeRules {
  std::string mode;         // nearest, linear
  std::string coordinates;  // coordinate_transformation_mode
  std::string nearest;      // nearest_mode
  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

/// The one or two positions on an axis that an output coordinate weighs.
struct Sample {
  std::int64_t low = 0;
  std::int64_t high = 0;
  Rational high_weight = 0;  // of `high`, in (0, 1) when low < high; low has the rest
  bool outside = false;      // of the axis: the extrapolation value stands there
  bool single() const { return low == high; }
};

ResizeRules ResizeRulesOf(const Call& call);

/// One sample for each of the axis' `to` coordinates.
std::vector<Sample> SamplesOf(const ResizeRules& rules, const ResizedAxis& axis);

}  // namespace qtx::reference
