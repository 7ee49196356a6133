// Keys and values for RapidJSON's writers, plain or indented. Texts may come from a backend and are
// made valid UTF-8.
#pragma once

#include <rapidjson/rapidjson.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "escape.h"

namespace qtx::conformance {

template <typename Writer>
void WriteText(Writer& writer, std::string_view text) {
  const std::string clean = ValidUtf8(text);
  writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

template <typename Writer>
void WriteValue(Writer& writer, std::string_view text) {
  WriteText(writer, text);
}
template <typename Writer>
void WriteValue(Writer& writer, std::same_as<bool> auto flag) {
  writer.Bool(flag);
}
template <typename Writer>
void WriteValue(Writer& writer, std::same_as<std::int64_t> auto number) {
  writer.Int64(number);
}
template <typename Writer>
void WriteValue(Writer& writer, std::same_as<double> auto number) {
  std::isfinite(number) ? writer.Double(number) : writer.Null();  // JSON has no infinity
}
template <typename Writer>
void WriteValue(Writer& writer, const std::vector<std::string>& texts) {
  writer.StartArray();
  for (const std::string& text : texts) WriteText(writer, text);
  writer.EndArray();
}

template <typename Writer, typename Value>
void WriteField(Writer& writer, std::string_view key, const Value& value) {
  WriteText(writer, key);
  WriteValue(writer, value);
}

}  // namespace qtx::conformance
