// Members of JSON objects read one by one, each with its type and its place for errors.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// One object. The first member of the wrong type is remembered as an error and everything after
/// reads as absent, so that a reader asks for all it wants and looks at status() once.
class JsonFields {
 public:
  /// `json` must be an object, and outlive this.
  JsonFields(const rapidjson::Value& json, std::string where);

  Result<void> status() const;

  /// nullptr when absent.
  const rapidjson::Value* Find(const char* key);
  /// An absent member is empty, 0 or false.
  std::string Text(const char* key);
  std::int64_t Integer(const char* key);
  double Number(const char* key);
  bool Flag(const char* key);
  std::vector<std::string> Texts(const char* key);
  std::vector<std::int64_t> Integers(const char* key);
  /// Calls `each(value, place)`, which returns Result<void>, for each element of an array.
  template <typename Each>
  void Array(const char* key, Each each) {
    const rapidjson::Value* const array = Typed(key, &rapidjson::Value::IsArray, "an array");
    if (array == nullptr) return;
    for (rapidjson::SizeType i = 0; i < array->Size() && status().has_value(); ++i) {
      auto read = each((*array)[i], Place(key) + "[" + std::to_string(i) + "]");
      if (!read.has_value()) error_ = read.error();
    }
  }
  /// Remembers that the member is not what it should be.
  void Refuse(const char* key, const std::string& expected);

 private:
  std::string Place(const char* key) const { return where_ + ": " + key; }
  const rapidjson::Value* Typed(const char* key, bool (rapidjson::Value::*is)() const,
                                const char* expected);

  const rapidjson::Value& json_;
  std::string where_;
  Error error_;
};

}  // namespace qtx::conformance
