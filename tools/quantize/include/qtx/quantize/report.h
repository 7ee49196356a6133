// Quantization error: compares a quantized model with its float model, value by value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/error_measures.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/statistics.h"
#include "qtx/format/tensor.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// A quantized value or initializer.
struct ValueReport {
  std::string name;  // in the quantized model
  std::string real;  // in the float model
  format::TensorType type;
  std::vector<ChosenRange> ranges;  // one per parameter; empty: set by operator or scales
  std::optional<format::Histogram> histogram;  // of the float values
  std::vector<Range> channels;                 // extremes of the float values, by channel
  format::ErrorMeasures errors;
};

/// A node of the quantized model.
struct LayerReport {
  std::string node;
  std::string op_type;
  ValueReport output;  // its first
  std::optional<ValueReport> weights, bias;
};

struct QuantizationReport {
  std::string model;         // path
  std::string real_by;       // executor of the float model
  std::string quantized_by;  // executor of the quantized model
  std::int64_t samples = 0;
  std::vector<LayerReport> layers;   // ordered by sqnr_db, worst first
  std::vector<ValueReport> outputs;  // of the graph, in its order
};

using Observer = std::function<void(const std::string& value, const format::Tensor&)>;
/// Runs a model on one sample and passes every value that a node produces to the observer.
using ModelRun =
    std::function<Result<void>(std::span<const format::Tensor> inputs, const Observer&)>;

/// Accumulates errors over samples.
class Comparison {
 public:
  /// `quantized` must outlive it.
  explicit Comparison(const Quantized& quantized);

  /// Errors: those of the two runs; kInvalid for a value whose shapes differ.
  Result<void> Add(std::span<const format::Tensor> inputs, const ModelRun& real,
                   const ModelRun& stored);

  /// Errors: those of decoding weights.
  Result<QuantizationReport> Finish() const;

 private:
  Result<ValueReport> Describe(const std::string& name) const;
  Result<void> DescribeConstant(ValueReport& report) const;
  Result<std::optional<ValueReport>> DescribeInput(const format::Node& node, int input) const;

  const Quantized& quantized_;
  std::map<std::string, format::ErrorSums> sums_;
  std::int64_t samples_ = 0;
};

/// The members of a document of tools/cli/schema/quantization_report.schema.json after its
/// provenance.
std::string ToJson(const QuantizationReport& report);

}  // namespace qtx::quantize
