#include "data_folders.h"

#include <filesystem>

namespace qtx::cli {
namespace {

// That which has bin/qtx.
std::filesystem::path InstallationFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

// Beside the program, so that both can be moved; a build tree has links there.
std::string Find(const char* name) {
  std::error_code error;
  const auto folder = InstallationFolder() / "share/qtx" / name;
  const auto resolved = std::filesystem::canonical(folder, error);
  return error ? folder.string() : resolved.string();
}

}  // namespace

std::string SuiteFolder() { return Find("cases"); }

std::string SpecFolder() { return Find("spec"); }

std::string SchemaFolder() { return Find("schema"); }

std::vector<std::string> OwnFolders() {
  return {InstallationFolder(), std::filesystem::path(SpecFolder()).parent_path()};
}

}  // namespace qtx::cli
