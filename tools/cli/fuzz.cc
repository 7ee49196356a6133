// qtx fuzz: random models against a backend.
#include "qtx/conformance/fuzz.h"

#include <fmt/core.h>
#include <unistd.h>

#include "backends.h"
#include "commands.h"
#include "json.h"
#include "qtx/conformance/report.h"
#include "qtx/format/print.h"
#include "shrunk_json.h"

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

// The folder of the `number`-th finding's reproducer; empty where none is written.
std::string FolderOf(std::size_t number, const FuzzOptions& options) {
  return options.output.empty() ? "" : fmt::format("{}/{:03}", options.output, number);
}

Result<void> WriteFindings(const FuzzReport& report, const FuzzOptions& options) {
  std::size_t number = 0;
  for (const auto& [key, finding] : report.findings) {
    ++number;
    if (!finding.shrunk) continue;
    QTX_RETURN_IF_ERROR(conformance::WriteReproducer(
        *finding.shrunk, NameFromAnywhere(options.backend), FolderOf(number, options)));
  }
  return {};
}

void Print(const FuzzReport& report, const FuzzOptions& options) {
  constexpr std::size_t kMaxText = 600;  // characters
  format::Print("{} in {}, seed {}: {} models, {} unsupported, {} failures\n", options.backend,
                report.arithmetic, options.seed, report.models, report.unsupported,
                report.failures);
  format::Print(
      "judged by the reference alone; nodes of {} operators; of {} drafts of nodes {} were "
      "refused\n",
      report.operators.size(), report.drafts, report.refused);
  std::size_t number = 0;
  for (const auto& [key, finding] : report.findings) {
    format::Print("\n{} {}: {} failures, first in model {}\n  {}\n", key.first, key.second,
                  finding.failures, finding.number, format::Printable(finding.detail, kMaxText));
    ++number;
    if (!finding.shrunk) continue;
    format::Print("  {} elements, {} node{}\n", finding.shrunk->elements, finding.shrunk->nodes,
                  finding.shrunk->nodes == 1 ? "" : "s");
    PrintExplanation(*finding.shrunk, "  ");
    if (!options.output.empty()) format::Print("  {}\n", FolderOf(number, options));
  }
}

std::string ToJson(const FuzzReport& report, const FuzzOptions& options) {
  Json json("fuzz");
  json.BeginObject();
  json.Field("backend", options.backend);
  json.Field("judge", kJudge);
  json.Field("arithmetic", report.arithmetic);
  json.Field("seed", options.seed);
  json.Field("models", report.models);
  json.Field("unsupported", report.unsupported);
  json.Field("failures", report.failures);
  json.Field("drafts", report.drafts);
  json.Field("refused", report.refused);
  json.Key("operators");
  json.BeginObject();
  for (const auto& [op, nodes] : report.operators) json.Field(op, nodes);
  json.EndObject();
  std::size_t number = 0;
  json.Array("findings", report.findings, [&](const auto& entry) {
    const auto& [key, finding] = entry;
    ++number;
    json.BeginObject();
    json.Field("op", key.first);
    json.Field("kind", key.second);
    json.Field("failures", finding.failures);
    json.Field("model", finding.number);
    json.Field("detail", finding.detail);
    if (finding.shrunk) WriteShrunk(json, *finding.shrunk, FolderOf(number, options));
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
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
  if (options.json) {
    format::PrintJson(ToJson(*report, options));
  } else {
    Print(*report, options);
  }
  if (!options.output.empty()) {
    const auto written = WriteFindings(*report, options);
    if (!written.has_value()) return Fail(written.error());
  }
  return report->failures == 0 ? kDone : kFailed;
}

}  // namespace qtx::cli
