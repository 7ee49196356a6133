// Markdown to HTML, by cmark-gfm's renderer.
#pragma once

#include <string>
#include <string_view>

namespace qtx::spec {

/// Supports tables. Omits raw HTML and links to scripts.
std::string MarkdownToHtml(std::string_view markdown);

}  // namespace qtx::spec
