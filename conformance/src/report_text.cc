// The report as text for a terminal.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kTableColumns = 13;
constexpr std::size_t kMaxDiagnosis = 400;
constexpr std::size_t kMaxErrorLines = 5;
using Cells = std::array<std::string, kTableColumns>;

Cells RowCells(const BackendReport& row) {
  Cells cells = {Printable(row.description.name, 24), Printable(row.description.version, 12),
                 Printable(row.description.device, 28), Printable(row.arithmetic, 14)};
  for (std::size_t i = 0; i < kOutcomes; ++i) cells[4 + i] = std::to_string(row.counts[i]);
  cells[12] = row.error ? "-" : fmt::format("{:.1f} s", row.seconds);
  return cells;
}

std::string Table(const Report& report) {
  std::vector<Cells> rows = {{"backend", "version", "device", "arithmetic", "pass", "fail",
                              "unsup.", "crash", "timeout", "protocol", "x-fail", "x-pass",
                              "time"}};
  for (const BackendReport& row : report.backends) rows.push_back(RowCells(row));
  std::array<std::size_t, kTableColumns> widths{};
  for (const Cells& cells : rows) {
    for (std::size_t i = 0; i < kTableColumns; ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < kTableColumns; ++i) {
      const bool number = i >= 4;
      line += number ? fmt::format("{:>{}}  ", rows[r][i], widths[i])
                     : fmt::format("{:<{}}  ", rows[r][i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) text += std::string(line.size(), '-') + "\n";
  }
  return text;
}

bool NeedsAttention(Outcome outcome) {
  return outcome != Outcome::kPass && outcome != Outcome::kUnsupported &&
         outcome != Outcome::kExpectedFail;
}

// The last lines of error output, without the very last, which the message has.
std::string ErrorOutput(const CaseResult& result) {
  std::string_view rest = result.error_output;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest.find('\n') == std::string_view::npos) return "";
  std::vector<std::string_view> lines;
  while (!rest.empty() && lines.size() < kMaxErrorLines) {
    const std::size_t begin = rest.rfind('\n') + 1;  // npos + 1 is 0
    lines.push_back(rest.substr(begin));
    rest.remove_suffix(rest.size() - begin + (begin > 0 ? 1 : 0));
  }
  std::string text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    text += "      | " + Printable(*line, 110) + "\n";
  }
  return text;
}

std::string StaleExpectations(const Report& report) {
  if (report.stale_expectations.empty()) return "";
  std::string text =
      fmt::format("\n{} expected failures match no case of the suite{}\n",
                  report.stale_expectations.size(), report.strict_expectations ? "" : " (warning)");
  for (const std::string& line : report.stale_expectations) {
    text += "  " + Printable(line, kMaxDiagnosis) + "\n";
  }
  return text;
}

// The row's findings, most important first.
std::string Findings(const BackendReport& row) {
  constexpr std::size_t kMaxOperators = 8;
  std::string text;
  for (const Finding& finding : row.findings) {
    std::string operators;
    for (std::size_t i = 0; i < finding.operators.size() && i < kMaxOperators; ++i) {
      operators += (i == 0 ? "" : ", ") + finding.operators[i];
    }
    if (finding.operators.size() > kMaxOperators) {
      operators += fmt::format(" and {} more", finding.operators.size() - kMaxOperators);
    }
    const std::string share =
        finding.explained == 0
            ? fmt::format("{} cases", finding.failing)
            : fmt::format("{} of {} wrong answers", finding.explained, finding.failing);
    text += fmt::format("  {}: {} ({})\n", Printable(operators, 200),
                        Printable(finding.says, kMaxDiagnosis), share);
  }
  return text.empty() ? "" : "  what it does:\n" + text + "  cases:\n";
}

std::string Attention(const BackendReport& row, std::size_t max_listed) {
  const std::string name = Printable(row.description.name, 64);
  if (row.error) {
    return fmt::format(
        "\n{}: {}\n", name,
        Printable(row.error->where.empty() ? row.error->message
                                           : row.error->where + ": " + row.error->message,
                  kMaxDiagnosis));
  }
  std::string text;
  std::size_t listed = 0;
  std::size_t found = 0;
  for (const CaseResult& result : row.cases) {
    if (!NeedsAttention(result.outcome) || ++found > max_listed) continue;
    ++listed;
    text +=
        fmt::format("  {} {}  ({})\n      {}\n", Name(result.outcome), Printable(result.id, 200),
                    Printable(result.spec, 64), Printable(result.diagnosis, kMaxDiagnosis)) +
        ErrorOutput(result);
  }
  const bool idle = !row.cases.empty() &&
                    row.count(Outcome::kUnsupported) == static_cast<std::int64_t>(row.cases.size());
  if (idle)
    return fmt::format("\n{} @{}: declined every case\n", name, Printable(row.arithmetic, 64));
  if (found == 0) return "";
  if (found > listed) {
    text += fmt::format("  ... and {} more: see --json, --junit or --html\n", found - listed);
  }
  return fmt::format("\n{} @{}: {} need attention\n", name, Printable(row.arithmetic, 64), found) +
         Findings(row) + text;
}

// Listed once for each network and arithmetic, over all backends.
std::string UnmodelledNodes(const Report& report, std::size_t max_listed) {
  std::set<std::string> networks;
  std::string text;
  std::size_t found = 0;
  for (const BackendReport& row : report.backends) {
    for (const CaseResult& result : row.cases) {
      const std::string network = result.id + " @" + result.arithmetic;
      if (result.unmodelled.empty() || !networks.insert(network).second) continue;
      for (const std::string& node : result.unmodelled) {
        if (++found > max_listed) continue;
        text += fmt::format("  {}: {}\n", Printable(network, 200), Printable(node, kMaxDiagnosis));
      }
    }
  }
  if (found == 0) return "";
  if (found > max_listed)
    text += fmt::format("  ... and {} more: see --json\n", found - max_listed);
  return fmt::format("\nnodes computed as in exact for want of a clause: {}, networks: {}\n", found,
                     networks.size()) +
         text;
}

// A line for each distinct run, and a warning when their commits differ.
std::string Runs(const Report& report, std::size_t max_listed) {
  std::set<std::string> commits;
  std::set<std::string> summaries;
  for (const Provenance& run : report.runs()) {
    commits.insert(run.commit);
    summaries.insert(Summary(run));
  }
  summaries.erase("");
  std::string text = summaries.empty() ? "" : "\n";
  std::size_t listed = 0;
  for (const std::string& summary : summaries) {
    if (++listed <= max_listed) text += summary + "\n";
  }
  if (listed > max_listed) text += fmt::format("... and {} more runs\n", listed - max_listed);
  if (commits.size() > 1) {
    text += fmt::format("warning: the runs are of {} commits of qtx\n", commits.size());
  }
  return text;
}

std::string ClausesNotNamed(const BackendReport& row) {
  const auto count = std::ranges::count(row.cases, kClauseNotNamed, &CaseResult::diagnosis);
  if (count == 0) return "";
  return fmt::format("\n{} @{}: {} cases {}\n", Printable(row.description.name, 64),
                     Printable(row.arithmetic, 64), count, kClauseNotNamed);
}

}  // namespace

std::string ToText(const Report& report, std::size_t max_listed) {
  std::string text = Table(report);
  for (const BackendReport& row : report.backends)
    text += Attention(row, max_listed) + ClausesNotNamed(row);
  return text + UnmodelledNodes(report, max_listed) + StaleExpectations(report) +
         Runs(report, max_listed);
}

}  // namespace qtx::conformance
