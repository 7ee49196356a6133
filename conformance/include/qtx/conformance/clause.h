// The syntax of a clause id: STEM.C1 or STEM.S1.
#pragma once

#include <string_view>

namespace qtx::conformance {

inline bool IsClauseId(std::string_view text) {
  constexpr std::string_view kStem = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const std::size_t dot = text.find_first_not_of(kStem);
  return dot != 0 && dot != std::string_view::npos && text[dot] == '.' && text.size() > dot + 2 &&
         (text[dot + 1] == 'C' || text[dot + 1] == 'S') &&
         text.find_first_not_of("0123456789", dot + 2) == std::string_view::npos;
}

}  // namespace qtx::conformance
