// The frame of every page: head, chapters at the side, previous and next. And the files of the page
// code, which the build makes of site_page/ and cmake/page/.
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
  std::string path;   // below the text's folder: "ops/conv.md"
  std::string page;   // below the site's folder: "ops/conv.html"
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
/// What stands in lists within its folder: "exact".
std::string ShortTitle(const Chapter& chapter);

/// The order of reading: the text's own page, format, arithmetic, operators, the rest.
bool ReadBefore(const Chapter& a, const Chapter& b);

/// What one page says.
struct PageContent {
  std::string page;
  std::string title;
  std::string html;
  const Chapter* chapter = nullptr;  // whose sections the side shows; nullptr: of none
};

/// A page in its frame. `chapters` are in the order of reading.
std::string FrameHtml(const PageContent& content, const std::vector<Chapter>& chapters);

/// `text` with each @name@ replaced; the values are not looked through again.
std::string Fill(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace qtx::spec
