// Folders of the suite and the spec: installed, or in the source tree.
#pragma once

#include <string>

namespace qtx::cli {

std::string SuiteFolder();
std::string SpecFolder();

}  // namespace qtx::cli
