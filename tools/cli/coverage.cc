// qtx validate --coverage: clauses, operators and arithmetics without a case.
#include "qtx/spec/coverage.h"

#include <fmt/core.h>

#include <iterator>

#include "commands.h"
#include "data_folders.h"
#include "json.h"
#include "print_names.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "qtx/spec/chapters.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using spec::Clause;
using spec::Coverage;

// The suite, and the examples of the spec, which `qtx spec run` checks.
Result<Coverage> Measure(const std::string& suite) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Clause> clauses, spec::ReadClauses(SpecFolder()));
  QTX_ASSIGN_OR_RETURN(conformance::Suite cases, conformance::LoadSuite(suite));
  QTX_ASSIGN_OR_RETURN(conformance::Suite examples, spec::LoadExamples(SpecFolder()));
  std::ranges::move(examples.cases, std::back_inserter(cases.cases));
  return spec::MeasureCoverage(cases.cases, clauses);
}

void PrintClauses(const char* title, const std::vector<Clause>& clauses) {
  format::Print("{}: {}\n", title, clauses.size());
  for (const Clause& clause : clauses) format::Print("  {}  {}\n", clause.id, clause.place);
}

void Print(const Coverage& coverage) {
  format::Print("{} cases, {} rules; cases by operator and arithmetic:\n", coverage.cases,
                coverage.clauses);
  for (const auto& [op_type, row] : coverage.counts) {
    std::vector<std::string> cells;
    for (const auto& [arithmetic, count] : row) {
      cells.push_back(fmt::format("{} {}", arithmetic, count));
    }
    format::Print("  {:<24}{}\n", op_type, format::Joined(cells));
  }
  PrintClauses("rules held by tests, since no case can show them", coverage.held_by_tests);
  PrintClauses("rules without a case", coverage.uncovered);
  PrintNames("operators without a case", coverage.operators_without);
  PrintNames("arithmetics without a case", coverage.arithmetics_without);
}

std::string ToJson(const Coverage& coverage) {
  Json json("suite_coverage");
  const auto clause = [&json](const Clause& one) {
    json.BeginObject();
    json.Field("id", one.id);
    json.Field("place", one.place);
    json.EndObject();
  };
  json.BeginObject();
  json.Field("complete", coverage.complete());
  json.Field("cases", coverage.cases);
  json.Field("rules", coverage.clauses);
  json.Array("rules_without_case", coverage.uncovered, clause);
  json.Array("rules_held_by_tests", coverage.held_by_tests, clause);
  json.Array("operators_without_case", coverage.operators_without);
  json.Array("arithmetics_without_case", coverage.arithmetics_without);
  json.Key("cases_by_operator");
  json.BeginObject();
  for (const auto& [op_type, row] : coverage.counts) {
    json.Key(op_type);
    json.BeginObject();
    for (const auto& [arithmetic, count] : row) json.Field(arithmetic, count);
    json.EndObject();
  }
  json.EndObject();
  json.EndObject();
  return json.Text();
}

}  // namespace

int ValidateCoverage(const ValidateOptions& options) {
  const auto outputs = CheckOutputs({{"--json", options.json}}, {{"--suite", options.suite}});
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto coverage = Measure(options.suite.empty() ? SuiteFolder() : options.suite);
  if (!coverage.has_value()) return Fail(coverage.error());
  if (options.SaysText()) Print(*coverage);
  return Finish(options, coverage->complete() ? kDone : kFailed, [&] { return ToJson(*coverage); });
}

}  // namespace qtx::cli
