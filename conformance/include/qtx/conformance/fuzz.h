// Fuzzing: random models against a backend, with one reduced model for each cause of failures.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/conformance/shrink.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct FuzzOptions {
  std::string arithmetic;     // empty: the backend's first
  std::uint64_t seed = 1;     // the same seed gives the same models
  std::int64_t first = 1;     // number of the first model
  std::int64_t count = 1000;  // of models, of all shards; 0: until `time` has passed
  std::chrono::duration<double> time{};
  Shard shard;                                        // which of these models: every N-th
  std::string operators = "*";                        // glob on op_types
  std::int64_t max_runs = 3000;                       // of the backend, to shrink one failure
  std::function<void(std::int64_t number)> progress;  // before each model
  std::string journal;  // path of a file that keeps what is done; empty: none
  std::string commit;   // of this program, as Provenance has it: results of another are refused
};

/// Failures with one cause.
struct FuzzFinding {
  std::string cause;  // the candidate that reproduces every answer ("half_away"); empty: unknown
  std::string says;  // what the cause is, or where the reduced model is ("where strides are not 1")
  std::string kind;  // "differs", "unstable", "crash", ...
  std::string place;  // of an unknown cause: what the reduced model cannot be without ("stride")
  std::map<std::string, std::int64_t> operators;  // failures by op_type of the failing node
  std::int64_t threads = 0;                       // that it takes; 0: any number
  std::int64_t failures = 0;
  std::int64_t number = 0;       // of the first model
  std::string detail;            // of the reduced failure, or why it could not be reduced
  std::optional<Shrunk> shrunk;  // the smallest of the failures that were reduced
};

/// What was asked, apart from failures.
struct FuzzCounts {
  std::int64_t models = 0;
  std::int64_t unsupported = 0;  // of those
  std::int64_t drafts = 0;       // nodes that were drawn
  std::int64_t refused = 0;      // of those, by the operator's row or the reference
  std::map<std::string, std::int64_t> operators;  // nodes of the models, by op_type

  void Add(const FuzzCounts& more);
};

struct FuzzReport {
  std::string arithmetic;
  FuzzCounts counts;
  std::int64_t failures = 0;
  std::vector<FuzzFinding> findings;  // most failures first
};

/// Runs `count` models, or until `time` is up, each as a thorough session (conformance_cases.md),
/// some with other numbers of threads. Apart from time, deterministic if the backend is. A run that
/// goes on with a journal gives the report of one that was not interrupted.
/// Errors: those of the source; kInvalid when the backend lacks the arithmetic, or no operator
/// matches; those of the journal.
Result<FuzzReport> Fuzz(const BackendSource& source, const FuzzOptions& options);

}  // namespace qtx::conformance
