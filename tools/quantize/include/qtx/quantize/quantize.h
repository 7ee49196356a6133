// Post-training quantization: converts a float model with statistics to the extended form. Chooses
// a type for each value, stores weights and biases as integers, and inserts Casts between FLOAT and
// quantized values.
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
/// Errors: kInvalid, with the expected forms.
Result<ActivationChoice> ParseActivations(std::string_view text);

enum class Granularity { kPerTensor, kPerAxis, kBlocks };

/// How a scale of weights is stored: in binary32, as OCP MX does, or as a FLOAT8E4M3FN for each
/// block and a FLOAT for all.
enum class ScaleType { kFloat, kFloat8E8M0, kNvfp4 };

struct WeightChoice {
  bool quantized = true;
  TypeSpec type = {format::ElementType::kInt8, format::Scheme::kSymmetric, true};
  Granularity granularity = Granularity::kPerAxis;  // axis: of the outputs
  std::int64_t block = 0;  // block size along the reduced axis; kBlocks only
  ScaleType scale_type = ScaleType::kFloat;
  bool operator==(const WeightChoice&) const = default;
};
/// "int8:symmetric:per-axis", "int4:block=32", "uint4:asymmetric:per-tensor", "float". A signed
/// storage is narrow (-127 to 127) unless ":full" says otherwise. "float8e4m3fn:block=128": small
/// floats, symmetric; "mxfp4", "mxfp8e4m3", "mxfp8e5m2": the formats of OCP MX, in blocks of 32;
/// "nvfp4": float4e2m1 in blocks of 16.
/// Errors: kInvalid, naming what is expected.
Result<WeightChoice> ParseWeights(std::string_view text);

/// How a node's outputs and weights are quantized.
struct Settings {
  ActivationChoice activations;
  WeightChoice weights;
  RangeMethods activation_range = {RangeMethod{}};
  RangeMethods weight_range = {RangeMethod{}};
};

/// Settings for some nodes; absent ones keep the general setting.
struct Rule {
  std::string name = "*";          // glob on the node's name and its outputs' names
  std::string op_type = "*";       // glob
  std::optional<bool> keep_float;  // false: also quantizes values that integers would ruin
  std::optional<ActivationChoice> activations;
  std::optional<WeightChoice> weights;
  std::optional<RangeMethods> activation_range, weight_range;
  std::string place;  // "rules.yaml:12", for errors
};
/// `path` names the text in errors.  Source: tools/quantize/README.md, "Rules".
/// Errors: kInvalid with file, line and what is expected.
Result<std::vector<Rule>> ParseRules(std::string_view text, const std::string& path);

/// Measures the statistics of a model again, per axis 1 and with histograms.
using Measure = std::function<Result<format::Model>(const format::Model&)>;

/// Sums X^T X of the rows X of a product, over samples: the upper triangle, row-major, in any unit;
/// of a Conv one for each group.
struct Gram {
  std::int64_t size = 0;  // columns of X
  std::vector<double> sums;
  /// X^T Y in full, row-major, likewise: X are the rows of the network that is being quantized, Y
  /// those of the real one. Empty: X = Y.
  std::vector<double> cross = {};

  std::int64_t Groups() const { return size < 1 ? 0 : std::ssize(sums) / (size * (size + 1) / 2); }
};

/// Sums for a node of the float model `real`, whose constant weights are in MatMul, Gemm or Conv;
/// `changed` is the same model with the reals of what is stored so far.
using MeasureSums = std::function<Result<Gram>(
    const format::Model& real, const format::Model& changed, const format::Node& node)>;

/// How weights are rounded for which there are sums.
enum class Rounding {
  kNearest,
  kGptq,     // gptq.h
  kDescent,  // coordinate descent, which goes on from there (descent.h)
};

/// Whether weights get AWQ's factors (awq.h), and what becomes of values that constants before them
/// cannot divide.
enum class Awq { kNone, kFold, kMultiply };

struct Options {
  Settings settings;
  /// By these the integer weights of MatMul, Gemm and Conv are rounded; the ledger names those
  /// without sums, which are rounded to nearest.
  Rounding rounding = Rounding::kNearest;
  Awq awq = Awq::kNone;  // needs sums, too
  /// By the name of graph::RowsOf in the model's flat form.
  std::map<std::string, Gram> grams;
  /// In the place of `grams`: called for one node after the other, so that each makes up for the
  /// errors of those before.
  MeasureSums measure_sums;
  bool act_order = false;     // GPTQ rounds the rows of large inputs first
  std::vector<Rule> rules;    // later rules override earlier ones
  bool quantized_io = false;  // quantize graph inputs and outputs too; else Casts convert them
  bool equalize = false;      // cross-layer equalization (equalize.cc)
  bool correct_bias = false;  // bias correction (bias_correction.cc)
  Measure measure;  // called if a value lacks statistics that these two need; empty: an error
};

/// What became of a field (as in convert.h).
struct LedgerEntry {
  std::string value;  // name of a value or node
  std::string field;
  enum class Fate { kKept, kChanged, kDropped } fate = Fate::kKept;
  std::string why;  // may be empty for kept
  bool operator==(const LedgerEntry&) const = default;
};

struct Quantized {
  format::Model model;
  std::vector<LedgerEntry> ledger;
  format::Model real;  // the float model after folding and equalizing, with the statistics used
  /// For each quantized value or initializer of the model's graph, without those of bodies, by
  /// name: the corresponding FLOAT value of `real`, and the chosen range of each parameter (none if
  /// the operator or other scales determine it).
  struct Source {
    std::string real;
    std::vector<ChosenRange> ranges;
  };
  std::map<std::string, Source> sources;
};

/// Quantizes every node that operators.cc lists, those of bodies too, unless a rule keeps it float.
/// FLOAT16 and BFLOAT16 become FLOAT before (graph::WidenHalves).
/// Statistics are read from the values' types and kept there.
/// Errors: kInvalid for a value without statistics or a rule that matches nothing (named); those of
/// ChooseParameters, RangeOf and `measure`.
Result<Quantized> Quantize(const format::Model& model, const Options& options);

}  // namespace qtx::quantize
