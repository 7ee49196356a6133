// The systems of reports: what each computes, by operators.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/scoreboard/scoreboard.h"

namespace qtx::scoreboard {

/// Numbers of cases, in all arithmetics that the system claims.
struct Counts {
  std::int64_t pass = 0;
  std::int64_t fail = 0;      // wrong answers, crashes, timeouts; also those that a list expects
  std::int64_t declined = 0;  // and no answer is judged whose expectation is wrong
  std::int64_t run() const { return pass + fail; }
  void Add(conformance::Outcome outcome);
};

/// A case that fails, with the deviation that explains it; null: none does yet.
struct Failure {
  const conformance::CaseResult* result;
  const Deviation* deviation;
};

struct Operator {
  Counts counts;
  std::vector<Failure> failures;                 // in the suite's order, by arithmetic
  std::map<std::string, std::int64_t> declined;  // number of cases by reason
};

/// A backend in one version on one processor.
struct System {
  backend::Description description;
  std::string source;           // as the run named it: "cmd:python3 ..."
  conformance::Provenance run;  // of the latest report
  std::string page;             // "systems/onnxruntime-1.32.0-1.html"
  Counts counts;
  std::map<std::string, Operator, std::less<>> operators;  // by op_type; "model": networks
  std::vector<conformance::Finding> findings;
  std::int64_t explained() const;  // failures with a deviation
};

/// By name, the latest first among those of one name. `reports` and `deviations` must outlive it.
/// Errors: kInvalid for a report without provenance.
Result<std::vector<System>> FindSystems(std::span<const conformance::Report> reports,
                                        std::span<const Deviation> deviations);

}  // namespace qtx::scoreboard
