// Finds expected failures by the names that their globs match.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// Borrows the list. A name is compared only with globs whose text before the first wildcard begins
/// it, so that a list of 20,000 ids costs a case no more than one of 20.
class ExpectationIndex {
 public:
  explicit ExpectationIndex(std::span<const ExpectedFailure> list);

  /// The first of the list that matches the result; nullptr if none does.
  const ExpectedFailure* Find(const CaseResult& result) const;
  /// Removes those that match the case in any arithmetic.
  void Remove(const Case& c);
  /// The others, in the order of the list.
  std::vector<const ExpectedFailure*> Remaining() const;

 private:
  using Globs = std::vector<const ExpectedFailure*>;

  void RemoveMatches(std::string_view name);

  std::unordered_map<std::string_view, Globs> by_beginning_;
};

}  // namespace qtx::conformance
