#include <algorithm>
#include <deque>

#include "plan.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Node;

Error Unsupported(const Node& node, std::string message) {
  return {ErrorCode::kUnsupported, PlaceOf(node), std::move(message)};
}

// A subgraph may read any value of the graph around it, by name.
Result<void> CheckNode(const Node& node) {
  for (const format::Attribute& attribute : node.attributes) {
    if (attribute.type == format::AttributeType::kGraph ||
        attribute.type == format::AttributeType::kGraphs)
      return Unsupported(node, "has the subgraph '" + attribute.name + "', expected none");
  }
  return {};
}

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

Result<Mode> ModeOf(const GraphIndex& index, const Node& node, const NodePlan& plan) {
  if (plan.row == nullptr || node.outputs.empty() || TouchesQuantized(index, node))
    return Mode::kFloat;
  const Settings& settings = plan.settings;
  const bool weights = settings.weights.quantized && HasConstantWeights(index, node, *plan.row);
  if (!settings.activations.quantized) return weights ? Mode::kWeights : Mode::kFloat;
  const format::TensorType* type = index.TypeOf(node.outputs[0]);
  if (type != nullptr)
    return type->elem_type == ElementType::kFloat ? Mode::kQuantized : Mode::kFloat;
  // Shapes and indices move through the same operators, and are often not declared.
  if (plan.row->output == OperatorRow::Output::kShared) return Mode::kFloat;
  return Error{
      ErrorCode::kInvalid, "value '" + node.outputs[0] + "'",
      "found no declared type, expected FLOAT with statistics (qtx calibrate writes them)"};
}

bool IsShared(const NodePlan& plan) {
  return plan.row != nullptr && plan.row->output == OperatorRow::Output::kShared;
}

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

Result<std::vector<NodePlan>> PlanNodes(const GraphIndex& index, const Options& options) {
  const format::Graph& graph = index.model().graph;
  QTX_ASSIGN_OR_RETURN(const auto settings, SettingsOf(graph, options));
  std::vector<NodePlan> plans;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    QTX_RETURN_IF_ERROR(CheckNode(graph.nodes[i]));
    NodePlan plan{FindRow(graph.nodes[i]), settings[i].settings, Mode::kFloat};
    if (!settings[i].keep_float) {
      QTX_ASSIGN_OR_RETURN(plan.mode, ModeOf(index, graph.nodes[i], plan));
    }
    plans.push_back(std::move(plan));
  }
  SettleMovers(index, plans);
  return plans;
}

}  // namespace qtx::quantize
