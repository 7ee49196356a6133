// Keys and values for RapidJSON's writers, plain or indented.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/json.h"

namespace qtx::conformance {

using format::WriteText;

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
