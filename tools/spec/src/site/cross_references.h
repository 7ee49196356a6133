// Cross references: finds the clauses and terms that a text mentions, and where each links to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtx::spec {

/// A piece of a text and its link.
struct Piece {
  std::string text;
  std::string target;  // relative to the site's folder; empty: no link
};

/// Term in lower case -> its target; clause -> its target.
using Targets = std::map<std::string, std::string, std::less<>>;

/// Finds the references of one page.
class CrossReferences {
 public:
  /// `stem` is that of the page; "S2" alone refers to its clauses.
  CrossReferences(const Targets& clauses, const Targets& terms, std::string stem)
      : clauses_(clauses), terms_(terms), stem_(std::move(stem)) {}

  /// Splits `text` into pieces. Every clause is linked, a term only where it first occurs.
  std::vector<Piece> Find(std::string_view text);
  /// The link of a text that is one clause or term; empty: none.
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
