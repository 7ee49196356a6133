// qtx validate: the suite against backends, and its reports.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "feature_option.h"
#include "filters.h"
#include "model_cache.h"
#include "progress.h"
#include "provenance.h"
#include "qtx/conformance/journal.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "qtx/reference/profile.h"
#include "report_files.h"
#include "shard.h"

namespace qtx::cli {
namespace {

using conformance::BackendSource;
using conformance::Case;
using conformance::ExpectedFailure;
using conformance::Report;

constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 20;  // an expected-failures file

// Leaves each case of an operator the arithmetic that the profile gives its node, others none: the
// nodes of a network have several.
void KeepOnly(const reference::Profile& profile, std::vector<Case>& cases) {
  for (Case& c : cases) {
    const auto model = conformance::BuildModel(c);
    const bool single = c.op && model.has_value();
    const std::string_view name =
        single ? reference::ArithmeticOf(profile, *model, model->graph.nodes[0]) : "";
    std::erase_if(c.arithmetics, [name](const std::string& one) { return one != name; });
  }
}

// The cases that filter and level select, before sharding.
Result<std::vector<Case>> ChooseCases(const ValidateOptions& options,
                                      const conformance::Suite& suite) {
  std::set<std::string> levels;
  for (const Case& c : suite.cases) levels.insert(c.level);
  if (!options.level.empty() && !levels.contains(options.level)) {
    return Error{ErrorCode::kUsage, "--level " + options.level,
                 fmt::format("expected {}", fmt::join(levels, ", "))};
  }
  auto cases = conformance::Select(
      suite.cases, {.filters = options.filters, .level = options.level, .shard = {}});
  if (cases.empty()) {
    return Error{ErrorCode::kUsage, fmt::format("--filter {}", fmt::join(options.filters, " ")),
                 "matches no case of " + suite.folder +
                     (options.level.empty() ? "" : " at level " + options.level)};
  }
  WarnOfIdle(options.filters, suite.cases, &Case::id);
  if (options.profile.empty()) return cases;
  const auto profile = reference::FindProfile(options.profile);
  if (!profile.has_value()) {
    return Error{ErrorCode::kUsage, "--profile " + options.profile, profile.error().message};
  }
  KeepOnly(**profile, cases);
  return cases;
}

Result<std::vector<ExpectedFailure>> ReadExpectations(const ValidateOptions& options) {
  if (options.expected_failures.empty()) return std::vector<ExpectedFailure>();
  QTX_ASSIGN_OR_RETURN(const std::string text,
                       format::ReadFile(options.expected_failures, kMaxListBytes));
  return conformance::ParseExpectedFailures(text, options.expected_failures);
}

Result<std::vector<BackendSource>> ChooseBackends(const ValidateOptions& options,
                                                  const std::vector<ExpectedFailure>& expected) {
  BackendOptions access;
  access.process = ProcessOptionsOf(options, options.timeout_seconds);
  access.process.memory_limit = options.memory_limit_mib << 20;
  access.process.frame_limit = options.frame_limit_mib << 20;
  access.features = FeaturesOf(options.features);
  access.isolate = options.isolate || options.memory_limit_mib > 0;
  std::vector<BackendSource> sources;
  for (const auto& name : options.backends.empty() ? AvailableBackends() : options.backends) {
    QTX_ASSIGN_OR_RETURN(BackendSource source, FindBackend(name, access));
    source.expected_failures = expected;
    sources.push_back(std::move(source));
  }
  return sources;
}

// True if any shard has a case to run.
bool AnythingHolds(const Report& report, const std::vector<Case>& cases,
                   const std::string& arithmetic) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::any_of(report.backends, [&](const conformance::BackendReport& row) {
    return row.error || std::ranges::any_of(cases, [&](const Case& c) {
             return std::ranges::any_of(c.arithmetics, [&](const std::string& name) {
               return (arithmetic.empty() || name == arithmetic) &&
                      has(row.description.arithmetics, name);
             });
           });
  });
}

struct Plan {
  std::string folder, suite_digest;
  conformance::TextAnswers text_answers;
  std::vector<Case> cases;  // before sharding
  conformance::Shard shard;
  std::vector<BackendSource> sources;
  std::vector<std::string> stale_expectations;
};

void SayLeftOut(const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    format::Print(stderr, "{}\n", lines[i]);
  if (lines.size() > kMost)
    format::Print(stderr, "... and {} more left out\n", lines.size() - kMost);
}

Result<Plan> MakePlan(const ValidateOptions& options, const conformance::Shard& shard,
                      ModelCache& models) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  // Expected failures are held against all cases.
  const std::vector<std::string> wanted =
      options.expected_failures.empty() ? options.filters : std::vector<std::string>();
  QTX_ASSIGN_OR_RETURN(conformance::Suite suite,
                       conformance::LoadSuite(folder, models.Loader(), wanted));
  SayLeftOut(suite.left_out);
  QTX_ASSIGN_OR_RETURN(std::vector<Case> cases, ChooseCases(options, suite));
  QTX_ASSIGN_OR_RETURN(const std::vector<ExpectedFailure> expected, ReadExpectations(options));
  QTX_ASSIGN_OR_RETURN(std::vector<BackendSource> sources, ChooseBackends(options, expected));
  // The text has answers under the current spec alone.
  conformance::TextAnswers answers;
  if (options.features.empty()) answers = std::move(suite.text_answers);
  return Plan{folder,
              suite.digest,
              std::move(answers),
              std::move(cases),
              shard,
              std::move(sources),
              conformance::StaleExpectations(expected, suite.cases)};
}

Report RunPlan(const Plan& plan, const ValidateOptions& options, conformance::Journal* journal) {
  conformance::RunOptions run;
  if (!options.arithmetic.empty()) run.arithmetics = {options.arithmetic};
  run.jobs = options.jobs > 0 ? options.jobs
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  run.features = FeaturesOf(options.features);
  run.journal = journal;
  run.text_answers = &plan.text_answers;
  const RunProgress progress(run, options.quiet);
  const std::vector<Case> cases =
      conformance::Select(plan.cases, {.filters = {}, .level = "", .shard = plan.shard});
  Report report = conformance::RunSuite(plan.folder, cases, plan.sources, run);
  report.provenance = ThisProvenance();
  report.suite_digest = plan.suite_digest;
  report.shard = plan.shard.index;
  report.shards = plan.shard.count;
  report.stale_expectations = plan.stale_expectations;
  report.strict_expectations = options.strict_expectations;
  report.min_coverage = options.min_coverage;
  return report;
}

}  // namespace

int Validate(const ValidateOptions& options) {
  const auto shard = ChooseShard(options.shard);
  if (!shard.has_value()) return Fail(shard.error());
  std::vector<OptionFile> inputs = BackendFiles(options.backends);
  inputs.insert(inputs.end(),
                {{"--suite", options.suite}, {"--expected-failures", options.expected_failures}});
  const auto outputs = CheckOutputs({{"--json", options.json},
                                     {"--junit", options.junit},
                                     {"--html", options.html},
                                     {"--resume", options.resume}},
                                    inputs);
  if (!outputs.has_value()) return Fail(outputs.error());
  ModelCache models;
  const auto plan = MakePlan(options, *shard, models);
  if (!plan.has_value()) return Fail(plan.error());
  std::unique_ptr<conformance::Journal> journal;
  if (!options.resume.empty()) {
    auto opened =
        conformance::Journal::Open(options.resume, ThisProvenance().commit, &plan->text_answers);
    if (!opened.has_value()) return Fail(opened.error());
    journal = *std::move(opened);
  }
  const Report report = RunPlan(*plan, options, journal.get());
  if (journal != nullptr && journal->error()) return Fail(*journal->error());
  for (const conformance::BackendReport& row : report.backends) {
    if (row.error && row.error->code == ErrorCode::kSystem)
      return Fail(OfRequest(row.source, "", *row.error));
  }
  // A run without cases is an error, but a shard may be empty.
  if (!AnythingHolds(report, plan->cases, options.arithmetic)) {
    return Fail({ErrorCode::kUsage,
                 options.profile.empty() ? "--arithmetic " + options.arithmetic
                                         : "--profile " + options.profile,
                 "found no case for it on any backend that has it"});
  }
  return WriteReports(report, options, options.junit, options.html);
}

}  // namespace qtx::cli
