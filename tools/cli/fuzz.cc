// qtx fuzz: random models against a backend.
#include "qtx/conformance/fuzz.h"

#include <fmt/core.h>
#include <unistd.h>

#include "backends.h"
#include "commands.h"
#include "qtx/conformance/report.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

using conformance::FuzzFinding;
using conformance::FuzzReport;

conformance::FuzzOptions Settings(const FuzzOptions& options) {
  conformance::FuzzOptions fuzz;
  fuzz.arithmetic = options.arithmetic;
  fuzz.seed = options.seed;
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

Result<void> WriteFindings(const FuzzReport& report, const FuzzOptions& options) {
  std::size_t number = 0;
  for (const auto& [key, finding] : report.findings) {
    const std::string folder = fmt::format("{}/{:03}", options.output, ++number);
    if (!finding.shrunk) continue;
    QTX_RETURN_IF_ERROR(
        conformance::WriteReproducer(*finding.shrunk, NameFromAnywhere(options.backend), folder));
  }
  return {};
}

void Print(const FuzzReport& report, const FuzzOptions& options) {
  constexpr std::size_t kMaxText = 600;  // characters
  format::Print("{} in {}, seed {}: {} models, {} unsupported, {} failures\n", options.backend,
                report.arithmetic, options.seed, report.models, report.unsupported,
                report.failures);
  format::Print("nodes of {} operators; of {} drafts of nodes {} were refused\n",
                report.operators.size(), report.drafts, report.refused);
  std::size_t number = 0;
  for (const auto& [key, finding] : report.findings) {
    format::Print("\n{} {}: {} failures, first in model {}\n  {}\n", key.first, key.second,
                  finding.failures, finding.number, format::Printable(finding.detail, kMaxText));
    ++number;
    if (!finding.shrunk) continue;
    format::Print("  {} elements, {} node{}\n", finding.shrunk->elements, finding.shrunk->nodes,
                  finding.shrunk->nodes == 1 ? "" : "s");
    if (!options.output.empty()) format::Print("  {}/{:03}\n", options.output, number);
  }
}

}  // namespace

int Fuzz(const FuzzOptions& options) {
  const auto source =
      FindBackend(options.backend, {.process = {.timeout = TimeLimit(options.timeout_seconds)}});
  if (!source.has_value()) return Fail(source.error());
  // Made first, so that a long run does not fail at the end.
  const auto folder = format::OutputFolder::Make(options.output);
  if (!folder.has_value()) return Fail(folder.error());
  const auto settings = Settings(options);
  const auto report = conformance::Fuzz(*source, settings);
  if (settings.progress) format::Print(stderr, "\r\x1b[K");
  if (!report.has_value()) return Fail(OfRequest(options.backend, "", report.error()));
  Print(*report, options);
  if (!options.output.empty()) {
    const auto written = WriteFindings(*report, options);
    if (!written.has_value()) return Fail(written.error());
  }
  return report->failures == 0 ? kDone : kFailed;
}

}  // namespace qtx::cli
