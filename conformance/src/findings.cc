#include "findings.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace qtx::conformance {

void JoinFindings(std::vector<Finding>& findings) {
  std::vector<Finding> joined;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (Finding& finding : findings) {
    const auto [position, is_new] =
        known.try_emplace({finding.candidate, finding.says}, joined.size());
    if (is_new) {
      joined.push_back(std::move(finding));
      continue;
    }
    Finding& same = joined[position->second];
    std::ranges::move(finding.operators, std::back_inserter(same.operators));
    same.failing += finding.failing;
    same.explained += finding.explained;
    same.confirmed += finding.confirmed;
    for (WrongPlace& place : finding.places) {
      const auto known_place = std::ranges::find(same.places, place.op, &WrongPlace::op);
      if (known_place == same.places.end()) same.places.push_back(std::move(place));
    }
  }
  for (Finding& finding : joined) {
    std::ranges::sort(finding.operators);
    auto& names = finding.operators;
    // Clang 14 cannot take the range that std::ranges::unique returns.
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  std::ranges::stable_sort(joined, std::greater(), &Finding::failing);
  findings = std::move(joined);
}

}  // namespace qtx::conformance
