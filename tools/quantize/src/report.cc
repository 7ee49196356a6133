#include "qtx/quantize/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "initializers.h"
#include "operators.h"
#include "qtx/format/scopes.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Tensor;

// The reals of a tensor, with the scale of each element; FLOAT has none.
class Reals {
 public:
  explicit Reals(const Tensor& tensor)
      : values_(format::StoredValues(tensor)),
        q_(tensor.quantization ? *tensor.quantization : format::Quantization{.scale = {1}}),
        map_(q_, tensor.dims),
        quantized_(tensor.quantization.has_value()) {
    if (quantized_ && format::IsIntegerStorage(tensor.elem_type))
      stored_ = format::StoredRange(tensor.elem_type, q_);
  }

  double operator[](std::size_t i) const {
    return quantized_ ? Scale(i) * (values_[i] - Offset(i)) : values_[i];
  }
  double Scale(std::size_t i) const {
    return static_cast<double>(format::ScaleAt(q_, map_(static_cast<std::int64_t>(i))));
  }
  bool IsBeyond(std::size_t i, double real) const {
    if (!stored_) return false;
    const double place = real / Scale(i) + Offset(i);
    return place < static_cast<double>(stored_->min) - 0.5 ||
           place > static_cast<double>(stored_->max) + 0.5;
  }
  bool quantized() const { return quantized_; }

 private:
  double Offset(std::size_t i) const {
    return format::OffsetAt(q_, map_(static_cast<std::int64_t>(i)));
  }
  std::vector<double> values_;
  format::Quantization q_;
  format::ParameterMap map_;
  bool quantized_;
  std::optional<format::IntegerRange> stored_;
};

const format::Statistics* StatisticsOf(const format::Model& model, const std::string& value) {
  const format::ValueInfo* info = model.graph.FindValue(value);
  return info != nullptr && info->type && info->type->statistics ? &*info->type->statistics
                                                                 : nullptr;
}

// A constant's histogram of 256 bins and its extremes along an axis.
void DescribeNumbers(const Tensor& real, std::optional<std::int64_t> axis, ValueReport& report) {
  const auto values = real.As<float>();
  if (values.empty()) return;
  const auto [low, high] = std::ranges::minmax(values);
  if (low < high) {
    constexpr std::size_t kBins = 256;
    format::Histogram histogram{static_cast<double>(low), static_cast<double>(high),
                                std::vector<std::uint64_t>(kBins)};
    for (const float x : values) {
      const double place = (static_cast<double>(x) - histogram.lower) /
                           (histogram.upper - histogram.lower) * static_cast<double>(kBins);
      ++histogram.counts[std::min(kBins - 1, static_cast<std::size_t>(place))];
    }
    report.histogram = std::move(histogram);
  }
  if (!axis) return;
  const auto at = static_cast<std::size_t>(*axis);
  const std::int64_t stride = format::RowMajorStrides(real.dims)[at];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  report.channels.assign(static_cast<std::size_t>(real.dims[at]), Range{kInfinity, -kInfinity});
  for (std::size_t i = 0; i < values.size(); ++i) {
    Range& range = report.channels[static_cast<std::size_t>(static_cast<std::int64_t>(i) / stride %
                                                            real.dims[at])];
    range.min = std::min(range.min, static_cast<double>(values[i]));
    range.max = std::max(range.max, static_cast<double>(values[i]));
  }
}

}  // namespace

Comparison::Comparison(const Quantized& quantized) : quantized_(quantized) {}

void Comparison::Accumulate(const Tensor& real, const Tensor& stored, Sums& sums) {
  const Reals r(real), q(stored);
  for (std::size_t i = 0; i < static_cast<std::size_t>(format::ElementCount(real)); ++i) {
    const double error = q[i] - r[i];
    if (!std::isfinite(error)) continue;
    ++sums.count;
    sums.signal += r[i] * r[i];
    sums.noise += error * error;
    sums.stored += q[i] * q[i];
    sums.product += r[i] * q[i];
    sums.error += error;
    sums.largest = std::max(sums.largest, std::abs(error));
    if (!q.quantized()) continue;
    sums.largest_lsb = std::max(sums.largest_lsb, std::abs(error) / q.Scale(i));
    if (q.IsBeyond(i, r[i])) ++sums.saturated;
  }
}

ErrorMeasures Comparison::MeasuresOf(const Sums& sums) {
  ErrorMeasures measures{.count = sums.count, .signal = sums.signal, .noise = sums.noise};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  measures.sqnr_db = sums.noise == 0 ? kInfinity : 10 * std::log10(sums.signal / sums.noise);
  const double norms = std::sqrt(sums.signal) * std::sqrt(sums.stored);
  measures.cosine = norms > 0 ? sums.product / norms : (sums.noise == 0 ? 1 : 0);
  measures.max_error = sums.largest;
  measures.max_error_lsb = sums.largest_lsb;
  if (sums.count == 0) return measures;
  measures.mean_error = sums.error / static_cast<double>(sums.count);
  measures.saturated = static_cast<double>(sums.saturated) / static_cast<double>(sums.count);
  return measures;
}

Result<void> Comparison::Add(std::span<const Tensor> inputs, const ModelRun& real,
                             const ModelRun& stored) {
  std::map<std::string, Tensor> reals;
  std::size_t next = 0;
  for (const format::ValueInfo& info : quantized_.real.graph.inputs) {
    if (quantized_.real.graph.FindInitializer(info.name) == nullptr && next < inputs.size())
      reals.emplace(info.name, inputs[next++]);
  }
  QTX_RETURN_IF_ERROR(real(inputs, [&reals](const std::string& name, const Tensor& tensor) {
    if (!format::IsOfBody(name)) reals.insert_or_assign(name, tensor);
  }));
  std::optional<Error> failed;
  QTX_RETURN_IF_ERROR(stored(inputs, [&](const std::string& name, const Tensor& tensor) {
    if (format::IsOfBody(name)) return;
    const auto source = quantized_.sources.find(name);
    const auto at = reals.find(source == quantized_.sources.end() ? name : source->second.real);
    if (at == reals.end() || at->second.elem_type != ElementType::kFloat) return;
    if (at->second.dims != tensor.dims) {
      failed = Error{ErrorCode::kInvalid, "value '" + name + "'",
                     "found shape " + format::ToString(tensor.dims) + ", expected " +
                         format::ToString(at->second.dims)};
      return;
    }
    Accumulate(at->second, tensor, sums_[name]);
  }));
  if (failed) return *failed;
  ++samples_;
  return {};
}

// Compares an initializer with its float values, by the channels of its parameters.
Result<void> Comparison::DescribeConstant(ValueReport& report) const {
  const format::Model& real = quantized_.real;
  QTX_ASSIGN_OR_RETURN(const Tensor before,
                       format::Decode(*real.graph.FindInitializer(report.real), real.folder));
  QTX_ASSIGN_OR_RETURN(const Tensor after, format::LoadInitializer(quantized_.model, report.name));
  Sums sums;
  Accumulate(before, after, sums);
  report.errors = MeasuresOf(sums);
  const auto& axis = after.quantization->axis;
  DescribeNumbers(before, axis.size() == 1 ? std::optional(axis[0]) : std::nullopt, report);
  return {};
}

Result<ValueReport> Comparison::Describe(const std::string& name) const {
  ValueReport report{.name = name, .real = name};
  if (const auto source = quantized_.sources.find(name); source != quantized_.sources.end()) {
    report.real = source->second.real;
    report.ranges = source->second.ranges;
  }
  const format::ValueInfo* info = quantized_.model.graph.FindValue(name);
  if (info != nullptr && info->type) report.type = *info->type;
  if (quantized_.model.graph.FindInitializer(name) != nullptr &&
      quantized_.real.graph.FindInitializer(report.real) != nullptr) {
    auto described = DescribeConstant(report);
    if (!described.has_value()) return At("initializer '" + name + "'", described.error());
    return report;
  }
  if (const auto* statistics = StatisticsOf(quantized_.real, report.real)) {
    report.histogram = statistics->histogram;
    if (!statistics->axis.empty()) {
      for (std::size_t i = 0; i < std::min(statistics->min.size(), statistics->max.size()); ++i)
        report.channels.push_back({statistics->min[i], statistics->max[i]});
    }
  }
  const auto at = sums_.find(name);
  report.errors = MeasuresOf(at == sums_.end() ? Sums{} : at->second);
  return report;
}

// nullopt: no such input, or it is no initializer that was stored.
Result<std::optional<ValueReport>> Comparison::DescribeInput(const format::Node& node,
                                                             int input) const {
  const auto at = static_cast<std::size_t>(input);
  if (input < 0 || at >= node.inputs.size() || !quantized_.sources.contains(node.inputs[at]) ||
      quantized_.model.graph.FindInitializer(node.inputs[at]) == nullptr)
    return std::optional<ValueReport>();
  QTX_ASSIGN_OR_RETURN(ValueReport report, Describe(node.inputs[at]));
  return std::optional(std::move(report));
}

Result<QuantizationReport> Comparison::Finish() const {
  QuantizationReport result{.samples = samples_};
  const format::Model& model = quantized_.model;
  for (const format::Node& node : model.graph.nodes) {
    if (node.outputs.empty()) continue;
    const OperatorRow* row = FindRow(node);
    LayerReport layer{.node = node.name, .op_type = node.op_type};
    if (row != nullptr) {
      QTX_ASSIGN_OR_RETURN(layer.weights, DescribeInput(node, row->weights));
      QTX_ASSIGN_OR_RETURN(layer.bias, DescribeInput(node, row->bias));
    }
    if (!quantized_.sources.contains(node.outputs[0]) && !layer.weights) continue;
    QTX_ASSIGN_OR_RETURN(layer.output, Describe(node.outputs[0]));
    result.layers.push_back(std::move(layer));
  }
  std::ranges::stable_sort(result.layers, {},
                           [](const LayerReport& layer) { return layer.output.errors.sqnr_db; });
  for (const format::ValueInfo& info : model.graph.outputs) {
    QTX_ASSIGN_OR_RETURN(ValueReport output, Describe(info.name));
    result.outputs.push_back(std::move(output));
  }
  return result;
}

}  // namespace qtx::quantize
