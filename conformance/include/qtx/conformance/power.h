// What a suite is worth: which deliberately wrong backends it catches, and what it says of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/text.h"

namespace qtx::conformance {

/// A backend with one known fault.
struct FaultyBackend {
  std::string name;    // "pairs_saturate"; cases made for it have this tag
  std::string says;    // what it does, in one sentence
  std::string source;  // where the fault was seen
  BackendSource backend;
  std::string diagnosis = {};  // the candidate that a right diagnosis names; empty: `name`
};

/// The suite's result for one fault.
struct FaultPower {
  std::string name, says, source;
  std::vector<std::string> caught_by;  // ids of the cases that fail, in the suite's order
  bool caught_by_core = false;         // one of them has level `core`
  bool caught_by_tagged = false;       // one of them has the fault's name among its tags
  std::string diagnosis;               // candidate that the report names; may be empty
  bool diagnosed = false;  // the candidate that explains most wrong answers is this fault
};

struct PowerReport {
  std::string suite;
  std::int64_t cases = 0;
  std::vector<FaultPower> faults;
  std::vector<std::string> blamed;  // cases that a correct backend fails, and why
  double seconds = 0;

  std::int64_t Count(bool FaultPower::*property) const;
  std::int64_t caught() const;
};

/// Runs `cases` against faulty and correct backends; the reference's answers are computed once. A
/// case that a backend does not support counts for neither.
PowerReport MeasurePower(const std::string& suite, std::span<const Case> cases,
                         std::span<const FaultyBackend> faulty,
                         std::span<const BackendSource> correct, const RunOptions& options);

/// The share of faults that level `core` must catch on its own.
inline constexpr double kCorePower = 0.9;

/// True when every fault is caught, also by a case tagged with its name, `core` catches its share,
/// and no correct backend fails a case.
bool HasPower(const PowerReport& report);

/// A table with one row per fault, then the totals.
format::Printable ToText(const PowerReport& report);

/// The members of a document of tools/cli/schema/power.schema.json after its provenance. `other` is
/// written under `onnx_node_tests`.
std::string ToJson(const PowerReport& report, const PowerReport* other = nullptr);

}  // namespace qtx::conformance
