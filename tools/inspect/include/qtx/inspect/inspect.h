// Inspection of a model: its values, findings about what looks wrong, and an HTML page with both.
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

/// Something suspicious that breaks no rule of the spec.
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

/// A value of the graph, with the data to draw it.
struct Value {
  std::string name;
  enum class Role { kInput, kOutput, kInner, kConstant } role = Role::kInner;
  format::TensorType type;  // parameters inline; an annotated FLOAT value stays FLOAT
  bool annotated = false;   // FLOAT with a quantization annotation
  /// Real extremes for each parameter or for the tensor: of a constant's data, else of the
  /// statistics. Empty: unknown.
  std::vector<double> lowest, highest;
  /// The same for each output channel of weights that have one scale for all; else empty.
  std::vector<double> channel_lowest, channel_highest;
  /// The range of each parameter: scale * (quant_min - offset) and scale * (quant_max - offset).
  /// Empty unless the storage is an integer type.
  std::vector<double> range_lower, range_upper;
  /// Histogram of the real values, at most kBins bins.
  std::optional<format::Histogram> histogram;
  /// Share of values at an end of the stored range, for a quantized constant (the first one there
  /// not counted, but of INT32, whose scale is not chosen by it); else the share of the histogram
  /// that lies more than half an LSB beyond the range. nullopt: unknown.
  std::optional<double> saturated;
};

inline constexpr std::size_t kBins = 128;

/// The model with the nodes, values and constants of bodies in its own graph, each named by the
/// nodes that it is within: "if.then_branch/t". For the functions below, which look at one graph.
/// Errors: kInvalid for an initializer that is no TensorProto.
Result<format::Model> Listing(const format::Model& model);

/// The values of `listing`, which is Listing(model), whose type or shape the file leaves open and
/// inference knows, with what it knows.  Errors: those of Listing.
Result<std::vector<format::ValueInfo>> Inferred(const format::Model& model,
                                                const format::Model& listing);

/// A graph within a node, in the names and positions of the listing.
struct Body {
  std::string path;  // "if.then_branch/"
  std::size_t node = 0, begin = 0,
              end = 0;  // its nodes are [begin, end); those of bodies within too
  std::vector<std::string> outputs;
};
/// A body stands after the one that its node is in.
std::vector<Body> Bodies(const format::Model& model);

/// Every typed value: inputs, inner values, outputs, constants.
/// Errors: those of Decode for a constant that cannot be read.
Result<std::vector<Value>> Examine(const format::Model& model);

std::vector<Finding> Findings(const std::vector<Value>& values);

/// Numbers of values, by what the findings could be looked for in. A range is that of an integer
/// storage, data is a constant's or the statistics.
struct Judged {
  std::size_t range_and_data = 0, range_alone = 0, data_alone = 0, neither = 0;
  std::size_t saturation = 0;  // of range_and_data: those with a histogram or stored integers
};
/// `values` are those of the listing; a value without a type counts as neither.
Judged WhatWasJudged(const format::Model& listing, const std::vector<Value>& values);
/// "12 of 40 values by range and data (9 of them for saturation), 5 not at all, with neither".
std::string ToString(const Judged& judged);

/// A self-contained HTML page. `report` is the JSON of `qtx quantize --report`, or empty.
/// Errors: those of Listing and Examine.
Result<std::string> ToHtml(const format::Model& model, std::string_view title,
                           std::string_view report = "");

}  // namespace qtx::inspect
