// A list of names under a title, as the commands of coverage print it.
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
