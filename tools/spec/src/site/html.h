// HTML helpers.
#pragma once

#include <string>
#include <string_view>

#include "qtx/format/text.h"

namespace qtx::spec {

using format::EscapeXml;

/// True for letters, digits and underscore.
bool InWord(char c);

/// `text`, cut to `limit` bytes at a character boundary with "..." appended.
std::string Cut(std::string_view text, std::size_t limit);

/// The href from a page to another, both relative to the site's folder: ("ops/conv.html",
/// "glossary.html#term.scale") is "../glossary.html#term.scale", and to an anchor of the page
/// itself "#conv.S1".
std::string Relative(std::string_view page, std::string_view target);

/// A scrollable code block; `html` is already escaped.
std::string PreHtml(std::string_view html);

/// YAML with spans around keys, texts in quotes and comments. Escaped.
std::string HighlightYaml(std::string_view yaml);

}  // namespace qtx::spec
