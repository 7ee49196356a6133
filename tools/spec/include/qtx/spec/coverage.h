// Coverage: which clauses, operators and arithmetics have cases.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"
#include "qtx/spec/links.h"

namespace qtx::spec {

/// A clause: a paragraph, list item or table row that begins with its id in bold.
struct Clause {
  std::string id;             // "conv.S2"
  std::string place;          // "ops/conv.md:12", relative to the folder of the specification
  bool held_by_test = false;  // marked "(tests)": it binds readers, writers or tools, so that no
                              // case of a backend can show it
};

/// Every clause of the chapters of `spec_folder`, by path and line.  Errors: as ReadChapters.
Result<std::vector<Clause>> ReadClauses(const std::string& spec_folder);
std::vector<Clause> ClausesOf(std::span<const Document> chapters, const std::string& spec_folder);

struct Coverage {
  std::int64_t cases = 0;
  std::vector<Clause> uncovered;                 // no case cites it or expects it as its error
  std::vector<Clause> held_by_tests;             // marked "(tests)" and without a case
  std::int64_t clauses = 0;                      // total number
  std::vector<std::string> operators_without;    // operators of the reference without a case
  std::vector<std::string> arithmetics_without;  // named arithmetics and aliases without a case
  /// op_type -> arithmetic -> cases; whole networks are "model".
  std::map<std::string, std::map<std::string, std::int64_t>> counts;

  bool complete() const {
    return uncovered.empty() && operators_without.empty() && arithmetics_without.empty();
  }
};

/// What the sections of ops/ and the rows of the catalogue do not share.
struct CatalogueGaps {
  std::vector<std::string> sections_without_row;  // op_types
  std::vector<std::string> rows_without_section;
  std::vector<Clause> constraints_without_check;  // of the operator's row
  std::vector<Dangling> checks_without_clause;    // place: "row Conv"

  bool empty() const {
    return sections_without_row.empty() && rows_without_section.empty() &&
           constraints_without_check.empty() && checks_without_clause.empty();
  }
};

/// Compares chapters below `spec_folder` with rows.
CatalogueGaps CompareCatalogue(std::span<const Document> chapters, const std::string& spec_folder,
                               std::span<const format::OpSchema> rows = format::Sections());

/// Coverage of the whole text, with dangling references.
struct TextCoverage {
  Coverage cases;                                      // of the suite and the examples
  std::vector<Dangling> cases_without_clause;          // place and clause
  std::vector<std::string> operators_without_section;  // of the reference
  std::vector<std::string> sections_without_operator;  // files of ops/ without an operator
  CatalogueGaps catalogue;
  std::vector<Dangling> links;                   // dangling links
  std::vector<Dangling> citations;               // citations of unknown clauses in code
  std::map<std::string, std::int64_t> formulas;  // number of formulas by clause

  bool complete() const {
    return cases.uncovered.empty() && cases_without_clause.empty() &&
           operators_without_section.empty() && sections_without_operator.empty() &&
           catalogue.empty() && links.empty() && citations.empty();
  }
};

/// `root` is the source tree, whose code and READMEs are checked too; empty: none.
/// Errors: as ReadChapters, ExamplesOf, ReadFormulas and conformance::LoadSuite.
Result<TextCoverage> MeasureText(const std::string& spec_folder, const std::string& suite_folder,
                                 const std::string& root);

/// A case counts once per arithmetic.
Coverage MeasureCoverage(std::span<const conformance::Case> cases, std::span<const Clause> clauses);

}  // namespace qtx::spec
