#include "ops/recurrent.h"

#include <algorithm>

namespace qtx::reference {
namespace {

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

Result<std::vector<Activation>> ActivationsOf(const Call& call, const RecurrentForm& form,
                                              std::int64_t directions) {
  std::vector<Activation> activations;
  const format::Attribute* attribute = call.node.Find("activations");
  if (attribute == nullptr) {
    for (std::int64_t d = 0; d < directions; ++d) {
      activations.insert(activations.end(), form.defaults.begin(), form.defaults.end());
    }
    return activations;
  }
  for (const std::string& name : attribute->strings) {
    QTX_ASSIGN_OR_RETURN(const Activation activation, ActivationOf(name));
    activations.push_back(activation);
  }
  return activations;
}

// Source: lstm.S5.
std::vector<std::int64_t> LengthsOf(const Call& call, std::int64_t batch, std::int64_t steps) {
  if (call.Input(kLengths) != nullptr) return IntegersAt(call, kLengths);
  return std::vector<std::int64_t>(static_cast<std::size_t>(batch), steps);
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

}  // namespace

Result<void> SupportsActivations(const format::Node& node, std::int64_t /*opset*/) {
  const format::Attribute* attribute = node.Find("activations");
  if (attribute == nullptr) return {};
  for (const std::string& name : attribute->strings) QTX_RETURN_IF_ERROR(ActivationOf(name));
  return {};
}

Result<RecurrentLayer> RecurrentLayer::Make(const Call& call, const RecurrentForm& form) {
  const bool batch_first = call.Int("layout") == 1;
  const std::string direction = call.String("direction");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const format::Dims& dims = call.inputs[kX]->dims;
  QTX_ASSIGN_OR_RETURN(auto activations, ActivationsOf(call, form, directions));
  QTX_ASSIGN_OR_RETURN(Operand x, OperandAt(call, kX));
  QTX_ASSIGN_OR_RETURN(Operand w, OperandAt(call, kW));
  QTX_ASSIGN_OR_RETURN(Operand r, OperandAt(call, kR));
  RecurrentLayer layer{.gates = form.gates,
                       .steps = dims[batch_first ? 1 : 0],
                       .batch = dims[batch_first ? 0 : 1],
                       .directions = directions,
                       .input = dims[2],
                       .hidden = call.inputs[kR]->dims[2],
                       .batch_first = batch_first,
                       .reverse = direction == "reverse",
                       .x = std::move(x),
                       .w = std::move(w),
                       .r = std::move(r),
                       .activations = std::move(activations)};
  QTX_RETURN_IF_ERROR(CheckWork(layer));
  QTX_ASSIGN_OR_RETURN(layer.bias, OptionalOperandAt(call, kB));
  layer.lengths = LengthsOf(call, layer.batch, layer.steps);
  QTX_ASSIGN_OR_RETURN(layer.initial_h, OptionalOperandAt(call, kInitialH));
  if (form.has_cell) {
    QTX_ASSIGN_OR_RETURN(layer.initial_c, OptionalOperandAt(call, kInitialC));
    QTX_ASSIGN_OR_RETURN(layer.peepholes, OptionalOperandAt(call, kP));
  }
  if (call.node.Find("clip") != nullptr) layer.clip = call.Float("clip");
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
