// Text from cases and backends made safe for the format it is written into.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qtx::conformance {

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

/// `text`; of more than `limit` bytes, only the first and a note on how many there were.
std::string Bounded(std::string_view text, std::size_t limit);

/// ValidUtf8, with the control characters other than line feed and tab replaced by U+FFFD.
std::string PlainText(std::string_view text);

/// PlainText, with & < > " ' as character references: for text and quoted attributes of XML and
/// HTML.
std::string EscapeXml(std::string_view text);

}  // namespace qtx::conformance
