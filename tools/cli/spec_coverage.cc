// qtx spec coverage: clauses without cases, gaps between text and catalogue, dangling references.
#include <filesystem>
#include <string>
#include <vector>

#include "commands.h"
#include "data_folders.h"
#include "json.h"
#include "print_names.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "qtx/spec/coverage.h"

namespace qtx::cli {
namespace {

using spec::Clause;
using spec::Dangling;
using spec::TextCoverage;

void PrintDangling(const char* title, const std::vector<Dangling>& list) {
  format::Print("{}: {}\n", title, list.size());
  for (const Dangling& one : list) format::Print("  {}: {}\n", one.place, one.target);
}

void PrintClauses(const char* title, const std::vector<Clause>& clauses) {
  format::Print("{}: {}\n", title, clauses.size());
  for (const Clause& clause : clauses) format::Print("  {}  {}\n", clause.id, clause.place);
}

void Print(const TextCoverage& text) {
  std::int64_t formulas = 0;
  for (const auto& [clause, count] : text.formulas) formulas += count;
  format::Print("{} clauses, {} cases, {} formulas of {} clauses\n", text.cases.clauses,
                text.cases.cases, formulas, text.formulas.size());
  for (const auto& [clause, count] : text.formulas) format::Print("  {:<32}{}\n", clause, count);
  PrintClauses("clauses without a case", text.cases.uncovered);
  PrintDangling("cases without a clause", text.cases_without_clause);
  PrintNames("operators without a section", text.operators_without_section);
  PrintNames("sections without an operator", text.sections_without_operator);
  const spec::CatalogueGaps& catalogue = text.catalogue;
  PrintNames("sections without a row of the catalogue", catalogue.sections_without_row);
  PrintNames("rows of the catalogue without a section", catalogue.rows_without_section);
  PrintClauses("constraints that no row checks", catalogue.constraints_without_check);
  PrintDangling("checks of clauses that the text does not have", catalogue.checks_without_clause);
  PrintDangling("dangling links", text.links);
  PrintDangling("dangling citations", text.citations);
}

std::string ToJson(const TextCoverage& text) {
  Json json("spec_coverage");
  const auto dangling = [&json](const Dangling& one) {
    json.BeginObject();
    json.Field("place", one.place);
    json.Field("target", one.target);
    json.EndObject();
  };
  const auto clause = [&json](const Clause& one) {
    json.BeginObject();
    json.Field("id", one.id);
    json.Field("place", one.place);
    json.EndObject();
  };
  json.BeginObject();
  json.Field("complete", text.complete());
  json.Field("clauses", text.cases.clauses);
  json.Field("cases", text.cases.cases);
  json.Array("clauses_without_case", text.cases.uncovered, clause);
  json.Array("cases_without_clause", text.cases_without_clause, dangling);
  json.Array("operators_without_section", text.operators_without_section);
  json.Array("sections_without_operator", text.sections_without_operator);
  json.Array("sections_without_row", text.catalogue.sections_without_row);
  json.Array("rows_without_section", text.catalogue.rows_without_section);
  json.Array("constraints_without_check", text.catalogue.constraints_without_check, clause);
  json.Array("checks_without_clause", text.catalogue.checks_without_clause, dangling);
  json.Array("dangling_links", text.links, dangling);
  json.Array("dangling_citations", text.citations, dangling);
  json.Key("formulas");
  json.BeginObject();
  for (const auto& [id, count] : text.formulas) json.Field(id, count);
  json.EndObject();
  json.EndObject();
  return json.Text();
}

// The source tree around the spec, if it is not an installed copy.
std::string SourceTree(const std::string& spec_folder) {
  const auto root = std::filesystem::absolute(spec_folder).lexically_normal().parent_path();
  std::error_code status;
  return std::filesystem::exists(root / "reference/src", status) ? root.string() : "";
}

}  // namespace

int SpecCoverage(const SpecCoverageOptions& options) {
  const std::string folder = options.folder.empty() ? SpecFolder() : options.folder;
  const std::string suite = options.suite.empty() ? SuiteFolder() : options.suite;
  const auto text = spec::MeasureText(folder, suite, SourceTree(folder));
  if (!text.has_value()) return Fail(text.error());
  if (options.json != "-") Print(*text);
  if (!options.json.empty()) {
    const auto written = format::WriteFileAtomically(options.json, ToJson(*text));
    if (!written.has_value()) return Fail(written.error());
  }
  return text->complete() ? kDone : kFailed;
}

}  // namespace qtx::cli
