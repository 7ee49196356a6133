// Conditions that separate wrong from right answers, of cases and of changed questions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "condition.h"
#include "place.h"

namespace qtx::conformance {

/// One condition or two that hold for all wrong answers and together for no right one.
struct Separation {
  std::string name;   // "pointwise + stride"
  std::string where;  // "where the kernel is 1x1 and where strides are not 1"
  std::vector<const Condition*> conditions;
};

/// The first of Conditions(), else the first pair. nullopt if there are no right answers, or a
/// question has several nodes, for which conditions are not defined.
std::optional<Separation> Separate(std::span<const Question* const> wrongs,
                                   std::span<const Question* const> rights);

/// What changed questions say of a separation.
enum class Support {
  kRefuted,    // one fails without it
  kConfirmed,  // none fails without it, and one is right
  kNone        // none was asked without it
};
Support SupportOf(const Separation& separation, std::span<const Trial> trials);

}  // namespace qtx::conformance
