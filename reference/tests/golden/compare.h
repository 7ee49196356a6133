// What a run gave beside what a data set expects.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/enclosure.h"
#include "tests/golden/known_differences.h"

namespace qtx::reference::golden {

struct Verdict {
  Outcome outcome = Outcome::kPass;
  std::string message;
  double used = 0;  // the greatest share of its bound that a float was off by
};

/// Floats must lie within `slack` times their radius of each other, zeros being one real and NaN
/// equal to NaN (small floats have the radius 0); every other element type must agree to the bit.
/// `slack` is 1 for arithmetic exact, the centre, and 2 for another, which may be as far from the
/// centre as the golden, on the other side.
Verdict Compare(const std::vector<format::Tensor>& found, const std::vector<format::Tensor>& golden,
                const std::vector<Enclosed>& enclosed, double slack);

}  // namespace qtx::reference::golden
