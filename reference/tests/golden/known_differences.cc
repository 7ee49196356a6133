#include "tests/golden/known_differences.h"

#include <fnmatch.h>

#include <fstream>
#include <vector>

namespace qtx::reference::golden {
namespace {

struct Line {
  std::string pattern;
  KnownDifference known;
};

struct Lines {
  std::vector<Line> good;
  std::string bad;
};

std::optional<Line> Parse(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::size_t colon = text.find(": ");
  if (space == std::string::npos || colon == std::string::npos || colon < space) return {};
  const std::string verb = text.substr(0, space);
  if (verb != "refused" && verb != "differs" && verb != "rounded") return {};
  return Line{text.substr(space + 1, colon - space - 1),
              {verb == "refused"   ? Outcome::kRefused
               : verb == "rounded" ? Outcome::kRounded
                                   : Outcome::kDiffers,
               text.substr(colon + 2)}};
}

const Lines& ReadLines() {
  static const Lines kLines = [] {
    Lines lines;
    std::ifstream file(QTX_SOURCE_DIR "/reference/tests/golden/known_differences.txt");
    for (std::string text; std::getline(file, text);) {
      if (text.empty() || text[0] == '#') continue;
      if (auto line = Parse(text)) {
        lines.good.push_back(*std::move(line));
      } else {
        lines.bad += text + "\n";
      }
    }
    return lines;
  }();
  return kLines;
}

}  // namespace

std::optional<KnownDifference> FindKnownDifference(std::string_view case_name) {
  const std::string name(case_name);
  for (const Line& line : ReadLines().good) {
    if (fnmatch(line.pattern.c_str(), name.c_str(), 0) == 0) return line.known;
  }
  return std::nullopt;
}

std::string MalformedLines() { return ReadLines().bad; }

}  // namespace qtx::reference::golden
