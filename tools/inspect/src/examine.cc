// Computes the figures of each value from the model.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "qtx/format/accumulator.h"
#include "qtx/format/annotation.h"
#include "qtx/format/levels.h"
#include "qtx/inspect/inspect.h"

namespace qtx::inspect {
namespace {

using format::ElementType;
using format::Histogram;
using format::Model;
using format::Quantization;
using format::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The quantized type, from elem_type or the annotation.
ElementType StoredAs(const format::TensorType& type) {
  return format::IsQuantized(type.elem_type) ? type.elem_type
         : format::IsAnnotated(type)         ? format::Unannotated(type).elem_type
                                             : ElementType::kUndefined;
}

void SetRange(Value& value) {
  const ElementType stored = StoredAs(value.type);
  if (stored == ElementType::kUndefined || !format::IsIntegerStorage(stored)) return;
  if (!value.type.quantization)
    return;  // a quantized type without parameters, which `check` refuses
  const Quantization& q = *value.type.quantization;
  const format::IntegerRange range = format::StoredRange(stored, q);
  // Exact in a double except for the last bits of INT32, which is enough for inspection.
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const double scale = format::ScaleAt(q, at);
    const auto offset = static_cast<double>(format::OffsetAt(q, at));
    const double base = format::BaseAt(q, at);
    value.range_lower.push_back(scale * (static_cast<double>(range.min) - offset) + base);
    value.range_upper.push_back(scale * (static_cast<double>(range.max) - offset) + base);
  }
}

// Real values of a constant: its floats, or scale * (stored - offset) + base.
std::vector<double> Reals(const Tensor& tensor) {
  if (!tensor.quantization) return format::StoredValues(tensor);
  const Quantization& q = *tensor.quantization;
  const format::ParameterMap parameter(q, tensor.dims);
  std::vector<double> reals = format::StoredValues(tensor);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::int64_t at = parameter(static_cast<std::int64_t>(i));
    reals[i] = format::ScaleAt(q, at) * (reals[i] - format::OffsetAt(q, at)) +
               static_cast<double>(format::BaseAt(q, at));
  }
  return reals;
}

void AddExtremes(const std::vector<double>& reals, const Tensor& tensor, Value& value) {
  const Quantization none;
  const Quantization& q = value.type.quantization ? *value.type.quantization : none;
  const format::ParameterMap parameter(q, tensor.dims);
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, parameter.count()));
  value.lowest.assign(count, kInfinity);
  value.highest.assign(count, -kInfinity);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    if (!std::isfinite(reals[i])) continue;
    const auto at = static_cast<std::size_t>(parameter(static_cast<std::int64_t>(i)));
    value.lowest[at] = std::min(value.lowest[at], reals[i]);
    value.highest[at] = std::max(value.highest[at], reals[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {  // nothing finite there
    if (value.lowest[i] > value.highest[i]) value.lowest[i] = value.highest[i] = 0;
  }
}

std::optional<Histogram> Counted(const std::vector<double>& reals, double lower, double upper) {
  if (!(lower < upper)) return std::nullopt;
  Histogram histogram{.lower = lower, .upper = upper};
  histogram.counts.resize(kBins);
  const double bins_per_unit = static_cast<double>(kBins) / (upper - lower);
  if (!std::isfinite(bins_per_unit)) return std::nullopt;
  for (const double real : reals) {
    if (!std::isfinite(real)) continue;
    const auto bin = static_cast<std::size_t>(std::max(0.0, (real - lower) * bins_per_unit));
    ++histogram.counts[std::min(bin, kBins - 1)];
  }
  return histogram;
}

// If the scale was chosen from the extremes, one value lies at each end of the range; only further
// ones may be saturated. That of a bias follows from other scales.
double SaturatedShare(const Tensor& tensor) {
  const Quantization& q = *tensor.quantization;
  const format::IntegerRange range = format::StoredRange(tensor.elem_type, q);
  const format::ParameterMap parameter(q, tensor.dims);
  const std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  const bool first_counts = format::BitWidth(tensor.elem_type) == 32;
  std::vector<std::array<bool, 2>> met(static_cast<std::size_t>(parameter.count()),
                                       {first_counts, first_counts});
  std::size_t more = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] != range.min && stored[i] != range.max) continue;
    const auto at = static_cast<std::size_t>(parameter(static_cast<std::int64_t>(i)));
    bool& before = met[at][stored[i] == range.max ? 1 : 0];
    more += before ? 1 : 0;
    before = true;
  }
  return static_cast<double>(more) / static_cast<double>(stored.size());
}

// Extremes of each output channel of weights with one scale.
void AddChannels(const std::vector<double>& reals, const format::Dims& dims, std::int64_t axis,
                 Value& value) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t stride = format::RowMajorStrides(dims)[at];
  const auto channels = static_cast<std::size_t>(dims[at]);
  value.channel_lowest.assign(channels, kInfinity);
  value.channel_highest.assign(channels, -kInfinity);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::size_t channel = i / static_cast<std::size_t>(stride) % channels;
    value.channel_lowest[channel] = std::min(value.channel_lowest[channel], reals[i]);
    value.channel_highest[channel] = std::max(value.channel_highest[channel], reals[i]);
  }
}

// LoadInitializer requires a quantized ValueInfo; plain constants are decoded directly.
Result<Tensor> DataOf(const Model& model, const Value& value) {
  if (format::IsQuantized(value.type.elem_type)) return format::LoadInitializer(model, value.name);
  return format::Decode(*model.graph.FindInitializer(value.name), model.folder);
}

// `channels`: the axis of output channels, where the constant is weights.
Result<void> ExamineConstant(const Model& model, std::optional<std::int64_t> channels,
                             Value& value) {
  const ElementType type = value.type.elem_type;
  if (type != ElementType::kFloat && !format::IsQuantized(type)) return {};
  QTX_ASSIGN_OR_RETURN(const Tensor tensor, DataOf(model, value));
  const std::vector<double> reals = Reals(tensor);
  if (reals.empty()) return {};
  AddExtremes(reals, tensor, value);
  value.histogram = Counted(reals, std::ranges::min(value.lowest), std::ranges::max(value.highest));
  // 1-bit values are always at an end.
  if (format::IsQuantized(type) && format::IsIntegerStorage(type) && format::BitWidth(type) > 2)
    value.saturated = SaturatedShare(tensor);
  if (channels && value.range_lower.size() == 1) AddChannels(reals, tensor.dims, *channels, value);
  return {};
}

// Merges neighbouring bins until at most kBins are left.
Histogram Coarsened(Histogram histogram) {
  const std::size_t factor = (histogram.counts.size() + kBins - 1) / kBins;
  if (factor <= 1) return histogram;
  const double width =
      (histogram.upper - histogram.lower) / static_cast<double>(histogram.counts.size());
  std::vector<std::uint64_t> counts((histogram.counts.size() + factor - 1) / factor);
  for (std::size_t i = 0; i < histogram.counts.size(); ++i)
    counts[i / factor] += histogram.counts[i];
  histogram.upper = histogram.lower + width * static_cast<double>(factor * counts.size());
  histogram.counts = std::move(counts);
  return histogram;
}

// The share of a histogram's values in bins that lie wholly beyond the limits: a lower bound of
// saturation.
std::optional<double> ShareBeyond(const Histogram& h, double lower, double upper) {
  const double width = (h.upper - h.lower) / static_cast<double>(h.counts.size());
  double beyond = static_cast<double>(h.below) * (h.lower <= lower ? 1.0 : 0.0) +
                  static_cast<double>(h.above) * (upper <= h.upper ? 1.0 : 0.0);
  double total = static_cast<double>(h.below) + static_cast<double>(h.above);
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const double left = h.lower + width * static_cast<double>(i);
    const auto count = static_cast<double>(h.counts[i]);
    total += count;
    if (left + width <= lower || left >= upper) beyond += count;
  }
  return total == 0 ? std::nullopt : std::optional(beyond / total);
}

// What lies less than half an LSB beyond the range is rounded to its end.
std::array<double, 2> LimitsOf(const Value& value) {
  std::array<double, 2> limits = {kInfinity, -kInfinity};
  for (std::size_t i = 0; i < value.range_lower.size(); ++i) {
    const double half = format::ScaleAt(*value.type.quantization, static_cast<std::int64_t>(i)) / 2;
    limits[0] = std::min(limits[0], value.range_lower[i] - half);
    limits[1] = std::max(limits[1], value.range_upper[i] + half);
  }
  return limits;
}

void ExamineStatistics(Value& value) {
  if (!value.type.statistics) return;
  const format::Statistics& s = *value.type.statistics;
  if (s.min.size() == s.max.size()) {
    value.lowest = s.min;
    value.highest = s.max;
  }
  if (!s.histogram) return;
  if (!value.range_lower.empty()) {
    const auto [lower, upper] = LimitsOf(value);
    value.saturated = ShareBeyond(*s.histogram, lower, upper);
  }
  value.histogram = Coarsened(*s.histogram);
}

using ChannelAxis = std::map<std::string_view, std::int64_t>;  // by the name of the weights

// The axis of output channels of each constant that a product reads as its weights.
ChannelAxis ChannelAxes(const format::Graph& graph) {
  std::map<std::string_view, std::size_t> ranks;
  for (const format::TensorData& data : graph.initializers)
    ranks.emplace(data.name, data.dims.size());
  ChannelAxis axes;
  for (const format::Node& node : graph.nodes) {
    const auto is = [&node](std::string_view op_type) { return IsStock(node, op_type); };
    const bool product = is("Conv") || is("Gemm") || is("MatMul") ||
                         (is("ConvTranspose") && node.IntOr("group", 1) == 1);
    if (!product || node.inputs.size() < 2) continue;
    const auto weights = ranks.find(node.inputs[1]);
    if (weights == ranks.end() || weights->second < 2) continue;
    axes.emplace(node.inputs[1],
                 format::OutputAxis(node, static_cast<std::int64_t>(weights->second)));
  }
  return axes;
}

Result<Value> ExamineOne(const Model& model, const ChannelAxis& axes, const format::ValueInfo& info,
                         Value::Role role) {
  Value value{.name = info.name, .role = role, .type = *info.type};
  value.annotated = format::IsAnnotated(value.type);
  if (value.type.quantization) {
    QTX_ASSIGN_OR_RETURN(value.type.quantization, format::Resolve(model, value.type, info.name));
  }
  SetRange(value);
  if (role == Value::Role::kConstant) {
    const auto axis = axes.find(info.name);
    QTX_RETURN_IF_ERROR(ExamineConstant(
        model, axis == axes.end() ? std::nullopt : std::optional(axis->second), value));
  } else {
    ExamineStatistics(value);
  }
  return value;
}

}  // namespace

Result<std::vector<Value>> Examine(const Model& model) {
  std::set<std::string_view> constants;
  std::set<std::string> seen;  // some of an information that is made here
  for (const format::TensorData& data : model.graph.initializers) constants.insert(data.name);
  const ChannelAxis axes = ChannelAxes(model.graph);
  std::vector<Value> values;
  const auto add = [&](const format::ValueInfo& info, Value::Role role) -> Result<void> {
    if (!info.type || !seen.insert(info.name).second) return {};
    if (constants.contains(info.name)) role = Value::Role::kConstant;
    auto value = ExamineOne(model, axes, info, role);
    if (!value.has_value()) return At("value '" + info.name + "'", value.error());
    values.push_back(*std::move(value));
    return {};
  };
  for (const auto& info : model.graph.inputs) QTX_RETURN_IF_ERROR(add(info, Value::Role::kInput));
  for (const auto& info : model.graph.outputs) QTX_RETURN_IF_ERROR(add(info, Value::Role::kOutput));
  for (const auto& info : model.graph.values) QTX_RETURN_IF_ERROR(add(info, Value::Role::kInner));
  for (const format::TensorData& data : model.graph.initializers) {  // undeclared ones
    format::ValueInfo info;
    info.name = data.name;
    info.type.emplace();
    info.type->elem_type = data.data_type;
    info.type->shape = format::ToShape(data.dims);
    QTX_RETURN_IF_ERROR(add(info, Value::Role::kConstant));
  }
  return values;
}

}  // namespace qtx::inspect
