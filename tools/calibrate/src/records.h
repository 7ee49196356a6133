// What is known of the values of a graph while samples are run, and how it gets into the model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qtx/calibrate/calibrate.h"
#include "qtx/calibrate/statistics.h"
#include "qtx/format/model.h"

namespace qtx::calibrate {

/// One value: the shape it has had so far (dimensions that changed are unknown; nullopt: the rank
/// did), and its statistics.
struct Record {
  std::optional<format::Shape> shape;
  format::Statistics statistics;
};
using Records = std::map<std::string, Record>;

/// `axis` where tensors of this shape have it with a fixed size, from 0; else nullopt: per tensor.
std::optional<std::int64_t> AxisIn(const std::optional<format::Shape>& shape,
                                   std::optional<std::int64_t> axis);

/// Shapes of the same value: dimensions that differ are unknown.
std::optional<format::Shape> Join(const std::optional<format::Shape>& a,
                                  const std::optional<format::Shape>& b);

/// The union of both. Where the elements of the axis do not match it is per tensor.
/// Errors: those of Merge.
Result<Record> Join(const Record& a, const Record& b, std::int64_t bins);

/// Values as they come, from one thread.
class Recorder {
 public:
  explicit Recorder(const StatisticsOptions& options) : options_(options) {}

  /// Takes FLOAT tensors; of any other type, the name.
  Result<void> Add(const std::string& value, const format::Tensor& tensor);
  /// What `other` took, too; it is as new afterwards.
  Result<void> Take(Recorder& other);
  Result<void> Merge(const Records& records);
  void Clear();
  Records Finish() const;
  const std::map<std::string, std::string>& left_out() const { return left_out_; }

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
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> left_out_;  // value, type
};

/// Puts shapes and statistics on the FLOAT values of `model`, which come to be in the order of the
/// graph: values that nodes produce, initializers, others. Statistics that were there are gone; a
/// digest of annotations that lowering left is renewed.
/// Errors: kTooLarge for annotations that cannot be serialised.
Result<void> Annotate(const Records& records, format::Model& model);

/// The records of a model that Annotate wrote.
Records RecordsOf(const format::Model& model);

}  // namespace qtx::calibrate
