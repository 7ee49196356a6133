#include "markdown.h"

namespace qtx::formula {
namespace {

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r`");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r`") - begin + 1);
}

std::vector<std::string> CellsOf(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    cells.emplace_back(Trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return cells;
}

}  // namespace

std::string TitleOf(std::string_view markdown) {
  Lines lines(markdown);
  std::string_view line;
  while (lines.Next(line)) {
    if (!line.starts_with("# ")) continue;
    const std::size_t open = line.find('`');
    if (open == std::string_view::npos) return std::string(line.substr(2));
    const std::size_t close = line.find('`', open + 1);
    return std::string(line.substr(open + 1, std::min(close, line.size()) - open - 1));
  }
  return "";
}

std::string StatedIn(std::string_view line) {
  constexpr std::string_view kBold = "**";
  const std::size_t begin = line.find(kBold);
  if (begin == std::string_view::npos || begin > kBold.size()) return "";
  const std::size_t end = line.find(kBold, begin + 2);
  if (end == std::string_view::npos) return "";
  const std::string_view id = line.substr(begin + 2, end - begin - 2);
  return id.find('.') == std::string_view::npos ? "" : std::string(id);
}

std::vector<TableRow> TableBelow(std::string_view markdown, std::string_view title) {
  const std::string heading = title.empty() ? "# " : "## " + std::string(title);
  Lines lines(markdown);
  std::string_view line;
  bool below = false;
  std::vector<TableRow> rows;
  while (lines.Next(line)) {
    if (line.starts_with('#')) {
      if (below) break;
      below = title.empty() ? line.starts_with(heading) : line == heading;
    }
    if (below && line.starts_with('|')) {
      rows.push_back({lines.number(), CellsOf(line)});
    } else if (!rows.empty()) {
      break;
    }
  }
  rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)));
  return rows;
}

}  // namespace qtx::formula
