// The observer: collects shapes and statistics of a graph's values while samples are run, and
// writes them into the model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtx/calibrate/calibrate.h"
#include "qtx/calibrate/statistics.h"
#include "qtx/format/model.h"

namespace qtx::calibrate {

/// The shape of a value so far (changing dimensions are unknown; nullopt: the rank changed) and its
/// statistics.
struct Observation {
  std::optional<format::Shape> shape;
  format::Statistics statistics;
};
/// By the names of the model's flat form (scopes.h).
using Observations = std::map<std::string, Observation>;

/// `axis`, counted from 0, if `shape` has it with a fixed size; else nullopt (per tensor).
std::optional<std::int64_t> AxisIn(const std::optional<format::Shape>& shape,
                                   std::optional<std::int64_t> axis);

/// Merges two shapes of one value; dimensions that differ become unknown.
std::optional<format::Shape> Join(const std::optional<format::Shape>& a,
                                  const std::optional<format::Shape>& b);

/// Merges two observations; per tensor if the sizes of their axes differ.
/// Errors: those of Merge.
Result<Observation> Join(const Observation& a, const Observation& b, std::int64_t bins);

/// Collects tensors by the name of their value. For one thread.
class Observer {
 public:
  /// `grams`: sums of zero for each value that shall have them.
  explicit Observer(const StatisticsOptions& options, Grams grams = {})
      : options_(options), grams_(std::move(grams)) {}

  /// Collects a FLOAT tensor; of other types only the name, for left_out().
  Result<void> Add(const std::string& value, const format::Tensor& tensor);
  /// Merges what `other` collected and clears it.
  Result<void> Take(Observer& other);
  Result<void> Merge(const Observations& observations);
  void Clear();
  Observations Finish() const;
  /// The same, giving the memory of each value back as its observation is made.
  Observations Release();
  const std::map<std::string, std::string>& left_out() const { return left_out_; }
  const Grams& grams() const { return grams_; }

 private:
  struct Entry {
    bool seen = false;
    std::optional<format::Shape> shape;
    std::optional<std::int64_t> axis;  // of `statistics`
    StatisticsAccumulator statistics;
  };
  Result<Entry*> Find(const std::string& value, const std::optional<format::Shape>& shape);
  Result<void> DropAxis(Entry& entry);

  StatisticsOptions options_;
  Grams grams_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> left_out_;  // value, type
};

/// Writes shapes and statistics to the FLOAT values of `model`, ordered as in the graph: outputs of
/// nodes, initializers, others. Replaces older statistics and updates the digest of annotations
/// that lowering left.
/// Errors: kTooLarge for annotations that cannot be serialised.
Result<void> Annotate(Observations observations, format::Model& model);

/// The inverse of Annotate.  Errors: kInvalid for statistics that break a rule of the format.
Result<Observations> ObservationsOf(const format::Model& model);

}  // namespace qtx::calibrate
