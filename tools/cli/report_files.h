// Reading and writing report files.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "qtx/conformance/report.h"

namespace qtx::cli {

struct ReportFiles {
  std::string json, junit, html;  // empty: not written; json "-": stdout, and no table there
};

/// Reads JSON reports.  Errors: kUnreadable; kInvalid for a file that is not a report.
Result<std::vector<conformance::Report>> ReadReports(const std::vector<std::string>& paths);

/// Checks early that files can be written there.  Errors: kIo for a missing or read-only folder.
/// Accepts "" and "-".
Result<void> CheckOutputs(std::initializer_list<std::string> paths);

/// Prints the table and writes the files.  Errors: kIo.
Result<void> WriteReports(const conformance::Report& report, const ReportFiles& files);

}  // namespace qtx::cli
