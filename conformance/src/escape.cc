#include "escape.h"

#include <algorithm>
#include <cstdint>

#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the well-formed UTF-8 sequence at the start of `text`, else 0.
// Source: Unicode 15, table 3-7.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : (lead < 0xF0 ? 3 : 4);
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points past U+10FFFF show in the second byte.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  // XML has neither U+FFFE nor U+FFFF.
  if (lead == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE) return 0;
  return length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    clean.append(length > 0 ? text.substr(0, length) : kReplacement);
    text.remove_prefix(length > 0 ? length : 1);
  }
  return clean;
}

std::string Bounded(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  return std::string(text.substr(0, limit)) + " ... (the first of " + std::to_string(text.size()) +
         " bytes)";
}

std::string Printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view kCut = "...";
  std::string clean(text.substr(0, limit));
  std::ranges::replace_if(
      clean, [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > limit && limit >= kCut.size()) {
    clean.replace(limit - kCut.size(), kCut.size(), kCut);
  }
  return clean;
}

std::string PlainText(std::string_view text) {
  std::string plain;
  for (const char c : ValidUtf8(text)) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7F) {
      plain += kReplacement;
    } else {
      plain += c;
    }
  }
  return plain;
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : PlainText(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace qtx::conformance
