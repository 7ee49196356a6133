// Conditions: properties of a case that may separate wrong from right answers (dilations, an odd
// number of elements, ...).
#pragma once

#include <span>
#include <string_view>

#include "fault.h"

namespace qtx::conformance {

struct Condition {
  std::string_view name;   // snake_case, "dilation"
  std::string_view where;  // completes "is wrong exactly ...": "where dilations are not 1"
  bool (*holds)(const Question& question);
};

/// All conditions, in order of preference.
std::span<const Condition> Conditions();

}  // namespace qtx::conformance
