#include "qtx/conformance/power.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "qtx/format/json_writer.h"
#include "qtx/format/print.h"

namespace qtx::conformance {
namespace {

using format::Format;
using format::JsonWriter;
using format::Printable;

constexpr std::size_t kMaxBlame = 600;                    // characters
constexpr std::chrono::milliseconds kDiagnosisTime{500};  // of each backend, beyond its cases

bool Passes(const CaseResult& result) {
  return !Fails(result.outcome) && result.outcome != Outcome::kExpectedFail;
}

// True if a finding names `candidate`, with any arithmetic or condition.
bool Names(const Finding& finding, std::string_view candidate) {
  const std::string padded = " + " + finding.candidate + " + ";
  return padded.find(" + " + std::string(candidate) + " + ") != std::string::npos;
}

// Reads the diagnosis from the findings. A fault counts as diagnosed if its findings cover more
// wrong answers than any other candidate, and more than remain unexplained.
void TakeDiagnosis(const BackendReport& row, std::string_view right, FaultPower& fault) {
  std::int64_t named = 0;
  std::map<std::string_view, std::int64_t> others;
  for (const Finding& finding : row.findings) {
    if (!fault.diagnosis.empty()) fault.diagnosis += "; ";
    fault.diagnosis += finding.says;
    (Names(finding, right) ? named : others[finding.candidate]) += finding.failing;
  }
  fault.diagnosed = named > 0 && std::ranges::all_of(others, [named](const auto& other) {
                      return other.second < named;
                    });
}

void TakeRow(const BackendReport& row, std::string_view right, FaultPower& fault) {
  for (const CaseResult& result : row.cases) {
    const auto& known = fault.caught_by;
    if (Passes(result) || std::ranges::find(known, result.id) != known.end()) continue;
    fault.caught_by.push_back(result.id);
    fault.caught_by_core = fault.caught_by_core || result.level == "core";
    fault.caught_by_tagged =
        fault.caught_by_tagged || std::ranges::find(result.tags, fault.name) != result.tags.end();
  }
  TakeDiagnosis(row, right, fault);
}

// False where the row is of none of the faults.
bool TakeRow(const BackendReport& row, std::span<const FaultyBackend> faulty, PowerReport& report) {
  const auto fault = std::ranges::find(
      faulty, row.source,
      [](const FaultyBackend& f) -> const std::string& { return f.backend.name; });
  if (fault == faulty.end()) return false;
  const std::string& right = fault->diagnosis.empty() ? fault->name : fault->diagnosis;
  TakeRow(row, right, report.faults[static_cast<std::size_t>(fault - faulty.begin())]);
  return true;
}

void Blame(const BackendReport& row, std::vector<std::string>& blamed) {
  if (row.error) blamed.push_back(row.source + ": " + row.error->message);
  for (const CaseResult& result : row.cases) {
    if (Passes(result)) continue;
    blamed.push_back(row.source + " @" + row.arithmetic + ": " + result.id + ": " +
                     result.diagnosis);
  }
}

void WriteFault(JsonWriter& writer, const FaultPower& fault) {
  writer.BeginObject();
  writer.Field("name", fault.name);
  writer.Field("says", fault.says);
  writer.Field("source", fault.source);
  writer.Field("caught_by", fault.caught_by);
  writer.Field("caught_by_core", fault.caught_by_core);
  writer.Field("caught_by_tagged", fault.caught_by_tagged);
  writer.Field("diagnosis", fault.diagnosis);
  writer.Field("diagnosed", fault.diagnosed);
  writer.EndObject();
}

void WriteReport(JsonWriter& writer, const PowerReport& report) {
  writer.Field("suite", report.suite);
  writer.Field("cases", report.cases);
  writer.Key("faults");
  writer.BeginArray();
  for (const FaultPower& fault : report.faults) WriteFault(writer, fault);
  writer.EndArray();
  writer.Field("blamed", report.blamed);
  writer.Key("totals");
  writer.BeginObject();
  writer.Field("faults", std::int64_t{std::ssize(report.faults)});
  writer.Field("caught", report.caught());
  writer.Field("caught_by_core", report.Count(&FaultPower::caught_by_core));
  writer.Field("caught_by_tagged", report.Count(&FaultPower::caught_by_tagged));
  writer.Field("diagnosed", report.Count(&FaultPower::diagnosed));
  writer.EndObject();
  writer.Field("seconds", report.seconds);
}

const char* YesNo(bool flag) { return flag ? "yes" : "-"; }

Printable Share(const char* what, std::int64_t count, std::int64_t all) {
  const double percent =
      all == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(all);
  return Format("{}: {} of {} ({:.0f} %)\n", what, count, all, percent);
}

}  // namespace

std::int64_t PowerReport::Count(bool FaultPower::*property) const {
  return std::ranges::count_if(faults, property);
}

std::int64_t PowerReport::caught() const {
  return std::ranges::count_if(faults, [](const FaultPower& f) { return !f.caught_by.empty(); });
}

PowerReport MeasurePower(const std::string& suite, std::span<const Case> cases,
                         std::span<const FaultyBackend> faulty,
                         std::span<const BackendSource> correct, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  PowerReport report{.suite = suite, .cases = static_cast<std::int64_t>(cases.size())};
  for (const FaultyBackend& fault : faulty) {
    report.faults.push_back({.name = fault.name, .says = fault.says, .source = fault.source});
  }
  std::vector<BackendSource> sources(correct.begin(), correct.end());
  for (const FaultyBackend& fault : faulty) sources.push_back(fault.backend);
  for (BackendSource& source : sources) source.single_runs = true;
  RunOptions run = options;
  run.diagnosis.time = kDiagnosisTime;
  const Report first = RunSuite(suite, cases, sources, run);
  for (const BackendReport& row : first.backends) {
    if (!TakeRow(row, faulty, report)) Blame(row, report.blamed);
  }
  // A fault that one run does not show may be one of what a backend keeps.
  sources.clear();
  for (std::size_t i = 0; i < faulty.size(); ++i) {
    if (!report.faults[i].caught_by_tagged) sources.push_back(faulty[i].backend);
  }
  const Report again = RunSuite(suite, cases, sources, run);
  for (const BackendReport& row : again.backends) TakeRow(row, faulty, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

bool HasPower(const PowerReport& report) {
  const auto all = static_cast<std::int64_t>(report.faults.size());
  const double core = static_cast<double>(report.Count(&FaultPower::caught_by_core));
  return report.caught() == all && report.Count(&FaultPower::caught_by_tagged) == all &&
         core >= kCorePower * static_cast<double>(all) && report.blamed.empty();
}

Printable ToText(const PowerReport& report) {
  Printable text = Format("{:<30} {:>5}  {:<4}  {:<6}  {:<9}  {}\n", "fault", "cases", "core",
                          "tagged", "diagnosed", "says");
  for (const FaultPower& fault : report.faults) {
    text += Format("{:<30} {:>5}  {:<4}  {:<6}  {:<9}  {}\n", fault.name, fault.caught_by.size(),
                   YesNo(fault.caught_by_core), YesNo(fault.caught_by_tagged),
                   YesNo(fault.diagnosed), fault.says);
  }
  const auto all = static_cast<std::int64_t>(report.faults.size());
  text += Format("\n{} cases of {}, {:.1f} s\n", report.cases, report.suite, report.seconds);
  text += Share("faults caught", report.caught(), all);
  text += Share("by a case with the fault's tag", report.Count(&FaultPower::caught_by_tagged), all);
  text += Share("by the level core alone", report.Count(&FaultPower::caught_by_core), all);
  text += Share("diagnosed", report.Count(&FaultPower::diagnosed), all);
  text += Format("correct backends blamed: {}\n", report.blamed.size());
  for (const std::string& line : report.blamed)
    text += Format("  {}\n", Printable(line, kMaxBlame));
  return text;
}

std::string ToJson(const PowerReport& report, const PowerReport* other) {
  JsonWriter writer;
  writer.BeginObject();
  WriteReport(writer, report);
  if (other != nullptr) {
    writer.Value("onnx_node_tests");
    writer.BeginObject();
    WriteReport(writer, *other);
    writer.EndObject();
  }
  writer.EndObject();
  return writer.Text() + "\n";
}

}  // namespace qtx::conformance
