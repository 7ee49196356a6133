#include "report_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "qtx/format/model.h"
#include "qtx/format/print.h"

namespace qtx::cli {

Result<std::vector<conformance::Report>> ReadReports(const std::vector<std::string>& paths) {
  std::vector<conformance::Report> reports;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(path, conformance::kMaxReportBytes));
    QTX_ASSIGN_OR_RETURN(conformance::Report report, conformance::ParseReport(text, path));
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<void> CheckOutputs(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    if (path.empty() || path == "-") continue;
    const auto parent = std::filesystem::path(path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
      return Error{ErrorCode::kIo, path, std::strerror(errno)};
    }
  }
  return {};
}

Result<void> WriteReports(const conformance::Report& report, const ReportFiles& files) {
  if (files.json == "-") {
    format::PrintJson(conformance::ToJson(report));
  } else {
    format::Print("{}", conformance::ToText(report));
    if (!files.json.empty()) {
      QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.json, conformance::ToJson(report)));
    }
  }
  if (!files.junit.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.junit, conformance::ToJunit(report)));
  }
  if (!files.html.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.html, conformance::ToHtml(report)));
    if (files.json != "-") format::Print("HTML report: {}\n", files.html);
  }
  return {};
}

}  // namespace qtx::cli
