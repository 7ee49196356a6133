// Lists of expected failures, each with its reason.
#include "expectations.h"

#include <algorithm>
#include <map>

#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

std::string NameIn(const std::string& arithmetic, const std::string& id) {
  return id + " @" + arithmetic;
}

// Calls use(list) with what `map` has for each beginning of `name`.
template <typename Map, typename Use>
void ForEachBeginning(Map& map, std::string_view name, const Use& use) {
  for (std::size_t size = 0; size <= name.size(); ++size) {
    const auto found = map.find(name.substr(0, size));
    if (found != map.end()) use(found->second);
  }
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
  int number = 0, globs = 0;
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
    globs += glob.find_first_of("*?") == std::string_view::npos ? 0 : 1;
    if (globs > kMaxGlobs) {
      return Error{ErrorCode::kTooLarge, std::move(place),
                   "expected at most " + std::to_string(kMaxGlobs) + " lines with * or ?"};
    }
    list.push_back({std::string(glob), std::string(reason), std::move(place)});
  }
  return list;
}

std::vector<std::string> StaleExpectations(std::span<const ExpectedFailure> list,
                                           std::span<const Case> cases) {
  ExpectationIndex index(list);
  for (const Case& c : cases) index.Remove(c);
  std::vector<std::string> stale;
  for (const ExpectedFailure* expected : index.Remaining())
    stale.push_back(expected->where + ": " + expected->glob);
  return stale;
}

ExpectationIndex::ExpectationIndex(std::span<const ExpectedFailure> list) {
  for (const ExpectedFailure& expected : list) {
    const std::string_view glob = expected.glob;
    by_beginning_[glob.substr(0, glob.find_first_of("*?"))].push_back(&expected);
  }
}

const ExpectedFailure* ExpectationIndex::Find(const CaseResult& result) const {
  const ExpectedFailure* first = nullptr;
  for (const std::string& name : {result.id, NameIn(result.arithmetic, result.id)}) {
    ForEachBeginning(by_beginning_, name, [&](const Globs& globs) {
      const auto found = std::ranges::find_if(
          globs, [&](const ExpectedFailure* e) { return GlobMatches(e->glob, name); });
      if (found != globs.end() && (first == nullptr || *found < first)) first = *found;
    });
  }
  return first;
}

void ExpectationIndex::Remove(const Case& c) {
  RemoveMatches(c.id);
  for (const std::string& arithmetic : c.arithmetics) RemoveMatches(NameIn(arithmetic, c.id));
}

void ExpectationIndex::RemoveMatches(std::string_view name) {
  ForEachBeginning(by_beginning_, name, [&](Globs& globs) {
    std::erase_if(globs, [&](const ExpectedFailure* e) { return GlobMatches(e->glob, name); });
  });
}

std::vector<const ExpectedFailure*> ExpectationIndex::Remaining() const {
  Globs all;
  for (const auto& [beginning, globs] : by_beginning_)
    all.insert(all.end(), globs.begin(), globs.end());
  std::ranges::sort(all);  // their addresses are in the order of the list
  return all;
}

}  // namespace qtx::conformance
