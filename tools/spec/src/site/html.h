// Text as HTML.
#pragma once

#include <string>
#include <string_view>

#include "escape.h"

namespace qtx::spec {

/// Whether `c` belongs to a word: a letter, digit or underscore.
bool InWord(char c);

/// `text`; of more than `limit` bytes the first, up to a whole character, and "...".
std::string Cut(std::string_view text, std::size_t limit);

/// The href from a page to another, both relative to the site's folder: ("ops/conv.html",
/// "glossary.html#term.scale") is "../glossary.html#term.scale", and to an anchor of the page
/// itself "#conv.S1".
std::string Relative(std::string_view page, std::string_view target);

/// A block of program text, which scrolls in itself; `html` is escaped already.
std::string PreHtml(std::string_view html);

/// YAML with spans around keys, texts in quotes and comments. All of it is escaped.
std::string HighlightYaml(std::string_view yaml);

}  // namespace qtx::spec
