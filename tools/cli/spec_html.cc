// qtx spec html: the text as a site.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "qtx/site/folder.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/site.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using conformance::BackendSource;
using conformance::Report;

conformance::RunOptions OnAllCores() {
  conformance::RunOptions run;
  run.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return run;
}

Result<Report> ReadMerged(const std::vector<std::string>& paths) {
  QTX_ASSIGN_OR_RETURN(std::vector<Report> reports, ReadReports(paths));
  return conformance::MergeReports(std::move(reports));
}

// Runs the suite as `qtx validate` without options.
Result<Report> RunBackends(const std::string& folder, const std::vector<conformance::Case>& cases,
                           bool quiet) {
  QTX_ASSIGN_OR_RETURN(const auto text_answers, conformance::TextAnswers::Load(folder));
  std::vector<BackendSource> sources;
  for (const std::string& name : AvailableBackends()) {
    QTX_ASSIGN_OR_RETURN(BackendSource source, FindBackend(name));
    sources.push_back(std::move(source));
  }
  conformance::RunOptions run = OnAllCores();
  run.text_answers = &text_answers;
  const RunProgress progress(run, quiet);
  return conformance::RunSuite(folder, cases, sources, run);
}

Report RunExamples(const std::string& folder, const std::vector<conformance::Case>& examples) {
  const std::vector<BackendSource> sources = {conformance::ReferenceSource()};
  return conformance::RunSuite(folder, examples, sources, OnAllCores());
}

// A spec without examples is valid.
Result<std::vector<conformance::Case>> Examples(const std::string& folder) {
  auto suite = spec::LoadExamples(folder);
  if (suite.has_value()) return std::move(suite->cases);
  const bool none = suite.error().where == folder && suite.error().code == ErrorCode::kInvalid;
  if (none) return std::vector<conformance::Case>();
  return suite.error();
}

// The source tree, where the program is that of a build tree.
std::string SourceFolder() {
  std::error_code status;
  const auto root = std::filesystem::path(SpecFolder()).parent_path();
  return std::filesystem::is_directory(root / "reference/src", status) ? root.string() : "";
}

// Results for cases that the suite lacks, to detect reports of another suite.
std::int64_t Strangers(const Report& report, const std::vector<conformance::Case>& cases) {
  std::int64_t count = 0;
  std::vector<std::string_view> known;
  known.reserve(cases.size());
  for (const conformance::Case& c : cases) known.emplace_back(c.id);
  std::ranges::sort(known);
  for (const conformance::BackendReport& row : report.backends) {
    count += std::ranges::count_if(row.cases, [&known](const conformance::CaseResult& result) {
      return !std::ranges::binary_search(known, result.id);
    });
  }
  return count;
}

Result<void> Collect(const SpecHtmlOptions& options, ModelCache& models, spec::SiteInput& input) {
  input.spec = options.spec.empty() ? SpecFolder() : options.spec;
  while (input.spec.size() > 1 && input.spec.ends_with('/')) input.spec.pop_back();
  input.source = SourceFolder();
  input.suite = SuiteFolder();
  QTX_ASSIGN_OR_RETURN(conformance::Suite suite,
                       conformance::LoadSuite(input.suite, models.Loader()));
  input.cases = std::move(suite.cases);
  QTX_ASSIGN_OR_RETURN(input.examples, Examples(input.spec));
  return {};
}

int Write(const SpecHtmlOptions& options, const spec::SiteInput& input) {
  const auto files = spec::MakeSite(input);
  if (!files.has_value()) return Fail(files.error());
  if (auto written = site::Write(*files, options.output); !written.has_value())
    return Fail(written.error());
  if (options.quiet) return kDone;
  std::size_t bytes = 0;
  for (const site::File& file : *files) bytes += file.bytes.size();
  const auto pages = std::ranges::count_if(
      *files, [](const site::File& file) { return file.path.ends_with(".html"); });
  format::Print("{}/index.html: {} pages, {:.1f} MB\n", options.output, pages,
                static_cast<double>(bytes) / 1e6);
  return kDone;
}

}  // namespace

int SpecHtml(const SpecHtmlOptions& options) {
  std::vector<OptionFile> inputs = {{"--spec", options.spec}};
  for (const std::string& report : options.reports) inputs.push_back({"--report", report});
  const auto distinct = CheckDistinct({{"--output", options.output}}, inputs);
  if (!distinct.has_value()) return Fail(distinct.error());
  const auto replaceable = site::CheckFolder(options.output);
  if (!replaceable.has_value()) return Fail(replaceable.error());
  ModelCache models;
  spec::SiteInput input;
  if (auto read = Collect(options, models, input); !read.has_value()) {
    return Fail(read.error());
  }
  std::optional<Report> results, example_results;
  if (!options.no_results) {
    auto report = options.reports.empty() ? RunBackends(input.suite, input.cases, options.quiet)
                                          : ReadMerged(options.reports);
    if (!report.has_value()) return Fail(report.error());
    results = *std::move(report);
    if (const auto strangers = Strangers(*results, input.cases); strangers > 0) {
      format::Print(stderr, "left out: {} results of cases that are not of {}\n", strangers,
                    input.suite);
    }
    if (!input.examples.empty()) example_results = RunExamples(input.spec, input.examples);
    input.results = &*results;
    if (example_results) input.example_results = &*example_results;
  }
  return Write(options, input);
}

}  // namespace qtx::cli
