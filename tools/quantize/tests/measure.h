// Statistics of a float model's values over some inputs, by the reference: for tests of what is
// made of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/scopes.h"
#include "qtx/format/tensor.h"
#include "qtx/reference/interpreter.h"

namespace qtx::quantize {

using Values = std::map<std::string, std::vector<float>>;

/// Every FLOAT value of the model over all samples, each a tensor for the only input.
inline Result<Values> ValuesOf(const format::Model& model,
                               std::span<const format::Tensor> samples) {
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(model, "float32"));
  Values values;
  const auto add = [&values](const std::string& name, const format::Tensor& tensor) {
    if (tensor.elem_type != format::ElementType::kFloat) return;
    const auto more = tensor.As<float>();
    values[name].insert(values[name].end(), more.begin(), more.end());
  };
  interpreter.set_observer(add);
  for (const format::Tensor& sample : samples) {
    add(model.graph.inputs[0].name, sample);
    QTX_RETURN_IF_ERROR(interpreter.Run(std::span(&sample, 1)));
  }
  return values;
}

inline format::Statistics StatisticsOf(std::span<const float> values, std::size_t bins) {
  format::Statistics statistics;
  const auto [low, high] = std::ranges::minmax(values);
  double sum = 0, squares = 0;
  for (const float x : values) sum += static_cast<double>(x);
  const double mean = sum / static_cast<double>(values.size());
  for (const float x : values) squares += std::pow(static_cast<double>(x) - mean, 2);
  statistics.min = {static_cast<double>(low)};
  statistics.max = {static_cast<double>(high)};
  statistics.mean = {std::clamp(mean, static_cast<double>(low), static_cast<double>(high))};
  statistics.std = {std::sqrt(squares / static_cast<double>(values.size()))};
  statistics.count = values.size();
  if (low == high || bins == 0) return statistics;
  format::Histogram histogram{static_cast<double>(low), static_cast<double>(high),
                              std::vector<std::uint64_t>(bins)};
  for (const float x : values) {
    const double place = (static_cast<double>(x) - histogram.lower) /
                         (histogram.upper - histogram.lower) * static_cast<double>(bins);
    ++histogram.counts[std::min(bins - 1, static_cast<std::size_t>(place))];
  }
  statistics.histogram = std::move(histogram);
  return statistics;
}

/// The model with statistics on every FLOAT value it computes, which are all declared.
inline Result<format::Model> Measured(const format::Model& real,
                                      std::span<const format::Tensor> samples,
                                      std::size_t bins = 2048) {
  QTX_ASSIGN_OR_RETURN(Values values, ValuesOf(real, samples));
  const format::FlatModel flat(real);
  format::Model model = flat.model();
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& info : *list) {
      const auto at = values.find(info.name);
      if (at == values.end() || !info.type) continue;
      info.type->statistics = StatisticsOf(at->second, bins);
      values.erase(at);
    }
  }
  for (const auto& [name, numbers] : values) {
    format::TensorType type{format::ElementType::kFloat};
    type.statistics = StatisticsOf(numbers, bins);
    model.graph.values.push_back({.name = name, .type = std::move(type)});
  }
  return flat.Nest(std::move(model));
}

}  // namespace qtx::quantize
