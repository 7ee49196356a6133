// qtx scoreboard: reports of systems as a site.
#include "qtx/scoreboard/scoreboard.h"

#include <algorithm>

#include "commands.h"
#include "qtx/format/print.h"
#include "qtx/site/folder.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

Result<std::vector<site::File>> Make(const ScoreboardOptions& options) {
  QTX_ASSIGN_OR_RETURN(const auto reports, ReadReports(options.reports));
  std::vector<scoreboard::Deviation> deviations;
  if (!options.deviations.empty()) {
    QTX_ASSIGN_OR_RETURN(deviations, scoreboard::ReadDeviations(options.deviations));
  }
  return scoreboard::MakeScoreboard(reports, deviations);
}

}  // namespace

int Scoreboard(const ScoreboardOptions& options) {
  std::vector<OptionFile> inputs = {{"--deviations", options.deviations}};
  for (const std::string& report : options.reports) inputs.push_back({"the report", report});
  const auto distinct = CheckDistinct({{"--output", options.output}}, inputs);
  if (!distinct.has_value()) return Fail(distinct.error());
  const auto replaceable = site::CheckFolder(options.output);
  if (!replaceable.has_value()) return Fail(replaceable.error());
  const auto files = Make(options);
  if (!files.has_value()) return Fail(files.error());
  const auto written = site::Write(*files, options.output);
  if (!written.has_value()) return Fail(written.error());
  if (!options.quiet) format::Print("{}/index.html: {} pages\n", options.output, files->size() - 1);
  return kDone;
}

}  // namespace qtx::cli
