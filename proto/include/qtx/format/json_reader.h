// Reading JSON of unknown origin, over RapidJSON: bounded, and strict in keys and types. For
// modules that use RapidJSON.
#pragma once

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/json_bounds.h"
#include "qtx/format/result.h"

namespace qtx::format {

/// Parses `text`, whose levels and values are counted before anything is allocated for them;
/// nesting does not use the stack. With `python_floats`, NaN and Infinity are numbers.
/// Errors: kTooLarge past `bounds`; kInvalid with line and column.
Result<void> ParseJson(std::string_view text, JsonBounds bounds, rapidjson::Document& document,
                       bool python_floats = false);

/// Errors: kInvalid for a member of another name than `known`, and for one that is given twice.
/// REQUIRES: `object` is one.
Result<void> CheckMembers(const rapidjson::Value& object, const std::vector<std::string>& known);

/// Reads the members of one object. After the first member of a wrong type everything reads as
/// absent, so that callers call Finish() once, at the end.
class JsonFields {
 public:
  /// At most this many members, because each is looked for among all.
  static constexpr std::size_t kMaxMembers = 256;

  /// REQUIRES: `json` outlives this.
  JsonFields(const rapidjson::Value& json, std::string where);

  /// Errors: kInvalid for another value than an object, for the first member of a wrong type, for
  /// one that was not asked for, and for one that is given twice; kTooLarge past kMaxMembers.
  Result<void> Finish();

  /// nullptr when absent.
  const rapidjson::Value* Find(const char* key);
  /// An absent member reads as empty, 0 or false.
  std::string Text(const char* key);
  std::int64_t Integer(const char* key);
  double Number(const char* key);
  bool Flag(const char* key);
  std::vector<std::string> Texts(const char* key);
  std::vector<std::int64_t> Integers(const char* key);
  /// A text of at most 96 bytes that matches the regular expression `form`, else refused;
  /// `expected` says in words what the form is.
  std::string Formed(const char* key, const char* form, const std::string& expected);
  /// Calls `each(value, place)`, which returns Result<void>, for each element of an array.
  template <typename Each>
  void Array(const char* key, Each each) {
    const rapidjson::Value* const array = Typed(key, &rapidjson::Value::IsArray, "an array");
    if (array == nullptr) return;
    for (rapidjson::SizeType i = 0; i < array->Size() && error_.message.empty(); ++i) {
      auto read = each((*array)[i], Place(key) + "[" + std::to_string(i) + "]");
      if (!read.has_value()) error_ = read.error();
    }
  }
  /// Refuses an object without one of these members.
  void Require(std::initializer_list<const char*> keys);
  /// Records the error of a malformed member; `found` is what it holds, if that helps.
  void Refuse(const char* key, const std::string& expected, const std::string& found = "");

 private:
  std::string Place(const char* key) const { return (where_.empty() ? "" : where_ + ": ") + key; }
  const rapidjson::Value* Typed(const char* key, bool (rapidjson::Value::*is)() const,
                                const char* expected);

  const rapidjson::Value& json_;
  std::string where_;
  Error error_;
  std::vector<std::string> asked_;  // keys
};

}  // namespace qtx::format
