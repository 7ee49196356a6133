#include "row_names.h"

#include <set>
#include <utility>

namespace qtx::conformance {

std::vector<std::string> RowNames(const Report& report) {
  std::vector<std::string> names;
  std::set<std::pair<std::string, std::string>> taken;
  for (const BackendReport& row : report.backends) {
    std::string name = row.description.name;
    if (!taken.insert({name, row.arithmetic}).second) {
      name += " (" + row.description.device + ")";
      for (int i = 2; !taken.insert({name, row.arithmetic}).second; ++i) {
        name = row.description.name + " (" + std::to_string(i) + ")";
      }
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace qtx::conformance
