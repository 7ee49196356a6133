#include "onnx/expand_functions.h"

#include <algorithm>
#include <map>
#include <set>

#include "errors.h"
#include "onnx/graph_index.h"
#include "onnx/nodes.h"
#include "opset/opset.h"
#include "qtx/format/functions.h"
#include "qtx/format/limits.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Function;
using format::Graph;
using format::Node;

// By its name: QuantizeLinear, QLinearConv, MatMulInteger, Quant, ...
bool Quantizes(const Node& node) {
  return node.op_type.find("Quant") != std::string::npos || node.op_type.starts_with("QLinear") ||
         node.op_type.starts_with("QGemm") || node.op_type.ends_with("Integer") ||
         IsDequantizeLinear(node);
}

class Expander {
 public:
  Expander(format::Model model, std::vector<Function> functions, Ledger& ledger)
      : model_(std::move(model)), functions_(std::move(functions)), ledger_(ledger) {}

  Result<format::Model> Run() {
    CollectQuantizing();
    // What was expanded may quantize what another function gives.
    for (std::size_t pass = 0, before = 0; pass < kMaxPasses; ++pass, before = count_) {
      CollectUses();
      QTX_RETURN_IF_ERROR(ExpandIn(model_.graph.nodes, 0));
      if (count_ == before) break;
    }
    RemoveUncalled();
    return std::move(model_);
  }

 private:
  static constexpr std::size_t kMaxPasses = 8;
  using Key = std::pair<std::string, std::string>;  // domain and name

  void CollectUses() {
    ForEachNode(model_.graph.nodes, [this](const Node& node) {
      for (const std::string& name : node.inputs) names_.Take(name);
      for (const std::string& name : node.outputs) names_.Take(name);
      if (IsDequantizeLinear(node)) reals_.insert(node.outputs.begin(), node.outputs.end());
      if (IsQuantizeLinear(node) && !node.inputs.empty()) reals_.insert(node.inputs[0]);
    });
  }

  // Functions that quantize, and those that call one.
  void CollectQuantizing() {
    std::map<const Function*, std::vector<const Function*>> callers;
    std::vector<const Function*> open;
    for (const Function& function : functions_)
      by_name_[{function.domain, function.name}].push_back(&function);
    for (const Function& function : functions_) {
      ForEachNode(function.nodes, [&](const Node& node) {
        ++sizes_[&function];
        if (Quantizes(node)) open.push_back(&function);
        if (const Function* called = Called(node)) callers[called].push_back(&function);
      });
    }
    while (!open.empty()) {
      const Function* function = open.back();
      open.pop_back();
      if (!quantizing_.insert(function).second) continue;
      open.insert(open.end(), callers[function].begin(), callers[function].end());
    }
  }

  const Function* Called(const Node& node) const {
    const auto found = by_name_.find({node.domain, node.op_type});
    if (found == by_name_.end()) return nullptr;
    const auto called = std::ranges::find_if(
        found->second, [&](const Function* function) { return format::Calls(node, *function); });
    return called == found->second.end() ? nullptr : *called;
  }

  bool Wants(const Function& function, const Node& call) const {
    const auto is_real = [this](const std::string& name) { return reals_.contains(name); };
    return quantizing_.contains(&function) || std::ranges::any_of(call.inputs, is_real) ||
           std::ranges::any_of(call.outputs, is_real);
  }

  Result<void> ExpandIn(std::vector<Node>& nodes, int depth) {
    std::vector<Node> expanded;
    for (Node& node : nodes) {
      for (Attribute& attribute : node.attributes) {
        for (Graph& body : attribute.graphs) QTX_RETURN_IF_ERROR(ExpandIn(body.nodes, depth));
      }
      const Function* function = Called(node);
      if (function == nullptr || !Wants(*function, node)) {
        expanded.push_back(std::move(node));
        continue;
      }
      auto inner = Expand(*function, node, depth);
      if (!inner.has_value()) return At(PlaceOf(node), inner.error());
      std::ranges::move(*inner, std::back_inserter(expanded));
    }
    nodes = std::move(expanded);
    return {};
  }

  Result<std::vector<Node>> Expand(const Function& function, const Node& call, int depth) {
    if (depth == format::kMaxGraphDepth) {
      return Error{ErrorCode::kInvalid, "",
                   "found functions that call each other more than " + std::to_string(depth) +
                       " deep, or themselves; expected at most that many"};
    }
    count_ += sizes_[&function];
    bytes_ += function.bytes;
    if (count_ > kMaxExpandedNodes || bytes_ > static_cast<std::size_t>(format::kMaxModelBytes)) {
      return Error{ErrorCode::kTooLarge, "",
                   "calls of functions stand for more than " + std::to_string(kMaxExpandedNodes) +
                       " nodes or 2 GiB"};
    }
    QTX_RETURN_IF_ERROR(CheckImports(function));
    expanded_.insert(&function);
    std::map<std::string, std::string> names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    const std::string called = !call.name.empty()      ? call.name
                               : !call.outputs.empty() ? call.outputs[0]
                                                       : function.name;
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      if (names.contains(function.outputs[i])) {
        return Error{ErrorCode::kUnsupported, "function '" + function.name + "'",
                     "gives '" + function.outputs[i] + "' twice, or an input as it is"};
      }
      const bool wanted = i < call.outputs.size() && !call.outputs[i].empty();
      names[function.outputs[i]] =
          wanted ? call.outputs[i] : names_.Unique(called + "/" + function.outputs[i]);
    }
    std::vector<Node> nodes = format::NodesOf(function, call, [&](const std::string& name) {
      const auto [known, is_new] = names.try_emplace(name);
      if (is_new) known->second = names_.Unique(called + "/" + name);
      return known->second;
    });
    ledger_.Changed(called, "op_type",
                    function.domain + "." + function.name + " is the nodes of the function");
    QTX_RETURN_IF_ERROR(ExpandIn(nodes, depth + 1));
    return nodes;
  }

  // The nodes mean the same in the model's imports.
  Result<void> CheckImports(const Function& function) {
    for (const format::OpsetImport& import : function.opset_imports) {
      const std::int64_t version = model_.OpsetVersion(import.domain);
      if (version == 0) {
        model_.opset_imports.push_back(import);
      } else if (version != import.version && !format::IsOnnxDomain(import.domain)) {
        return Error{ErrorCode::kUnsupported, "function '" + function.name + "'",
                     "imports " + import.domain + " " + std::to_string(import.version) +
                         ", the model " + std::to_string(version)};
      } else if (version != import.version) {
        QTX_RETURN_IF_ERROR(CheckMoves(function, import.version, version));
      }
    }
    return {};
  }

  static Result<void> CheckMoves(const Function& function, std::int64_t from, std::int64_t to) {
    Result<void> all;
    ForEachNode(function.nodes, [&](const Node& node) {
      if (!all.has_value() || MeansTheSame(node, from, to)) return;
      all = Unsupported(PlaceOf(node), "of opset " + std::to_string(from) +
                                           ", may mean something else in the model's opset " +
                                           std::to_string(to));
    });
    return all;
  }

  // Those whose calls were all expanded, with what only they called.
  void RemoveUncalled() {
    std::set<const Function*> called;
    std::vector<const std::vector<Node>*> open = {&model_.graph.nodes};
    while (!open.empty()) {
      const std::vector<Node>* nodes = open.back();
      open.pop_back();
      ForEachNode(*nodes, [&](const Node& node) {
        const Function* function = Called(node);
        if (function != nullptr && called.insert(function).second) open.push_back(&function->nodes);
      });
    }
    format::RemoveFunctions(
        [&](const Function& candidate) {
          return std::ranges::any_of(expanded_, [&](const Function* function) {
            return !called.contains(function) && function->name == candidate.name &&
                   function->domain == candidate.domain && function->overload == candidate.overload;
          });
        },
        model_);
  }

  format::Model model_;
  const std::vector<Function> functions_;
  Ledger& ledger_;
  graph::Names names_;           // of all graphs of the model
  std::set<std::string> reals_;  // next to a Q or DQ
  std::map<Key, std::vector<const Function*>> by_name_;
  std::map<const Function*, std::size_t> sizes_;  // nodes, those of bodies too
  std::set<const Function*> quantizing_, expanded_;
  std::size_t count_ = 0, bytes_ = 0;  // of what calls stand for
};

}  // namespace

Result<format::Model> ExpandFunctions(format::Model model, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(std::vector<Function> functions, format::FunctionsOf(model));
  if (functions.empty()) return model;
  return Expander(std::move(model), std::move(functions), ledger).Run();
}

}  // namespace qtx::convert
