// JSON for programs, over RapidJSON's writer: keys in the order written, scales as hex floats.
#pragma once

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <concepts>
#include <string>
#include <string_view>

#include "qtx/format/json.h"

namespace qtx::cli {

class Json {
 public:
  Json() { writer_.SetIndent(' ', 1); }
  void BeginObject() { writer_.StartObject(); }
  void EndObject() { writer_.EndObject(); }
  void BeginArray() { writer_.StartArray(); }
  void EndArray() { writer_.EndArray(); }
  void Key(std::string_view key) { format::WriteText(writer_, key); }
  void Value(std::string_view text) { format::WriteText(writer_, text); }
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(bool flag) { writer_.Bool(flag); }
  void Value(std::signed_integral auto number) { writer_.Int64(number); }
  void Value(std::unsigned_integral auto number) { writer_.Uint64(number); }

  void Field(std::string_view key, const auto& value) {
    Key(key);
    Value(value);
  }
  /// An array of whatever `each(element)` writes.
  void Array(std::string_view key, const auto& elements, auto each) {
    Key(key);
    BeginArray();
    for (const auto& element : elements) each(element);
    EndArray();
  }
  void Array(std::string_view key, const auto& elements) {
    Array(key, elements, [this](const auto& element) { this->Value(element); });
  }
  std::string Text() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace qtx::cli
