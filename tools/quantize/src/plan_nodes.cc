#include <algorithm>
#include <deque>
#include <set>

#include "plan.h"
#include "unfit.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Node;

bool TouchesQuantized(const GraphIndex& index, const Node& node) {
  const auto quantized = [&index](const std::string& name) {
    const format::TensorType* type = index.TypeOf(name);
    return type != nullptr && format::IsQuantized(type->elem_type);
  };
  return std::ranges::any_of(node.inputs, quantized) ||
         std::ranges::any_of(node.outputs, quantized);
}

bool HasConstantWeights(const GraphIndex& index, const Node& node, const OperatorRow& row) {
  const auto at = static_cast<std::size_t>(row.weights);
  return row.weights >= 0 && at < node.inputs.size() && index.IsFloatConstant(node.inputs[at]);
}

bool IsShared(const NodePlan& plan) {
  return plan.row != nullptr && plan.row->output == OperatorRow::Output::kShared;
}

// The element type of a value, declared or inferred; kUndefined: not known.
ElementType ElementTypeOf(const GraphIndex& index, const format::Inference& inference,
                          const std::string& value) {
  if (const format::TensorType* type = index.TypeOf(value)) return type->elem_type;
  if (const format::TensorData* data = index.Initializer(value)) return data->data_type;
  const format::ValueFacts* facts = inference.Find(value);
  return facts == nullptr ? ElementType::kUndefined : facts->type;
}

Result<Mode> ModeOf(const GraphIndex& index, const format::Inference& inference, const Node& node,
                    const NodePlan& plan) {
  if (plan.row == nullptr || node.outputs.empty() || TouchesQuantized(index, node))
    return Mode::kFloat;
  const Settings& settings = plan.settings;
  const bool weights = settings.weights.quantized && HasConstantWeights(index, node, *plan.row);
  if (!settings.activations.quantized) return weights ? Mode::kWeights : Mode::kFloat;
  const ElementType type = ElementTypeOf(index, inference, node.outputs[0]);
  if (type == ElementType::kFloat) return Mode::kQuantized;
  // What only moves values is not worth an error.
  if (type != ElementType::kUndefined || IsShared(plan)) return Mode::kFloat;
  return Error{
      ErrorCode::kInvalid, "value '" + node.outputs[0] + "'",
      "found no declared type, expected FLOAT with statistics (qtx calibrate writes them)"};
}

// Keeps what computes and reads a value in FLOAT where integers would ruin the value.
class UnfitKeeper {
 public:
  UnfitKeeper(const GraphIndex& index, Ledger& ledger) : index_(index), ledger_(ledger) {}

  void Keep(const Node& node, NodePlan& plan) {
    if (plan.mode != Mode::kQuantized || !TouchesUnfit(node, plan)) return;
    const bool weights =
        plan.settings.weights.quantized && HasConstantWeights(index_, node, *plan.row);
    plan.mode = weights ? Mode::kWeights : Mode::kFloat;
  }

 private:
  bool IsUnfit(const std::string& value, const Settings& settings) {
    const format::TensorType* type = index_.TypeOf(value);
    if (type == nullptr || !type->statistics || index_.IsFloatConstant(value)) return false;
    const auto unfit = UnfitFor(settings, *type->statistics);
    if (unfit && told_.insert(value).second) ledger_.Kept(value, unfit->field, unfit->why);
    return unfit.has_value();
  }

  bool TouchesUnfit(const Node& node, const NodePlan& plan) {
    bool unfit = false;
    for (const std::size_t input : DataInputs(index_, node, *plan.row))
      unfit |= IsUnfit(node.inputs[input], plan.settings);
    if (plan.row->output == OperatorRow::Output::kFixed) return unfit;
    for (const std::string& output : DataOutputs(node)) unfit |= IsUnfit(output, plan.settings);
    return unfit;
  }

  const GraphIndex& index_;
  Ledger& ledger_;
  std::set<std::string> told_;
};

bool ReadsData(const GraphIndex& index, const Use& use, const NodePlan& plan) {
  const auto data = DataInputs(index, index.node(use.node), *plan.row);
  return std::ranges::find(data, use.input) != data.end();
}

// Nodes that give a node its data, and those that move what it gives.
std::vector<std::size_t> Neighbours(const GraphIndex& index, const std::vector<NodePlan>& plans,
                                    std::size_t at) {
  const Node& node = index.node(at);
  std::vector<std::size_t> neighbours;
  for (const std::size_t input : DataInputs(index, node, *plans[at].row)) {
    if (const auto producer = index.Producer(node.inputs[input])) neighbours.push_back(*producer);
  }
  for (const std::string& output : DataOutputs(node)) {
    for (const Use& use : index.Uses(output)) {
      if (IsShared(plans[use.node]) && ReadsData(index, use, plans[use.node]))
        neighbours.push_back(use.node);
    }
  }
  return neighbours;
}

// A node that only moves values is quantized where it moves them to or from one that computes.
void SettleMovers(const GraphIndex& index, std::vector<NodePlan>& plans) {
  std::vector<bool> settled(plans.size());
  std::deque<std::size_t> queue;
  const auto reach = [&](std::size_t i) {
    if (settled[i] || plans[i].mode != Mode::kQuantized) return;
    settled[i] = true;
    queue.push_back(i);
  };
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!IsShared(plans[i])) reach(i);
  }
  for (; !queue.empty(); queue.pop_front())
    std::ranges::for_each(Neighbours(index, plans, queue.front()), reach);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].mode == Mode::kQuantized && !settled[i]) plans[i].mode = Mode::kFloat;
  }
}

}  // namespace

std::vector<std::size_t> DataInputs(const GraphIndex& index, const Node& node,
                                    const OperatorRow& row) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    const bool data = (row.data >> std::min<std::size_t>(i, 31) & 1) != 0;
    const bool computed =
        row.weights == static_cast<int>(i) && !index.IsFloatConstant(node.inputs[i]);
    if (data || computed) inputs.push_back(i);
  }
  return inputs;
}

// Others have a mask or indices behind the first.
std::vector<std::string> DataOutputs(const Node& node) {
  if (IsStock(node, "Split")) return node.outputs;
  return {node.outputs[0]};
}

Result<std::vector<NodePlan>> PlanNodes(const GraphIndex& index, const format::Inference& inference,
                                        const Options& options, Ledger& ledger) {
  const format::Graph& graph = index.model().graph;
  QTX_ASSIGN_OR_RETURN(const auto settings, SettingsOf(graph, options));
  std::vector<NodePlan> plans;
  UnfitKeeper keeper(index, ledger);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    NodePlan plan{FindRow(graph.nodes[i]), settings[i].settings, Mode::kFloat};
    if (!settings[i].keep_float) {
      QTX_ASSIGN_OR_RETURN(plan.mode, ModeOf(index, inference, graph.nodes[i], plan));
    }
    if (!settings[i].quantize_unfit) keeper.Keep(graph.nodes[i], plan);
    plans.push_back(std::move(plan));
  }
  SettleMovers(index, plans);
  return plans;
}

}  // namespace qtx::quantize
