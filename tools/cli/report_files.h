// The files that reports come from and go to, for the commands that have some.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "qtx/conformance/report.h"

namespace qtx::cli {

struct ReportFiles {
  std::string json, junit, html;  // empty: not written; json "-": stdout, and no table there
};

/// Reads JSON reports.  Errors: kIo; kInvalid for what is no report.
Result<std::vector<conformance::Report>> ReadReports(const std::vector<std::string>& paths);

/// That files could be put there, asked before the work of making them.  Errors: kIo for a folder
/// that does not exist, or in which nothing may be written. "" and "-" are fine.
Result<void> CheckOutputs(std::initializer_list<std::string> paths);

/// Prints the table and writes the files.  Errors: kIo.
Result<void> WriteReports(const conformance::Report& report, const ReportFiles& files);

}  // namespace qtx::cli
