#include "stablehlo/fold_bias.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::TensorType;

class Folding {
 public:
  explicit Folding(format::Graph& graph) : graph_(graph) {
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (const format::ValueInfo& value : *list) {
        if (value.type) types_.emplace(value.name, &*value.type);
      }
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& output : graph.nodes[i].outputs) producers_.emplace(output, i);
      for (const std::string& input : graph.nodes[i].inputs) ++uses_[input];
    }
    for (const format::ValueInfo& output : graph.outputs) ++uses_[output.name];
    for (const format::TensorData& data : graph.initializers)
      initializers_.emplace(data.name, &data);
  }

  void Run(Ledger& ledger) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op_type == "Cast") Fold(i, ledger);
    }
    Remove();
  }

 private:
  // The node that gives a value which nothing else reads; nullptr: another reads it, or it is
  // computed by none.
  Node* OnlyFor(const std::string& value) {
    const auto found = producers_.find(value);
    return found == producers_.end() || uses_[value] != 1 ? nullptr : &graph_.nodes[found->second];
  }
  const TensorType* TypeOf(const std::string& value) const {
    const auto found = types_.find(value);
    return found == types_.end() ? nullptr : found->second;
  }
  static bool IsProduct(const Node& node) {
    return (node.op_type == "Conv" || node.op_type == "MatMul") && node.inputs.size() == 2;
  }

  // Whether the result of `product` is a sum in units of both scales.
  bool IsSum(const Node& product) const {
    const TensorType* x = TypeOf(product.inputs[0]);
    const TensorType* w = TypeOf(product.inputs[1]);
    const TensorType* sum = TypeOf(product.outputs[0]);
    if (x == nullptr || w == nullptr || sum == nullptr || !x->quantization || !w->quantization ||
        sum->elem_type != ElementType::kInt32Q || !x->quantization->axis.empty())
      return false;
    const Quantization& of = *sum->quantization;
    const Quantization& q = *w->quantization;
    if (!of.offset.empty() || of.quant_min || of.quant_max || of.scale.size() != q.scale.size() ||
        of.axis.size() != q.axis.size() || !of.block_shape.empty() || !q.block_shape.empty() ||
        of.real_type != x->quantization->real_type || of.real_type != q.real_type)
      return false;
    for (std::size_t i = 0; i < q.scale.size(); ++i) {
      if (!AreScalesOfOneUnit(of.scale[i], x->quantization->scale[0] * q.scale[i])) return false;
    }
    return true;
  }

  // The constant behind Reshape and Expand that is added along the axis of features.
  const format::TensorData* BiasOf(const std::string& added, const Quantization& sum,
                                   std::vector<const Node*>& between) {
    std::string value = added;
    while (const Node* node = OnlyFor(value)) {
      if (node->op_type != "Reshape" && node->op_type != "Expand") return nullptr;
      between.push_back(node);
      value = node->inputs[0];
    }
    const auto found = initializers_.find(value);
    const TensorType* type = TypeOf(value);
    if (found == initializers_.end() || type == nullptr ||
        type->elem_type != ElementType::kInt32Q || found->second->dims.size() != 1 ||
        !type->quantization->offset.empty() || type->quantization->scale != sum.scale ||
        type->quantization->axis.size() != sum.axis.size())
      return nullptr;
    return found->second;
  }

  // Whether the vector was broadcast along the axis of features: Reshape gave it sizes of 1 along
  // all others, or it is aligned at the last axis.
  bool IsAlongFeatures(const Node& product, const std::vector<const Node*>& between,
                       const format::TensorData& bias) const {
    const TensorType* sum = TypeOf(product.outputs[0]);
    if (!sum->shape || sum->shape->size() < 2) return false;
    const bool is_conv = product.op_type == "Conv";
    const std::size_t features = is_conv ? 1 : sum->shape->size() - 1;
    if ((*sum->shape)[features].value != bias.dims[0]) return false;
    bool reshaped = false;
    for (const Node* node : between) {
      if (node->op_type != "Reshape") continue;
      const TensorType* type = TypeOf(node->outputs[0]);
      if (type == nullptr || !type->shape || type->shape->size() != sum->shape->size())
        return false;
      for (std::size_t i = 0; i < type->shape->size(); ++i) {
        if ((*type->shape)[i].value != (i == features ? bias.dims[0] : 1)) return false;
      }
      reshaped = true;
    }
    return reshaped || !is_conv;
  }

  void Fold(std::size_t cast, Ledger& ledger) {
    std::vector<const Node*> removed;
    Node* product = OnlyFor(graph_.nodes[cast].inputs[0]);
    const format::TensorData* bias = nullptr;
    if (product != nullptr && product->op_type == "Add") {
      const Node* add = product;
      product = OnlyFor(add->inputs[0]);
      const TensorType* sum = TypeOf(add->inputs[0]);
      const TensorType* result = TypeOf(add->outputs[0]);
      if (product == nullptr || !IsProduct(*product) || sum == nullptr || result == nullptr ||
          !sum->quantization || sum->quantization != result->quantization)
        return;
      bias = BiasOf(add->inputs[1], *sum->quantization, removed);
      if (bias == nullptr || !IsAlongFeatures(*product, removed, *bias)) return;
      removed.push_back(add);
      if (product->op_type == "MatMul" && !IsOfMatrices(*product)) return;
    }
    if (product == nullptr || !IsProduct(*product) || !IsSum(*product)) return;
    removed.push_back(product);
    Node folded = *product;
    Node& last = graph_.nodes[cast];
    folded.outputs = last.outputs;
    if (bias != nullptr) {
      folded.inputs.push_back(bias->name);
      if (folded.op_type == "MatMul") folded.op_type = "Gemm";
    }
    ledger.Changed(folded.outputs[0], "sum", "of 32 bits in units of both scales: not rounded");
    for (const Node* node : removed) gone_.insert(node->outputs[0]);
    last = std::move(folded);
  }

  bool IsOfMatrices(const Node& product) const {
    return std::ranges::all_of(product.inputs, [&](const std::string& input) {
      const TensorType* type = TypeOf(input);
      return type != nullptr && type->shape && type->shape->size() == 2;
    });
  }

  // Nodes that were folded, their values, and initializers that only they read.
  void Remove() {
    if (gone_.empty()) return;
    std::set<std::string> read;
    std::set<std::string> orphans;
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      const bool gone = gone_.contains(node.outputs[0]);
      for (const std::string& input : node.inputs) (gone ? orphans : read).insert(input);
      if (!gone) kept.push_back(std::move(node));
    }
    graph_.nodes = std::move(kept);
    const auto is_orphan = [&](const auto& named) {
      return gone_.contains(named.name) ||
             (orphans.contains(named.name) && !read.contains(named.name));
    };
    std::erase_if(graph_.values, is_orphan);
    std::erase_if(graph_.initializers, is_orphan);
  }

  format::Graph& graph_;
  std::unordered_map<std::string, const TensorType*> types_;
  std::unordered_map<std::string, std::size_t> producers_;
  std::unordered_map<std::string, std::size_t> uses_;
  std::unordered_map<std::string, const format::TensorData*> initializers_;
  std::set<std::string> gone_;
};

}  // namespace

bool AreScalesOfOneUnit(float scale, float product) {
  return std::abs(scale - product) <= std::ldexp(product, -22);
}

void FoldBiases(format::Graph& graph, Ledger& ledger) { Folding(graph).Run(ledger); }

}  // namespace qtx::convert
