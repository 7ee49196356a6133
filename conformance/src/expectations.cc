// Lists of expected failures, each with its reason.
#include <algorithm>
#include <map>

#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

bool Matches(const ExpectedFailure& expected, const Case& c) {
  return GlobMatches(expected.glob, c.id) ||
         std::ranges::any_of(c.arithmetics, [&](const std::string& arithmetic) {
           return GlobMatches(expected.glob, c.id + " @" + arithmetic);
         });
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Result<std::vector<ExpectedFailure>> ParseExpectedFailures(std::string_view text,
                                                           const std::string& where) {
  std::vector<ExpectedFailure> list;
  std::map<std::string_view, int> lines;  // of the globs
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = Trim(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t mark = line.find(" #");
    const std::string_view reason =
        mark == std::string_view::npos ? std::string_view() : Trim(line.substr(mark + 2));
    std::string place = where + ":" + std::to_string(number);
    if (reason.empty()) {
      return Error{ErrorCode::kInvalid, std::move(place), "expected 'id or glob  # reason'"};
    }
    const std::string_view glob = Trim(line.substr(0, mark));
    if (const auto [at, fresh] = lines.emplace(glob, number); !fresh) {
      return Error{ErrorCode::kInvalid, std::move(place),
                   "found '" + std::string(glob) + "' twice, expected it once (also on line " +
                       std::to_string(at->second) + ")"};
    }
    list.push_back({std::string(glob), std::string(reason), std::move(place)});
  }
  return list;
}

std::vector<std::string> StaleExpectations(std::span<const ExpectedFailure> list,
                                           std::span<const Case> cases) {
  std::vector<std::string> stale;
  for (const ExpectedFailure& expected : list) {
    const auto matches = [&](const Case& c) { return Matches(expected, c); };
    if (std::ranges::none_of(cases, matches)) {
      stale.push_back(expected.where + ": " + expected.glob);
    }
  }
  return stale;
}

}  // namespace qtx::conformance
