#include "qtx/format/json_bounds.h"

#include <algorithm>

namespace qtx::format {

Result<void> CheckJsonBounds(std::string_view json, JsonBounds bounds) {
  int depth = 0;
  std::int64_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    const bool opens = c == '[' || c == '{';
    if (opens) ++depth;
    if (c == ']' || c == '}') --depth;
    if (opens || c == ',' || c == ':') ++values;
    if (depth > bounds.depth || values > bounds.values) {
      return Error{ErrorCode::kTooLarge, "",
                   "expected at most " + std::to_string(bounds.depth) + " levels and " +
                       std::to_string(bounds.values) + " values"};
    }
  }
  return {};
}

std::string PlaceIn(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return "line " + std::to_string(std::ranges::count(before, '\n') + 1) + ", column " +
         std::to_string(before.size() - before.rfind('\n'));  // npos is one before the first
}

}  // namespace qtx::format
