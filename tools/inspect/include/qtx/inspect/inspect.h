// What a model says of its values, what looks wrong in it, and both as a page to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::inspect {

/// Something that looks wrong: no rule is broken, but somebody should look.
struct Finding {
  std::string value;
  std::string_view kind;  // a name of FindingKinds()
  std::string message;    // "the scale is 9.0 times what min and max need"
};

struct FindingKind {
  std::string_view name;
  std::string_view what;  // the rule, with its threshold
};
std::span<const FindingKind> FindingKinds();

/// A value of the graph, with what it takes to draw it.
struct Value {
  std::string name;
  enum class Role { kInput, kOutput, kInner, kConstant } role = Role::kInner;
  format::TensorType type;  // parameters inline; an annotated FLOAT value stays FLOAT
  bool annotated = false;   // FLOAT, meant to be quantized so
  /// Real extremes of each parameter, or one pair for the tensor: of the data of a constant, else
  /// of the statistics. Empty: unknown.
  std::vector<double> lowest, highest;
  /// What each parameter can hold: scale * (quant_min - offset), scale * (quant_max - offset).
  /// Empty where the storage has no integers.
  std::vector<double> range_lower, range_upper;
  /// Of the real values, at most kBins of them.
  std::optional<format::Histogram> histogram;
  /// Share of a quantized constant's values at an end of the stored range beside the first there;
  /// of others, what a histogram shows beyond it. nullopt: unknown.
  std::optional<double> saturated;
};

inline constexpr std::size_t kBins = 128;

/// Every typed value: inputs, inner values, outputs, constants. Weights are decoded one at a time.
/// Errors: those of Decode for a constant that cannot be read.
Result<std::vector<Value>> Examine(const format::Model& model);

std::vector<Finding> Findings(const std::vector<Value>& values);

/// One page that needs nothing else. `report` is the JSON of `qtx quantize --report`, or empty.
/// Errors: those of Examine.
Result<std::string> ToHtml(const format::Model& model, std::string_view title,
                           std::string_view report = "");

}  // namespace qtx::inspect
