// The index of clauses: the cases, code, tests and results that cite each of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/spec/site.h"
#include "site/code_map.h"

namespace qtx::spec {

/// One YAML document: a case, or all those of its matrix.
struct CaseGroup {
  std::string id;    // without the suffix of a matrix
  std::string file;  // "conformance/cases/ops/add/ties.yaml", or "ops/add.md" of an example
  int line = 0;
  bool is_example = false;
  std::vector<const conformance::Case*> cases;
};

using Counts = std::array<std::int64_t, conformance::kOutcomes>;

/// Outcomes of one backend over the cases of a clause. A case counts once per arithmetic.
struct Tally {
  std::string backend;
  Counts counts{};
};

struct ClauseFacts {
  std::vector<CaseGroup> cases;  // in the order of the suite, the text's examples first
  std::vector<CodePlace> code, tests;
  std::vector<Tally> results;  // of backends that ran some of the cases, in the report's order
  std::size_t asked = 0;       // pairs of case and arithmetic that some backend ran
};

/// One backend's answer to a case in one arithmetic.
struct BackendAnswer {
  const conformance::BackendReport* row = nullptr;
  const conformance::CaseResult* result = nullptr;
};

class ClauseIndex {
 public:
  /// `input` must outlive this.
  ClauseIndex(const SiteInput& input, const CodeMap& code);

  const ClauseFacts& Of(std::string_view clause) const;
  /// Results in the report's order; for an example those of the reference.
  const std::vector<BackendAnswer>& AnswersTo(const std::string& case_id) const;
  /// The cases whose YAML lies in these lines of a chapter, "ops/add.md".
  std::vector<const conformance::Case*> ExamplesIn(std::string_view chapter, int first,
                                                   int last) const;

 private:
  void AddCases(const std::vector<conformance::Case>& cases, const std::string& folder,
                std::string_view label, bool examples);
  void AddAnswers(const conformance::Report* report);
  void AddTallies();

  std::map<std::string, ClauseFacts, std::less<>> clauses_;
  std::map<std::string, std::vector<BackendAnswer>> answers_;  // by case
  std::vector<CaseGroup> examples_;
  std::vector<std::string> backends_;  // in the report's order
};

/// The backend's own name, else the user's.
std::string BackendName(const conformance::BackendReport& row);

}  // namespace qtx::spec
