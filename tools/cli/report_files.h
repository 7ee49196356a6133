// Reading report files, writing them, and checking where a command writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "qtx/conformance/report.h"

namespace qtx::cli {

/// The JSON text of a report, which may be compressed by gzip. Errors: kUnreadable, kTooLarge;
/// kInvalid for a damaged gzip file.
Result<std::string> ReadReportText(const std::string& path);

/// Reads JSON reports.  Errors: kUnreadable; kInvalid for a file that is not a report.
Result<std::vector<conformance::Report>> ReadReports(const std::vector<std::string>& paths);

/// A file or folder that an option names; "" and "-" are none.
struct OptionFile {
  std::string_view option;
  std::string path;
};

/// The files of NAME=FILE or FILE arguments of --input.
std::vector<OptionFile> TensorFiles(const std::vector<std::string>& arguments);

/// Checks that no output is the file of an input or of another output, nor a file in a folder of
/// inputs with the extension of an input, nor a folder that an input is in, and that at most one is
/// stdout.  Errors: kUsage.
Result<void> CheckDistinct(const std::vector<OptionFile>& outputs,
                           const std::vector<OptionFile>& inputs = {});

/// Checks early that files can be written there.  Errors: those of CheckDistinct; kUsage where
/// --json names a file that is no JSON document; kIo for a missing or read-only folder.
Result<void> CheckOutputs(const std::vector<OptionFile>& outputs,
                          const std::vector<OptionFile>& inputs = {});

/// Prints the table and writes the files that are named; kFailed where the report does not conform,
/// the status of Fail where a file cannot be written.
int WriteReports(const conformance::Report& report, const Reporting& options,
                 const std::string& junit, const std::string& html);

}  // namespace qtx::cli
