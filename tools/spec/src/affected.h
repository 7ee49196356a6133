// Which cases a changed clause can change, found in the text alone.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/formula/text.h"

namespace qtx::spec {

/// How many cases of an operator a review computes beside those that cite a changed clause.
inline constexpr std::size_t kSampledOfOperator = 3;

class Affected {
 public:
  /// Borrows the text, which has an overlay.
  explicit Affected(const formula::Text& text);

  /// Whether a case cites a clause that the overlay states.
  bool Cited(const conformance::Case& c) const { return stated_.contains(c.spec); }
  /// Whether a formula that holds for an operator in an arithmetic, or one whose functions it uses,
  /// is of such a clause. Of a model's operators only what holds for all of them is looked at.
  bool By(const std::string& op_type, const std::string& arithmetic);
  bool By(const conformance::Case& c);

  /// The indices of the cases to compute: first those that cite a changed clause, then of the
  /// others that are affected kSampledOfOperator of each operator, evenly from its list, or with
  /// `all` all. `affected` becomes the number of all.
  std::vector<std::size_t> Choose(std::span<const conformance::Case> cases, bool all,
                                  std::int64_t& affected);

 private:
  const formula::Text& text_;
  std::set<std::string> stated_, touched_;  // clauses; touched: they use stated ones, or are such
  std::map<std::pair<std::string, std::string>, bool> known_;
};

}  // namespace qtx::spec
