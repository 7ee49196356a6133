#include "rewrite.h"

#include <algorithm>
#include <iterator>

#include "constants.h"
#include "fold.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Node;
using format::TensorType;
using format::ValueInfo;

// Under which names a value is there, as reals and as stored integers; empty where nobody asks.
struct Carriers {
  std::string real, stored;
  bool from_stored = false;  // the producer writes integers, a Cast the reals; else the other way
};

class Rewriter {
 public:
  Rewriter(format::Model& model, const std::vector<NodePlan>& plans, const ValuePlans& values,
           const Options& options, Quantized& result, Ledger& ledger)
      : model_(model),
        source_(model),
        index_(source_),
        plans_(plans),
        values_(values),
        options_(options),
        names_(source_.graph),
        constants_(model, index_, names_, result, ledger, options),
        result_(result),
        ledger_(ledger) {}

  Result<void> Run();

 private:
  bool IsQuantizedEnd(const std::string& value) const;
  bool IsProducedStored(const std::string& value) const;
  bool ReadsStored(const Use& use) const;
  Carriers CarriersOf(const std::string& value);
  void Declare(const std::string& value, const ValuePlan& plan, const Carriers& carriers);
  void AddCast(const std::string& value, std::vector<Node>& nodes) const;
  void Rewire(std::size_t i, Node& node) const;

  format::Model& model_;
  const format::Model source_;
  const GraphIndex index_;
  const std::vector<NodePlan>& plans_;
  const ValuePlans& values_;
  const Options& options_;
  graph::Names names_;
  Constants constants_;
  Quantized& result_;
  Ledger& ledger_;
  std::map<std::string, Carriers> carriers_;
  std::map<std::string, ValueInfo*> declared_;
  std::vector<ValueInfo> added_;
};

// Of an input or output. What a node moves into a body or out of it stays FLOAT.
bool Rewriter::IsQuantizedEnd(const std::string& value) const {
  return options_.quantized_io && !format::IsOfBody(value);
}

bool Rewriter::IsProducedStored(const std::string& value) const {
  if (index_.IsInput(value)) return IsQuantizedEnd(value);
  const auto producer = index_.Producer(value);
  if (!producer || plans_[*producer].mode != Mode::kQuantized) return false;
  const auto outputs = DataOutputs(index_.node(*producer));
  return std::ranges::find(outputs, value) != outputs.end();
}

bool Rewriter::ReadsStored(const Use& use) const {
  if (plans_[use.node].mode != Mode::kQuantized) return false;
  const auto data = DataInputs(index_, index_.node(use.node), *plans_[use.node].row);
  return std::ranges::find(data, use.input) != data.end();
}

Carriers Rewriter::CarriersOf(const std::string& value) {
  if (!IsProducedStored(value)) return {value, names_.Unique(value + "/quantized"), false};
  if (index_.IsOutput(value) && !IsQuantizedEnd(value))
    return {value, names_.Unique(value + "/quantized"), true};
  const bool read_real =
      std::ranges::any_of(index_.Uses(value), [this](const Use& use) { return !ReadsStored(use); });
  return {read_real ? names_.Unique(value + "/real") : "", value, true};
}

void Rewriter::Declare(const std::string& value, const ValuePlan& plan, const Carriers& carriers) {
  TensorType type;
  if (const TensorType* declared = index_.TypeOf(value)) type = *declared;
  TensorType real = type;
  real.elem_type = ElementType::kFloat;
  real.statistics.reset();
  real.quantization.reset();
  type.elem_type = *format::QuantizedOf(plan.spec.storage);
  type.quantization = plan.quantization;
  const auto set = [this](const std::string& name, const TensorType& to) {
    const auto at = declared_.find(name);
    if (at != declared_.end()) {
      at->second->type = to;
    } else {
      added_.push_back({.name = name, .type = to});
    }
  };
  set(carriers.stored, type);
  if (!carriers.real.empty() && carriers.real != value) set(carriers.real, real);
  ledger_.Changed(
      carriers.stored, "elem_type",
      std::string(format::Name(type.elem_type)) +
          (plan.chosen ? ", " + ToText(plan.chosen->method) : ", fixed by the operator"));
  if (type.statistics) ledger_.Kept(carriers.stored, "statistics");
  Quantized::Source& from = result_.sources[carriers.stored];
  from.real = value;
  if (plan.chosen) from.ranges = {*plan.chosen};
}

void Rewriter::AddCast(const std::string& value, std::vector<Node>& nodes) const {
  const auto at = carriers_.find(value);
  if (at == carriers_.end() || at->second.real.empty() || at->second.stored.empty()) return;
  const Carriers& carriers = at->second;
  const ElementType to = carriers.from_stored
                             ? ElementType::kFloat
                             : *format::QuantizedOf(values_.at(value).spec.storage);
  Node cast;
  cast.op_type = "Cast";
  cast.inputs = {carriers.from_stored ? carriers.stored : carriers.real};
  cast.outputs = {carriers.from_stored ? carriers.real : carriers.stored};
  cast.name = cast.outputs[0] + "/Cast";
  cast.attributes = {format::Attribute::Int("to", static_cast<std::int64_t>(to))};
  nodes.push_back(std::move(cast));
}

void Rewriter::Rewire(std::size_t i, Node& node) const {
  const Node& before = index_.node(i);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const auto at = carriers_.find(before.inputs[k]);
    if (at == carriers_.end()) continue;
    node.inputs[k] = ReadsStored({i, k}) ? at->second.stored : at->second.real;
  }
  for (std::string& output : node.outputs) {
    const auto at = carriers_.find(output);
    if (at != carriers_.end() && at->second.from_stored) output = at->second.stored;
  }
}

Result<void> Rewriter::Run() {
  for (const auto& [value, plan] : values_) carriers_.emplace(value, CarriersOf(value));
  std::vector<Node> nodes;
  for (const ValueInfo& info : source_.graph.inputs) AddCast(info.name, nodes);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    Node node = index_.node(i);
    QTX_RETURN_IF_ERROR(constants_.Store(node, plans_[i], values_));
    Rewire(i, node);
    nodes.push_back(std::move(node));
    for (const std::string& output : index_.node(i).outputs) AddCast(output, nodes);
  }
  model_.graph.nodes = std::move(nodes);
  for (auto* list : {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.values}) {
    for (ValueInfo& info : *list) declared_.emplace(info.name, &info);
  }
  for (const auto& [value, plan] : values_) Declare(value, plan, carriers_.at(value));
  std::ranges::move(added_, std::back_inserter(model_.graph.values));
  constants_.Finish();
  return {};
}

}  // namespace

Result<void> Rewrite(format::Model& model, const std::vector<NodePlan>& plans,
                     const ValuePlans& values, const Options& options, Quantized& result,
                     Ledger& ledger) {
  return Rewriter(model, plans, values, options, result, ledger).Run();
}

}  // namespace qtx::quantize
