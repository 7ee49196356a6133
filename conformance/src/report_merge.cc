// Merges the reports of shards or devices into one.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "findings.h"
#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

// Larger is more severe: of two outcomes of a case the merged report keeps the more severe.
int Severity(Outcome outcome) {
  switch (outcome) {
    case Outcome::kBadExpectation:
      return 9;
    case Outcome::kBadGolden:
      return 8;
    case Outcome::kCrash:
      return 7;
    case Outcome::kTimeout:
      return 6;
    case Outcome::kProtocolError:
      return 5;
    case Outcome::kFail:
      return 4;
    case Outcome::kUnexpectedPass:
      return 3;
    case Outcome::kExpectedFail:
      return 2;
    case Outcome::kUnsupported:
      return 1;
    case Outcome::kSelf:
    case Outcome::kPass:
      break;
  }
  return 0;
}

// Ignores the source: shards may run by different commands.
bool SameRow(const BackendReport& a, const BackendReport& b) {
  const auto key = [](const BackendReport& row) {
    return std::tie(row.description.name, row.description.version, row.description.device,
                    row.arithmetic);
  };
  return key(a) == key(b) && a.error.has_value() == b.error.has_value() &&
         (!a.error || (a.error->where == b.error->where && a.error->message == b.error->message));
}

bool SameBackend(const BackendReport& a, const BackendReport& b) {
  return a.description.name == b.description.name &&
         a.description.version == b.description.version &&
         a.description.device == b.description.device && a.error.has_value() == b.error.has_value();
}

// Merges two results of one case: the worse outcome, with a note of the other; of equal ones the
// weaker expectation.
void Settle(CaseResult& kept, CaseResult&& other) {
  if (kept.outcome == other.outcome) {
    kept.expectation = std::max(kept.expectation, other.expectation);
    kept.within_bound = kept.within_bound || other.within_bound;
    return;
  }
  if (Severity(other.outcome) > Severity(kept.outcome)) std::swap(kept, other);
  if (!kept.diagnosis.empty()) kept.diagnosis += "; ";
  kept.diagnosis += "another run of it gave " + std::string(Name(other.outcome));
}

// A row of the merged report, with an index of its cases by id.
struct Joined {
  explicit Joined(BackendReport&& first) : row(std::move(first)) {
    for (std::size_t i = 0; i < row.cases.size(); ++i) known.emplace(row.cases[i].id, i);
  }
  BackendReport row;
  std::map<std::string, std::size_t, std::less<>> known;
};

// True if both have a case in common.
bool JoinCases(Joined& to, std::vector<CaseResult>&& more) {
  const bool had_cases = !to.known.empty();
  std::size_t added = 0;
  for (CaseResult& result : more) {
    const auto [found, inserted] = to.known.emplace(result.id, to.row.cases.size());
    if (inserted) {
      to.row.cases.push_back(std::move(result));
      ++added;
    } else {
      Settle(to.row.cases[found->second], std::move(result));
    }
  }
  return had_cases && added < more.size();
}

bool JoinRow(Joined& to, BackendReport&& more) {
  to.row.seconds += more.seconds;
  std::ranges::move(more.findings, std::back_inserter(to.row.findings));
  for (Error& fault : more.protocol_faults) {
    const auto text = [&](const Error& known) { return known.Text() == fault.Text(); };
    if (std::ranges::none_of(to.row.protocol_faults, text)) {
      to.row.protocol_faults.push_back(std::move(fault));
    }
  }
  return JoinCases(to, std::move(more.cases));
}

std::ptrdiff_t ArithmeticIndex(const BackendReport& row) {
  const auto& names = row.description.arithmetics;
  return std::ranges::find(names, row.arithmetic) - names.begin();
}

// Inserts the row beside the backend's other rows, in the order of its arithmetics.
void Insert(BackendReport&& row, std::vector<Joined>& rows) {
  const auto same = [&](const Joined& other) { return SameBackend(row, other.row); };
  auto place = std::ranges::find_if(rows, same);
  if (place == rows.end()) {
    rows.emplace_back(std::move(row));
    return;
  }
  while (place != rows.end() && same(*place) &&
         ArithmeticIndex(place->row) < ArithmeticIndex(row)) {
    ++place;
  }
  rows.insert(place, Joined(std::move(row)));
}

// Drops rows without cases if the same backend and arithmetic has another row with cases.
void DropEmptyRows(std::vector<BackendReport>& rows) {
  const std::vector<BackendReport>& all = rows;
  std::vector<bool> drop(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    drop[i] = rows[i].cases.empty() && !rows[i].error &&
              std::ranges::any_of(all, [&](const BackendReport& other) {
                return &other != &rows[i] && !other.cases.empty() && SameBackend(rows[i], other);
              });
  }
  std::size_t i = 0;
  std::erase_if(rows, [&](const BackendReport&) { return drop[i++]; });
}

void Recount(const Report& report, BackendReport& row) {
  row.counts.fill(0);
  for (const CaseResult& result : row.cases) {
    ++row.counts[static_cast<std::size_t>(result.outcome)];
  }
  if (!row.error) row.not_applicable = report.selected - std::ssize(row.cases);
}

void AddPart(Report& whole, std::vector<Joined>& rows, Report&& part) {
  bool overlap = false;
  for (BackendReport& row : part.backends) {
    const auto same =
        std::ranges::find_if(rows, [&](const Joined& other) { return SameRow(row, other.row); });
    if (same == rows.end()) {
      Insert(std::move(row), rows);
    } else {
      overlap = JoinRow(*same, std::move(row)) || overlap;
    }
  }
  // Reports that share cases are runs of the same selection; others are parts of it.
  whole.min_coverage = std::max(whole.min_coverage, part.min_coverage);
  whole.selected =
      overlap ? std::max(whole.selected, part.selected) : whole.selected + part.selected;
  for (std::string& line : part.stale_expectations) {
    if (std::ranges::find(whole.stale_expectations, line) == whole.stale_expectations.end()) {
      whole.stale_expectations.push_back(std::move(line));
    }
  }
  whole.strict_expectations = whole.strict_expectations || part.strict_expectations;
}

std::string ShardText(std::int64_t shard, std::int64_t shards) {
  return std::to_string(shard) + "/" + std::to_string(shards);
}

// Shards are parts of one run: of one commit, on one suite.
Result<void> CheckSame(const std::vector<Report>& parts) {
  const Report* first = nullptr;
  const auto same = [](const char* what, const std::string& a,
                       const std::string& b) -> Result<void> {
    if (a == b || a.empty() || b.empty()) return {};
    return Error{
        ErrorCode::kInvalid, "shards",
        fmt::format("found {} {} and {}, expected one", what, a.substr(0, 64), b.substr(0, 64))};
  };
  for (const Report& part : parts) {
    if (part.shards == 1) continue;
    if (first == nullptr) first = &part;
    QTX_RETURN_IF_ERROR(same("commits", first->provenance.commit, part.provenance.commit));
    QTX_RETURN_IF_ERROR(same("digests of suites", first->suite_digest, part.suite_digest));
  }
  return {};
}

// All shards must be present: a missing one may have failures.
Result<void> CheckComplete(const std::vector<Report>& parts) {
  std::int64_t shards = 1;
  std::set<std::int64_t> found;
  for (const Report& part : parts) {
    if (part.shards == 1) continue;
    if (shards != 1 && part.shards != shards) {
      return Error{
          ErrorCode::kInvalid, "shards",
          "found parts of " + std::to_string(shards) + " and of " + std::to_string(part.shards)};
    }
    shards = part.shards;
    found.insert(part.shard);
  }
  if (shards == 1 || std::ssize(found) == shards) return {};
  std::int64_t missing = 1;
  while (found.contains(missing)) ++missing;
  return Error{ErrorCode::kInvalid, "shard " + ShardText(missing, shards),
               "is missing; the reports have " + std::to_string(found.size()) + " of " +
                   std::to_string(shards)};
}

}  // namespace

Result<Report> MergeReports(std::vector<Report> parts) {
  QTX_RETURN_IF_ERROR(CheckComplete(parts));
  QTX_RETURN_IF_ERROR(CheckSame(parts));
  Report whole;
  std::vector<Joined> rows;
  for (Report& part : parts) {
    if (whole.suite.empty()) {
      whole.suite = part.suite;
      whole.suite_digest = part.suite_digest;
    }
    if (part.merged.empty() && !part.provenance.date.empty()) {
      part.merged.push_back(std::move(part.provenance));
    }
    std::ranges::move(part.merged, std::back_inserter(whole.merged));
    AddPart(whole, rows, std::move(part));
  }
  for (Joined& joined : rows) {
    JoinFindings(joined.row.findings);
    std::ranges::stable_sort(joined.row.cases, {}, &CaseResult::position);
    whole.backends.push_back(std::move(joined.row));
  }
  DropEmptyRows(whole.backends);
  for (BackendReport& row : whole.backends) Recount(whole, row);
  return whole;
}

}  // namespace qtx::conformance
