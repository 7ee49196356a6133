#include "systems.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "qtx/conformance/suite.h"

namespace qtx::scoreboard {
namespace {

using conformance::BackendReport;
using conformance::CaseResult;
using conformance::Outcome;
using conformance::Provenance;
using conformance::Report;

bool IsFailure(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFail:
    case Outcome::kCrash:
    case Outcome::kTimeout:
    case Outcome::kProtocolError:
    case Outcome::kExpectedFail:
      return true;
    case Outcome::kPass:
    case Outcome::kUnsupported:
    case Outcome::kUnexpectedPass:
    case Outcome::kSelf:
    case Outcome::kBadExpectation:
    case Outcome::kBadGolden:
      break;
  }
  return false;
}

bool AnyMatches(std::span<const std::string> globs, const std::string& text) {
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return conformance::GlobMatches(glob, text); });
}

bool Explains(const Deviation& deviation, const CaseResult& result) {
  const auto is_candidate = [&](const std::string& name) {
    return AnyMatches(deviation.candidates, name);
  };
  return std::ranges::any_of(result.explained_by, is_candidate) ||
         AnyMatches(deviation.cases, result.id) ||
         AnyMatches(deviation.cases, result.id + " @" + result.arithmetic);
}

const Deviation* Explanation(std::span<const Deviation> deviations, const std::string& system,
                             const CaseResult& result) {
  const auto found = std::ranges::find_if(deviations, [&](const Deviation& deviation) {
    return AnyMatches(deviation.systems, system) && Explains(deviation, result);
  });
  return found == deviations.end() ? nullptr : &*found;
}

void AddRow(const BackendReport& row, std::span<const Deviation> deviations, System& system) {
  for (const CaseResult& result : row.cases) {
    Operator& op = system.operators[result.op.empty() ? "model" : result.op];
    system.counts.Add(result.outcome);
    op.counts.Add(result.outcome);
    if (result.outcome == Outcome::kUnsupported) ++op.declined[result.diagnosis];
    if (IsFailure(result.outcome)) {
      op.failures.push_back({&result, Explanation(deviations, row.description.name, result)});
    }
  }
  system.findings.insert(system.findings.end(), row.findings.begin(), row.findings.end());
}

auto Key(const System& system) {
  return std::tie(system.description.name, system.description.version, system.description.device,
                  system.run.processor);
}

// The system of a row, whose latest report counts: an earlier one is left out.
System* Place(const BackendReport& row, const Provenance& run, std::vector<System>& systems) {
  System system{.description = row.description, .source = row.source, .run = run};
  const auto same =
      std::ranges::find_if(systems, [&](const System& other) { return Key(other) == Key(system); });
  if (same == systems.end()) return &systems.emplace_back(std::move(system));
  if (same->run == run) return &*same;
  if (same->run.date > run.date) return nullptr;
  *same = std::move(system);
  return &*same;
}

// "systems/onnxruntime-1.32.0.html"; a second one of that name ends in "-2".
std::string PageName(const backend::Description& description, std::set<std::string>& taken) {
  constexpr std::size_t kLongest = 80;
  std::string name = (description.name + "-" + description.version).substr(0, kLongest);
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-';
  };
  std::ranges::replace_if(name, std::not_fn(is_safe), '_');
  std::string unique = name;
  for (int number = 2; !taken.insert(unique).second; ++number) {
    unique = name + "-" + std::to_string(number);
  }
  return "systems/" + unique + ".html";
}

}  // namespace

void Counts::Add(Outcome outcome) {
  if (outcome == Outcome::kPass || outcome == Outcome::kUnexpectedPass) ++pass;
  if (outcome == Outcome::kUnsupported) ++declined;
  if (IsFailure(outcome)) ++fail;
}

std::int64_t System::explained() const {
  std::int64_t count = 0;
  for (const auto& [name, op] : operators) {
    count += std::ranges::count_if(
        op.failures, [](const Failure& failure) { return failure.deviation != nullptr; });
  }
  return count;
}

Result<std::vector<System>> FindSystems(std::span<const Report> reports,
                                        std::span<const Deviation> deviations) {
  std::vector<System> systems;
  for (const Report& report : reports) {
    const Provenance run = report.runs().back();
    if (run.date.empty()) {
      return Error{ErrorCode::kInvalid, report.suite,
                   "found a report without provenance, expected one with date and processor"};
    }
    for (const BackendReport& row : report.backends) {
      if (row.cases.empty()) continue;
      if (System* system = Place(row, run, systems)) AddRow(row, deviations, *system);
    }
  }
  std::ranges::sort(systems, [](const System& a, const System& b) {
    if (a.description.name != b.description.name) return a.description.name < b.description.name;
    return std::tie(b.run.date, b.description.version) <
           std::tie(a.run.date, a.description.version);
  });
  std::set<std::string> taken;
  for (System& system : systems) system.page = PageName(system.description, taken);
  return systems;
}

}  // namespace qtx::scoreboard
