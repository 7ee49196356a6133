// The only way to a terminal. A format is a literal; each text among the arguments is shown as
// Printable shows it. For modules that use fmt; qtx::format itself does not.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "qtx/format/text.h"

namespace qtx::format {

inline std::string Shown(std::string_view foreign) { return Printable(foreign).text(); }
inline const std::string& Shown(const Printable& text) { return text.text(); }
template <typename Number>
requires(std::is_arithmetic_v<Number> && !std::same_as<Number, char>) Number Shown(Number number) {
  return number;
}

template <typename Argument>
using ShownAs = decltype(Shown(std::declval<const Argument&>()));

template <typename... Arguments>
Printable Format(fmt::format_string<ShownAs<Arguments>...> format, const Arguments&... arguments) {
  return Printable::Written(fmt::format(format, Shown(arguments)...));
}

// Unlike fmt::print, throws nothing where the stream is closed or full: the stream keeps the error.
inline void PrintText(std::FILE* out, const std::string& text) {
  (void)std::fwrite(text.data(), 1, text.size(), out);
}

template <typename... Arguments>
void Print(std::FILE* out, fmt::format_string<ShownAs<Arguments>...> format,
           const Arguments&... arguments) {
  PrintText(out, fmt::format(format, Shown(arguments)...));
}
template <typename... Arguments>
void Print(fmt::format_string<ShownAs<Arguments>...> format, const Arguments&... arguments) {
  PrintText(stdout, fmt::format(format, Shown(arguments)...));
}

/// Prints a document of one of our JSON writers, whose texts are JsonStrings.
inline void PrintJson(std::FILE* out, const std::string& document) { PrintText(out, document); }
inline void PrintJson(const std::string& document) { PrintJson(stdout, document); }

/// "a, b, c"
inline Printable Joined(const std::vector<std::string>& names) {
  Printable text;
  for (const std::string& name : names) {
    text += Format("{}{}", text.text().empty() ? "" : ", ", name);
  }
  return text;
}

}  // namespace qtx::format
