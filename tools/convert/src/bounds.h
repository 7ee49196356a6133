// Bounds on hostile files of other frameworks; those of models and tensors are qtx/format/limits.h.
// The table of all limits is in the README.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "qtx/format/json_bounds.h"

namespace qtx::convert {

inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28;  // of a table or profile
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 26;  // of CSV
inline constexpr format::JsonBounds kJsonBounds = {.depth = 32, .values = std::int64_t{1} << 24};

/// Errors: kTooLarge.
inline Result<void> CheckTextSize(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return {};
  return Error{ErrorCode::kTooLarge, "",
               "found " + std::to_string(text.size()) + " bytes of text, expected at most " +
                   std::to_string(kMaxTextBytes)};
}

}  // namespace qtx::convert
