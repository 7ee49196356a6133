// Runs a model over samples, and writes what was seen of each FLOAT value into the model.
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

#include "qtx/calibrate/samples.h"
#include "qtx/calibrate/statistics.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

/// Computes a model; each thread has its own.
class Executor {
 public:
  /// Called with each value that a node produces, while the tensor lives; with inputs, too, or not.
  using Observer = std::function<void(const std::string& value, const format::Tensor&)>;
  virtual ~Executor() = default;
  virtual Result<void> Run(std::span<const format::Tensor> inputs, const Observer& observer) = 0;
};
using MakeExecutor = std::function<Result<std::unique_ptr<Executor>>()>;

/// The model as the reference computes it in arithmetic `float32`. `model` must outlive the result.
MakeExecutor ReferenceExecutor(const format::Model& model);

inline constexpr std::int64_t kDefaultBins = 2048;

struct Progress {
  std::int64_t done = 0;     // of this run's samples, skipped ones too
  std::int64_t planned = 0;  // of this shard
  std::int64_t resumed = 0;  // of `done`, those the journal had
  std::int64_t skipped = 0;
};

struct Options {
  StatisticsOptions statistics = {.axis = {}, .bins = kDefaultBins};
  int threads = 1;
  bool skip_bad_samples = false;  // else the first one ends the run
  std::int64_t shard_index = 1;   // 1 .. shard_count: every shard_count-th sample
  std::int64_t shard_count = 1;
  /// Of what computes the samples, whose results are the same bits for the same name; calibrations
  /// by another one do not belong together.
  std::string executor = "reference";
  std::string journal;  // path; empty: none
  std::chrono::milliseconds journal_interval{5000};
  std::function<void(const Progress&)> progress;  // after each sample, from any one thread
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
};

/// `model` with statistics on every FLOAT value of its graph, initializers included, and
/// kMetadataKey saying what was covered. The same bytes for any number of threads, any order of
/// shards joined by MergeModels, and any interruption that a journal bridged.
/// Errors: of the first bad sample, unless they are skipped; kInvalid when none is left, for
/// options out of range, for a journal of something else; those of the executor; kIo of the
/// journal.
Result<Calibration> Calibrate(const format::Model& model, const Samples& samples,
                              const MakeExecutor& make, const Options& options);

/// Key in metadata_props of what a calibration covered, as JSON: README.md of tools/calibrate.
inline constexpr std::string_view kMetadataKey = "qtx.calibration";

struct Merged {
  format::Model model;
  std::vector<std::string> missing;  // shards, such as "2/4"
};

/// Shards of one calibration, or calibrations of one model on other data, as if one process had
/// seen all samples. Any order and any tree of merges gives the same bytes.
/// Errors: kInvalid at "models[i]" for a model that was not calibrated, is another one or had other
/// options, and for samples that are in two of them; at "models" when all shards are there and no
/// sample is left.
Result<Merged> MergeModels(std::span<const format::Model> models);

}  // namespace qtx::calibrate
