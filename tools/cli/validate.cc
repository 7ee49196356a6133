// qtx validate: the suite against backends, and its reports.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backends.h"
#include "commands.h"
#include "data.h"
#include "model_cache.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::cli {
namespace {

using conformance::BackendSource;
using conformance::Case;

constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 20;  // an expected-failures file

Result<std::vector<Case>> ChooseCases(const ValidateOptions& options, const std::string& folder,
                                      const conformance::ModelLoader& load) {
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite, conformance::LoadSuite(folder, load));
  conformance::Selection selection{
      .filters = {options.filter}, .level = options.level, .shard = {}};
  if (!options.shard.empty()) {
    QTX_ASSIGN_OR_RETURN(selection.shard, conformance::ParseShard(options.shard));
  }
  auto cases = conformance::Select(suite.cases, selection);
  if (cases.empty()) {
    return Error{ErrorCode::kInvalid, "--filter " + options.filter,
                 "no case of " + folder + " is left by it, --level and --shard"};
  }
  return cases;
}

Result<std::vector<BackendSource>> ChooseBackends(const ValidateOptions& options) {
  std::vector<conformance::ExpectedFailure> expected;
  if (!options.expected_failures.empty()) {
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(options.expected_failures, kMaxListBytes));
    QTX_ASSIGN_OR_RETURN(expected,
                         conformance::ParseExpectedFailures(text, options.expected_failures));
  }
  std::vector<BackendSource> sources;
  for (const auto& name : options.backends.empty() ? AvailableBackends() : options.backends) {
    QTX_ASSIGN_OR_RETURN(BackendSource source,
                         FindBackend(name, std::chrono::seconds(options.timeout_seconds)));
    source.expected_failures = expected;
    sources.push_back(std::move(source));
  }
  return sources;
}

// "-" is stdout, where the table is then left out.
Result<void> WriteReports(const conformance::Report& report, const ValidateOptions& options) {
  if (options.json == "-") {
    fmt::print("{}", conformance::ToJson(report));
  } else {
    fmt::print("{}", conformance::ToText(report));
    if (!options.json.empty()) {
      QTX_RETURN_IF_ERROR(format::WriteFileAtomically(options.json, conformance::ToJson(report)));
    }
  }
  if (!options.junit.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(options.junit, conformance::ToJunit(report)));
  }
  if (!options.html.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(options.html, conformance::ToHtml(report)));
    if (options.json != "-") fmt::print("HTML report: {}\n", options.html);
  }
  return {};
}

// A counter on a terminal, nothing in a log.
void ShowProgress(conformance::RunOptions& run) {
  if (isatty(STDERR_FILENO) == 0) return;
  run.progress = [done = std::int64_t{0}](const conformance::CaseResult& result) mutable {
    fmt::print(stderr, "\r\x1b[K{} {}", ++done, result.id);
  };
}

// A run of no case must not look like one that passed.
bool NothingRan(const conformance::Report& report) {
  return std::ranges::all_of(report.backends, [](const conformance::BackendReport& row) {
    return !row.error && row.cases.empty();
  });
}

}  // namespace

int Validate(const ValidateOptions& options) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  ModelCache models;
  const auto cases = ChooseCases(options, folder, models.Loader());
  if (!cases.has_value()) return Fail(cases.error(), kBadInput);
  const auto sources = ChooseBackends(options);
  if (!sources.has_value()) return Fail(sources.error(), kBadInput);
  conformance::RunOptions run;
  if (!options.arithmetic.empty()) run.arithmetics = {options.arithmetic};
  run.jobs = options.jobs > 0 ? options.jobs
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ShowProgress(run);
  const auto report = conformance::RunSuite(folder, *cases, *sources, run);
  if (run.progress) fmt::print(stderr, "\r\x1b[K");
  if (NothingRan(report)) {
    return Fail({ErrorCode::kInvalid, "--arithmetic " + options.arithmetic,
                 "no case is left that holds for it, of a backend that has it"},
                kUsage);
  }
  if (auto written = WriteReports(report, options); !written.has_value()) {
    return Fail(written.error(), kInternal);
  }
  return conformance::Conforms(report) ? kDone : kFailed;
}

}  // namespace qtx::cli
