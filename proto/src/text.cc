#include "qtx/format/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace qtx::format {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // else `code` is a byte that is not UTF-8
};

// The first character of a text that is not empty.  Source: Unicode 15, table 3-7.
Character First(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const Character no = {.code = lead};
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return no;
  const std::size_t bytes = lead < 0xE0 ? 2 : (lead < 0xF0 ? 3 : 4);
  if (text.size() < bytes) return no;
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return no;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};  // else overlong
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || surrogate || code > 0x10FFFF) return no;
  return {code, bytes, true};
}

struct Range {
  char32_t first, last;
};

// Source: Unicode 15, DerivedGeneralCategory.txt: Cc, Cf, Zl, Zp; proto/tests/text_test.py
// compares.
constexpr Range kNotSeen[] = {
    {0x0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},
    {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F}};

bool IsSeen(const Character& c) {
  if (!c.valid) return false;
  const bool noncharacter = (c.code & 0xFFFE) == 0xFFFE || (c.code >= 0xFDD0 && c.code <= 0xFDEF);
  const auto* range = std::ranges::lower_bound(kNotSeen, c.code, {}, &Range::last);
  return !noncharacter && (range == std::end(kNotSeen) || c.code < range->first);
}

std::string Hex(char32_t code, int digits) {
  std::string text;
  while (digits-- > 0) text += "0123456789abcdef"[code >> (4 * digits) & 0xF];
  return text;
}

// As in C and Python.
std::string Escape(const Character& c) {
  if (c.code == '\n') return "\\n";
  if (c.code == '\r') return "\\r";
  if (c.code == '\t') return "\\t";
  if (!c.valid || c.code < 0x80) return "\\x" + Hex(c.code, 2);
  return c.code < 0x10000 ? "\\u" + Hex(c.code, 4) : "\\U" + Hex(c.code, 8);
}

// Appends each character to `text` where it is seen, else what `escape` makes of it.
template <typename Escaper>
std::string Escaped(std::string_view foreign, const Escaper& escape) {
  std::string text;
  text.reserve(foreign.size());
  while (!foreign.empty()) {
    const Character c = First(foreign);
    if (IsSeen(c)) {
      text += foreign.substr(0, c.bytes);
    } else {
      text += escape(c);
    }
    foreign.remove_prefix(c.bytes);
  }
  return text;
}

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// UTF-8 of at most `limit` characters: the beginning and the end, with the number of those between.
std::string Cut(std::string text, std::size_t limit) {
  constexpr std::string_view kDots = "...";
  constexpr std::size_t kNote = 26;     // characters that a note with a number of 12 digits takes
  constexpr std::size_t kCounted = 80;  // below it such a note takes too much of the space
  if (text.size() <= limit) return text;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(text, BeginsCharacter));
  if (count <= limit) return text;
  const std::size_t ends = limit - std::min(limit, limit < kCounted ? kDots.size() : kNote);
  const std::string note = limit < kCounted ? std::string(kDots.substr(0, limit))
                                            : "...(" + std::to_string(count - ends) + " more)...";
  const auto byte_of = [&](std::size_t character) {
    std::size_t at = 0;
    while (at < text.size() && !(BeginsCharacter(text[at]) && character-- == 0)) ++at;
    return at;
  };
  return text.substr(0, byte_of(ends - ends / 2)) + note + text.substr(byte_of(count - ends / 2));
}

}  // namespace

Printable::Printable(std::string_view foreign, std::size_t limit)
    : text_(Cut(Escaped(foreign, Escape), limit)) {}

Printable Printable::Written(std::string text) {
  Printable written;
  written.text_ = std::move(text);
  return written;
}

Printable& Printable::operator+=(const Printable& more) {
  text_ += more.text_;
  return *this;
}

std::string PrintableLines(std::string_view foreign, std::size_t limit) {
  const auto escape = [](const Character& c) {
    const bool stays = c.code == '\n' || c.code == '\t';
    return stays ? std::string(1, static_cast<char>(c.code)) : Escape(c);
  };
  return Cut(Escaped(foreign, escape), limit);
}

std::string EscapeXml(std::string_view foreign, std::size_t limit) {
  std::string escaped;
  for (const char c : PrintableLines(foreign, limit)) {
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

std::string JsonString(std::string_view foreign) {
  std::string quoted = "\"";
  while (!foreign.empty()) {
    const Character c = First(foreign);
    if (!c.valid) {
      quoted += "\xEF\xBF\xBD";
    } else if (c.code == '"' || c.code == '\\') {
      quoted += {'\\', static_cast<char>(c.code)};
    } else if (c.code == '\n' || c.code == '\t') {
      quoted += Escape(c);
    } else if (IsSeen(c) && c.code != '<') {
      quoted += foreign.substr(0, c.bytes);
    } else if (c.code < 0x10000) {
      quoted += "\\u" + Hex(c.code, 4);
    } else {  // a surrogate pair
      const char32_t above = c.code - 0x10000;
      quoted += "\\u" + Hex(0xD800 + (above >> 10), 4) + "\\u" + Hex(0xDC00 + (above & 0x3FF), 4);
    }
    foreign.remove_prefix(c.bytes);
  }
  return quoted + '"';
}

std::string FileName(std::string_view foreign, std::size_t number) {
  constexpr std::size_t kLongest = 200;  // bytes; file systems take 255 with what is appended
  static constexpr std::string_view kUnsafe = "/\\:;*?\"'<>|$`!&#%~";
  std::string name = Escaped(foreign, [](const Character&) { return "_"; });
  std::ranges::replace_if(
      name, [](char c) { return kUnsafe.find(c) != kUnsafe.npos; }, '_');
  if (name.empty() || name[0] == '.' || name[0] == '-') name.insert(0, "_");
  if (name == foreign && name.size() <= kLongest) return name;
  std::size_t size = std::min(name.size(), kLongest);
  while (size < name.size() && !BeginsCharacter(name[size])) --size;
  return name.substr(0, size) + "#" + std::to_string(number);
}

}  // namespace qtx::format
