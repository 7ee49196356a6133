// qtx fuzz: random models against a backend.
#include "qtx/conformance/fuzz.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "backends.h"
#include "commands.h"
#include "fuzz_report.h"
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
  if (isatty(STDERR_FILENO) != 0) {
    fuzz.progress = [](std::int64_t number) { format::Print(stderr, "\r\x1b[Kmodel {}", number); };
  }
  return fuzz;
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
      FindBackend(options.backend, {.process = {.timeout = TimeLimit(options.timeout_seconds)}});
  if (!source.has_value()) return Fail(source.error());
  // Made first, so that a long run does not fail at the end.
  const auto folder = format::OutputFolder::Make(options.output);
  if (!folder.has_value()) return Fail(folder.error());
  const auto outputs =
      CheckOutputs({{"--resume", options.resume}}, BackendFiles({options.backend}));
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto shard = ChooseShard(options.shard);
  if (!shard.has_value()) return Fail(shard.error());
  auto settings = Settings(options);
  // A single model is that one wherever it is asked.
  if (options.only == 0) settings.shard = *shard;
  auto report = conformance::Fuzz(*source, settings);
  if (settings.progress) format::Print(stderr, "\r\x1b[K");
  if (!report.has_value()) return Fail(OfRequest(options.backend, "", report.error()));
  const FuzzResult result = ResultOf(*std::move(report), settings, options);
  if (options.json) {
    format::PrintJson(ToJson(result));
  } else {
    format::Print("{}", ToText(result));
  }
  const auto written = WriteFindings(result);
  if (!written.has_value()) return Fail(written.error());
  return result.report.failures == 0 ? kDone : kFailed;
}

}  // namespace qtx::cli
