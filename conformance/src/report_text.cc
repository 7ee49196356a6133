// The report as text for a terminal.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/conformance/text_answers.h"
#include "qtx/format/print.h"

namespace qtx::conformance {
namespace {

using format::Format;
using format::Printable;

constexpr std::size_t kMaxDiagnosis = 400;
constexpr std::size_t kMaxErrorLines = 5;
constexpr std::size_t kTextColumns = 4;  // the first ones; numbers follow
using Cells = std::vector<std::string>;  // printable

constexpr std::array<const char*, kOutcomes> kOutcomeHeads = {
    "pass",   "fail",   "unsup.", "crash",    "timeout",  "protocol",
    "x-fail", "x-pass", "self",   "bad exp.", "bad gold."};
constexpr std::array<const char*, kExpectationSources> kSourceHeads = {"hand", "3rd p.", "text",
                                                                       "ref."};

// The outcomes that the table has a column for: pass, fail, and those that occur.
std::vector<std::size_t> Shown(const Report& report) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto occurs = [i](const BackendReport& row) { return row.counts[i] != 0; };
    if (i < 2 || std::ranges::any_of(report.backends, occurs)) shown.push_back(i);
  }
  return shown;
}

Cells RowCells(const BackendReport& row, const std::vector<std::size_t>& shown) {
  Cells cells = {Printable(row.description.name, 24), Printable(row.description.version, 12),
                 Printable(row.description.device, 28), Printable(row.arithmetic, 14)};
  for (const std::size_t i : shown) cells.push_back(std::to_string(row.counts[i]));
  for (const std::int64_t passes : row.Passes()) cells.push_back(std::to_string(passes));
  cells.push_back(row.error ? Printable("-") : Format("{:.1f} s", row.seconds));
  return cells;
}

Printable Table(const Report& report) {
  const std::vector<std::size_t> shown = Shown(report);
  Cells head = {"backend", "version", "device", "arithmetic"};
  for (const std::size_t i : shown) head.emplace_back(kOutcomeHeads[i]);
  head.insert(head.end(), kSourceHeads.begin(), kSourceHeads.end());
  head.emplace_back("time");
  std::vector<Cells> rows = {std::move(head)};
  for (const BackendReport& row : report.backends) rows.push_back(RowCells(row, shown));
  std::vector<std::size_t> widths(rows[0].size());
  for (const Cells& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  Printable text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += i >= kTextColumns ? Format("{:>{}}  ", rows[r][i], widths[i])
                                : Format("{:<{}}  ", rows[r][i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += Format("{}\n", Printable(line, kMaxDiagnosis));
    if (r == 0) text += Format("{:-<{}}\n", "", line.size());
  }
  return text;
}

// The last lines of error output, without the very last, which the message has.
Printable ErrorOutput(const CaseResult& result) {
  std::string_view rest = result.error_output;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest.find('\n') == std::string_view::npos) return {};
  std::vector<std::string_view> lines;
  while (!rest.empty() && lines.size() < kMaxErrorLines) {
    const std::size_t begin = rest.rfind('\n') + 1;  // npos + 1 is 0
    lines.push_back(rest.substr(begin));
    rest.remove_suffix(rest.size() - begin + (begin > 0 ? 1 : 0));
  }
  Printable text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    text += Format("      | {}\n", Printable(*line, 110));
  }
  return text;
}

Printable StaleExpectations(const Report& report) {
  if (report.stale_expectations.empty()) return {};
  Printable text =
      Format("\n{} expected failures match no case of the suite{}\n",
             report.stale_expectations.size(), report.strict_expectations ? "" : " (warning)");
  for (const std::string& line : report.stale_expectations) {
    text += Format("  {}\n", Printable(line, kMaxDiagnosis));
  }
  return text;
}

Printable ProtocolFaults(const BackendReport& row) {
  if (row.protocol_faults.empty()) return {};
  Printable text = Format("\n{}: breaks the protocol\n", Printable(row.description.name, 64));
  for (const Error& fault : row.protocol_faults) {
    text += Format("  {}\n", Printable(fault.Text(), kMaxDiagnosis));
  }
  return text;
}

// Of each backend, as in CoverageOf: the selected cases that are for none of its arithmetics.
std::vector<std::int64_t> LeftOut(const Report& report) {
  std::vector<std::int64_t> left_out;
  std::string_view source;
  std::set<std::string_view> ids;
  for (const BackendReport& row : report.backends) {
    if (left_out.empty() || row.source != source) {
      left_out.push_back(0);
      ids.clear();
    }
    source = row.source;
    for (const CaseResult& result : row.cases) ids.insert(result.id);
    left_out.back() = row.error ? 0 : std::max<std::int64_t>(report.selected - std::ssize(ids), 0);
  }
  return left_out;
}

// "x86 conforms: 5,120 of 6,002 cases run (85 %), 882 declined", a line for each backend.
Printable Verdicts(const Report& report) {
  const auto number = [](std::int64_t n) {
    std::string digits = std::to_string(n);
    for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) {
      digits.insert(static_cast<std::size_t>(at), ",");
    }
    return Printable(digits);
  };
  const std::vector<std::int64_t> left_out = LeftOut(report);
  std::size_t next = 0;
  Printable text = Format("\n");
  for (const Coverage& coverage : CoverageOf(report)) {
    text += Format("{} {}: {} of {} cases run ({} %), {} declined", Printable(coverage.name, 64),
                   coverage.conforms ? "conforms" : "does not conform", number(coverage.run),
                   number(coverage.cases), static_cast<int>(coverage.percent()),
                   number(coverage.cases - coverage.run));
    if (coverage.percent() < report.min_coverage) {
      text += Format(", expected at least {:g} % run", report.min_coverage);
    }
    const std::int64_t out = left_out[next++];
    if (out != 0)
      text += Format("; {} selected cases are for other arithmetics than it has", number(out));
    text += Format("\n");
  }
  return text;
}

Printable PlaceText(const WrongPlace& place) {
  Printable text = Format("    {}: {}\n", Printable(place.op, 64),
                          Printable(place.says.empty() ? "anywhere" : place.says, kMaxDiagnosis));
  if (!place.form.empty()) text += Format("      {}\n", Printable(place.form, kMaxDiagnosis));
  return text;
}

// The row's findings, most important first.
Printable Findings(const BackendReport& row) {
  constexpr std::size_t kMaxOperators = 8;
  constexpr std::size_t kMaxPlaces = 4;  // of a finding; the others are in the JSON report
  Printable text;
  for (const Finding& finding : row.findings) {
    std::string operators;
    for (std::size_t i = 0; i < finding.operators.size() && i < kMaxOperators; ++i) {
      operators += (i == 0 ? "" : ", ") + finding.operators[i];
    }
    if (finding.operators.size() > kMaxOperators) {
      operators += Format(" and {} more", finding.operators.size() - kMaxOperators);
    }
    const std::string share = finding.explained == 0
                                  ? Format("{} cases", finding.failing)
                                  : Format("{} of {} wrong answers, {} fresh questions",
                                           finding.explained, finding.failing, finding.confirmed);
    text += Format("  {}: {} ({})\n", Printable(operators, 200),
                   Printable(finding.says, kMaxDiagnosis), share);
    for (std::size_t i = 0; i < finding.places.size() && i < kMaxPlaces; ++i) {
      text += PlaceText(finding.places[i]);
    }
    if (finding.places.size() > kMaxPlaces) {
      text += Format("    and {} operators more\n", finding.places.size() - kMaxPlaces);
    }
  }
  return row.findings.empty() ? text : Format("  what it does:\n{}  cases:\n", text);
}

Printable Attention(const BackendReport& row, std::size_t max_listed) {
  const std::string name = Printable(row.description.name, 64);
  if (row.error) {
    return Format("\n{}: {}\n", name,
                  Printable(row.error->where.empty() ? row.error->message
                                                     : row.error->where + ": " + row.error->message,
                            kMaxDiagnosis));
  }
  Printable text;
  std::size_t listed = 0;
  std::size_t found = 0;
  for (const CaseResult& result : row.cases) {
    if (!Fails(result.outcome) || ++found > max_listed) continue;
    ++listed;
    text += Format("  {} {}  ({})\n      {}\n", Name(result.outcome), Printable(result.id, 200),
                   Printable(result.spec, 64), Printable(result.diagnosis, kMaxDiagnosis)) +
            ErrorOutput(result);
  }
  const bool idle = !row.cases.empty() &&
                    row.count(Outcome::kUnsupported) == static_cast<std::int64_t>(row.cases.size());
  if (idle) return Format("\n{} @{}: declined every case\n", name, Printable(row.arithmetic, 64));
  if (found == 0) return {};
  if (found > listed) {
    text += Format("  ... and {} more: see --json, --junit or --html\n", found - listed);
  }
  return Format("\n{} @{}: {} need attention\n", name, Printable(row.arithmetic, 64), found) +
         Findings(row) + text;
}

// Listed once for each network and arithmetic, over all backends.
Printable UnmodelledNodes(const Report& report, std::size_t max_listed) {
  std::set<std::string> networks;
  Printable text;
  std::size_t found = 0;
  for (const BackendReport& row : report.backends) {
    for (const CaseResult& result : row.cases) {
      const std::string network = result.id + " @" + result.arithmetic;
      if (result.unmodelled.empty() || !networks.insert(network).second) continue;
      for (const std::string& node : result.unmodelled) {
        if (++found > max_listed) continue;
        text += Format("  {}: {}\n", Printable(network, 200), Printable(node, kMaxDiagnosis));
      }
    }
  }
  if (found == 0) return {};
  if (found > max_listed) text += Format("  ... and {} more: see --json\n", found - max_listed);
  return Format("\nnodes computed as in exact for want of a clause: {}, networks: {}\n", found,
                networks.size()) +
         text;
}

// A line for each distinct run, and a warning when their commits differ.
Printable Runs(const Report& report, std::size_t max_listed) {
  std::set<std::string> commits;
  std::set<std::string> summaries;
  for (const Provenance& run : report.runs()) {
    commits.insert(run.commit);
    summaries.insert(Summary(run));
  }
  summaries.erase("");
  Printable text = summaries.empty() ? Printable() : Format("\n");
  std::size_t listed = 0;
  for (const std::string& summary : summaries) {
    if (++listed <= max_listed) text += Format("{}\n", summary);
  }
  if (listed > max_listed) text += Format("... and {} more runs\n", listed - max_listed);
  if (commits.size() > 1) {
    text += Format("warning: the runs are of {} commits of qtx\n", commits.size());
  }
  return text;
}

// What is less than it seems about the passes of a row.
Printable Reservations(const BackendReport& row) {
  const auto unnamed = std::ranges::count(row.cases, kClauseNotNamed, &CaseResult::diagnosis);
  const auto near = std::ranges::count(row.cases, true, &CaseResult::within_bound);
  const auto stale = std::ranges::count(row.cases, TextVerdict::kStale, &CaseResult::text);
  const Printable name =
      Format("\n{} @{}: ", Printable(row.description.name, 64), Printable(row.arithmetic, 64));
  Printable text;
  const auto declined = std::ranges::count(row.cases, kOtherInputsDeclined, &CaseResult::diagnosis);
  if (declined != 0) text += name + Format("{} cases {}\n", declined, kOtherInputsDeclined);
  if (unnamed != 0) text += name + Format("{} cases {}\n", unnamed, kClauseNotNamed);
  if (near != 0) text += name + Format("{} passes within the bound, not exactly\n", near);
  if (stale != 0) text += name + Format("{} answers of the text are stale\n", stale);
  const auto disputed = std::ranges::count(row.cases, TextVerdict::kDisputed, &CaseResult::text);
  if (disputed != 0) {
    text += name + Format("{} answers of the text differ: {} says why\n", disputed,
                          Printable(kTextDisputesFile, 64));
  }
  return text;
}

}  // namespace

Printable ToText(const Report& report, std::size_t max_listed) {
  Printable text = Table(report);
  for (const BackendReport& row : report.backends)
    text += Attention(row, max_listed) + ProtocolFaults(row) + Reservations(row);
  return text + Verdicts(report) + UnmodelledNodes(report, max_listed) + StaleExpectations(report) +
         Runs(report, max_listed);
}

}  // namespace qtx::conformance
