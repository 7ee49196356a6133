// qtx report merge: the reports of shards or devices as one.
#include "qtx/conformance/report.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "commands.h"
#include "fuzz_report.h"
#include "provenance.h"
#include "qtx/format/model.h"
#include "qtx/format/print.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

constexpr std::int64_t kMaxFuzzBytes = std::int64_t{1} << 26;  // a report of fuzz

// `first` is the text of the first report: a pipe gives it once.
Result<FuzzResult> MergeFuzz(const std::vector<std::string>& paths, std::string first) {
  std::vector<FuzzResult> parts;
  for (const std::string& path : paths) {
    if (!parts.empty()) {
      QTX_ASSIGN_OR_RETURN(first, format::ReadFile(path, kMaxFuzzBytes));
    }
    QTX_ASSIGN_OR_RETURN(FuzzResult part, ReadFuzzResult(first, path));
    parts.push_back(std::move(part));
  }
  return MergeFuzzResults(std::move(parts));
}

Result<std::vector<conformance::Report>> ReadParts(const std::vector<std::string>& paths,
                                                   const std::string& first) {
  std::vector<conformance::Report> parts;
  QTX_ASSIGN_OR_RETURN(parts.emplace_back(), conformance::ParseReport(first, paths.front()));
  QTX_ASSIGN_OR_RETURN(auto others, ReadReports({paths.begin() + 1, paths.end()}));
  std::ranges::move(others, std::back_inserter(parts));
  return parts;
}

int ReportFuzz(const MergeOptions& options, std::string first) {
  for (const auto& [name, path] : {std::pair{"--junit", options.junit}, {"--html", options.html}}) {
    if (!path.empty()) return Fail({ErrorCode::kUsage, name, "is not for reports of fuzz"});
  }
  const auto merged = MergeFuzz(options.reports, std::move(first));
  if (!merged.has_value()) return Fail(merged.error());
  if (options.SaysText()) format::Print("{}", ToText(*merged));
  return Finish(options, merged->report.failures == 0 ? kDone : kFailed,
                [&merged] { return ToJson(*merged); });
}

}  // namespace

int ReportMerge(const MergeOptions& options) {
  const auto outputs = CheckOutputs(
      {{"--json", options.json}, {"--junit", options.junit}, {"--html", options.html}});
  if (!outputs.has_value()) return Fail(outputs.error());
  // A merged report may take the place of one that it was made from; nothing else may.
  std::vector<OptionFile> reports;
  for (const std::string& path : options.reports) reports.push_back({"the report", path});
  const auto kept = CheckDistinct({{"--junit", options.junit}, {"--html", options.html}}, reports);
  if (!kept.has_value()) return Fail(kept.error());
  auto first = ReadReportText(options.reports.front());
  if (!first.has_value()) return Fail(first.error());
  if (IsFuzzResult(*first)) return ReportFuzz(options, *std::move(first));
  auto parts = ReadParts(options.reports, *first);
  if (!parts.has_value()) return Fail(parts.error());
  auto merged = conformance::MergeReports(*std::move(parts));
  if (!merged.has_value()) return Fail(merged.error());
  merged->provenance = ThisProvenance();
  return WriteReports(*merged, options, options.junit, options.html);
}

}  // namespace qtx::cli
