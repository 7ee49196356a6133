// Escaping for HTML and MathML.
#pragma once

#include <string>
#include <string_view>

namespace qtx::spec {

/// `text` with & < > " ' as character references: for text and quoted attributes.
std::string Escape(std::string_view text);

}  // namespace qtx::spec
