// qtx spec coverage: clauses without cases, gaps between text and catalogue, dangling references,
// and who says what each operator computes.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "commands.h"
#include "data_folders.h"
#include "json.h"
#include "model_cache.h"
#include "print_names.h"
#include "progress.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "qtx/spec/answers.h"
#include "qtx/spec/coverage.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using spec::Clause;
using spec::Dangling;
using spec::TextCoverage;

using spec::AnswersByOperator;
using spec::OperatorAnswers;

// Runs the suite on the reference.
Result<AnswersByOperator> RunSuite(const std::string& folder, const std::string& root, bool quiet) {
  ModelCache models;
  QTX_ASSIGN_OR_RETURN(const auto suite, conformance::LoadSuite(folder, models.Loader()));
  conformance::RunOptions run;
  run.text_answers = &suite.text_answers;
  const RunProgress progress(run, quiet);
  const std::vector<conformance::BackendSource> sources = {conformance::ReferenceSource()};
  return spec::CountAnswers(conformance::RunSuite(folder, suite.cases, sources, run), root);
}

// The operators of too few sources.
std::vector<std::string> Unanswered(const AnswersByOperator& operators) {
  std::vector<std::string> names;
  for (const auto& [op_type, answers] : operators) {
    const bool is_operator = op_type != "model";
    if (is_operator && answers.sources() < spec::kLeastSources) names.push_back(op_type);
  }
  return names;
}

// Those of fewest sources first.
void PrintAnswers(const AnswersByOperator& operators) {
  std::vector<AnswersByOperator::const_iterator> rows;
  for (auto row = operators.begin(); row != operators.end(); ++row) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row->second.sources(); });
  const auto print = [](const auto&... cells) {
    format::Print("{:<28}{:>8}{:>8}{:>8}{:>8}{:>13}{:>8}{:>11}{:>11}\n", cells...);
  };
  format::Print("\n");
  print("operator", "sources", "hand", "text", "python", "third party", "golden", "catalogue",
        "reference");
  for (const auto& row : rows) {
    const OperatorAnswers& answers = row->second;
    print(row->first, answers.sources(), answers.hand, answers.text, answers.python ? "yes" : "-",
          answers.third_party, answers.golden ? "yes" : "-", answers.checks, answers.reference);
  }
  PrintNames("operators with fewer than two sources beside the reference", Unanswered(operators));
}

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

std::string ToJson(const TextCoverage& text, const AnswersByOperator& operators, bool complete) {
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
  json.Field("complete", complete);
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
  json.Array("operators", operators, [&json](const auto& row) {
    json.BeginObject();
    json.Field("op", row.first);
    json.Field("sources", row.second.sources());
    json.Field("hand", row.second.hand);
    json.Field("text", row.second.text);
    json.Field("python", row.second.python);
    json.Field("third_party", row.second.third_party);
    json.Field("golden", row.second.golden);
    json.Field("catalogue", row.second.checks);
    json.Field("reference", row.second.reference);
    json.EndObject();
  });
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
  const auto outputs =
      CheckOutputs({{"--json", options.json}}, {{"folder", folder}, {"--suite", suite}});
  if (!outputs.has_value()) return Fail(outputs.error());
  const std::string root = SourceTree(folder);
  const auto text = spec::MeasureText(folder, suite, root);
  if (!text.has_value()) return Fail(text.error());
  const auto operators = RunSuite(suite, root, options.quiet);
  if (!operators.has_value()) return Fail(operators.error());
  const bool complete = text->complete() && Unanswered(*operators).empty();
  if (options.SaysText()) {
    Print(*text);
    PrintAnswers(*operators);
  }
  return Finish(options, complete ? kDone : kFailed,
                [&] { return ToJson(*text, *operators, complete); });
}

}  // namespace qtx::cli
