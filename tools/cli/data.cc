#include "data.h"

#include <filesystem>

namespace qtx::cli {
namespace {

// The installed copy is found from the program's own place, so that an installation can be moved.
std::string Installed(const char* name) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path().parent_path() / "share/qtx" / name;
  return std::filesystem::exists(folder, error) ? folder.string() : "";
}

}  // namespace

std::string SuiteFolder() {
  const std::string installed = Installed("cases");
  return installed.empty() ? QTX_SOURCE_DIR "/conformance/cases" : installed;
}

std::string SpecFolder() {
  const std::string installed = Installed("spec");
  return installed.empty() ? QTX_SOURCE_DIR "/spec" : installed;
}

}  // namespace qtx::cli
