// Markdown as HTML, by cmark-gfm's own renderer.
#pragma once

#include <string>
#include <string_view>

namespace qtx::spec {

/// Tables included. HTML in the text and links to scripts are left out.
std::string MarkdownToHtml(std::string_view markdown);

}  // namespace qtx::spec
