// FoldPairs: the plan applied to nodes, initializers and value infos.
#include "qdq/fold.h"

#include <algorithm>
#include <map>
#include <set>

#include "onnx/float_casts.h"
#include "onnx/quantized_types.h"
#include "onnx/reals.h"
#include "qdq/normalize.h"
#include "qdq/plan.h"
#include "qtx/format/description.h"
#include "qtx/format/rename.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Graph;
using format::Node;

void RewriteNode(const QdqPlan& plan, Node& node) {
  for (auto* names : {&node.inputs, &node.outputs}) {
    for (std::string& name : *names) {
      if (const auto found = plan.renamed.find(name); found != plan.renamed.end())
        name = found->second;
    }
  }
  // A Cast to FLOAT whose result is quantized casts to that type: the inverse of lowering.
  if (!IsStock(node, "Cast") || node.outputs.size() != 1) return;
  const auto type = plan.types.find(node.outputs[0]);
  if (type == plan.types.end()) return;
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == "to") attribute.i = static_cast<std::int64_t>(type->second.elem_type);
  }
}

// Values read only by folded nodes: scales, zero points and bounds.
std::set<std::string> Parameters(const QdqPlan& plan, const Graph& graph) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!plan.removed.contains(i) && !plan.replaced.contains(i)) continue;
    const auto& inputs = graph.nodes[i].inputs;
    if (graph.nodes[i].op_type == "Gather") names.insert(inputs[0]);  // a code book
    if (inputs.size() > 1) names.insert(inputs.begin() + 1, inputs.end());
  }
  return names;
}

// Drops initializers that are no longer read; those that were unread before stay.
void DropParameters(std::set<std::string> candidates, Graph& graph) {
  std::set<std::string> used = NamedParameters(graph);
  for (const Node& node : graph.nodes) used.insert(node.inputs.begin(), node.inputs.end());
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (const format::ValueInfo& info : *list) used.insert(info.name);
  }
  for (const std::string& name : used) candidates.erase(name);
  std::erase_if(graph.initializers,
                [&](const auto& data) { return candidates.contains(data.name); });
  std::erase_if(graph.values, [&](const auto& info) { return candidates.contains(info.name); });
  std::erase_if(graph.quantization_annotations, [&](const format::TensorAnnotation& annotation) {
    return std::ranges::any_of(annotation.parameters, [&](const auto& parameter) {
      return candidates.contains(parameter.second);
    });
  });
  std::erase_if(graph.nodes, [&](const Node& node) {
    return IsStock(node, "Constant") && node.outputs.size() == 1 &&
           candidates.contains(node.outputs[0]);
  });
}

void RewriteNodes(const QdqPlan& plan, const GraphIndex& index, Graph& graph) {
  graph.nodes.clear();
  for (std::size_t i = 0; i < index.model().graph.nodes.size(); ++i) {
    if (plan.removed.contains(i)) continue;
    const auto replaced = plan.replaced.find(i);
    Node node = replaced == plan.replaced.end() ? index.node(i) : replaced->second;
    RewriteNode(plan, node);
    graph.nodes.push_back(std::move(node));
  }
}

Result<void> RewriteInitializers(const QdqPlan& plan, const GraphIndex& index, Graph& graph) {
  std::vector<format::TensorData> copies;
  for (const auto& [from, to] : plan.copies) {
    const format::TensorData* data = index.Initializer(from);
    QTX_ASSIGN_OR_RETURN(format::TensorData copy, Renamed(*data, to));
    copies.push_back(std::move(copy));
  }
  for (format::TensorData& data : graph.initializers) {
    const auto found = plan.initializers.find(data.name);
    if (found == plan.initializers.end()) continue;
    QTX_ASSIGN_OR_RETURN(data, Renamed(std::move(data), found->second));
  }
  std::ranges::move(copies, std::back_inserter(graph.initializers));
  return {};
}

void RewriteValues(const QdqPlan& plan, Graph& graph) {
  std::set<std::string> declared;
  std::erase_if(graph.values, [&](const format::ValueInfo& info) {
    return plan.dropped.contains(info.name) && !plan.types.contains(info.name);
  });
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) {
      declared.insert(info.name);
      const auto type = plan.types.find(info.name);
      if (type == plan.types.end()) continue;
      format::Undescribe(info);
      info.type = type->second;
    }
  }
  for (const std::string& name : plan.order) {
    if (!declared.insert(name).second) continue;
    format::ValueInfo info;
    info.name = name;
    info.type = plan.types.at(name);
    graph.values.push_back(std::move(info));
  }
}

}  // namespace

Result<format::Model> FoldPairs(const format::Model& model, bool as_recorded, Ledger& ledger,
                                const std::set<std::string>& reals) {
  format::Model source = model;
  if (!as_recorded) {
    QTX_ASSIGN_OR_RETURN(source, NormalizePairs(model, ledger));
  }
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(source));
  QTX_ASSIGN_OR_RETURN(const QdqPlan plan, MakePlan(index, {as_recorded, reals}, ledger));
  format::Model folded = source;
  RewriteNodes(plan, index, folded.graph);
  QTX_RETURN_IF_ERROR(RewriteInitializers(plan, index, folded.graph));
  RewriteValues(plan, folded.graph);
  if (!as_recorded) AddFloatCasts(folded);  // else the extended form had those it needs
  DropParameters(Parameters(plan, source.graph), folded.graph);
  // A model that was lowered declares what its extended form declared.
  if (!as_recorded) DeclareReals(folded.graph);
  for (const std::string& name : plan.dropped) {
    if (!plan.types.contains(name))
      ledger.Dropped(name, "value", "lies between a value and its quantization");
  }
  return folded;
}

}  // namespace qtx::convert
