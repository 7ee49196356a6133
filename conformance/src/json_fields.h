// Typed reading of JSON objects, with the place of errors.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// Reads the members of one object. After the first member of a wrong type everything reads as
/// absent, so that callers call Finish() once, at the end.
class JsonFields {
 public:
  /// REQUIRES: `json` is an object and outlives this.
  JsonFields(const rapidjson::Value& json, std::string where);

  /// Errors: kInvalid for the first member of a wrong type, for one that was not asked for, and for
  /// one that is given twice.
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
  /// Refuses an absent member.
  void Require(const char* key, const std::string& expected);
  /// Records the error of a malformed member; `found` is what it holds, if that helps.
  void Refuse(const char* key, const std::string& expected, const std::string& found = "");

 private:
  std::string Place(const char* key) const { return where_ + ": " + key; }
  const rapidjson::Value* Typed(const char* key, bool (rapidjson::Value::*is)() const,
                                const char* expected);

  const rapidjson::Value& json_;
  std::string where_;
  Error error_;
  std::vector<std::string> asked_;  // keys
};

}  // namespace qtx::conformance
