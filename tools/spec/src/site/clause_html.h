// The HTML beside a clause, and the page of all results of a chapter.
#pragma once

#include <string>
#include <vector>

#include "site/clause_index.h"

namespace qtx::spec {

/// Pages of the site.
struct BesideLinks {
  std::string page;     // of the clause: "ops/conv.html"
  std::string results;  // of all results of its chapter
};

/// Cases, code, tests and results of one clause. `places` maps an example's case id without its
/// suffix to its place on the site.
std::string BesideHtml(const std::string& anchor, const std::string& id, const ClauseFacts& facts,
                       const std::map<std::string, std::string>& places, const BesideLinks& links);

/// The result of an example: "passed in exact, float32".
std::string ExampleResultHtml(const std::vector<const conformance::Case*>& cases,
                              const ClauseIndex& facts);

/// Every answer to every case of a clause.
std::string ClauseResultsHtml(const ClauseFacts& facts, const ClauseIndex& all);

/// True if a backend answered a case of the clause.
bool HasResults(const ClauseFacts& facts);

}  // namespace qtx::spec
