// qtx report merge: the reports of shards or devices as one.
#include "qtx/conformance/report.h"

#include <utility>
#include <vector>

#include "commands.h"
#include "provenance.h"
#include "qtx/format/model.h"
#include "report_files.h"

namespace qtx::cli {
int ReportMerge(const MergeOptions& options) {
  if (options.json && !options.output.empty()) {
    return Fail({ErrorCode::kUsage, "--json", "expected it or --output, not both"});
  }
  const auto distinct = CheckDistinct(
      {{"--output", options.output}, {"--junit", options.junit}, {"--html", options.html}});
  if (!distinct.has_value()) return Fail(distinct.error());
  // A merged report may take the place of one that it was made from; nothing else may.
  std::vector<OptionFile> reports;
  for (const std::string& path : options.reports) reports.push_back({"the report", path});
  const auto kept = CheckDistinct({{"--junit", options.junit}, {"--html", options.html}}, reports);
  if (!kept.has_value()) return Fail(kept.error());
  auto parts = ReadReports(options.reports);
  if (!parts.has_value()) return Fail(parts.error());
  auto merged = conformance::MergeReports(*std::move(parts));
  if (!merged.has_value()) return Fail(merged.error());
  merged->provenance = ThisProvenance();
  const conformance::Report& report = *merged;
  const ReportFiles files{options.json ? "-" : options.output, options.junit, options.html};
  if (auto written = WriteReports(report, files); !written.has_value()) {
    return Fail(written.error());
  }
  return conformance::Conforms(report) ? kDone : kFailed;
}

}  // namespace qtx::cli
