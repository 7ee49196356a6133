#include "data_folders.h"

#include <filesystem>

namespace qtx::cli {
namespace {

// Beside the program, so that both can be moved; a build tree has links there.
std::string Find(const char* name) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path().parent_path() / "share/qtx" / name;
  const auto resolved = std::filesystem::canonical(folder, error);
  return error ? folder.string() : resolved.string();
}

}  // namespace

std::string SuiteFolder() { return Find("cases"); }

std::string SpecFolder() { return Find("spec"); }

std::string SchemaFolder() { return Find("schema"); }

}  // namespace qtx::cli
