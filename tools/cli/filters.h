// Globs of the option --filter.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"

namespace qtx::cli {

/// Names on stderr each filter that matches the `name` of no item, as where it is misspelt and
/// another one matches.
template <typename Item>
void WarnOfIdle(const std::vector<std::string>& filters, const std::vector<Item>& items,
                std::string Item::*name) {
  for (const std::string& filter : filters) {
    const bool matches = std::ranges::any_of(
        items, [&](const Item& item) { return conformance::GlobMatches(filter, item.*name); });
    if (!matches) format::Print(stderr, "--filter {}: matches nothing\n", filter);
  }
}

}  // namespace qtx::cli
