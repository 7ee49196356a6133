#include "qtx/spec/coverage.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

#include "qtx/conformance/suite.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

std::set<std::string_view> CitedBy(std::span<const conformance::Case> cases) {
  std::set<std::string_view> cited;
  for (const conformance::Case& c : cases) {
    cited.insert(c.spec);
    cited.insert(c.error);
  }
  return cited;
}

// Cases name an arithmetic by any of its names; an alias has cases of its own.
std::vector<std::string> ArithmeticsWithout(std::span<const conformance::Case> cases) {
  std::set<std::string_view> named;
  for (const conformance::Case& c : cases) named.insert(c.arithmetics.begin(), c.arithmetics.end());
  std::vector<std::string> without;
  const auto require = [&](std::string_view name) {
    if (!named.contains(name)) without.emplace_back(name);
  };
  for (const reference::Arithmetic& row : reference::Arithmetics()) require(row.name);
  for (const reference::Alias& alias : reference::Aliases()) require(alias.name);
  return without;
}

void MatchOperators(const std::string& spec_folder, TextCoverage& text) {
  const std::set<std::string> sections = Stems(spec_folder + "/ops", ".md");
  std::set<std::string> stems;  // an op_type may be of several domains
  for (const std::string& op_type : reference::SupportedOperators()) {
    if (!stems.insert(SnakeCase(op_type)).second || sections.contains(SnakeCase(op_type))) continue;
    text.operators_without_section.push_back(op_type);
  }
  std::ranges::set_difference(sections, stems, std::back_inserter(text.sections_without_operator));
}

// Clauses of proposals, which code behind a feature cites.
Result<std::set<std::string>> ProposedClauses(const std::string& spec_folder) {
  std::set<std::string> ids;
  const std::filesystem::path folder = std::filesystem::path(spec_folder) / "proposals";
  std::error_code status;
  if (!std::filesystem::is_directory(folder, status)) return ids;
  QTX_ASSIGN_OR_RETURN(const std::vector<Clause> clauses, ReadClauses(folder.string()));
  for (const Clause& clause : clauses) ids.insert(clause.id);
  return ids;
}

}  // namespace

std::vector<Clause> ClausesOf(std::span<const Document> chapters, const std::string& spec_folder) {
  std::vector<Clause> clauses;
  for (const Document& chapter : chapters) {
    const std::string path = PathBelow(spec_folder, chapter.where);
    for (const StatedClause& stated : chapter.clauses) {
      clauses.push_back({stated.id, path + ":" + std::to_string(stated.line), stated.held_by_test});
    }
  }
  return clauses;
}

Result<std::vector<Clause>> ReadClauses(const std::string& spec_folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Document> chapters, ReadChapters(spec_folder));
  return ClausesOf(chapters, spec_folder);
}

CatalogueGaps CompareCatalogue(std::span<const Document> chapters, const std::string& spec_folder,
                               std::span<const format::OpSchema> rows) {
  CatalogueGaps gaps;
  std::map<std::string, const Document*> sections;  // by op_type
  for (const Document& chapter : chapters) {
    const bool is_operator = PathBelow(spec_folder, chapter.where).starts_with("ops/");
    if (!is_operator || chapter.sections.empty()) continue;
    sections.emplace(chapter.sections.front().title, &chapter);
  }
  std::set<std::string> with_row, reported;
  for (const format::OpSchema& row : rows) {
    const std::string op_type(row.op_type);
    const auto section = sections.find(op_type);
    const bool is_new = with_row.insert(op_type).second;  // an op_type may be of several domains
    if (section == sections.end()) {
      if (is_new) gaps.rows_without_section.push_back(op_type);
      continue;
    }
    std::set<std::string_view> unstated;  // checks, until the section states them
    for (const format::ClauseCheck& check : row.checks) unstated.insert(check.clause);
    if (!row.shape_clause.empty()) unstated.insert(row.shape_clause);
    for (Clause& clause : ClausesOf({section->second, 1}, spec_folder)) {
      if (clause.id.find(".C") == std::string::npos || unstated.erase(clause.id) > 0) continue;
      if (reported.insert(clause.id).second) {
        gaps.constraints_without_check.push_back(std::move(clause));
      }
    }
    for (const std::string_view id : unstated) {
      gaps.checks_without_clause.push_back({"row " + op_type, std::string(id)});
    }
  }
  for (const auto& [op_type, section] : sections) {
    if (!with_row.contains(op_type)) gaps.sections_without_row.push_back(op_type);
  }
  return gaps;
}

Result<TextCoverage> MeasureText(const std::string& spec_folder, const std::string& suite_folder,
                                 const std::string& root) {
  TextCoverage text;
  QTX_ASSIGN_OR_RETURN(const std::vector<Document> chapters, ReadChapters(spec_folder));
  const std::vector<Clause> clauses = ClausesOf(chapters, spec_folder);
  QTX_ASSIGN_OR_RETURN(conformance::Suite suite, conformance::LoadSuite(suite_folder));
  QTX_ASSIGN_OR_RETURN(conformance::Suite examples, LoadExamples(spec_folder));
  std::ranges::move(examples.cases, std::back_inserter(suite.cases));
  text.cases = MeasureCoverage(suite.cases, clauses);
  std::set<std::string_view> stated;
  for (const Clause& clause : clauses) stated.insert(clause.id);
  for (const conformance::Case& c : suite.cases) {
    for (const std::string& cited : {c.spec, c.error}) {
      if (!cited.empty() && !stated.contains(cited)) {
        text.cases_without_clause.push_back({c.where, cited});
      }
    }
  }
  for (const Document& chapter : chapters) {
    QTX_ASSIGN_OR_RETURN(const std::vector<Formula> formulas, ReadFormulas(chapter));
    for (const Formula& formula : formulas) ++text.formulas[formula.spec];
  }
  MatchOperators(spec_folder, text);
  text.catalogue = CompareCatalogue(chapters, spec_folder);
  QTX_ASSIGN_OR_RETURN(text.links, DanglingLinks(spec_folder, !root.empty()));
  if (root.empty()) return text;
  QTX_ASSIGN_OR_RETURN(const std::set<std::string> proposed, ProposedClauses(spec_folder));
  for (const auto& [place, ids] : Citations(root)) {
    for (const std::string& id : ids) {
      if (!stated.contains(id) && !proposed.contains(id)) text.citations.push_back({place, id});
    }
  }
  return text;
}

Coverage MeasureCoverage(std::span<const conformance::Case> cases,
                         std::span<const Clause> clauses) {
  Coverage coverage;
  coverage.cases = std::ssize(cases);
  coverage.clauses = std::ssize(clauses);
  const std::set<std::string_view> cited = CitedBy(cases);
  for (const Clause& clause : clauses) {
    if (cited.contains(clause.id)) continue;
    (clause.held_by_test ? coverage.held_by_tests : coverage.uncovered).push_back(clause);
  }
  for (const conformance::Case& c : cases) {
    auto& row = coverage.counts[c.op ? c.op->type : "model"];
    for (const std::string& arithmetic : c.arithmetics) ++row[arithmetic];
  }
  for (const std::string& op_type : reference::SupportedOperators()) {
    if (!coverage.counts.contains(op_type)) coverage.operators_without.push_back(op_type);
  }
  coverage.arithmetics_without = ArithmeticsWithout(cases);
  return coverage;
}

}  // namespace qtx::spec
