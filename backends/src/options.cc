#include "qtx/backend/options.h"

#include <algorithm>
#include <charconv>

namespace qtx::backend {
namespace {

std::string Place(std::string_view key) { return "option '" + std::string(key) + "'"; }

std::string Listed(std::initializer_list<std::string_view> keys) {
  std::string list;
  for (const std::string_view key : keys) {
    if (!list.empty()) list += ", ";
    list += key;
  }
  return list.empty() ? "no options" : list;
}

}  // namespace

Result<Options> Options::Parse(std::string_view text,
                               std::initializer_list<std::string_view> keys) {
  Options options;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (std::ranges::find(keys, key) == keys.end()) {
      return Error{ErrorCode::kUsage, Place(key), "unknown, expected " + Listed(keys)};
    }
    if (equals == std::string_view::npos || equals + 1 == part.size()) {
      return Error{ErrorCode::kUsage, Place(key), "has no value, expected key=value"};
    }
    if (!options.values_.emplace(key, part.substr(equals + 1)).second) {
      return Error{ErrorCode::kUsage, Place(key), "given twice"};
    }
    if (comma + 1 == text.size()) {
      return Error{ErrorCode::kUsage, Place(""), "nothing follows the last comma"};
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return options;
}

std::string Options::Text(std::string_view key, std::string_view fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string(fallback) : found->second;
}

Result<std::int64_t> Options::Integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                                      std::int64_t max) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return Refuse(key, text,
                  "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

Result<int> Options::Threads() const {
  QTX_ASSIGN_OR_RETURN(const std::int64_t threads, Integer("threads", 1, 1, kMaxThreads));
  return static_cast<int>(threads);
}

Error Options::Refuse(std::string_view key, std::string_view found, std::string_view expected) {
  return Error{ErrorCode::kUsage, Place(key),
               "found '" + std::string(found) + "', expected " + std::string(expected)};
}

}  // namespace qtx::backend
