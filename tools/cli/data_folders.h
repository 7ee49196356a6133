// Folders of the suite, the spec and the schemas of JSON output: installed beside the program, or,
// of a build tree, those of the source tree.
#pragma once

#include <string>

namespace qtx::cli {

std::string SuiteFolder();
std::string SpecFolder();
std::string SchemaFolder();

}  // namespace qtx::cli
