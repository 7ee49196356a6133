// Bounds of JSON text, checked before a parser allocates anything for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::format {

struct JsonBounds {
  int depth = 0;            // of nesting
  std::int64_t values = 0;  // of all arrays and objects, keys among them
};

/// Counts levels and values without parsing: text that is no JSON may pass.
/// Errors: kTooLarge.
Result<void> CheckJsonBounds(std::string_view json, JsonBounds bounds);

/// "line 3, column 7" of the byte at `offset`, both from 1.
std::string PlaceIn(std::string_view text, std::size_t offset);

}  // namespace qtx::format
