// A chapter's Markdown as the HTML of its page. The parser and writer are cmark-gfm; what the site
// adds is put into its tree. Only markdown.cc includes it, which is long for that reason.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qtx/spec/document.h"
#include "site/anchors.h"
#include "site/cross_references.h"

namespace qtx::spec {

/// Callbacks that insert HTML into a page. Returned HTML is not escaped.
struct TextHooks {
  std::string page;  // of the site: "ops/conv.html"
  bool is_glossary = false;
  CrossReferences* mentions = nullptr;
  /// The href of a link as it is written in the text; empty: external.
  std::function<std::string(const std::string& target)> link;
  /// The HTML of a fenced or indented block, `index` of Document::fences.
  std::function<std::string(std::size_t index)> block;
  /// The HTML that stands beside a clause, `index` of Document::clauses.
  std::function<std::string(std::size_t index)> beside;
};

/// A searchable text: a clause, a section without its clauses, or a term of the glossary.
struct Findable {
  std::string anchor;
  std::string title;  // the clause's id, the section's title or the term
  bool is_clause = false;
  std::string text;     // of one line
  std::string section;  // title of the section that the clause is in; empty: the page's own
  std::string others;   // what others call the term
};

struct PageText {
  std::string html;
  std::vector<Findable> findable;
};

/// Raw HTML is shown as text, an image as its alternative text; links have the schemes http, https
/// and mailto, or those that `hooks.link` gives.
PageText RenderText(const Document& document, const Anchors& anchors, const TextHooks& hooks);

/// The terms of a glossary: a table row with the first cell "multiplier, shift" defines these two.
std::vector<std::string> GlossaryTerms(const Document& document);

/// "quant_max" -> "term.quant_max".
std::string TermAnchor(std::string_view term);

}  // namespace qtx::spec
