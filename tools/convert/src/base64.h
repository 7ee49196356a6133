// Base64, for fields that hold only UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::convert {

/// Source: RFC 4648, section 4 (padded).
std::string ToBase64(std::string_view bytes);
/// Errors: kInvalid unless `text` is what ToBase64 gives for some bytes.
Result<std::string> FromBase64(std::string_view text);

}  // namespace qtx::convert
