#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "contrib/expand.h"
#include "contrib/group_origin.h"
#include "onnx/graph_index.h"
#include "onnx/nodes.h"

namespace qtx::convert {
namespace {

using format::Node;

class Collapser {
 public:
  explicit Collapser(const format::Model& flat)
      : model_(flat), index_(flat), inference_(flat), context_{inference_} {
    for (const auto* list : {&flat.graph.inputs, &flat.graph.outputs, &flat.graph.values}) {
      for (const format::ValueInfo& info : *list) {
        if (info.type && (info.type->quantization || info.type->statistics))
          described_.insert(info.name);
      }
    }
  }

  format::Model Run(Ledger& ledger) {
    format::Model collapsed = model_;
    collapsed.graph.nodes.clear();
    const std::vector<Node>& nodes = model_.graph.nodes;
    for (std::size_t i = 0; i < nodes.size();) {
      std::size_t count = 0;
      if (auto former = FormerAt(i, count)) {
        ledger.Changed(former->outputs[0], "op_type",
                       std::to_string(count) + " nodes are " + former->op_type + " again");
        collapsed.graph.nodes.push_back(*std::move(former));
        i += count;
      } else {
        collapsed.graph.nodes.push_back(nodes[i++]);
      }
    }
    Forget(collapsed.graph);
    return collapsed;
  }

 private:
  // The node that `count` nodes from `i` on stand for.
  std::optional<Node> FormerAt(std::size_t i, std::size_t& count) {
    const std::vector<Node>& nodes = model_.graph.nodes;
    auto former = FormerNode(nodes[i]);
    if (!former) return std::nullopt;
    const std::string& name = nodes[i].origin->group;
    NodeGroup group(*former, name);
    if (!ExpandAs(context_, *former, group)) return std::nullopt;
    count = group.nodes().size();
    if (count > nodes.size() - i) return std::nullopt;
    std::map<std::string, std::string> now;  // names of the expansion, and those found
    std::set<std::size_t> members;
    for (std::size_t k = 0; k < count; ++k) {
      const Node& found = nodes[i + k];
      if (!found.origin || found.origin->group != name || !Match(group.nodes()[k], found, now))
        return std::nullopt;
      members.insert(i + k);
    }
    for (auto* names : {&former->inputs, &former->outputs}) {
      for (std::string& value : *names) {
        if (const auto found = now.find(value); found != now.end()) value = found->second;
      }
    }
    if (!IsClosed(*former, members)) return std::nullopt;
    return former;
  }

  static bool Match(const Node& expected, const Node& found,
                    std::map<std::string, std::string>& now) {
    if (expected.op_type != found.op_type || expected.domain != found.domain ||
        expected.attributes != found.attributes)
      return false;
    const auto same = [&now](const std::vector<std::string>& a, const std::vector<std::string>& b) {
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].empty() != b[i].empty()) return false;
        if (now.emplace(a[i], b[i]).first->second != b[i]) return false;
      }
      return true;
    };
    return same(expected.inputs, found.inputs) && same(expected.outputs, found.outputs);
  }

  // Nothing outside reads a value between the nodes, and no type says more of it.
  bool IsClosed(const Node& former, const std::set<std::size_t>& members) {
    std::vector<std::string> inner;
    for (const std::size_t member : members) {
      for (const std::string& value : index_.node(member).outputs) {
        if (std::ranges::find(former.outputs, value) == former.outputs.end())
          inner.push_back(value);
      }
    }
    for (const std::string& value : inner) {
      if (index_.IsOutput(value) || described_.contains(value)) return false;
      for (const Use& use : index_.Uses(value)) {
        if (!members.contains(use.node)) return false;
      }
    }
    if (AreReadInBodies(inner, members)) return false;
    forgotten_.insert(inner.begin(), inner.end());
    return true;
  }

  // By bodies of other nodes, which an index of a model that is not flat does not see.
  bool AreReadInBodies(const std::vector<std::string>& inner,
                       const std::set<std::size_t>& members) const {
    const std::set<std::string> wanted(inner.begin(), inner.end());
    bool found = false;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      if (members.contains(i)) continue;
      for (const format::Attribute& attribute : index_.node(i).attributes) {
        for (const format::Graph& body : attribute.graphs) {
          ForEachNode(body.nodes, [&](const Node& node) {
            found = found || std::ranges::any_of(node.inputs, [&](const std::string& value) {
                      return wanted.contains(value);
                    });
          });
        }
      }
    }
    return found;
  }

  void Forget(format::Graph& graph) const {
    std::erase_if(graph.values,
                  [this](const auto& info) { return forgotten_.contains(info.name); });
  }

  const format::Model& model_;
  GraphIndex index_;
  format::Inference inference_;
  ContribContext context_;
  std::set<std::string> described_;
  std::set<std::string> forgotten_;
};

}  // namespace

format::Model CollapseContrib(const format::Model& flat, Ledger& ledger) {
  const bool any = std::ranges::any_of(
      flat.graph.nodes, [](const Node& node) { return FormerNode(node).has_value(); });
  return any ? Collapser(flat).Run(ledger) : flat;
}

std::optional<format::Model> CollapseSteps(const format::Model& model, Ledger& ledger) {
  const bool any = std::ranges::any_of(model.graph.nodes, [](const Node& node) {
    const auto former = FormerNode(node);
    return former && IsOfSteps(*former);
  });
  return any ? std::optional(Collapser(model).Run(ledger)) : std::nullopt;
}

}  // namespace qtx::convert
