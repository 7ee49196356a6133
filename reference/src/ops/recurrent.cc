#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;

constexpr std::int64_t kMaxProducts = std::int64_t{1} << 22;

// Inputs in ONNX's order.
enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kP };

Result<Activation> ActivationOf(const std::string& name) {
  if (name == "Sigmoid") return Activation::kSigmoid;
  if (name == "Tanh") return Activation::kTanh;
  if (name == "Relu") return Activation::kRelu;
  return Error{ErrorCode::kUnsupported, "attribute 'activations'",
               "found '" + name + "', expected Sigmoid, Tanh or Relu"};
}

std::int64_t DirectionsOf(const format::Node& node) {
  return node.StringOr("direction", "forward") == "bidirectional" ? 2 : 1;
}

Result<std::vector<Activation>> ActivationsOf(const format::Node& node, const RecurrentForm& form) {
  const auto directions = static_cast<std::size_t>(DirectionsOf(node));
  std::vector<Activation> activations;
  const format::Attribute* attribute = node.Find("activations");
  if (attribute == nullptr) {
    for (std::size_t d = 0; d < directions; ++d) {
      activations.insert(activations.end(), form.defaults.begin(), form.defaults.end());
    }
    return activations;
  }
  const std::size_t expected = directions * form.defaults.size();
  if (attribute->strings.size() != expected) {
    return Error{ErrorCode::kInvalid, "attribute 'activations'",
                 "found " + std::to_string(attribute->strings.size()) + " names, expected " +
                     std::to_string(expected)};
  }
  for (const std::string& name : attribute->strings) {
    QTX_ASSIGN_OR_RETURN(const Activation activation, ActivationOf(name));
    activations.push_back(activation);
  }
  return activations;
}

// The call with the first of its wanted outputs as output 0, which decides what inputs may be. All
// of them are real, or all DOUBLE.
// Source: lstm.C1, gru.C1.
Result<Call> Typed(const Call& call) {
  Call typed = call;
  std::optional<bool> is_double;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.Wants(i)) continue;
    const ElementType type = call.outputs[i].elem_type;
    const bool wide = type == ElementType::kDouble;
    if (is_double.value_or(wide) != wide || !(wide || IsReal(type))) {
      return Error{ErrorCode::kInvalid, "output[" + std::to_string(i) + "]",
                   "found type " + std::string(format::Name(type)) +
                       ", expected FLOAT or quantized types, or DOUBLE alone"};
    }
    if (!is_double) typed.outputs = call.outputs.subspan(i);
    is_double = wide;
  }
  return typed;
}

Result<void> CheckDims(const Call& call, std::size_t i, const Dims& expected) {
  const Dims& dims = call.inputs[i]->dims;
  if (dims == expected) return {};
  return Error{
      ErrorCode::kInvalid, InputName(call, i),
      "found shape " + format::ToString(dims) + ", expected " + format::ToString(expected)};
}

Result<std::optional<Operand>> StateInput(const Call& call, std::size_t i, const Dims& expected) {
  if (call.Input(i) == nullptr) return std::optional<Operand>();
  QTX_RETURN_IF_ERROR(CheckDims(call, i, expected));
  return OptionalNumberAt(call, i);
}

// Source: lstm.S5, lstm.C4.
Result<std::vector<std::int64_t>> LengthsOf(const Call& call, std::int64_t batch,
                                            std::int64_t steps) {
  const format::Tensor* tensor = call.Input(kLengths);
  if (tensor == nullptr) return std::vector<std::int64_t>(static_cast<std::size_t>(batch), steps);
  if (tensor->elem_type != ElementType::kInt32) {
    return Error{ErrorCode::kInvalid, InputName(call, kLengths),
                 "found type " + std::string(format::Name(tensor->elem_type)) + ", expected INT32"};
  }
  QTX_RETURN_IF_ERROR(CheckDims(call, kLengths, {batch}));
  std::vector<std::int64_t> lengths = format::UnpackIntegers(*tensor);
  for (const std::int64_t length : lengths) {
    if (length >= 0 && length <= steps) continue;
    return Error{
        ErrorCode::kInvalid, InputName(call, kLengths),
        "found " + std::to_string(length) + ", expected 0 to " + std::to_string(steps) + " steps"};
  }
  return lengths;
}

// The reference's own limit, stated beside the constraints of LSTM and GRU.
Result<void> CheckWork(const RecurrentLayer& layer) {
  std::int64_t products = 1;
  for (const std::int64_t factor :
       {std::max<std::int64_t>(1, layer.steps), layer.batch, layer.directions, layer.hidden,
        layer.input + layer.hidden, layer.gates}) {
    if (factor > 0 && products > kMaxProducts / factor) {
      return Error{ErrorCode::kTooLarge, "",
                   "steps * batch * directions * hidden * (input + hidden) * gates is more than " +
                       std::to_string(kMaxProducts) + ", the most that this interpreter computes"};
    }
    products *= factor;
  }
  return {};
}

// Source: lstm.C2.
Result<std::int64_t> HiddenOf(const Call& call) {
  for (const std::size_t i : {kX, kW, kR}) {
    const Dims& dims = call.inputs[i]->dims;
    if (dims.size() == 3) continue;
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found shape " + format::ToString(dims) + ", expected rank 3"};
  }
  const std::int64_t hidden = call.inputs[kR]->dims[2];
  if (hidden < 1 || hidden > kMaxProducts) {
    return Error{ErrorCode::kInvalid, InputName(call, kR),
                 "found " + std::to_string(hidden) + " hidden units, expected 1 to " +
                     std::to_string(kMaxProducts)};
  }
  const std::int64_t declared = call.node.IntOr("hidden_size", hidden);
  if (declared == hidden) return hidden;
  return Error{
      ErrorCode::kInvalid, "attribute 'hidden_size'",
      "found " + std::to_string(declared) + ", expected " + std::to_string(hidden) + " as R has"};
}

}  // namespace

Result<void> CheckFlag(const format::Node& node, std::string_view attribute) {
  const std::int64_t value = node.IntOr(attribute, 0);
  if (value == 0 || value == 1) return {};
  return Error{ErrorCode::kInvalid, "attribute '" + std::string(attribute) + "'",
               "found " + std::to_string(value) + ", expected 0 or 1"};
}

Result<void> CheckRecurrent(const format::Node& node, const RecurrentForm& form) {
  const std::string direction = node.StringOr("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return Error{ErrorCode::kInvalid, "attribute 'direction'",
                 "found '" + direction + "', expected forward, reverse or bidirectional"};
  }
  QTX_RETURN_IF_ERROR(CheckFlag(node, "layout"));
  const float clip = node.FloatOr("clip", 1.0F);
  if (!(clip > 0) || !std::isfinite(clip)) {
    return Error{ErrorCode::kInvalid, "attribute 'clip'",
                 "found " + std::to_string(clip) + ", expected a finite number above 0"};
  }
  QTX_RETURN_IF_ERROR(ActivationsOf(node, form));
  return {};
}

Result<RecurrentLayer> RecurrentLayer::Make(const Call& untyped, const RecurrentForm& form) {
  QTX_ASSIGN_OR_RETURN(const Call call, Typed(untyped));
  QTX_ASSIGN_OR_RETURN(const std::int64_t hidden, HiddenOf(call));
  const bool batch_first = call.node.IntOr("layout", 0) == 1;
  const std::int64_t directions = DirectionsOf(call.node);
  const Dims& dims = call.inputs[kX]->dims;
  const std::int64_t batch = dims[batch_first ? 0 : 1];
  const std::int64_t rows = form.gates * hidden;
  QTX_RETURN_IF_ERROR(CheckDims(call, kW, {directions, rows, dims[2]}));
  QTX_RETURN_IF_ERROR(CheckDims(call, kR, {directions, rows, hidden}));
  QTX_ASSIGN_OR_RETURN(Operand x, NumberAt(call, kX));
  QTX_ASSIGN_OR_RETURN(Operand w, NumberAt(call, kW));
  QTX_ASSIGN_OR_RETURN(Operand r, NumberAt(call, kR));
  RecurrentLayer layer{.gates = form.gates,
                       .steps = dims[batch_first ? 1 : 0],
                       .batch = batch,
                       .directions = directions,
                       .input = dims[2],
                       .hidden = hidden,
                       .batch_first = batch_first,
                       .reverse = call.node.StringOr("direction", "forward") == "reverse",
                       .x = std::move(x),
                       .w = std::move(w),
                       .r = std::move(r)};
  QTX_RETURN_IF_ERROR(CheckWork(layer));
  const Dims state =
      batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  QTX_ASSIGN_OR_RETURN(layer.bias, StateInput(call, kB, {directions, 2 * rows}));
  QTX_ASSIGN_OR_RETURN(layer.lengths, LengthsOf(call, batch, layer.steps));
  QTX_ASSIGN_OR_RETURN(layer.initial_h, StateInput(call, kInitialH, state));
  if (form.has_cell) {
    QTX_ASSIGN_OR_RETURN(layer.initial_c, StateInput(call, kInitialC, state));
    QTX_ASSIGN_OR_RETURN(layer.peepholes, StateInput(call, kP, {directions, 3 * hidden}));
  }
  QTX_ASSIGN_OR_RETURN(layer.activations, ActivationsOf(call.node, form));
  if (call.node.Find("clip") != nullptr) layer.clip = call.node.FloatOr("clip", 0);
  return layer;
}

std::int64_t RecurrentLayer::InputAt(std::int64_t t, std::int64_t sequence) const {
  return (batch_first ? sequence * steps + t : t * batch + sequence) * input;
}

std::int64_t RecurrentLayer::StateAt(std::int64_t direction, std::int64_t sequence) const {
  return (batch_first ? sequence * directions + direction : direction * batch + sequence) * hidden;
}

std::int64_t RecurrentLayer::OutputAt(std::int64_t t, std::int64_t direction,
                                      std::int64_t sequence) const {
  const std::int64_t block = batch_first ? (sequence * steps + t) * directions + direction
                                         : (t * directions + direction) * batch + sequence;
  return block * hidden;
}

}  // namespace qtx::reference
