// qtx review: what a proposal changes.
#include "qtx/spec/review.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "model_cache.h"
#include "progress.h"
#include "provenance.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "qtx/spec/chapters.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using conformance::BackendSource;
using conformance::Case;

constexpr double kCaseSeconds = 60;  // that a backend has

Result<spec::Proposal> Load(const ReviewOptions& options) {
  QTX_ASSIGN_OR_RETURN(const std::string folder,
                       spec::FindProposal(SpecFolder() + "/proposals", options.proposal));
  return spec::ReadProposal(folder, SpecFolder());
}

// The suite, and the examples of the text.
Result<std::vector<Case>> ExistingCases(const ReviewOptions& options, ModelCache& models) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  QTX_ASSIGN_OR_RETURN(conformance::Suite suite, conformance::LoadSuite(folder, models.Loader()));
  if (!options.suite.empty()) return std::move(suite.cases);
  QTX_ASSIGN_OR_RETURN(conformance::Suite text, spec::LoadExamples(SpecFolder()));
  std::ranges::move(text.cases, std::back_inserter(suite.cases));
  return std::move(suite.cases);
}

// Without the reference, with which backends are compared.
Result<std::vector<BackendSource>> Backends(const ReviewOptions& options) {
  const BackendOptions access = {.process = ProcessOptionsOf(options, kCaseSeconds)};
  std::vector<BackendSource> sources;
  for (const std::string& name :
       options.backends.empty() ? AvailableBackends() : options.backends) {
    if (options.backends.empty() && name == "reference") continue;
    QTX_ASSIGN_OR_RETURN(sources.emplace_back(), FindBackend(name, access));
  }
  return sources;
}

BackendOptions Isolation(const ReviewOptions& options, format::Features features) {
  BackendOptions isolation;
  isolation.process = ProcessOptionsOf(options, options.model_seconds);
  isolation.features = features;
  isolation.isolate = true;
  return isolation;
}

Result<spec::Review> Make(const ReviewOptions& options, ModelCache& models) {
  QTX_ASSIGN_OR_RETURN(spec::Proposal proposal, Load(options));
  QTX_ASSIGN_OR_RETURN(const std::vector<Case> cases, ExistingCases(options, models));
  QTX_ASSIGN_OR_RETURN(const std::vector<BackendSource> backends, Backends(options));
  spec::ReviewOptions review;
  review.cases = cases;
  review.backends = backends;
  review.jobs = options.jobs > 0
                    ? options.jobs
                    : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  review.models = options.models;
  review.all = options.all;
  review.seconds = options.all ? 0 : options.seconds;
  review.load = LoadAnyModel;
  review.isolated = [&options](format::Features features) {
    return FindBackend("reference", Isolation(options, features));
  };
  WorkProgress progress(options.quiet, "reading the proposal");
  review.progress = [&progress](std::string_view what, std::size_t done, std::size_t all) {
    progress.Set(done, all, std::string(what));
  };
  return spec::MakeReview(std::move(proposal), review);
}

}  // namespace

int Review(const ReviewOptions& options) {
  std::vector<OptionFile> inputs = BackendFiles(options.backends);
  inputs.insert(inputs.end(), {{"the proposal", options.proposal}, {"--suite", options.suite}});
  const auto outputs = CheckOutputs({{"--json", options.json}, {"--html", options.html}}, inputs);
  if (!outputs.has_value()) return Fail(outputs.error());
  ModelCache models;
  const auto review = Make(options, models);
  if (!review.has_value()) return Fail(review.error());
  if (!options.html.empty()) {
    const auto written = format::WriteFileAtomically(options.html, spec::ToHtml(*review));
    if (!written.has_value()) return Fail(written.error());
  }
  if (options.SaysText()) format::Print("{}", spec::ToText(*review));
  const int status =
      Finish(options, kDone, [&] { return MakeDocument("review", spec::ToJson(*review)); });
  if (status != kDone) return status;
  for (const spec::BackendEffect& backend : review->backends) {
    if (!backend.error) continue;
    (void)Fail({backend.error->code, "backend " + backend.name, backend.error->message});
    return kFailed;
  }
  return spec::ExamplesHold(*review) && spec::ClaimsHold(*review) ? kDone : kFailed;
}

}  // namespace qtx::cli
