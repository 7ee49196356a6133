// Reading report files, writing them, and checking where a command writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/report.h"

namespace qtx::cli {

struct ReportFiles {
  std::string json, junit, html;  // empty: not written; json "-": stdout, and no table there
};

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
/// inputs with the extension of an input, nor a folder that an input is in.  Errors: kUsage.
Result<void> CheckDistinct(const std::vector<OptionFile>& outputs,
                           const std::vector<OptionFile>& inputs = {});

/// Checks early that files can be written there.  Errors: those of CheckDistinct; kIo for a missing
/// or read-only folder.
Result<void> CheckOutputs(const std::vector<OptionFile>& outputs,
                          const std::vector<OptionFile>& inputs = {});

/// Prints the table and writes the files.  Errors: kIo.
Result<void> WriteReports(const conformance::Report& report, const ReportFiles& files);

}  // namespace qtx::cli
