// Folders of the suite, the spec and the schemas of JSON output: installed beside the program, or,
// of a build tree, those of the source tree.
#pragma once

#include <string>
#include <vector>

namespace qtx::cli {

std::string SuiteFolder();
std::string SpecFolder();
std::string SchemaFolder();

/// The folder that has bin/qtx, and that which has these folders: of a build tree the source tree.
std::vector<std::string> OwnFolders();

}  // namespace qtx::cli
