// qtx spec run: runs the spec's examples and formulas on the reference.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "commands.h"
#include "data_folders.h"
#include "feature_option.h"
#include "json.h"
#include "progress.h"
#include "qtx/conformance/files.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/coverage.h"
#include "qtx/spec/formula.h"
#include "qtx/spec/proposal.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

constexpr std::string_view kProposal = "proposal.md";

// One example in one arithmetic, or one formula on one case.
struct Line {
  std::string id;
  std::string spec;
  std::string where;
  std::string arithmetic;  // for a formula all, separated by commas
  bool passed = false;
  std::string what;        // for a formula: how much was compared
  std::string difference;  // empty: none
  std::int64_t elements = 0;
  bool exhaustive = false;
  bool is_formula = false;
};

class Runner {
 public:
  Runner(format::Features features, bool quiet)
      : features_(features), progress_(quiet, "running") {}

  // Runs until the first difference, which is the last line.
  Result<bool> Run(const std::string& path) {
    std::error_code status;
    if (std::filesystem::is_directory(path, status)) return Folder(path);
    if (path.ends_with(".yaml")) return CaseFile(path);
    QTX_ASSIGN_OR_RETURN(const spec::Document chapter, spec::ReadDocument(path));
    QTX_ASSIGN_OR_RETURN(const bool passed, Chapter(chapter));
    if (!passed) return false;
    return CheckFound(path);
  }

  const std::vector<Line>& lines() const { return lines_; }

 private:
  // A proposal or its examples; chapters, with the proposals below them; or files of cases.
  Result<bool> Folder(const std::string& folder) {
    const std::filesystem::path path = std::filesystem::path(folder) / "";
    std::error_code status;
    for (const auto& proposal : {path.parent_path(), path.parent_path().parent_path()}) {
      if (std::filesystem::exists(proposal / kProposal, status)) return Proposal(proposal.string());
    }
    QTX_ASSIGN_OR_RETURN(const std::vector<spec::Document> chapters, spec::ReadChapters(folder));
    for (std::size_t i = 0; i < chapters.size(); ++i) {
      progress_.Set(i, chapters.size(), chapters[i].where);
      QTX_ASSIGN_OR_RETURN(const bool passed, Chapter(chapters[i]));
      if (!passed) return false;
    }
    if (std::filesystem::is_directory(path / "proposals", status)) {
      QTX_ASSIGN_OR_RETURN(const bool passed, Proposals((path / "proposals").string()));
      if (!passed) return false;
    }
    if (!chapters.empty()) return CheckFound(folder);
    QTX_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                         conformance::FindFiles(folder, ".yaml"));
    for (const std::string& file : files) {
      QTX_ASSIGN_OR_RETURN(const bool passed,
                           CaseFile((std::filesystem::path(folder) / file).string()));
      if (!passed) return false;
    }
    return CheckFound(folder);
  }

  Result<bool> Proposals(const std::string& folder) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                         conformance::FindFiles(folder, ".md"));
    for (const std::string& file : files) {
      const std::filesystem::path path = std::filesystem::path(folder) / file;
      if (path.filename() != kProposal) continue;
      QTX_ASSIGN_OR_RETURN(const bool passed, Proposal(path.parent_path().string()));
      if (!passed) return false;
    }
    return true;
  }

  // Runs each example without the feature and with it.
  Result<bool> Proposal(const std::string& folder) {
    QTX_ASSIGN_OR_RETURN(const spec::Proposal proposal, spec::ReadProposal(folder, SpecFolder()));
    for (const spec::ExampleResult& result : spec::RunExamples(proposal)) {
      const conformance::Case& example = proposal.examples[result.example];
      for (const bool after : {false, true}) {
        const spec::ExampleSide& side = after ? result.after : result.before;
        const std::string_view with = after ? "with " : "without ";
        lines_.push_back({example.id, example.spec, example.where, result.arithmetic, side.ok,
                          fmt::format("{}{}", with, proposal.FeatureName()), side.differs});
        if (!side.ok) return false;
      }
    }
    return true;
  }

  Result<bool> CheckFound(const std::string& folder) const {
    if (!lines_.empty()) return true;
    return Error{ErrorCode::kInvalid, folder, "found neither an example nor a formula"};
  }

  Result<bool> CaseFile(const std::string& path) {
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(path, conformance::kMaxCaseFileBytes));
    QTX_ASSIGN_OR_RETURN(std::vector<conformance::Case> cases, conformance::ParseCases(text, path));
    for (conformance::Case& c : cases) {
      c.folder = std::filesystem::path(path).parent_path().string();
    }
    for (const conformance::Case& c : cases) QTX_RETURN_IF_ERROR(CheckCited(c.spec, c.where));
    return Examples(path, std::move(cases));
  }

  // A clause of the case's chapter, if it has one, or of the whole spec.
  Result<void> CheckCited(const std::string& clause, const std::string& where,
                          const spec::Document* chapter = nullptr) {
    const auto is_it = [&clause](const auto& stated) { return stated.id == clause; };
    if (chapter != nullptr && std::ranges::any_of(chapter->clauses, is_it)) return {};
    if (clauses_.empty()) {
      QTX_ASSIGN_OR_RETURN(clauses_, spec::ReadClauses(SpecFolder()));
    }
    if (std::ranges::any_of(clauses_, is_it)) return {};
    return Error{ErrorCode::kInvalid, where, "cites " + clause + ", which the spec does not state"};
  }

  Result<bool> Chapter(const spec::Document& chapter) {
    QTX_ASSIGN_OR_RETURN(std::vector<conformance::Case> examples, spec::ExamplesOf(chapter));
    for (const conformance::Case& c : examples) {
      QTX_RETURN_IF_ERROR(CheckCited(c.spec, c.where, &chapter));
    }
    QTX_ASSIGN_OR_RETURN(const bool passed, Examples(chapter.where, std::move(examples)));
    if (!passed) return false;
    QTX_ASSIGN_OR_RETURN(const std::vector<spec::Formula> formulas, spec::ReadFormulas(chapter));
    if (formulas.empty()) return true;
    QTX_ASSIGN_OR_RETURN(const formula::Text text, spec::TextAround(chapter));
    for (const spec::Formula& formula : formulas) {
      QTX_RETURN_IF_ERROR(
          CheckCited(formula.spec, fmt::format("{}:{}", formula.where, formula.line), &chapter));
      QTX_ASSIGN_OR_RETURN(const std::vector<spec::FormulaRun> runs,
                           spec::RunFormula(formula, text, features_));
      for (const spec::FormulaRun& run : runs) {
        Add(formula, run);
        if (!lines_.back().passed) return false;
      }
    }
    return true;
  }

  Result<bool> Examples(const std::string& path, std::vector<conformance::Case> cases) {
    if (cases.empty()) return true;
    const std::vector<conformance::BackendSource> sources = {
        conformance::ReferenceSource(features_)};
    conformance::RunOptions options;
    options.features = features_;
    const conformance::Report report = conformance::RunSuite(path, cases, sources, options);
    for (const auto& backend : report.backends) {
      for (const auto& result : backend.cases) {
        const bool passed = result.outcome == conformance::Outcome::kPass;
        lines_.push_back({result.id, result.spec, result.where, result.arithmetic, passed, "",
                          result.diagnosis});
        if (!passed) return false;
      }
    }
    return true;
  }

  void Add(const spec::Formula& formula, const spec::FormulaRun& run) {
    std::string arithmetics;
    for (const std::string& name : run.arithmetics) {
      arithmetics += (arithmetics.empty() ? "" : ",") + name;
    }
    lines_.push_back({run.id, formula.spec, run.where, arithmetics, run.difference.empty(),
                      fmt::format("{} elements{}", run.elements, run.exhaustive ? ", all" : ""),
                      run.difference, run.elements, run.exhaustive, true});
  }

  format::Features features_;
  WorkProgress progress_;
  std::vector<spec::Clause> clauses_;  // of the whole spec, read on demand
  std::vector<Line> lines_;
};

void PrintLine(const Line& line) {
  const std::string_view result = line.passed ? "pass" : "fail";
  format::Print("{} {} @{} ({}){}{}\n", result, line.id, line.arithmetic, line.spec,
                line.what.empty() ? "" : ": ", line.what);
  if (!line.passed)
    format::Print("  {}: {}\n", line.where,
                  format::Printable(line.difference, format::kMaxMessage));
}

std::string ToJson(const std::vector<Line>& lines, bool passed) {
  Json json("spec_run");
  json.BeginObject();
  json.Field("passed", passed);
  const auto write = [&json](const Line& line) {
    json.BeginObject();
    json.Field("id", line.id);
    json.Field("spec", line.spec);
    json.Field("where", line.where);
    json.Field("arithmetic", line.arithmetic);
    json.Field("passed", line.passed);
    if (line.is_formula) {
      json.Field("elements", line.elements);
      json.Field("exhaustive", line.exhaustive);
    }
    if (!line.passed) json.Field("difference", line.difference);
    json.EndObject();
  };
  std::vector<Line> examples, formulas;
  std::ranges::partition_copy(lines, std::back_inserter(formulas), std::back_inserter(examples),
                              &Line::is_formula);
  json.Array("examples", examples, write);
  json.Array("formulas", formulas, write);
  json.EndObject();
  return json.Text();
}

void PrintTotals(const std::vector<Line>& lines) {
  const auto formulas = std::ranges::count_if(lines, &Line::is_formula);
  std::int64_t elements = 0;
  for (const Line& line : lines) elements += line.elements;
  format::Print("\n{} examples, {} formula cases, {} elements of formulas compared\n",
                std::ssize(lines) - formulas, formulas, elements);
}

}  // namespace

int SpecRun(const SpecRunOptions& options) {
  if (options.all) return SpecRunAll(options);
  const auto outputs = CheckOutputs({{"--json", options.json}}, {{"path", options.path}});
  if (!outputs.has_value()) return Fail(outputs.error());
  std::vector<Line> lines;
  const auto passed = [&] {
    Runner runner(FeaturesOf(options.features), options.quiet);
    auto result = runner.Run(options.path.empty() ? SpecFolder() : options.path);
    lines = runner.lines();
    return result;
  }();
  if (options.SaysText()) std::ranges::for_each(lines, PrintLine);
  if (!passed.has_value()) return Fail(passed.error());
  if (options.SaysText()) PrintTotals(lines);
  return Finish(options, *passed ? kDone : kFailed, [&] { return ToJson(lines, *passed); });
}

}  // namespace qtx::cli
