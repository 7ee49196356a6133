// Clauses and terms that a text speaks of.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtx::spec {

/// A piece of a text, and where it leads; empty: nowhere.
struct Piece {
  std::string text;
  std::string target;  // relative to the site's folder
};

/// Term in lower case -> its target; clause -> its target.
using Targets = std::map<std::string, std::string, std::less<>>;

/// Finds mentions, in one page after the other.
class Mentions {
 public:
  /// `stem`: of the page, whose clauses are spoken of as "S2".
  Mentions(const Targets& clauses, const Targets& terms, std::string stem)
      : clauses_(clauses), terms_(terms), stem_(std::move(stem)) {}

  /// `text` in pieces. Every clause leads to its place, a term where it comes up first.
  std::vector<Piece> Find(std::string_view text);
  /// Where a text that is a clause or a term as a whole leads; empty: nowhere.
  std::string Whole(const std::string& text);

 private:
  std::string Clause(std::string_view word) const;
  std::string Term(std::string_view word);

  const Targets& clauses_;
  const Targets& terms_;
  std::string stem_;
  std::set<std::string> met_;  // targets of terms
};

}  // namespace qtx::spec
