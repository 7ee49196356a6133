#include "write_reports.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "qtx/format/model.h"

namespace qtx::cli {

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
    fmt::print("{}", conformance::ToJson(report));
  } else {
    fmt::print("{}", conformance::ToText(report));
    if (!files.json.empty()) {
      QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.json, conformance::ToJson(report)));
    }
  }
  if (!files.junit.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.junit, conformance::ToJunit(report)));
  }
  if (!files.html.empty()) {
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(files.html, conformance::ToHtml(report)));
    if (files.json != "-") fmt::print("HTML report: {}\n", files.html);
  }
  return {};
}

}  // namespace qtx::cli
