#include "contrib/expand.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "contrib/group_origin.h"
#include "contrib/node_group.h"
#include "errors.h"
#include "onnx/nodes.h"
#include "qonnx/dialect.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_builder.h"
#include "qtx/graph/graph_index.h"

namespace qtx::convert {
namespace {

using format::Node;

// Which weights a node multiplies with it decides when it runs: no nodes of ai.onnx on quantized
// constants say so.
bool DecidesAtRunTime(const ContribContext&, const Node&, NodeGroup&, std::string& why) {
  why = "its experts are chosen when it runs";
  return false;
}

enum class Owner {
  kRuntime,        // ONNX Runtime, com.microsoft
  kRuntimeInOnnx,  // ONNX Runtime, which has it in ONNX's own domain, too
  kQuantlib,       // in ONNX's domain, as Deeploy's files have it, or where quantlib puts it
  kBrevitas,       // in QONNX's domain
};
enum class Body { kNone, kOfSteps };  // of nodes of the expansion
struct ContribRow {
  std::string_view op_type;
  Expand expand;
  Owner owner = Owner::kRuntime;
  Body body = Body::kNone;
};
constexpr std::array kContribRows = {
    ContribRow{"Attention", ExpandAttention},
    ContribRow{"BiasGelu", ExpandBiasGelu},
    ContribRow{"DynamicQuantizeLSTM", ExpandDynamicQuantizeLstm, Owner::kRuntime, Body::kOfSteps},
    ContribRow{"EmbedLayerNormalization", ExpandEmbedLayerNormalization},
    ContribRow{"FastGelu", ExpandFastGelu},
    ContribRow{"Gelu", ExpandGelu},
    ContribRow{"GroupQueryAttention", ExpandGroupQueryAttention},
    ContribRow{"ITAMax", ExpandItaMax, Owner::kQuantlib},
    ContribRow{"IntegerMean", ExpandIntegerMean, Owner::kQuantlib},
    ContribRow{"MultiHeadAttention", ExpandMultiHeadAttention},
    ContribRow{"QMoE", DecidesAtRunTime},
    ContribRow{"QuantLSTMCell", ExpandQuantLstmCell, Owner::kBrevitas, Body::kOfSteps},
    ContribRow{"QuickGelu", ExpandQuickGelu},
    ContribRow{"RequantShift", ExpandRequantShift, Owner::kQuantlib},
    ContribRow{"RotaryEmbedding", ExpandRotaryEmbedding},
    ContribRow{"SimplifiedLayerNormalization", ExpandSimplifiedLayerNormalization,
               Owner::kRuntimeInOnnx},
    ContribRow{"SkipLayerNormalization", ExpandSkipLayerNormalization},
    ContribRow{"SkipSimplifiedLayerNormalization", ExpandSkipSimplifiedLayerNormalization},
    ContribRow{"TrueIntegerDiv", ExpandTrueIntegerDiv, Owner::kQuantlib},
    ContribRow{"iGELU", ExpandIGelu, Owner::kQuantlib},
    ContribRow{"iHardswish", ExpandIHardswish, Owner::kQuantlib},
    ContribRow{"iLayerNorm", ExpandILayerNorm, Owner::kQuantlib},
    ContribRow{"iNoNorm", ExpandINoNorm, Owner::kQuantlib},
    ContribRow{"iRMSNorm", ExpandIRmsNorm, Owner::kQuantlib},
    ContribRow{"iSoftmax", ExpandISoftmax, Owner::kQuantlib},
};

const ContribRow* RowOf(const Node& node) {
  const auto* row =
      std::ranges::find(kContribRows, std::string_view(node.op_type), &ContribRow::op_type);
  if (row == kContribRows.end()) return nullptr;
  const bool in_onnx = format::IsOnnxDomain(node.domain);
  bool own = node.domain == "com.microsoft" || (row->owner == Owner::kRuntimeInOnnx && in_onnx);
  if (row->owner == Owner::kBrevitas) own = IsQonnxDomain(node.domain);
  if (row->owner == Owner::kQuantlib)
    own = in_onnx || node.domain == "ai.onnx.contrib" || node.domain == "PACTOps";
  return own ? row : nullptr;
}

std::string FirstOutput(const Node& node) {
  const auto found = std::ranges::find_if(node.outputs, [](const auto& o) { return !o.empty(); });
  return found == node.outputs.end() ? "" : *found;
}

bool IsOutputOf(const Node& node, const std::string& value) {
  return value.empty() || std::ranges::find(node.outputs, value) != node.outputs.end();
}

class Expander {
 public:
  explicit Expander(const format::Model& flat)
      : inference_(flat), context_{inference_}, names_(flat.graph) {}

  /// nullopt, with the reason, where the node stays.
  std::optional<std::vector<Node>> Of(const Node& node, std::string& why) {
    const ContribRow* row = RowOf(node);
    if (row == nullptr) return std::nullopt;
    const std::string output = FirstOutput(node);
    if (output.empty() || node.inputs.empty() || node.origin) {
      why = node.origin ? "it has an origin of its own" : "it has no result";
      return std::nullopt;
    }
    // Values named so by somebody else make the next name the group's.
    for (int attempt = 1; attempt < 100; ++attempt) {
      std::string name = output;
      if (attempt > 1) name += "#" + std::to_string(attempt);
      NodeGroup group(node, name);
      if (!row->expand(context_, node, group, why)) return std::nullopt;
      if (!AreFree(node, group.nodes())) continue;
      for (const Node& added : group.nodes()) {
        for (const std::string& value : added.outputs) names_.Take(value);
      }
      SetGroupOrigin(node, name, group.nodes());
      return std::move(group.nodes());
    }
    why = "no name for its nodes is free";
    return std::nullopt;
  }

 private:
  bool AreFree(const Node& former, const std::vector<Node>& nodes) const {
    bool free = true;
    const auto look = [&](const std::string& value) {
      free = free && (IsOutputOf(former, value) || !names_.IsTaken(value));
    };
    ForEachNode(nodes, [&](const Node& node) {
      std::ranges::for_each(node.outputs, look);
      for (const format::Attribute& attribute : node.attributes) {
        for (const format::Graph& body : attribute.graphs)
          for (const format::ValueInfo& input : body.inputs) look(input.name);
      }
    });
    return free;
  }

  format::Inference inference_;
  ContribContext context_;
  graph::Names names_;
};

// `model` with the expansion of each node of its graph for which `row` holds. `flat`: its flat
// form.
template <typename Holds>
format::Model Expanded(const format::Model& model, const format::Model& flat, Ledger& ledger,
                       const Holds& holds) {
  Expander expander(flat);
  format::Model expanded = model;
  expanded.graph.nodes.clear();
  for (const Node& node : model.graph.nodes) {
    const ContribRow* row = RowOf(node);
    std::string why;
    auto nodes = row != nullptr && holds(*row) ? expander.Of(node, why) : std::nullopt;
    if (!nodes) {
      if (why.empty() && format::IsOfBody(FirstOutput(node))) why = "it is in a body";
      if (row != nullptr && !why.empty())
        ledger.Changed(FirstOutput(node), "op_type", node.op_type + " stays as it is: " + why);
      expanded.graph.nodes.push_back(node);
      continue;
    }
    ledger.Changed(FirstOutput(node), "op_type",
                   node.op_type + " is " + std::to_string(nodes->size()) + " nodes of ai.onnx");
    std::ranges::move(*nodes, std::back_inserter(expanded.graph.nodes));
  }
  return expanded;
}

}  // namespace

bool IsOfSteps(const Node& node) {
  const ContribRow* row = RowOf(node);
  return row != nullptr && row->body == Body::kOfSteps;
}

bool ExpandAs(const ContribContext& context, const Node& former, NodeGroup& group) {
  const ContribRow* row = RowOf(former);
  std::string why;
  return row != nullptr && row->owner != Owner::kQuantlib && row->owner != Owner::kBrevitas &&
         row->expand(context, former, group, why);
}

bool IsContribNode(const Node& node) { return RowOf(node) != nullptr; }

bool HasExpansion(const format::Model& flat) {
  const auto is_wanted = [](const Node& node) { return IsContribNode(node) && !IsOfSteps(node); };
  if (std::ranges::none_of(flat.graph.nodes, is_wanted)) return false;
  Expander expander(flat);
  std::string why;
  return std::ranges::any_of(flat.graph.nodes, [&](const Node& node) {
    return is_wanted(node) && expander.Of(node, why).has_value();
  });
}

bool MustExpand(const Node& node) {
  const ContribRow* row = RowOf(node);
  return row != nullptr && row->owner == Owner::kQuantlib && format::IsOnnxDomain(node.domain);
}

Result<void> CheckMustExpand(const format::Model& flat) {
  if (std::ranges::none_of(flat.graph.nodes, MustExpand)) return {};
  Expander expander(flat);
  for (const Node& node : flat.graph.nodes) {
    std::string why;
    if (MustExpand(node) && !expander.Of(node, why))
      return Unsupported(graph::PlaceOf(node), "it is quantlib's, and " + why);
  }
  return {};
}

format::Model ExpandContrib(const format::Model& flat, Ledger& ledger) {
  if (std::ranges::none_of(flat.graph.nodes, IsContribNode)) return flat;
  return Expanded(flat, flat, ledger,
                  [](const ContribRow& row) { return row.body == Body::kNone; });
}

Result<std::optional<format::Model>> ExpandSteps(const format::Model& model, Ledger& ledger) {
  if (std::ranges::none_of(model.graph.nodes, IsOfSteps)) return std::optional<format::Model>();
  const format::FlatModel flat(model);
  format::Model expanded = Expanded(model, flat.model(), ledger, [](const ContribRow& row) {
    return row.body == Body::kOfSteps;
  });
  for (const Node& node : expanded.graph.nodes) {
    const ContribRow* row = RowOf(node);
    if (row == nullptr || row->owner != Owner::kBrevitas) continue;
    std::string why;
    Expander(flat.model()).Of(node, why);
    return Unsupported(graph::PlaceOf(node), why);
  }
  return std::optional(std::move(expanded));
}

}  // namespace qtx::convert
