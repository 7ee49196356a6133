// JSON of other frameworks, as a tree.
#pragma once

#include <rapidjson/document.h>

#include <initializer_list>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::convert {

/// Parses one object; Python's NaN and Infinity are numbers.
/// Errors: kInvalid with the line; kTooLarge past kMaxTextBytes and kJsonBounds.
Result<void> ParseObject(std::string_view text, rapidjson::Document& document);

/// Errors: kInvalid for a member of another name than `known`, and for one that is given twice.
/// REQUIRES: `object` is one.
Result<void> CheckMembers(const rapidjson::Value& object,
                          std::initializer_list<std::string_view> known);

}  // namespace qtx::convert
