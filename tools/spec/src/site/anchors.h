// Anchors of a page.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/spec/document.h"

namespace qtx::spec {

/// "Levels and tags" -> "levels-and-tags", as on GitHub, so that links work in both places.
std::string Slug(std::string_view title);

/// The anchors of a document's page, all unique.
struct Anchors {
  std::vector<std::string> sections;  // of Document::sections, one each
  std::vector<std::string> clauses;   // of Document::clauses: the id; a repeated one gets "-2"
  std::vector<std::string> fences;    // of Document::fences: "example.NAME", or empty
  std::set<std::string> all;          // these, and "term.NAME" of a glossary
};
Anchors AnchorsOf(const Document& document);

/// The name in "id: stem/name" that a YAML case begins with, without a matrix's suffix.
std::string ExampleName(std::string_view yaml);

}  // namespace qtx::spec
