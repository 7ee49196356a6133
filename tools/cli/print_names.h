// Prints a titled list of names, for the coverage commands.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/print.h"

namespace qtx::cli {

inline void PrintNames(const char* title, const std::vector<std::string>& names) {
  format::Print("{}: {}\n", title, names.size());
  for (const std::string& name : names) format::Print("  {}\n", name);
}

}  // namespace qtx::cli
