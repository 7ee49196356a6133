// Text from cases and backends made safe for the format it is written into.
#pragma once

#include <string>
#include <string_view>

namespace qtx::conformance {

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

/// ValidUtf8, with & < > " ' as character references and the control characters that XML 1.0 cannot
/// hold replaced by U+FFFD: for text and quoted attributes of XML and HTML.
std::string EscapeXml(std::string_view text);

}  // namespace qtx::conformance
