#include "documents.h"

#include <algorithm>
#include <vector>

#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

// Whether the glob matches some text that begins with `start`.
bool MatchesSomeAfter(std::string_view glob, std::string_view start) {
  std::vector<bool> reached(glob.size() + 1);  // positions in the glob after what was read
  reached[0] = true;
  for (const char c : start) {
    std::vector<bool> next(glob.size() + 1);
    for (std::size_t p = 0; p < glob.size(); ++p) {
      if (p > 0 && glob[p - 1] == '*' && reached[p - 1]) reached[p] = true;  // * for nothing
      if (!reached[p]) continue;
      if (glob[p] == '*') next[p] = true;
      if (glob[p] == '?' || glob[p] == c) next[p + 1] = true;
    }
    reached = std::move(next);
  }
  return std::ranges::find(reached, true) != reached.end();
}

// Cases of a matrix or of a folder of data sets have the suffix "[...]".
bool MayMatch(std::string_view id, std::span<const std::string> filters) {
  return std::ranges::any_of(filters, [&](const std::string& glob) {
    return GlobMatches(glob, id) || MatchesSomeAfter(glob, std::string(id) + "[");
  });
}

bool IsPlainName(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                              "XYZ0123456789_./-") == std::string_view::npos;
}

// The name after "id: " in a line of the top level; "" where it is written in another form.
std::string_view IdOf(std::string_view document) {
  constexpr std::string_view kKey = "id: ";
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find('\n', at), document.size());
    const std::string_view line = document.substr(at, end - at);
    if (line.starts_with(kKey)) {
      const std::string_view name = line.substr(kKey.size());
      return IsPlainName(name) ? name : std::string_view();
    }
    at = end + 1;
  }
  return {};
}

// Where the document at `begin` ends: at a line of its marks, which no scalar may hold (YAML 1.2.2,
// 9.1.2).
std::size_t EndOfDocument(std::string_view yaml, std::size_t begin) {
  for (std::size_t line = begin; line < yaml.size();) {
    const std::string_view rest = yaml.substr(line);
    if (line > begin && (rest.starts_with("---") || rest.starts_with("..."))) return line;
    const std::size_t end = yaml.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return yaml.size();
}

}  // namespace

std::string OnlyDocuments(std::string_view yaml, std::span<const std::string> filters) {
  if (filters.empty()) return std::string(yaml);
  std::string kept;
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = EndOfDocument(yaml, begin);
    const std::string_view document = yaml.substr(begin, end - begin);
    const std::string_view id = IdOf(document);
    if (id.empty() || MayMatch(id, filters)) {
      kept += document;
    } else {
      kept.append(static_cast<std::size_t>(std::ranges::count(document, '\n')), '\n');
    }
    begin = end;
  }
  return kept;
}

}  // namespace qtx::conformance
