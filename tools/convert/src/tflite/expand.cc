#include "tflite/expand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "onnx/graph_index.h"
#include "tflite/expander.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Node;
using Values = Expander::Values;

// (x - mean) / sqrt(variance + epsilon) over `axes`; `centered`: else the mean is taken as 0.
std::string Normalized(Expander& e, const std::string& x, const std::vector<std::int64_t>& axes,
                       bool centered) {
  const std::string over = e.Integers(axes);
  const std::string d = centered ? e.Op("Sub", {x, e.Op("ReduceMean", {x, over})}) : x;
  const std::string variance = e.Op("ReduceMean", {e.Op("Mul", {d, d}), over});
  const double epsilon = static_cast<double>(e.attributes().Float("epsilon"));
  const std::string shifted = e.Op("Add", {variance, e.Number(epsilon)});
  return e.Op("Mul", {d, e.Op("Pow", {shifted, e.Number(-0.5)})});
}

std::vector<std::int64_t> AxesFrom(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (auto axis = first; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

// y = normalized * scale + bias, the constants of shape `dims`; `bias` may be "".
bool ScaleAndShift(Expander& e, const std::string& scale, const std::string& bias,
                   const std::optional<Dims>& dims,
                   const std::function<std::string()>& normalized) {
  const auto factors = e.Constant(scale), terms = e.Constant(bias);
  const auto scale_dims = e.DimsOf(scale), bias_dims = e.DimsOf(bias);
  if (!factors || !scale_dims || (!bias.empty() && (!terms || !bias_dims))) return false;
  const std::string x = normalized();
  const Values product = {x, e.Floats(*factors, dims.value_or(*scale_dims))};
  if (bias.empty()) {
    e.Last("Mul", product);
  } else {
    e.Last("Add", {e.Op("Mul", product), e.Floats(*terms, dims.value_or(*bias_dims))});
  }
  return true;
}

// Source: ONNX, LayerNormalization and RMSNormalization.
bool ExpandLayerNormalization(Expander& e) {
  const auto dims = e.DimsOf(e.Input(0));
  if (!dims) return false;
  const auto axis =
      format::NormalizeAxis(e.attributes().Int("axis"), static_cast<std::int64_t>(dims->size()));
  if (!axis.has_value()) return false;
  const bool centered = e.node().op_type == "LayerNormalization";
  return ScaleAndShift(e, e.Input(1), e.Input(2), std::nullopt, [&] {
    return Normalized(e, e.Real(e.Input(0)), AxesFrom(*axis, dims->size()), centered);
  });
}

// Source: ONNX, InstanceNormalization: the mean of each channel of each image.
bool ExpandInstanceNormalization(Expander& e) {
  const auto dims = e.DimsOf(e.Input(0));
  if (!dims || dims->size() < 3) return false;
  Dims channels(dims->size() - 1, 1);
  channels[0] = (*dims)[1];
  return ScaleAndShift(e, e.Input(1), e.Input(2), channels, [&] {
    return Normalized(e, e.Real(e.Input(0)), AxesFrom(2, dims->size()), true);
  });
}

// Source: ONNX, GroupNormalization of opset 21, with a scale for each channel.
bool ExpandGroupNormalization(Expander& e) {
  const auto dims = e.DimsOf(e.Input(0));
  const auto scales = e.DimsOf(e.Input(1));
  const std::int64_t groups = e.attributes().Int("num_groups");
  if (!dims || dims->size() < 3 || scales != Dims{(*dims)[1]} || groups < 1) return false;
  const auto count = format::ElementCount(*dims);
  if (!count.has_value() || (*dims)[1] % groups != 0 || *count == 0) return false;
  Dims channels(dims->size() - 1, 1);
  channels[0] = (*dims)[1];
  return ScaleAndShift(e, e.Input(1), e.Input(2), channels, [&] {
    const Dims grouped = {(*dims)[0], groups, *count / (*dims)[0] / groups};
    const std::string x = e.Op("Reshape", {e.Real(e.Input(0)), e.Integers(grouped)});
    return e.Op("Reshape", {Normalized(e, x, {2}, true), e.Integers(*dims)});
  });
}

// Source: ONNX, BatchNormalization: x * f + (bias - mean * f), f = scale / sqrt(variance +
// epsilon).
bool ExpandBatchNormalization(Expander& e) {
  const auto dims = e.DimsOf(e.Input(0));
  std::array<std::vector<double>, 4> given;
  for (std::size_t i = 0; i < 4; ++i) {
    auto values = e.Constant(e.Input(i + 1));
    if (!values) return false;
    given[i] = *std::move(values);
  }
  if (!dims || dims->size() < 2 || e.attributes().Int("training_mode") != 0) return false;
  const auto& [scale, bias, mean, variance] = given;
  const auto channels = static_cast<std::size_t>((*dims)[1]);
  for (const auto& values : given) {
    if (values.size() != channels) return false;
  }
  const double epsilon = static_cast<double>(e.attributes().Float("epsilon"));
  std::vector<double> factors, terms;
  for (std::size_t c = 0; c < channels; ++c) {
    factors.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    terms.push_back(bias[c] - mean[c] * factors[c]);
  }
  Dims shape(dims->size() - 1, 1);
  shape[0] = (*dims)[1];
  const std::string product = e.Op("Mul", {e.Real(e.Input(0)), e.Floats(factors, shape)});
  e.Last("Add", {product, e.Floats(terms, shape)});
  return true;
}

std::string Bounded(Expander& e, const std::string& x, double low, double high) {
  return e.Op("Min", {e.Op("Max", {x, e.Number(low)}), e.Number(high)});
}

bool ExpandReciprocal(Expander& e) {
  e.Last("Div", {e.Number(1), e.Real(e.Input(0))});
  return true;
}

bool ExpandHardSigmoid(Expander& e) {
  const double alpha = static_cast<double>(e.attributes().Float("alpha"));
  const double beta = static_cast<double>(e.attributes().Float("beta"));
  const std::string product = e.Op("Mul", {e.Real(e.Input(0)), e.Number(alpha)});
  const std::string line = e.Op("Add", {product, e.Number(beta)});
  e.Last("Min", {e.Op("Max", {line, e.Number(0)}), e.Number(1)});
  return true;
}

// Along the only axis of more than one element, as BERT looks up the types of its tokens: a Gather.
bool ExpandGatherElements(Expander& e) {
  const auto x = e.DimsOf(e.Input(0)), indices = e.DimsOf(e.Input(1));
  if (!x || !indices || x->empty()) return false;
  const auto axis =
      format::NormalizeAxis(e.attributes().Int("axis"), static_cast<std::int64_t>(x->size()));
  if (!axis.has_value()) return false;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const bool along = static_cast<std::int64_t>(i) == *axis;
    if (!along && ((*x)[i] != 1 || (*indices)[i] != 1)) return false;
  }
  const auto at = static_cast<std::size_t>(*axis);
  const Values operands = {e.Reshaped(e.Input(0), {(*x)[at]}, e.Input(0)),
                           e.Op("Reshape", {e.Input(1), e.Integers({(*indices)[at]})})};
  e.Last("Reshape", {e.Op("Gather", operands), e.Integers(*indices)});
  return true;
}

// round(x / scale) + zero, clamped to the range of `type`, as FLOAT.
std::string Stored(Expander& e, const std::string& x, const std::string& scale,
                   const std::string& zero, ElementType type) {
  const format::IntegerRange range = format::StorageRange(type);
  std::string sum = e.Op("Round", {e.Op("Div", {x, scale})});
  if (!zero.empty()) sum = e.Op("Add", {sum, zero});
  return Bounded(e, sum, static_cast<double>(range.min), static_cast<double>(range.max));
}

std::string AsFloat(Expander& e, const std::string& integers) {
  return e.Op("Cast", {integers},
              {Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))});
}

void LastAs(Expander& e, const std::string& x, ElementType type, std::size_t output = 0) {
  e.Last("Cast", {x}, {Attribute::Int("to", static_cast<std::int64_t>(type))}, output);
}

// Of plain integers, with one scale. Source: dequantize_linear.S1.
bool ExpandDequantizeLinear(Expander& e) {
  const auto scale = e.Constant(e.Input(1));
  if (!scale || scale->size() != 1) return false;
  std::string difference = AsFloat(e, e.Input(0));
  if (!e.Input(2).empty()) difference = e.Op("Sub", {difference, AsFloat(e, e.Input(2))});
  e.Last("Mul", {difference, e.Number((*scale)[0])});
  return true;
}

// To plain integers, with one scale. Source: quantize_linear.S1.
bool ExpandQuantizeLinear(Expander& e) {
  const auto scale = e.Constant(e.Input(1));
  const auto type = e.ElementTypeOf(e.node().outputs[0]);
  const bool bytes = type == ElementType::kInt8 || type == ElementType::kUint8;
  if (!scale || scale->size() != 1 || !bytes) return false;
  const std::string zero = e.Input(2).empty() ? "" : AsFloat(e, e.Input(2));
  LastAs(e, Stored(e, e.Real(e.Input(0)), e.Number((*scale)[0]), zero, type), type);
  return true;
}

// Source: dynamic_quantize_linear.S1.
bool ExpandDynamicQuantizeLinear(Expander& e) {
  if (e.node().outputs.size() != 3) return false;
  const std::string x = e.Real(e.Input(0)), nothing = e.Number(0);
  const Attribute drop = Attribute::Int("keepdims", 0);
  const std::string least = e.Op("Min", {e.Op("ReduceMin", {x}, {drop}), nothing});
  const std::string most = e.Op("Max", {e.Op("ReduceMax", {x}, {drop}), nothing});
  const std::string scale = e.Op("Div", {e.Op("Sub", {most, least}), e.Number(255)});
  const std::string zero = Stored(e, e.Op("Neg", {least}), scale, "", ElementType::kUint8);
  LastAs(e, Stored(e, x, scale, zero, ElementType::kUint8), ElementType::kUint8);
  e.Last("Identity", {scale}, {}, 1);
  LastAs(e, zero, ElementType::kUint8, 2);
  return true;
}

// Products of integers as FLOAT, whose sums binary32 holds up to 2^24, and rounds beyond: of what
// DynamicQuantizeLinear gives, and constant weights.  Source: mat_mul_integer.S1, conv_integer.S1.
bool ExpandIntegerProduct(Expander& e) {
  const auto weights = e.ConstantIntegers(e.Input(1));
  const auto dims = e.DimsOf(e.Input(1));
  if (!weights || !dims || dims->size() < 2) return false;
  std::vector<double> shifted(weights->begin(), weights->end());
  if (!e.Input(3).empty()) {
    const auto zero = e.ConstantIntegers(e.Input(3));
    if (!zero || zero->size() != 1) return false;
    for (double& value : shifted) value -= static_cast<double>((*zero)[0]);
  }
  const auto zero_dims = e.DimsOf(e.Input(2));
  if (!e.Input(2).empty() && (!zero_dims || format::ElementCount(*zero_dims) != 1)) return false;
  std::string x = AsFloat(e, e.Input(0));
  if (zero_dims) x = e.Op("Sub", {x, AsFloat(e, e.Input(2))});
  const char* op_type = e.node().op_type == "ConvInteger" ? "Conv" : "MatMul";
  LastAs(e, e.Op(op_type, {x, e.Floats(shifted, *dims)}, e.node().attributes), ElementType::kInt32);
  return true;
}

// Bounds that no activation of TFLite has.
bool ExpandClip(Expander& e) {
  std::array<std::optional<double>, 2> bounds;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string bound = e.Input(i + 1);
    if (bound.empty()) continue;
    const auto values = e.Constant(bound);
    if (!values || values->size() != 1 || std::isnan((*values)[0])) return false;
    bounds[i] = (*values)[0];
  }
  if (bounds == std::array<std::optional<double>, 2>{0.0, 6.0} ||
      bounds == std::array<std::optional<double>, 2>{-1.0, 1.0} || (!bounds[0] && !bounds[1]))
    return false;
  const std::string x = e.Real(e.Input(0));
  if (bounds[0] && bounds[1]) {
    e.Last("Min", {e.Op("Max", {x, e.Number(*bounds[0])}), e.Number(*bounds[1])});
  } else {
    e.Last(bounds[0] ? "Max" : "Min", {x, e.Number(bounds[0] ? *bounds[0] : *bounds[1])});
  }
  return true;
}

// ln(1 + exp(x)), without an exponential that overflows.
std::string SoftplusOf(Expander& e, const std::string& x) {
  const std::string power = e.Op("Exp", {e.Op("Neg", {e.Op("Abs", {x})})});
  return e.Op("Add", {e.Op("Relu", {x}), e.Op("Log", {e.Op("Add", {power, e.Number(1)})})});
}

bool ExpandSoftplus(Expander& e) {
  e.Last("Identity", {SoftplusOf(e, e.Real(e.Input(0)))});
  return true;
}

bool ExpandMish(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  e.Last("Mul", {x, e.Op("Tanh", {SoftplusOf(e, x)})});
  return true;
}

bool ExpandSwish(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  const double alpha = static_cast<double>(e.attributes().Float("alpha"));
  e.Last("Mul", {x, e.Op("Sigmoid", {e.Op("Mul", {x, e.Number(alpha)})})});
  return true;
}

bool ExpandSoftsign(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  e.Last("Div", {x, e.Op("Add", {e.Op("Abs", {x}), e.Number(1)})});
  return true;
}

// TFLite's ELU is that with alpha = 1: exp(x) - 1 below 0.
std::string ExponentialBelow(Expander& e, const std::string& x, double factor) {
  return e.Op("Mul", {e.Op("Elu", {e.Op("Min", {x, e.Number(0)})}), e.Number(factor)});
}

bool ExpandElu(Expander& e) {
  const double alpha = static_cast<double>(e.attributes().Float("alpha"));
  if (alpha == 1) return false;
  const std::string x = e.Real(e.Input(0));
  e.Last("Add", {e.Op("Relu", {x}), ExponentialBelow(e, x, alpha)});
  return true;
}

bool ExpandSelu(Expander& e) {
  const double alpha = static_cast<double>(e.attributes().Float("alpha"));
  const double gamma = static_cast<double>(e.attributes().Float("gamma"));
  const std::string x = e.Real(e.Input(0));
  const std::string above = e.Op("Mul", {e.Op("Relu", {x}), e.Number(gamma)});
  e.Last("Add", {above, ExponentialBelow(e, x, gamma * alpha)});
  return true;
}

bool ExpandCelu(Expander& e) {
  const double alpha = static_cast<double>(e.attributes().Float("alpha"));
  if (!(alpha > 0)) return false;
  const std::string x = e.Real(e.Input(0));
  const std::string part = e.Op("Mul", {x, e.Number(1 / alpha)});
  e.Last("Add", {e.Op("Relu", {x}), ExponentialBelow(e, part, alpha)});
  return true;
}

// gelu(z) = z / 2 (1 + erf(z / sqrt 2)), so that erf(x) = 2 gelu(z) / z - 1 with z = x sqrt 2; for
// |x| >= 4 binary32 has 1. Near 0, where it cancels, it is 2^-23 off at most, and 0 at 0.
// Source: ONNX, Gelu.
bool ExpandErf(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  const std::string z = e.Op("Mul", {Bounded(e, x, -4, 4), e.Number(std::sqrt(2.0))});
  const std::string is_zero = e.Op("Equal", {x, e.Number(0)});
  const std::string divisor = e.Op("Where", {is_zero, e.Number(1), z});
  const std::string ratio = e.Op("Div", {e.Op("Gelu", {z}), divisor});
  const std::string erf = e.Op("Sub", {e.Op("Mul", {ratio, e.Number(2)}), e.Number(1)});
  e.Last("Where", {is_zero, e.Number(0), erf});
  return true;
}

// NaN alone differs from itself.
bool ExpandIsNan(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  e.Last("Not", {e.Op("Equal", {x, x})});
  return true;
}

bool ExpandReduceL2(Expander& e) {
  const std::string x = e.Real(e.Input(0));
  Values inputs = e.node().inputs;
  inputs[0] = e.Op("Mul", {x, x});
  if (e.node().op_type == "ReduceSumSquare") {
    e.Last("ReduceSum", inputs, e.node().attributes);
  } else {
    e.Last("Sqrt", {e.Op("ReduceSum", inputs, e.node().attributes)});
  }
  return true;
}

// The attribute's list for one axis as that for two, of which the first is 1 long.
void AddAxis(Node& node, std::string_view name, std::int64_t of_new) {
  for (Attribute& attribute : node.attributes) {
    if (attribute.name != name) continue;
    const auto half = static_cast<std::ptrdiff_t>(attribute.ints.size() / 2);
    if (name == "pads") attribute.ints.insert(attribute.ints.begin() + half, of_new);
    attribute.ints.insert(attribute.ints.begin(), of_new);
  }
}

// A window along one axis is one of height 1. TFLite has those along two.
bool ExpandToTwoAxes(Expander& e) {
  const auto x = e.DimsOf(e.Input(0)), y = e.DimsOf(e.node().outputs[0]);
  if (!x || !y || x->size() != 3 || y->size() != 3) return false;
  Node wide = e.node();
  AddAxis(wide, "kernel_shape", 1);
  AddAxis(wide, "strides", 1);
  AddAxis(wide, "dilations", 1);
  AddAxis(wide, "pads", 0);
  const auto flat = [](const Dims& dims) { return Dims{dims[0], dims[1], 1, dims[2]}; };
  if (wide.op_type == "Conv") {
    const auto dims = e.DimsOf(e.Input(1));
    if (!dims || dims->size() != 3 || e.view().FindInitializer(e.Input(1)) == nullptr) return false;
    auto w = format::LoadInitializer(e.view(), e.Input(1));
    const bool per_channel = w.has_value() && (!w->quantization || w->quantization->axis.empty() ||
                                               w->quantization->axis == Dims{0});
    if (!per_channel) return false;
    w->dims = flat(*dims);
    wide.inputs[1] = e.builder().AddConstant(e.Input(1) + "/wide", *w);
  }
  wide.inputs[0] = e.Reshaped(e.Input(0), flat(*x), e.Input(0));
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  if (const format::TensorType* declared = e.TypeOf(e.node().outputs[0])) type = *declared;
  type.shape = format::ToShape(flat(*y));
  type.statistics.reset();
  wide.outputs[0] = e.builder().Inner(e.node().outputs[0] + "/wide", type);
  e.builder().graph().nodes.push_back(wide);
  e.Last("Reshape", {wide.outputs[0], e.Integers(*y)});
  return true;
}

// TFLite's pools are of rank 4.
bool ExpandGlobalAveragePool(Expander& e) {
  const auto dims = e.DimsOf(e.Input(0));
  if (!dims || dims->size() == 4 || dims->size() < 3) return false;
  e.Last("ReduceMean", {e.Input(0), e.Integers(AxesFrom(2, dims->size()))});
  return true;
}

constexpr std::size_t kAnyType = 99;

struct Expansion {
  std::string_view op_type;
  bool (*expand)(Expander&);  // false: nothing written
  std::size_t outputs = 1;    // the most
  std::size_t real = 0;       // the input that is FLOAT, or stands for it; or kAnyType
};

constexpr std::array kExpansions = {
    Expansion{"AveragePool", ExpandToTwoAxes},
    Expansion{"BatchNormalization", ExpandBatchNormalization},
    Expansion{"Celu", ExpandCelu},
    Expansion{"Clip", ExpandClip},
    Expansion{"Conv", ExpandToTwoAxes},
    Expansion{"ConvInteger", ExpandIntegerProduct, 1, kAnyType},
    Expansion{"DequantizeLinear", ExpandDequantizeLinear, 1, 1},
    Expansion{"DynamicQuantizeLinear", ExpandDynamicQuantizeLinear, 3},
    Expansion{"Elu", ExpandElu},
    Expansion{"Erf", ExpandErf},
    Expansion{"GatherElements", ExpandGatherElements, 1, kAnyType},
    Expansion{"GlobalAveragePool", ExpandGlobalAveragePool},
    Expansion{"GRU", Unroll, 2},
    Expansion{"GroupNormalization", ExpandGroupNormalization},
    Expansion{"HardSigmoid", ExpandHardSigmoid},
    Expansion{"InstanceNormalization", ExpandInstanceNormalization},
    Expansion{"IsNaN", ExpandIsNan},
    Expansion{"LSTM", Unroll, 3},
    Expansion{"LayerNormalization", ExpandLayerNormalization},
    Expansion{"MatMulInteger", ExpandIntegerProduct, 1, kAnyType},
    Expansion{"MaxPool", ExpandToTwoAxes},
    Expansion{"Mish", ExpandMish},
    Expansion{"QuantizeLinear", ExpandQuantizeLinear},
    Expansion{"RMSNormalization", ExpandLayerNormalization},
    Expansion{"Reciprocal", ExpandReciprocal},
    Expansion{"ReduceL2", ExpandReduceL2},
    Expansion{"ReduceSumSquare", ExpandReduceL2},
    Expansion{"Selu", ExpandSelu},
    Expansion{"Softplus", ExpandSoftplus},
    Expansion{"Softsign", ExpandSoftsign},
    Expansion{"Swish", ExpandSwish},
};

}  // namespace

format::Model WithoutMissingOperators(format::Model model, Ledger& ledger) {
  graph::GraphBuilder builder;
  builder.names() = graph::Names(model.graph);
  Expander expander(model, builder);
  for (const Node& node : model.graph.nodes) {
    const auto* row = std::ranges::find(kExpansions, node.op_type, &Expansion::op_type);
    const bool lacks = row != kExpansions.end() && format::IsOnnxDomain(node.domain) &&
                       node.outputs.size() <= row->outputs &&
                       (row->real == kAnyType || (node.inputs.size() > row->real &&
                                                  expander.IsReal(node.inputs[row->real])));
    expander.Start(node);
    if (lacks && row->expand(expander)) {
      ledger.Changed(node.outputs[0], "operator",
                     node.op_type + ", which TFLite lacks, by several of its operators");
    } else {
      builder.graph().nodes.push_back(node);
    }
  }
  format::Graph added = builder.Finish();
  model.graph.nodes = std::move(added.nodes);
  std::ranges::move(added.initializers, std::back_inserter(model.graph.initializers));
  std::ranges::move(added.values, std::back_inserter(model.graph.values));
  return model;
}

}  // namespace qtx::convert
