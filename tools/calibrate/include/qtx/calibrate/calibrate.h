// Calibration: runs a model over samples and writes statistics of each FLOAT value into it.
// Source: spec/format/statistics.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/calibrate/gram.h"
#include "qtx/calibrate/samples.h"
#include "qtx/calibrate/statistics.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

/// Runs a model; each thread has its own executor.
class Executor {
 public:
  /// Called with each value that a node produces; may also be called with inputs. The tensor is
  /// only valid during the call.
  using Observer = std::function<void(const std::string& value, const format::Tensor&)>;
  virtual ~Executor() = default;
  virtual Result<void> Run(std::span<const format::Tensor> inputs, const Observer& observer) = 0;
};
using MakeExecutor = std::function<Result<std::unique_ptr<Executor>>()>;

/// Executors that run the reference in arithmetic `float32`. `model` must outlive the result.
MakeExecutor ReferenceExecutor(const format::Model& model);

inline constexpr std::int64_t kDefaultBins = 2048;

struct Progress {
  std::int64_t done = 0;     // samples of this run, including skipped ones
  std::int64_t planned = 0;  // of this shard
  std::int64_t resumed = 0;  // how many of `done` came from the journal
  std::int64_t skipped = 0;
};

struct Options {
  std::string model_name = "model";  // in errors
  StatisticsOptions statistics = {.axis = {}, .bins = kDefaultBins};
  int threads = 1;
  bool skip_bad_samples = false;  // else the first one ends the run
  std::int64_t shard_index = 1;   // 1 .. shard_count: every shard_count-th sample
  std::int64_t shard_count = 1;
  /// Identifies the executor: equal names mean bit-equal results. Calibrations with different names
  /// cannot be merged.
  std::string executor = "reference";
  bool gram = false;    // also sums X^T X (gram.h); not with a journal
  std::string journal;  // path; empty: none
  std::chrono::milliseconds journal_interval{5000};
  std::function<void(const Progress&)>
      progress;  // called after each sample, by one thread at a time
};

struct SkippedSample {
  std::string name;
  std::string reason;  // Name(Reason)
  std::string message;
  bool operator==(const SkippedSample&) const = default;
};

/// A value that has no statistics.
struct LeftOut {
  std::string value;
  std::string why;
};

struct Calibration {
  format::Model model;
  Progress progress;
  std::vector<SkippedSample> skipped;  // in the order of samples
  std::vector<LeftOut> left_out;       // by value
  Grams grams;                         // with Options::gram
};

/// Returns `model` with statistics on every FLOAT value of its graph, initializers included, and
/// the coverage under kMetadataKey. The bytes do not depend on the number of threads, the order in
/// which MergeModels merges shards, or resumption from a journal.
/// Errors: that of the first bad sample, at its name, unless bad samples are skipped; those of the
/// executor, at `model_name`; kInvalid if no sample is left, for options out of range, those of
/// PlanGrams and for a journal of another run; kIo of the journal, also when another run is writing
/// it.
Result<Calibration> Calibrate(const format::Model& model, const Samples& samples,
                              const MakeExecutor& make, const Options& options);

/// Key in metadata_props of the coverage of a calibration (JSON, see tools/calibrate/README.md).
inline constexpr std::string_view kMetadataKey = "qtx.calibration";

struct Merged {
  format::Model model;
  std::vector<std::string> missing;  // shards, such as "2/4"
};

/// Merges shards of one calibration, or calibrations of one model on other data, as if one process
/// had seen all samples. The bytes do not depend on the order of merges.
/// Errors: kInvalid at "models[i]" for an uncalibrated or different model, other options, or a
/// sample that an earlier model has; at "models" when no sample is left.
Result<Merged> MergeModels(std::span<const format::Model> models);

}  // namespace qtx::calibrate
