#include "qonnx/declare.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "layout.h"
#include "onnx/graph_index.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::TensorType;

// Operators on reals whose result is none, or that say its type themselves.
constexpr std::array kNotReal = {"ArgMax",  "ArgMin",         "Cast",  "DynamicQuantizeLinear",
                                 "NonZero", "QuantizeLinear", "Shape", "Size",
                                 "TopK"};

// The type of a quantized initializer behind a Transpose.
std::optional<TensorType> Transposed(const Node& node, const TensorType& from) {
  const auto dims = from.shape ? format::FixedDims(*from.shape) : std::nullopt;
  if (!IsStock(node, "Transpose") || !dims || !format::IsQuantized(from.elem_type) ||
      from.quantization->axis.size() > 1 || from.statistics) {
    return std::nullopt;
  }
  Permutation perm = node.IntsOr("perm", {});
  if (perm.empty()) {
    for (std::size_t i = dims->size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  }
  Permutation sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return std::nullopt;
  }
  if (perm.size() != dims->size()) return std::nullopt;
  return Permute(from, perm);
}

class Declarer {
 public:
  explicit Declarer(format::Graph& graph) : graph_(graph) {
    for (const auto& data : graph.initializers) {
      constants_.insert(data.name);
      if (data.data_type == ElementType::kFloat) reals_.insert(data.name);
    }
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (const format::ValueInfo& info : *list) Note(info);
    }
  }

  void Run() {
    for (const Node& node : graph_.nodes) Visit(node);
  }

 private:
  void Note(const format::ValueInfo& info) {
    if (!info.type) return;
    types_.emplace(info.name, *info.type);
    if (info.type->elem_type == ElementType::kFloat || format::IsQuantized(info.type->elem_type))
      reals_.insert(info.name);
  }
  void Declare(const std::string& name, TensorType type) {
    if (name.empty() || types_.contains(name)) return;
    format::ValueInfo info;
    info.name = name;
    info.type = std::move(type);
    Note(info);
    graph_.values.push_back(std::move(info));
  }
  void Visit(const Node& node) {
    if (node.inputs.empty() || std::ranges::find(kNotReal, node.op_type) != kNotReal.end()) return;
    const std::string& from = node.inputs[0];
    if (!reals_.contains(from)) return;
    const auto type = types_.find(from);
    if (constants_.contains(from) && type != types_.end() && node.outputs.size() == 1) {
      if (auto transposed = Transposed(node, type->second))
        return Declare(node.outputs[0], *std::move(transposed));
    }
    for (const std::string& output : node.outputs)
      Declare(output, {.elem_type = ElementType::kFloat});
  }

  format::Graph& graph_;
  std::map<std::string, TensorType> types_;
  std::set<std::string> reals_, constants_;
};

}  // namespace

void DeclareReals(format::Graph& graph) { Declarer(graph).Run(); }

}  // namespace qtx::convert
