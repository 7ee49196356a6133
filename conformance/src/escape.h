// Escaping of text from cases and backends for HTML, XML and JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qtx::conformance {

/// Replaces every byte that is not well-formed UTF-8 by U+FFFD.
std::string ValidUtf8(std::string_view text);

/// `text`, cut to `limit` bytes with a note of its length.
std::string Bounded(std::string_view text, std::size_t limit);

/// ValidUtf8, with the control characters other than line feed and tab replaced by U+FFFD.
std::string PlainText(std::string_view text);

/// PlainText, with & < > " ' as character references: for text and quoted attributes of XML and
/// HTML.
std::string EscapeXml(std::string_view text);

}  // namespace qtx::conformance
