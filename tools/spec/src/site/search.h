// What the search of a site looks through.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "site/markdown.h"

namespace qtx::spec {

struct SearchedPage {
  std::string page;  // "ops/conv.html"
  std::string title;
};

struct SearchEntry {
  std::size_t page = 0;  // index of its page
  Findable text;
};

/// The index as a script that calls searchIndex of page.js: a page of a folder may load a script,
/// and not fetch a file. Texts are cut at kMaxFindableBytes.
std::string SearchScript(const std::vector<SearchedPage>& pages,
                         const std::vector<SearchEntry>& entries);

}  // namespace qtx::spec
