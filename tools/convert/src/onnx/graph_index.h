// Producers and consumers of each value of a graph.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

class GraphIndex {
 public:
  /// Keeps a reference to `model`.  Errors: kInvalid for a value produced twice, kUnsupported for a
  /// node with a subgraph, which may use any outer value, unless `model` is a flat form.
  static Result<GraphIndex> Of(const format::Model& model);

  const format::Model& model() const { return *model_; }
  const format::Node& node(std::size_t i) const { return model_->graph.nodes[i]; }

  std::optional<std::size_t> Producer(const std::string& value) const;
  /// Nodes by position, one entry for each use.
  const std::vector<std::size_t>& Consumers(const std::string& value) const;
  bool IsInput(const std::string& value) const { return inputs_.contains(value); }
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  const format::TensorData* Initializer(const std::string& value) const;
  const format::TensorType* TypeOf(const std::string& value) const;  // nullptr: not declared

  /// The value of an initializer or a Constant node; nullopt when it is computed.
  Result<std::optional<format::Tensor>> Constant(const std::string& value) const;
  /// Rank of an initializer, of a Constant or of a declared shape.
  std::optional<std::int64_t> RankOf(const std::string& value) const;

  std::vector<std::string> AllNames() const;

 private:
  const format::Model* model_ = nullptr;
  std::map<std::string, std::size_t> producers_;
  std::map<std::string, std::vector<std::size_t>> consumers_;
  std::map<std::string, const format::TensorData*> initializers_;
  std::map<std::string, const format::TensorType*> types_;
  std::set<std::string> inputs_, outputs_;
};

/// "node 'n' (MatMul)": a place for errors. A node without a name is called by its first output.
inline std::string PlaceOf(const format::Node& node) {
  const std::string& name =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return "node '" + name + "' (" + node.op_type + ")";
}

inline bool IsQuantizeLinear(const format::Node& node) {
  return IsStock(node, "QuantizeLinear") ||
         (node.op_type == "QuantizeLinear" && node.domain == "com.microsoft");
}
inline bool IsDequantizeLinear(const format::Node& node) {
  return IsStock(node, "DequantizeLinear") ||
         (node.op_type == "DequantizeLinear" && node.domain == "com.microsoft");
}

}  // namespace qtx::convert
