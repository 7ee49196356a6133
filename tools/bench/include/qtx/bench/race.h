// Times backends on one workload in interleaved rounds, so that a temporary slowdown of the machine
// affects all of them.
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

/// A backend with a number of threads.
class Contender {
 public:
  /// Starts the backend. If that fails or the number of threads is not available, its rows say so.
  /// `arithmetic`: what it computes in if it can.
  Contender(std::string name, int threads, const Result<conformance::BackendSource>& source,
            const std::string& arithmetic = "exact");

  const std::string& name() const { return name_; }
  /// The name to display: as given, or for a command the name in its description.
  const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  int threads() const { return threads_; }
  const backend::Description& description() const { return description_; }
  /// As asked if the backend has it, else its first arithmetic.
  const std::string& arithmetic() const { return arithmetic_; }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model);

 private:
  std::string name_, label_;
  int threads_;
  std::unique_ptr<backend::Backend> backend_;
  std::optional<Error> error_;  // of starting it
  backend::Description description_;
  std::string arithmetic_;
};

/// How a backend's outputs compare with the reference's in `exact`.
struct Comparison {
  std::int64_t elements = 0, differing = 0;
  double largest_difference = 0;  // in LSB for quantized outputs, else in real units
};

struct Ratio {
  std::string peer;
  Spread spread;
};

/// The result of one backend on one workload.
struct Row {
  std::string work, shape, types;
  bool floats = false;  // no value of the model is quantized
  int count = 1;
  int threads = 1;
  std::string backend, label, version, device, arithmetic;
  /// "measured", "unsupported", "crash", "timeout", "protocol_error", "refused" or "too_slow"
  std::string outcome;
  std::string reason;                    // empty for "measured"
  std::optional<Comparison> comparison;  // nullopt: not compared
  std::optional<bool> conforms;          // equal to the reference in `arithmetic`
  std::int64_t multiply_adds = 0, bytes = 0;
  double prepare_seconds = 0;
  int repetitions = 0;         // in each round
  std::vector<double> rounds;  // the shortest time of each, in seconds
  std::optional<Ratio> to_best_exact_peer, to_best_conforming_peer, to_best_peer;  // same types
  std::optional<Ratio> to_best_float_peer;  // on the float twin of quantized types

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
  double longest = 5;     // seconds; a backend whose run takes longer is not measured
  double seconds = 0.03;  // approximate time of a backend in a round
  backend::Backend* reference = nullptr;  // computes expected outputs; nullptr: no comparison
  // What a contender without `exact` is held to instead of its arithmetic: the deployment profile
  // of this name, which `deployed` computes; nullptr: none.
  std::string profile;
  backend::Backend* deployed = nullptr;
  std::function<bool()> stopped = [] { return false; };  // true: what is not begun is left out
};

/// A workload that could not be created.
struct Skipped {
  std::string work, types, reason;
};

struct Results {
  std::vector<Row> rows;
  std::vector<Skipped> skipped;
};

/// Races all contenders with the same number of threads on workloads of one name, all types in the
/// same rounds. Rows are ordered by threads, workload, contender. What Race returns after
/// `options.stopped` is incomplete.
Results Race(std::span<const Workload> workloads, std::span<Contender> contenders,
             const RaceOptions& options);

/// Computes the ratios of one race's rows.
void CompareRows(std::span<Row> rows);

}  // namespace qtx::bench
