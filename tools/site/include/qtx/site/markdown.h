// Markdown to HTML, by cmark-gfm's renderer.
#pragma once

#include <string>
#include <string_view>

namespace qtx::site {

/// Supports tables. Omits raw HTML and links to scripts.
std::string ToHtml(std::string_view markdown);

}  // namespace qtx::site
