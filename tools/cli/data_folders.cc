#include "data_folders.h"

#include <filesystem>

namespace qtx::cli {
namespace {

// An installed copy, or that of the source tree in whose folder build/bin the program is: both are
// found from the program's own place, so that they can be moved. Else the tree that it was built
// from.
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

}  // namespace qtx::cli
