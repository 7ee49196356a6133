// Prints a titled list of names, for the coverage commands.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

namespace qtx::cli {

inline void PrintNames(const char* title, const std::vector<std::string>& names) {
  fmt::print("{}: {}\n", title, names.size());
  for (const std::string& name : names) fmt::print("  {}\n", name);
}

}  // namespace qtx::cli
