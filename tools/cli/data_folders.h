// Where the suite and the spec are: the source tree, or where they were installed.
#pragma once

#include <string>

namespace qtx::cli {

std::string SuiteFolder();
std::string SpecFolder();

}  // namespace qtx::cli
