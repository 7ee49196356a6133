// Text that was not written in this project: names in files, file names, what backends say. It goes
// out only through this file: to a terminal as Printable, to JSON as JsonString, to HTML, SVG and
// XML through EscapeXml, and to the file system through FileName.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qtx::format {

/// Characters of a name that people are shown.
inline constexpr std::size_t kMaxShown = 200;
/// Characters of a message, which may have names in it, that people are shown.
inline constexpr std::size_t kMaxMessage = 500;

/// Text that a terminal shows as it is. It moves no cursor, and shows all that it holds.
class Printable {
 public:
  Printable() = default;
  /// `foreign` on one line. A character that is not seen or that moves others (Unicode's categories
  /// Cc, Cf, Zl and Zp, and noncharacters) is shown as \n, \x1b, \u202e or \U000e0001, a byte that
  /// is not UTF-8 as \xff. Of more than `limit` characters the middle is left out, and their number
  /// is shown where there is space for it.
  explicit Printable(std::string_view foreign, std::size_t limit = kMaxShown);
  /// As it is: for format::Format, whose literal may have line feeds, and for what is printable
  /// already.
  static Printable Written(std::string text);

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }  // NOLINT(google-explicit-constructor)
  Printable& operator+=(const Printable& more);
  friend Printable operator+(Printable text, const Printable& more) { return text += more; }

 private:
  std::string text_;
};

/// As Printable, but line feeds and tabs stay: for pages and files.
std::string PrintableLines(std::string_view foreign, std::size_t limit = std::string_view::npos);

/// PrintableLines, with & < > " ' as character references: for text and quoted attributes of HTML,
/// SVG, MathML and XML.
std::string EscapeXml(std::string_view foreign, std::size_t limit = std::string_view::npos);

/// A JSON string with its quotes, which keeps all of a text in UTF-8. Bytes that are not UTF-8
/// become U+FFFD. What Printable does not show, and <, are escaped, so that the JSON may stand on a
/// terminal and in a page.
std::string JsonString(std::string_view foreign);

/// A file name, without an extension, for the `number`-th of several texts: the text itself where
/// that is a safe name of at most 200 bytes; else one with other characters replaced, cut, and
/// "#number". Different for different numbers, and for different texts.
std::string FileName(std::string_view foreign, std::size_t number);

}  // namespace qtx::format
