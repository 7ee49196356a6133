// JSON for programs, over RapidJSON's writer: keys in the order written, scales as hex floats.
// Each document has a schema, schema/NAME.schema.json, and begins with its provenance.
#pragma once

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "provenance.h"
#include "qtx/format/json.h"

namespace qtx::cli {

/// Member `judge` of outputs whose answers only the reference was asked for.
inline constexpr std::string_view kJudge = "reference";

class Json {
 public:
  explicit Json(std::string_view schema) : schema_(schema) { writer_.SetIndent(' ', 1); }
  void BeginObject() { writer_.StartObject(); }
  void EndObject() { writer_.EndObject(); }
  void BeginArray() { writer_.StartArray(); }
  void EndArray() { writer_.EndArray(); }
  void Key(std::string_view key) { format::WriteText(writer_, key); }
  void Value(std::string_view text) { format::WriteText(writer_, text); }
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(bool flag) { writer_.Bool(flag); }
  /// Beyond 2^53, which many readers of JSON round, the digits as a string.
  void Value(std::integral auto number) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (std::cmp_greater(number, kExact) || std::cmp_less(number, -kExact)) {
      return Value(std::to_string(number));
    }
    writer_.Int64(static_cast<std::int64_t>(number));
  }

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
  /// The document.  REQUIRES: one object with at least one member was written.
  std::string Text() const {
    return MakeDocument(schema_, {buffer_.GetString(), buffer_.GetSize()}) + "\n";
  }

 private:
  std::string_view schema_;
  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace qtx::cli
