// What of the specification, the operators and the arithmetics the cases show.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"
#include "qtx/spec/links.h"

namespace qtx::spec {

/// A rule of the specification: a paragraph, list item or table row that begins with its bold id.
struct Clause {
  std::string id;             // "conv.S2"
  std::string place;          // "ops/conv.md:12", below the folder of the specification
  bool held_by_test = false;  // marked "(tests)": it binds readers, writers or tools, and no case
                              // of a backend can show it
};

/// Every clause of the chapters of `spec_folder`, by path and line.  Errors: as ReadChapters.
Result<std::vector<Clause>> ReadClauses(const std::string& spec_folder);
std::vector<Clause> ClausesOf(std::span<const Document> chapters, const std::string& spec_folder);

struct Coverage {
  std::int64_t cases = 0;
  std::vector<Clause> uncovered;                 // no case cites it or expects it as its error
  std::vector<Clause> held_by_tests;             // those marked so, and without a case
  std::int64_t clauses = 0;                      // all of them
  std::vector<std::string> operators_without;    // of the reference, without a case
  std::vector<std::string> arithmetics_without;  // named ones, aliases too, without a case
  /// op_type -> arithmetic -> cases; whole networks are "model".
  std::map<std::string, std::map<std::string, std::int64_t>> counts;

  bool complete() const {
    return uncovered.empty() && operators_without.empty() && arithmetics_without.empty();
  }
};

/// The text as a whole: what refers to nothing, and what nothing refers to.
struct TextCoverage {
  Coverage cases;                                      // with the suite's and the examples
  std::vector<Dangling> cases_without_clause;          // place and clause
  std::vector<std::string> operators_without_section;  // of the reference
  std::vector<std::string> sections_without_operator;  // stems of ops/
  std::vector<Dangling> links;                         // that lead nowhere
  std::vector<Dangling> citations;                     // of clauses that there are not, in code
  std::map<std::string, std::int64_t> formulas;        // of each clause that has one

  bool complete() const {
    return cases.uncovered.empty() && cases_without_clause.empty() &&
           operators_without_section.empty() && sections_without_operator.empty() &&
           links.empty() && citations.empty();
  }
};

/// `root` is the source tree, whose code and READMEs are looked at too; empty where there is none.
/// Errors: as ReadChapters, ExamplesOf, ReadFormulas and conformance::LoadSuite.
Result<TextCoverage> MeasureText(const std::string& spec_folder, const std::string& suite_folder,
                                 const std::string& root);

/// Each case counts once for each arithmetic it holds in.
Coverage MeasureCoverage(std::span<const conformance::Case> cases, std::span<const Clause> clauses);

}  // namespace qtx::spec
