// The search index of a site.
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

/// The index as a script that calls searchIndex of page.js: a local page can load scripts but not
/// fetch files. Texts are cut to kMaxFindableBytes.
std::string SearchScript(const std::vector<SearchedPage>& pages,
                         const std::vector<SearchEntry>& entries);

}  // namespace qtx::spec
