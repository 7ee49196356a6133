// Findings: rules of thumb, with their thresholds in kKinds.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "qtx/format/annotation.h"
#include "qtx/inspect/inspect.h"

namespace qtx::inspect {
namespace {

using format::ElementType;

constexpr double kSaturated = 0.01;         // share of values
constexpr double kScaleRatio = 4;           // relative to what min and max need
constexpr double kUsed = 0.5;               // share of the stored range; less wastes a bit
constexpr double kOutlierRatio = 8;         // relative to the median channel: three bits
constexpr std::size_t kFewestChannels = 4;  // that are compared with each other
constexpr std::size_t kNamed = 6;           // channels that a message lists

constexpr std::array kKinds = {
    FindingKind{"not_finite", "NaN or infinities were seen"},
    FindingKind{"zero", "zero is not representable: the offset is outside quant_min to quant_max"},
    FindingKind{"scale",
                "the scale is more than 4 times, or less than a quarter of, what min and max need"},
    FindingKind{"saturates",
                "more than 1 % of the values are more than half an LSB beyond the range, or at its "
                "ends in a constant; any value at the ends of INT32 in a bias"},
    FindingKind{"unused_range", "min to max uses less than half of the stored range"},
    FindingKind{"outlier_channels",
                "channels reach more than 8 times as far as the median channel, with which they "
                "share a scale"},
    FindingKind{"empty_channels",
                "channels that are zero everywhere, but of weights with a scale for each channel"},
};

struct Reporter {
  const Value& value;
  std::vector<Finding>& findings;
  void Add(std::string_view kind, std::string message) {
    findings.push_back({value.name, kind, std::move(message)});
  }
};

// "3, 17, 40 and 12 more"
std::string Listed(const std::vector<std::size_t>& channels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(channels.size(), kNamed); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(channels[i]);
  if (channels.size() > kNamed) text += fmt::format(" and {} more", channels.size() - kNamed);
  return text;
}

std::string OfChannels(const std::vector<std::size_t>& channels, std::size_t all) {
  return fmt::format("{} of {} channels ({})", channels.size(), all, Listed(channels));
}

void CheckFinite(Reporter& reporter) {
  const auto& s = reporter.value.type.statistics;
  if (!s || (s->nan_count == 0 && s->infinity_count == 0)) return;
  reporter.Add("not_finite",
               fmt::format("{} NaN and {} infinities were seen beside {} finite values",
                           s->nan_count, s->infinity_count, s->count));
}

void CheckZero(Reporter& reporter) {
  const Value& value = reporter.value;
  for (std::size_t i = 0; i < value.range_lower.size(); ++i) {
    if (value.range_lower[i] <= 0 && value.range_upper[i] >= 0) continue;
    reporter.Add("zero", fmt::format("the range is {:.6g} to {:.6g}: zero is not representable",
                                     value.range_lower[i], value.range_upper[i]));
    return;
  }
}

// A parameter with its extremes, or those of the tensor.
struct Pair {
  double lowest, highest, lower, upper;
  double Ratio() const {  // scale / scale needed for zero, lowest and highest
    const double needed = std::max(highest, 0.0) - std::min(lowest, 0.0);
    return needed == 0 ? 1 : (upper - lower) / needed;
  }
  double Used() const {
    const double used =
        std::min(std::max(highest, 0.0), upper) - std::max(std::min(lowest, 0.0), lower);
    return used / (upper - lower);
  }
  // A symmetric range with weights of one sign is fine: one end must be reached.
  double Reached() const {
    return std::max(upper > 0 ? highest / upper : 0, lower < 0 ? lowest / lower : 0);
  }
};

std::vector<Pair> Pairs(const Value& value) {
  std::vector<Pair> pairs;
  const std::size_t n = value.range_lower.size();
  if (n == 0 || value.lowest.empty()) return pairs;
  if (value.lowest.size() == n && n > 1) {
    for (std::size_t i = 0; i < n; ++i)
      pairs.push_back(
          {value.lowest[i], value.highest[i], value.range_lower[i], value.range_upper[i]});
  } else {
    pairs.push_back({std::ranges::min(value.lowest), std::ranges::max(value.highest),
                     std::ranges::min(value.range_lower), std::ranges::max(value.range_upper)});
  }
  return pairs;
}

// Skips 32-bit constants: they are biases with the accumulator's scale.
bool IsBias(const Value& value) {
  return value.role == Value::Role::kConstant && format::BitWidth(value.type.elem_type) == 32;
}

void CheckScale(Reporter& reporter) {
  if (IsBias(reporter.value)) return;
  const std::vector<Pair> pairs = Pairs(reporter.value);
  const bool constant = reporter.value.role == Value::Role::kConstant;
  const auto used = [constant](const Pair& pair) {
    return constant ? pair.Reached() : pair.Used();
  };
  // CheckChannels tells of them.
  const auto is_empty = [&pairs](const Pair& pair) {
    return pairs.size() >= kFewestChannels && pair.lowest == 0 && pair.highest == 0;
  };
  std::vector<std::size_t> far, unused;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double ratio = pairs[i].Ratio();
    if (ratio > kScaleRatio || ratio < 1 / kScaleRatio)
      far.push_back(i);
    else if (used(pairs[i]) < kUsed && !is_empty(pairs[i]))
      unused.push_back(i);
  }
  if (!far.empty()) {
    const std::string ratio =
        fmt::format("{:.3g} times what min and max need", pairs[far[0]].Ratio());
    reporter.Add("scale", pairs.size() == 1 ? "the scale is " + ratio
                                            : OfChannels(far, pairs.size()) +
                                                  ": the first one's scale is " + ratio);
  }
  if (!unused.empty()) {
    const std::string share =
        fmt::format("{:.0f} % of the stored range", 100 * used(pairs[unused[0]]));
    reporter.Add("unused_range", pairs.size() == 1 ? "the values use " + share
                                                   : OfChannels(unused, pairs.size()) +
                                                         ": the first one uses " + share);
  }
}

void CheckSaturation(Reporter& reporter) {
  const Value& value = reporter.value;
  if (!value.saturated || value.range_lower.empty()) return;
  if (*value.saturated <= (IsBias(value) ? 0 : kSaturated)) return;
  const bool constant = value.role == Value::Role::kConstant;
  reporter.Add("saturates",
               fmt::format("{:.1f} % of the values are {}", 100 * *value.saturated,
                           constant ? "at the ends of the stored range" : "beyond the range"));
}

void CheckChannels(Reporter& reporter) {
  const Value& value = reporter.value;
  const bool shared = value.range_lower.size() <= 1;  // or none yet
  const bool constant = value.role == Value::Role::kConstant;
  if (IsBias(value) || (constant && !shared)) return;
  const auto& lowest = value.channel_lowest.empty() ? value.lowest : value.channel_lowest;
  const auto& highest = value.channel_highest.empty() ? value.highest : value.channel_highest;
  if (lowest.size() < kFewestChannels) return;
  std::vector<double> reach;
  std::vector<std::size_t> empty, outliers;
  for (std::size_t i = 0; i < lowest.size(); ++i) {
    const double far = std::max(std::abs(lowest[i]), std::abs(highest[i]));
    if (far == 0) empty.push_back(i);
    reach.push_back(far);
  }
  std::vector<double> sorted = reach;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  const double median = sorted[sorted.size() / 2];
  for (std::size_t i = 0; i < reach.size(); ++i) {
    if (shared && median > 0 && reach[i] > kOutlierRatio * median) outliers.push_back(i);
  }
  if (!outliers.empty()) {
    reporter.Add("outlier_channels",
                 OfChannels(outliers, reach.size()) +
                     fmt::format(": the first reaches {:.3g} times as far as the median",
                                 reach[outliers[0]] / median));
  }
  if (!empty.empty())
    reporter.Add("empty_channels", OfChannels(empty, reach.size()) + " are zero everywhere");
}

}  // namespace

std::span<const FindingKind> FindingKinds() { return kKinds; }

std::vector<Finding> Findings(const std::vector<Value>& values) {
  std::vector<Finding> findings;
  for (const Value& value : values) {
    Reporter reporter{value, findings};
    CheckFinite(reporter);
    CheckZero(reporter);
    CheckScale(reporter);
    CheckSaturation(reporter);
    CheckChannels(reporter);
  }
  return findings;
}

namespace {

std::unordered_set<std::string_view> NamesOf(const format::Model& listing) {
  std::unordered_set<std::string_view> names;
  for (const auto* list : {&listing.graph.inputs, &listing.graph.values, &listing.graph.outputs}) {
    for (const format::ValueInfo& value : *list) names.insert(value.name);
  }
  for (const format::TensorData& data : listing.graph.initializers) names.insert(data.name);
  for (const format::Node& node : listing.graph.nodes) {
    for (const std::string& output : node.outputs) names.insert(output);
  }
  names.erase("");  // an output that a node does not give
  return names;
}

}  // namespace

Judged WhatWasJudged(const format::Model& listing, const std::vector<Value>& values) {
  std::unordered_set<std::string_view> names = NamesOf(listing);
  Judged judged;
  for (const Value& value : values) {
    if (names.erase(value.name) == 0) continue;
    const bool range = !value.range_lower.empty();
    const bool data = !value.lowest.empty() || value.type.statistics;
    ++(range  ? data ? judged.range_and_data : judged.range_alone
       : data ? judged.data_alone
              : judged.neither);
    if (range && data && value.saturated) ++judged.saturation;
  }
  judged.neither += names.size();
  return judged;
}

std::string ToString(const Judged& judged) {
  const std::size_t all =
      judged.range_and_data + judged.range_alone + judged.data_alone + judged.neither;
  std::string text = fmt::format("{} of {} values by range and data", judged.range_and_data, all);
  if (judged.range_and_data > judged.saturation)
    text += fmt::format(" ({} of them for saturation)", judged.saturation);
  const auto add = [&text](std::size_t count, std::string_view how) {
    if (count > 0) text += fmt::format(", {} {}", count, how);
  };
  add(judged.range_alone, "by range alone, without statistics");
  add(judged.data_alone, "by data alone, without an integer range");
  add(judged.neither, "not at all, with neither");
  return text;
}

}  // namespace qtx::inspect
