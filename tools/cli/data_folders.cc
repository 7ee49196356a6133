#include "data_folders.h"

#include <filesystem>

namespace qtx::cli {
namespace {

// The installed copy, or the source tree of build/bin, both relative to the program's location so
// that they can be moved; else the source tree of the build.
std::string Find(const char* name, const char* in_tree) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto parent = program.parent_path().parent_path();
  for (const auto& folder : {parent / "share/qtx" / name, parent.parent_path() / in_tree}) {
    if (std::filesystem::exists(folder, error)) return folder.string();
  }
  return std::string(QTX_SOURCE_DIR "/") + in_tree;
}

}  // namespace

std::string SuiteFolder() { return Find("cases", "conformance/cases"); }

std::string SpecFolder() { return Find("spec", "spec"); }

std::string SchemaFolder() { return Find("schema", "tools/cli/schema"); }

}  // namespace qtx::cli
