#include "site/anchors.h"

#include <algorithm>
#include <cctype>

namespace qtx::spec {
namespace {

// `name`, or `name-FIRST` and so on where it is taken.
std::string Unique(const std::string& name, int first, std::set<std::string>& taken) {
  std::string unique = name;
  for (int i = first; !taken.insert(unique).second; ++i) unique = name + "-" + std::to_string(i);
  return unique;
}

}  // namespace

std::string Slug(std::string_view title) {
  std::string slug;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      slug += '-';
    }
  }
  return slug.empty() ? "section" : slug;
}

std::string ExampleName(std::string_view yaml) {
  constexpr std::string_view kKey = "id:";
  if (!yaml.starts_with(kKey)) return "";
  const std::string_view line = yaml.substr(0, yaml.find('\n'));
  std::string name;
  for (const char c : line.substr(line.find_last_of("/ ") + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') break;
    name += c;
  }
  return name;
}

// A slug has no dot, so that the three kinds do not meet.
Anchors AnchorsOf(const Document& document) {
  Anchors anchors;
  for (const Section& section : document.sections) {
    anchors.sections.push_back(Unique(Slug(section.title), 1, anchors.all));
  }
  for (const StatedClause& clause : document.clauses) {
    anchors.clauses.push_back(Unique(clause.id, 2, anchors.all));
  }
  for (const Fence& fence : document.fences) {
    const std::string name = fence.info == "yaml" ? ExampleName(fence.text) : "";
    anchors.fences.push_back(name.empty() ? "" : Unique("example." + name, 2, anchors.all));
  }
  return anchors;
}

}  // namespace qtx::spec
