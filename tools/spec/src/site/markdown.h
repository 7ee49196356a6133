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

/// What the rest of the site knows of a page's text. Whatever is returned as HTML goes out as it
/// is.
struct TextHooks {
  std::string page;  // of the site: "ops/conv.html"
  bool is_glossary = false;
  CrossReferences* mentions = nullptr;
  /// The href of a link as it is written in the text; empty: it leads out of the site.
  std::function<std::string(const std::string& target)> link;
  /// The HTML of a fenced or indented block, `index` of Document::fences.
  std::function<std::string(std::size_t index)> block;
  /// The HTML that stands beside a clause, `index` of Document::clauses.
  std::function<std::string(std::size_t index)> beside;
};

/// What a search may find: a clause, or what a section says before, between and after its clauses.
struct Findable {
  std::string anchor;
  std::string title;  // the clause's id or the section's title
  bool is_clause = false;
  std::string text;  // of one line
};

struct PageText {
  std::string html;
  std::vector<Findable> findable;
};

/// Raw HTML of the text becomes text, an image what it says instead; links have the schemes http,
/// https and mailto, or those that `hooks.link` gives.
PageText RenderText(const Document& document, const Anchors& anchors, const TextHooks& hooks);

/// The words of a glossary: of each table row whose first cell is "multiplier, shift" these two.
std::vector<std::string> GlossaryTerms(const Document& document);

/// "quant_max" -> "term.quant_max".
std::string TermAnchor(std::string_view term);

}  // namespace qtx::spec
