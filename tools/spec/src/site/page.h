// The page template: head, list of chapters, previous and next; and the page's code, which the
// build embeds from site_page/ and cmake/page/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/spec/document.h"
#include "site/anchors.h"

namespace qtx::spec {

extern const std::string_view kSitePage;    // page.html
extern const std::string_view kSiteStyle;   // base.css, page.css
extern const std::string_view kSiteScript;  // base.js, page.js

/// A Markdown file of the text and its page.
struct Chapter {
  std::string path;   // relative to the spec's folder: "ops/conv.md"
  std::string page;   // relative to the site's folder: "ops/conv.html"
  std::string title;  // "Arithmetic exact"
  Document document;
  Anchors anchors;
};

/// "ops/README.md" -> "ops/index.html", "ops/conv.md" -> "ops/conv.html".
std::string PageOf(std::string_view path);
/// "ops" of "ops/conv.html", "proposals" of "proposals/0001-x/proposal.html"; empty at the top.
std::string_view TopFolder(std::string_view page);
/// "Operators" of "ops".
std::string FolderTitle(std::string_view folder);
/// Its short name in lists of its folder: "exact".
std::string ShortTitle(const Chapter& chapter);

/// Sorts into the order of reading: the text's own page, format, arithmetic, operators, the rest.
/// In format and arithmetic a chapter comes where the text's own page first links to it, so that
/// definitions precede what they are for; a proposal precedes its overlay.
void SortForReading(std::vector<Chapter>& chapters);

/// The contents of a page.
struct PageContent {
  std::string page;
  std::string title;
  std::string html;
  const Chapter* chapter = nullptr;  // whose sections the sidebar shows; nullptr: none
};

/// Renders a page. `chapters` are in the order of reading.
std::string FrameHtml(const PageContent& content, const std::vector<Chapter>& chapters);

/// `text` with each @name@ replaced; values are not expanded again.
std::string Fill(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace qtx::spec
