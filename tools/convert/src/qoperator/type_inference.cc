#include "qoperator/type_inference.h"

#include <set>

#include "qtx/format/catalogue.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::Node;
using MaybeParameters = std::optional<QdqParameters>;

class Typer {
 public:
  Typer(const GraphIndex& index, std::map<std::size_t, Lift>& lifts)
      : index_(index), lifts_(lifts) {}

  Result<ParametersOfValues> Run(const ParametersOfValues& declared);

 private:
  Result<void> Forward();
  Result<void> ForwardNode(std::size_t i);
  void Move(std::size_t i);
  Result<void> Backward();
  Result<MaybeParameters> Demand(const std::string& value) const;
  Result<MaybeParameters> ReadBy(std::size_t consumer, const std::string& value) const;
  bool CanHaveType(const std::string& value) const;

  const GraphIndex& index_;
  std::map<std::size_t, Lift>& lifts_;
  ParametersOfValues types_;
};

// A graph input that is also an output, or has a default, stays plain, as does what a node moves
// into a body.
bool Typer::CanHaveType(const std::string& value) const {
  if (index_.Initializer(value) != nullptr) return false;
  if (index_.IsInput(value) && format::IsOfBody(value)) return false;
  return !index_.IsInput(value) || !index_.IsOutput(value);
}

// A type passes through a node that moves elements when it is the same for all of them.
void Typer::Move(std::size_t i) {
  const Node& node = index_.node(i);
  const auto type = types_.find(node.inputs[0]);
  if (type == types_.end() || type->second.quantization.scale.size() != 1) {
    for (const std::string& output : node.outputs) types_.erase(output);
    lifts_.erase(i);
    return;
  }
  Lift lift{node, {{0, type->second}}, {}, {}, {}, {}};
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    lift.outputs.emplace(o, type->second);
    types_.insert_or_assign(node.outputs[o], type->second);
  }
  lifts_.insert_or_assign(i, std::move(lift));
}

Result<void> Typer::ForwardNode(std::size_t i) {
  const Node& node = index_.node(i);
  if (MovesElements(node)) {
    Move(i);
    return {};
  }
  if (const auto lift = lifts_.find(i); lift != lifts_.end()) {
    for (const auto& [output, parameters] : lift->second.outputs)
      types_.insert_or_assign(lift->second.node.outputs[output], parameters);
  } else if (IsQuantizeLinear(node) && node.outputs.size() == 1) {
    QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, node));
    if (parameters) types_.insert_or_assign(node.outputs[0], *parameters);
  }
  return {};
}

Result<void> Typer::Forward() {
  for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
    auto done = ForwardNode(i);
    if (!done.has_value()) return At(PlaceOf(index_.node(i)), done.error());
  }
  return {};
}

Result<MaybeParameters> Typer::ReadBy(std::size_t consumer, const std::string& value) const {
  const Node& node = index_.node(consumer);
  if (MovesElements(node)) {
    const auto type = types_.find(node.outputs[0]);
    if (node.inputs[0] != value || type == types_.end()) return MaybeParameters();
    return MaybeParameters(type->second);
  }
  if (const auto lift = lifts_.find(consumer); lift != lifts_.end()) {
    for (const auto& [input, parameters] : lift->second.inputs) {
      if (lift->second.node.inputs[input] == value) return MaybeParameters(parameters);
    }
    return MaybeParameters();
  }
  if (IsDequantizeLinear(node) && node.inputs[0] == value) return FromStock(index_, node);
  return MaybeParameters();
}

// The type on which all readers of `value` agree.
Result<MaybeParameters> Typer::Demand(const std::string& value) const {
  MaybeParameters demand;
  for (const Use& use : index_.Uses(value)) {
    QTX_ASSIGN_OR_RETURN(const auto read, ReadBy(use.node, value));
    if (!read || (demand && *demand != *read)) return MaybeParameters();
    demand = read;
  }
  return demand;
}

// Propagates types from results to inputs.
Result<void> Typer::Backward() {
  const auto& graph = index_.model().graph;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = index_.node(i);
    if (!MovesElements(node) || node.outputs.size() != 1 || types_.contains(node.outputs[0]))
      continue;
    if (index_.IsOutput(node.outputs[0])) continue;
    QTX_ASSIGN_OR_RETURN(const auto demand, Demand(node.outputs[0]));
    if (demand && demand->quantization.scale.size() == 1) types_.emplace(node.outputs[0], *demand);
  }
  for (const format::ValueInfo& input : graph.inputs) {
    if (types_.contains(input.name) || !CanHaveType(input.name)) continue;
    QTX_ASSIGN_OR_RETURN(const auto demand, Demand(input.name));
    if (demand) types_.emplace(input.name, *demand);
  }
  return {};
}

Result<ParametersOfValues> Typer::Run(const ParametersOfValues& declared) {
  for (const auto& [name, parameters] : declared) {
    if (index_.IsInput(name) && CanHaveType(name)) types_.emplace(name, parameters);
  }
  QTX_RETURN_IF_ERROR(Forward());
  QTX_RETURN_IF_ERROR(Backward());
  // Propagates forward again, for types found in the backward pass.
  QTX_RETURN_IF_ERROR(Forward());
  return std::move(types_);
}

}  // namespace

bool MovesElements(const Node& node) {
  const format::OpSchema* schema = format::FindSchema(node.domain, node.op_type);
  return schema != nullptr && schema->copies_elements && !node.inputs.empty() &&
         (node.outputs.size() == 1 || node.op_type == "Split");
}

bool MovesQuantized(const format::Graph& graph) {
  std::set<std::string> integers;
  for (const Node& node : graph.nodes) {
    if (IsQuantizeLinear(node)) integers.insert(node.outputs.begin(), node.outputs.end());
    if (MovesElements(node) && integers.contains(node.inputs[0])) return true;
  }
  return false;
}

Result<ParametersOfValues> InferTypes(const GraphIndex& index, const ParametersOfValues& declared,
                                      std::map<std::size_t, Lift>& lifts) {
  return Typer(index, lifts).Run(declared);
}

}  // namespace qtx::convert
