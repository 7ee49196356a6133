// Properties of a question by which a fault may be told: dilations, an odd number of elements, ...
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

/// In the order of preference where several tell the wrong answers from the right ones.
std::span<const Condition> Conditions();

}  // namespace qtx::conformance
