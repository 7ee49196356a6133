// How far a backend's quotients must be from the exact ones to round to its wrong answers.
#pragma once

#include <cstdint>
#include <optional>

#include "fault.h"

namespace qtx::conformance {

struct Inexactness {
  double steps = 0;           // of the output's type: the least error that gives all answers
  std::int64_t elements = 0;  // that are wrong
  std::int64_t distance = 0;  // the most between a wrong answer and the right one
  std::int64_t far = 0;       // elements that miss by more than a step
  double share = 0;           // the most that these miss by beyond it, of the real value
  double tie = 0;             // the most that a quotient is from the middle between two steps
  bool has_bytes = false;     // some outputs have 8 bits or fewer

  void Join(const Inexactness& other);
};

/// Of stored integers of at most 16 bits; nullopt where another output differs or the quotients
/// are not known. `right` is the reference's answer in `row`.
std::optional<Inexactness> InexactnessOf(const Question& question, const reference::Arithmetic& row,
                                         const Outputs& right, const Outputs& got);

}  // namespace qtx::conformance
