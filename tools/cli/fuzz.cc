// qtx fuzz: random models against a backend.
#include "qtx/conformance/fuzz.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "backends.h"
#include "commands.h"
#include "fuzz_report.h"
#include "progress.h"
#include "provenance.h"
#include "qtx/format/print.h"
#include "report_files.h"
#include "shard.h"

namespace qtx::cli {
namespace {

conformance::FuzzOptions Settings(const FuzzOptions& options) {
  conformance::FuzzOptions fuzz;
  fuzz.arithmetic = options.arithmetic;
  fuzz.seed = options.seed;
  fuzz.journal = options.resume;
  fuzz.commit = ThisProvenance().commit;
  fuzz.operators = options.operators;
  fuzz.count = options.cases;
  fuzz.time = std::chrono::duration<double>(60 * (options.minutes > 0 ? options.minutes : 1.0));
  if (options.only > 0) {
    fuzz.first = options.only;
    fuzz.count = 1;
  }
  return fuzz;
}

// With progress, which is gone when this returns.
Result<conformance::FuzzReport> Fuzzed(const conformance::BackendSource& source,
                                       conformance::FuzzOptions settings, bool quiet) {
  using Clock = std::chrono::steady_clock;
  std::atomic<std::int64_t> model = 0;
  settings.progress = [&model](std::int64_t number) { model = number; };
  const auto start = Clock::now();
  const ProgressLine line(
      [&] {
        const std::chrono::duration<double> spent = Clock::now() - start;
        const std::int64_t last = settings.first + settings.count - 1;
        const auto done = static_cast<double>(std::max<std::int64_t>(model - settings.first, 0));
        const double left = settings.count == 0 ? std::max(0.0, (settings.time - spent).count())
                                                : static_cast<double>(last + 1 - model) *
                                                      spent.count() / std::max(done, 1.0);
        const std::string of = settings.count == 0 ? "" : fmt::format(" of {}", last);
        return fmt::format("model {}{}  {} left", model.load(), of,
                           settings.count == 0 || done > 0 ? Duration(left) : "?");
      },
      quiet);
  return conformance::Fuzz(source, settings);
}

// The folder of the `number`-th finding's reproducer; empty where none is written.
std::string FolderOf(std::size_t number, const FuzzOptions& options) {
  return options.output.empty() ? "" : fmt::format("{}/{:03}", options.output, number);
}

Result<void> WriteFindings(const FuzzResult& result) {
  for (std::size_t i = 0; i < result.folders.size(); ++i) {
    const conformance::FuzzFinding& finding = result.report.findings[i];
    if (result.folders[i].empty()) continue;
    std::string backend = NameFromAnywhere(result.backend);
    if (finding.threads != 0) backend = NameWithThreads(backend, static_cast<int>(finding.threads));
    QTX_RETURN_IF_ERROR(conformance::WriteReproducer(*finding.shrunk, backend, result.folders[i]));
  }
  return {};
}

FuzzResult ResultOf(conformance::FuzzReport report, const conformance::FuzzOptions& settings,
                    const FuzzOptions& options) {
  FuzzResult result{options.backend, options.seed,      settings.shard,
                    settings.commit, std::move(report), {}};
  for (const conformance::FuzzFinding& finding : result.report.findings) {
    const std::size_t number = result.folders.size() + 1;
    result.folders.push_back(finding.shrunk ? FolderOf(number, options) : "");
  }
  return result;
}

}  // namespace

int Fuzz(const FuzzOptions& options) {
  const auto source =
      FindBackend(options.backend, {.process = ProcessOptionsOf(options, options.timeout_seconds)});
  if (!source.has_value()) return Fail(source.error());
  // Made first, so that a long run does not fail at the end.
  const auto folder = format::OutputFolder::Make(options.output);
  if (!folder.has_value()) return Fail(folder.error());
  const auto outputs = CheckOutputs({{"--resume", options.resume}, {"--json", options.json}},
                                    BackendFiles({options.backend}));
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto shard = ChooseShard(options.shard);
  if (!shard.has_value()) return Fail(shard.error());
  auto settings = Settings(options);
  // A single model is that one wherever it is asked.
  if (options.only == 0) settings.shard = *shard;
  auto report = Fuzzed(*source, settings, options.quiet);
  if (!report.has_value()) return Fail(OfRequest(options.backend, "", report.error()));
  const FuzzResult result = ResultOf(*std::move(report), settings, options);
  if (options.SaysText()) format::Print("{}", ToText(result));
  const auto written = WriteFindings(result);
  if (!written.has_value()) return Fail(written.error());
  return Finish(options, result.report.failures == 0 ? kDone : kFailed,
                [&] { return ToJson(result); });
}

}  // namespace qtx::cli
