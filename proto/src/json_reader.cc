#include "qtx/format/json_reader.h"

#include <rapidjson/error/en.h>

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

namespace qtx::format {

Result<void> ParseJson(std::string_view text, JsonBounds bounds, rapidjson::Document& document,
                       bool python_floats) {
  QTX_RETURN_IF_ERROR(CheckJsonBounds(text, bounds));
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseValidateEncodingFlag;
  python_floats ? document.Parse<kFlags | rapidjson::kParseNanAndInfFlag>(text.data(), text.size())
                : document.Parse<kFlags>(text.data(), text.size());
  if (!document.HasParseError()) return {};
  return Error{
      ErrorCode::kInvalid, PlaceIn(text, document.GetErrorOffset()),
      std::string("found no JSON: ") + rapidjson::GetParseError_En(document.GetParseError())};
}

Result<void> CheckMembers(const rapidjson::Value& object, const std::vector<std::string>& known) {
  std::set<std::string_view> seen;
  for (const auto& member : object.GetObject()) {
    const std::string_view key(member.name.GetString(), member.name.GetStringLength());
    if (std::ranges::find(known, key) == known.end()) {
      std::string names;
      for (const std::string& name : known) names.append(names.empty() ? "" : ", ").append(name);
      return Error{
          ErrorCode::kInvalid, "",
          "found unknown key '" + std::string(key.substr(0, 80)) + "', expected one of " + names};
    }
    if (!seen.insert(key).second) {
      return Error{ErrorCode::kInvalid, "",
                   "found key '" + std::string(key) + "' twice, expected it once"};
    }
  }
  return {};
}

JsonFields::JsonFields(const rapidjson::Value& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json_.IsObject()) {
    error_ = {ErrorCode::kInvalid, where_, "found no object, expected one"};
  } else if (json_.MemberCount() > kMaxMembers) {
    error_ = {ErrorCode::kTooLarge, where_,
              "expected at most " + std::to_string(kMaxMembers) + " members"};
  }
}

Result<void> JsonFields::Finish() {
  if (!error_.message.empty()) return error_;
  const auto known = CheckMembers(json_, asked_);
  return known.has_value() ? known : At(where_, known.error());
}

const rapidjson::Value* JsonFields::Find(const char* key) {
  if (!error_.message.empty()) return nullptr;
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  const auto member = json_.FindMember(key);
  return member == json_.MemberEnd() ? nullptr : &member->value;
}

const rapidjson::Value* JsonFields::Typed(const char* key, bool (rapidjson::Value::*is)() const,
                                          const char* expected) {
  const rapidjson::Value* const value = Find(key);
  if (value == nullptr || (value->*is)()) return value;
  Refuse(key, expected);
  return nullptr;
}

void JsonFields::Refuse(const char* key, const std::string& expected, const std::string& found) {
  if (!error_.message.empty()) return;
  error_ = {ErrorCode::kInvalid, Place(key),
            (found.empty() ? "" : "found " + found + ", ") + "expected " + expected};
}

void JsonFields::Require(std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (Find(key) == nullptr) Refuse(key, "a value", "none");
  }
}

std::string JsonFields::Text(const char* key) {
  const auto* const value = Typed(key, &rapidjson::Value::IsString, "a string");
  return value == nullptr ? "" : std::string(value->GetString(), value->GetStringLength());
}

std::string JsonFields::Formed(const char* key, const char* form, const std::string& expected) {
  constexpr std::size_t kLongest = 96;  // the depth of std::regex_match grows with the length
  std::string text = Text(key);
  if (text.size() > kLongest || !std::regex_match(text, std::regex(form))) {
    Refuse(key, expected, "'" + text.substr(0, kLongest) + "'");
  }
  return text;
}

std::int64_t JsonFields::Integer(const char* key) {
  const auto* const value = Typed(key, &rapidjson::Value::IsInt64, "an integer");
  return value == nullptr ? 0 : value->GetInt64();
}

double JsonFields::Number(const char* key) {
  const auto* const value = Typed(key, &rapidjson::Value::IsNumber, "a number");
  return value == nullptr ? 0 : value->GetDouble();
}

bool JsonFields::Flag(const char* key) {
  const auto* const value = Typed(key, &rapidjson::Value::IsBool, "true or false");
  return value != nullptr && value->GetBool();
}

std::vector<std::string> JsonFields::Texts(const char* key) {
  std::vector<std::string> texts;
  Array(key, [&](const rapidjson::Value& value, const std::string& place) -> Result<void> {
    if (!value.IsString()) return Error{ErrorCode::kInvalid, place, "expected a string"};
    texts.emplace_back(value.GetString(), value.GetStringLength());
    return {};
  });
  return texts;
}

std::vector<std::int64_t> JsonFields::Integers(const char* key) {
  std::vector<std::int64_t> integers;
  Array(key, [&](const rapidjson::Value& value, const std::string& place) -> Result<void> {
    if (!value.IsInt64()) return Error{ErrorCode::kInvalid, place, "expected an integer"};
    integers.push_back(value.GetInt64());
    return {};
  });
  return integers;
}

}  // namespace qtx::format
