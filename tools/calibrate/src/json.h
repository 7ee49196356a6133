// Bounded reading of the JSON in models and journals, over RapidJSON.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/json.h"

namespace qtx::calibrate {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

using format::WriteText;

/// nullopt for anything but one JSON object. The parser does not recurse.
inline std::optional<rapidjson::Document> ParseObject(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) return std::nullopt;
  return document;
}

/// A member as a number of at least `least`, or as a text; nullopt if it is not.
inline std::optional<std::int64_t> Number(const rapidjson::Value& object, const char* key,
                                          std::int64_t least) {
  if (!object.IsObject()) return std::nullopt;
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsInt64()) return std::nullopt;
  const std::int64_t number = member->value.GetInt64();
  return number < least ? std::nullopt : std::optional(number);
}
inline std::optional<std::string> Text(const rapidjson::Value& object, const char* key) {
  if (!object.IsObject()) return std::nullopt;
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsString()) return std::nullopt;
  return std::string(member->value.GetString(), member->value.GetStringLength());
}
/// A member as a list, else nullptr.
inline const rapidjson::Value* List(const rapidjson::Value& object, const char* key) {
  if (!object.IsObject()) return nullptr;
  const auto member = object.FindMember(key);
  return member == object.MemberEnd() || !member->value.IsArray() ? nullptr : &member->value;
}

}  // namespace qtx::calibrate
