// A float model with statistics to the extended form: types chosen value by value, weights and
// biases stored as integers, Casts where FLOAT and quantized values meet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/quantize/parameters.h"
#include "qtx/quantize/range.h"

namespace qtx::quantize {

struct ActivationChoice {
  bool quantized = true;  // false: FLOAT
  TypeSpec type;
  bool operator==(const ActivationChoice&) const = default;
};
/// "int8", "uint16:symmetric", "int8:asymmetric_pow2:narrow", "float".
/// Errors: kInvalid, naming what is expected.
Result<ActivationChoice> ParseActivations(std::string_view text);

enum class Granularity { kPerTensor, kPerAxis, kBlocks };

struct WeightChoice {
  bool quantized = true;
  TypeSpec type = {format::ElementType::kInt8, format::Scheme::kSymmetric, true};
  Granularity granularity = Granularity::kPerAxis;  // axis: of the outputs
  std::int64_t block = 0;                           // elements along the reduced axis; kBlocks only
  bool operator==(const WeightChoice&) const = default;
};
/// "int8:symmetric:per-axis", "int4:block=32", "uint4:asymmetric:per-tensor", "float". A signed
/// storage is narrow (-127 to 127) unless ":full" says otherwise.
/// Errors: kInvalid, naming what is expected.
Result<WeightChoice> ParseWeights(std::string_view text);

/// How the values that one node produces, and its weights, are quantized.
struct Settings {
  ActivationChoice activations;
  WeightChoice weights;
  RangeMethods activation_range = {RangeMethod{}};
  RangeMethods weight_range = {RangeMethod{}};
};

/// Settings of some nodes: what is absent stays as it is for all.
struct Rule {
  std::string name = "*";     // glob over a node's name and the names of its outputs
  std::string op_type = "*";  // glob
  bool keep_float = false;
  std::optional<ActivationChoice> activations;
  std::optional<WeightChoice> weights;
  std::optional<RangeMethods> activation_range, weight_range;
  std::string place;  // "rules.yaml:12", for errors
};
/// `path` names the text in errors.  Source: tools/quantize/README.md, "Rules".
/// Errors: kInvalid naming file, line and what is expected.
Result<std::vector<Rule>> ParseRules(std::string_view text, const std::string& path);

/// The model with statistics measured anew, per axis 1 and with histograms.
using Measure = std::function<Result<format::Model>(const format::Model&)>;

struct Options {
  Settings settings;
  std::vector<Rule> rules;    // a later one wins
  bool quantized_io = false;  // graph inputs and outputs too; else Casts stand at the borders
  bool equalize = false;      // weights of neighbouring layers, channel by channel (equalize.cc)
  bool correct_bias = false;  // by the mean error of the weights (bias_correction.cc)
  Measure measure;            // asked where a value lacks what these two need; none: an error
};

/// What became of a field, as converters say it.
struct LedgerEntry {
  std::string value;  // of which value or node
  std::string field;
  enum class Fate { kKept, kChanged, kDropped } fate = Fate::kKept;
  std::string why;  // may be empty for kept
  bool operator==(const LedgerEntry&) const = default;
};

struct Quantized {
  format::Model model;
  std::vector<LedgerEntry> ledger;
  format::Model real;  // the float model behind it: folded, equalized, with the statistics used
  /// By the name of a quantized value or initializer: the FLOAT one of `real` that it stands for,
  /// and the ranges taken, one for each of its parameters (none: given by operator or scales).
  struct Source {
    std::string real;
    std::vector<ChosenRange> ranges;
  };
  std::map<std::string, Source> sources;
};

/// The model with every node that the table of operators.cc knows, and no rule keeps, over
/// quantized values. Statistics come from the values' own types and stay on them.
/// Errors: kInvalid naming the value that lacks statistics, the rule that matches nothing; what
/// ChooseParameters and RangeOf say; kUnsupported for nodes with subgraphs; those of `measure`.
Result<Quantized> Quantize(const format::Model& model, const Options& options);

}  // namespace qtx::quantize
