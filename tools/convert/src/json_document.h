// JSON of other frameworks, as a tree.
#pragma once

#include <rapidjson/document.h>

#include <string_view>

#include "qtx/format/json_reader.h"
#include "qtx/format/result.h"

namespace qtx::convert {

using format::CheckMembers;

/// Parses one object; Python's NaN and Infinity are numbers.
/// Errors: kInvalid with the line; kTooLarge past kMaxTextBytes and kJsonBounds.
Result<void> ParseObject(std::string_view text, rapidjson::Document& document);

}  // namespace qtx::convert
