// Fuzzing: random models against a backend, with one reduced model for each kind of failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "qtx/conformance/runner.h"
#include "qtx/conformance/shrink.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct FuzzOptions {
  std::string arithmetic;     // empty: the backend's first
  std::uint64_t seed = 1;     // the same seed gives the same models
  std::int64_t first = 1;     // number of the first model
  std::int64_t count = 1000;  // of models; 0: until `time` has passed
  std::chrono::duration<double> time{};
  std::string operators = "*";                        // glob on op_types
  std::int64_t max_runs = 3000;                       // of the backend, to shrink one failure
  std::function<void(std::int64_t number)> progress;  // before each model
};

/// Failures of one operator of one kind ("differs", "crash", ...).
struct FuzzFinding {
  std::int64_t failures = 0;
  std::int64_t number = 0;       // of the first model
  std::string detail;            // of the first failure, or why it could not be shrunk
  std::optional<Shrunk> shrunk;  // the first failure, reduced; nullopt if that failed
};

struct FuzzReport {
  std::string arithmetic;
  std::int64_t models = 0;       // number of models run
  std::int64_t unsupported = 0;  // of those
  std::int64_t failures = 0;
  std::int64_t drafts = 0;   // nodes that were drawn
  std::int64_t refused = 0;  // of those, by the operator's row or the reference
  std::map<std::string, std::int64_t> operators;  // nodes of the models, by op_type
  std::map<std::pair<std::string, std::string>, FuzzFinding> findings;  // by op_type and kind
};

/// Runs `count` models, or until `time` is up. Apart from time, deterministic if the backend is.
/// Errors: those of the source; kInvalid when the backend lacks the arithmetic, or no operator
/// matches.
Result<FuzzReport> Fuzz(const BackendSource& source, const FuzzOptions& options);

}  // namespace qtx::conformance
