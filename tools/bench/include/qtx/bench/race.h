// Backends timed on the same work, turn by turn in rounds, so that what slows the machine down for
// a while slows all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/bench/shapes.h"
#include "qtx/bench/statistics.h"
#include "qtx/bench/workload.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::bench {

/// A backend that takes part, set to a number of threads.
class Contender {
 public:
  /// Starts it. One that does not start, or has no such number of threads, takes part all the same:
  /// its rows say why it measured nothing.
  Contender(std::string name, int threads, const Result<conformance::BackendSource>& source);

  const std::string& name() const { return name_; }
  /// The name for people: as given, or of a command the one that it describes itself with.
  const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  int threads() const { return threads_; }
  const backend::Description& description() const { return description_; }
  /// `exact` where it names it, else its first.
  const std::string& arithmetic() const { return arithmetic_; }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model);

 private:
  std::string name_, label_;
  int threads_;
  std::unique_ptr<backend::Backend> backend_;
  std::optional<Error> error_;  // of its start
  backend::Description description_;
  std::string arithmetic_;
};

/// How a backend's outputs compare with the reference's in `exact`.
struct Comparison {
  std::int64_t elements = 0, differing = 0;
  double largest_difference = 0;  // in LSB of quantized outputs, else in reals
};

struct Ratio {
  std::string peer;
  Spread spread;
};

/// One backend on one work.
struct Row {
  std::string work, shape, types;
  bool floats = false;  // nothing in its model is quantized
  int count = 1;
  int threads = 1;
  std::string backend, label, version, device, arithmetic;
  /// "measured", "unsupported", "crash", "timeout", "protocol_error", "refused" or "too_slow"
  std::string outcome;
  std::string reason;                    // of all but the first
  std::optional<Comparison> comparison;  // nullopt: nothing to compare, or not compared
  std::optional<bool> conforms;          // equal to the reference in `arithmetic`
  std::int64_t multiply_adds = 0, bytes = 0;
  double prepare_seconds = 0;
  int repetitions = 0;         // of each round
  std::vector<double> rounds;  // the shortest time of each, in seconds
  std::optional<Ratio> to_best_exact_peer, to_best_conforming_peer, to_best_peer;  // same types
  std::optional<Ratio> to_best_float_peer;  // on the float twin, for other types

  bool measured() const { return outcome == "measured"; }
  bool exact() const { return comparison && comparison->differing == 0; }
  bool right() const { return exact() || conforms.value_or(false); }
  Spread seconds() const { return SpreadOf(rounds); }  // REQUIRES: measured()
  double gops() const {                                // REQUIRES: measured()
    return 2e-9 * static_cast<double>(multiply_adds) / seconds().median;
  }
};

struct RaceOptions {
  int rounds = 7;
  double longest = 5;                     // seconds of one run; who takes longer is not measured
  double seconds = 0.03;                  // of each backend's turn in a round, about
  backend::Backend* reference = nullptr;  // says what is exact; nullptr: nothing is compared
};

/// A work that could not be made.
struct Skipped {
  std::string work, types, reason;
};

struct Results {
  std::vector<Row> rows;
  std::vector<Skipped> skipped;
};

/// Races all contenders of each number of threads on workloads of one name, with all their types in
/// the same rounds. The rows are in the order of threads, workloads, contenders.
Results Race(std::span<const Workload> workloads, std::span<Contender> contenders,
             const RaceOptions& options);

/// Sets the ratios of rows of one race.
void CompareRows(std::span<Row> rows);

}  // namespace qtx::bench
