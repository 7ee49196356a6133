// Relu and Clip that go into what computes their input.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "fold.h"
#include "plan.h"

namespace qtx::quantize {
namespace {

using format::Node;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A bound of a Clip; `absent` where there is none, nullopt where it is computed.
std::optional<double> BoundOf(const GraphIndex& index, const Node& node, std::size_t input,
                              double absent) {
  if (input >= node.inputs.size() || node.inputs[input].empty()) return absent;
  if (!index.IsFloatConstant(node.inputs[input])) return std::nullopt;
  const auto bound = format::Decode(*index.Initializer(node.inputs[input]), index.model().folder);
  if (!bound.has_value() || format::ElementCount(*bound) != 1) return std::nullopt;
  return static_cast<double>(bound->As<float>()[0]);
}

// Before opset 11 the bounds are attributes.
std::optional<Clamp> ClampOf(const GraphIndex& index, const Node& node) {
  if (IsStock(node, "Relu")) return Clamp{0, kUnbounded};
  if (!IsStock(node, "Clip")) return std::nullopt;
  const auto attribute = [&node](const char* name, double absent) {
    return node.Find(name) == nullptr ? absent : static_cast<double>(node.Find(name)->f);
  };
  const auto min = BoundOf(index, node, 1, attribute("min", -kUnbounded));
  const auto max = BoundOf(index, node, 2, attribute("max", kUnbounded));
  if (!min || !max || !(*min <= *max)) return std::nullopt;  // NaN, too
  return Clamp{*min, *max};
}

}  // namespace

Clamps FoldActivations(format::Model& model, std::vector<NodePlan>& plans, Ledger& ledger) {
  const format::Model source = model;
  const GraphIndex index(source);
  Clamps clamps;
  std::set<std::string> gone;
  std::map<std::string, std::size_t> writers;  // of values whose producer changed
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Node& node = index.node(i);
    const auto clamp = ClampOf(index, node);
    if (!clamp || plans[i].mode != Mode::kQuantized || !index.OnlyUseBeside(node.inputs[0]))
      continue;
    const auto moved = writers.find(node.inputs[0]);
    const auto at = moved == writers.end() ? index.Producer(node.inputs[0]) : moved->second;
    if (!at || plans[*at].mode != Mode::kQuantized || !plans[*at].row->takes_clamp ||
        plans[*at].row->output != OperatorRow::Output::kOwn)
      continue;
    Clamp joined = *clamp;
    if (const auto before = clamps.find(node.inputs[0]); before != clamps.end()) {
      joined = {std::clamp(before->second.min, clamp->min, clamp->max),
                std::clamp(before->second.max, clamp->min, clamp->max)};
      clamps.erase(before);
    }
    Node& producer = model.graph.nodes[*at];
    ledger.Changed(
        node.outputs[0], "producer",
        "the " + node.op_type + " became the limits of the output of " + PlaceOf(producer));
    ledger.Dropped(node.inputs[0], "value", "it is no longer read");
    gone.insert(node.inputs[0]);
    producer.outputs[0] = node.outputs[0];
    writers[node.outputs[0]] = *at;
    clamps[node.outputs[0]] = joined;
    plans[*at].settings.activations = plans[i].settings.activations;
    plans[*at].settings.activation_range = plans[i].settings.activation_range;
    model.graph.nodes[i].op_type.clear();
  }
  std::vector<NodePlan> left;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!model.graph.nodes[i].op_type.empty()) left.push_back(std::move(plans[i]));
  }
  plans = std::move(left);
  Undeclare(model.graph, gone);
  Compact(model.graph);
  return clamps;
}

}  // namespace qtx::quantize
