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
    sums_[name].Add(at->second, tensor);
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
  format::ErrorSums sums;
  sums.Add(before, after);
  report.errors = sums.Measures();
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
  if (at != sums_.end()) report.errors = at->second.Measures();
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
