#include "qtx/conformance/coverage.h"

#include <algorithm>
#include <optional>
#include <set>

#include "clause.h"
#include "files.h"
#include "qtx/format/model.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

constexpr std::int64_t kMaxChapterBytes = std::int64_t{4} << 20;
constexpr std::string_view kBold = "**";
constexpr std::string_view kHeldByTest = " (tests)";

bool Skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The clause that a line of Markdown begins, if any; its place is for the caller to fill.
std::optional<Clause> ClauseOf(std::string_view line) {
  if (Skip(line, "|")) {
    while (Skip(line, " ")) continue;
  } else {
    Skip(line, "- ");
  }
  if (!Skip(line, kBold)) return std::nullopt;
  const std::size_t end = line.find(kBold);
  if (end == std::string_view::npos || !IsClauseId(line.substr(0, end))) return std::nullopt;
  Clause clause;
  clause.id = line.substr(0, end);
  clause.held_by_test = line.substr(end + kBold.size()).starts_with(kHeldByTest);
  return clause;
}

void ReadChapter(std::string_view text, const std::string& path, std::vector<Clause>& clauses) {
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    auto clause = ClauseOf(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (!clause) continue;
    clause->place = path + ":" + std::to_string(number);
    clauses.push_back(*std::move(clause));
  }
}

std::set<std::string_view> CitedBy(std::span<const Case> cases) {
  std::set<std::string_view> cited;
  for (const Case& c : cases) {
    cited.insert(c.spec);
    cited.insert(c.error);
  }
  return cited;
}

// Cases name an arithmetic by any of its names; an alias has cases of its own.
std::vector<std::string> ArithmeticsWithout(std::span<const Case> cases) {
  std::set<std::string_view> named;
  for (const Case& c : cases) named.insert(c.arithmetics.begin(), c.arithmetics.end());
  std::vector<std::string> without;
  const auto require = [&](std::string_view name) {
    if (!named.contains(name)) without.emplace_back(name);
  };
  for (const reference::Arithmetic& row : reference::Arithmetics()) require(row.name);
  for (const reference::Alias& alias : reference::Aliases()) require(alias.name);
  return without;
}

}  // namespace

Result<std::vector<Clause>> ReadClauses(const std::string& spec_folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindChapters(spec_folder));
  std::vector<Clause> clauses;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(Join(spec_folder, path), kMaxChapterBytes));
    ReadChapter(text, path, clauses);
  }
  return clauses;
}

Coverage MeasureCoverage(std::span<const Case> cases, std::span<const Clause> clauses) {
  Coverage coverage;
  coverage.cases = std::ssize(cases);
  coverage.clauses = std::ssize(clauses);
  const std::set<std::string_view> cited = CitedBy(cases);
  for (const Clause& clause : clauses) {
    if (cited.contains(clause.id)) continue;
    (clause.held_by_test ? coverage.held_by_tests : coverage.uncovered).push_back(clause);
  }
  for (const Case& c : cases) {
    auto& row = coverage.counts[c.op ? c.op->type : "model"];
    for (const std::string& arithmetic : c.arithmetics) ++row[arithmetic];
  }
  for (const std::string& op_type : reference::SupportedOperators()) {
    if (!coverage.counts.contains(op_type)) coverage.operators_without.push_back(op_type);
  }
  coverage.arithmetics_without = ArithmeticsWithout(cases);
  return coverage;
}

}  // namespace qtx::conformance
