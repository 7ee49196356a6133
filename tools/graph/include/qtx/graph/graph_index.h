// Producers and readers of each value of a graph.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::graph {

/// An input of a node.
struct Use {
  std::size_t node = 0;  // by position in the graph
  std::size_t input = 0;
};

class GraphIndex {
 public:
  /// Borrows `model`, whose nodes and lists must not change. Of two nodes that produce a value, the
  /// first counts.
  explicit GraphIndex(const format::Model& model);
  /// The same.  Errors: kInvalid for a value produced twice, kUnsupported for a node with a
  /// subgraph, which may use any outer value, unless `model` is a flat form.
  static Result<GraphIndex> Of(const format::Model& model);

  const format::Model& model() const { return view_.model(); }
  /// The model with an index of its values and initializers.
  const format::ModelView& view() const { return view_; }
  const format::Node& node(std::size_t i) const { return model().graph.nodes[i]; }

  std::optional<std::size_t> Producer(const std::string& value) const;
  /// In the order of nodes.
  const std::vector<Use>& Uses(const std::string& value) const;
  /// The only use of a value that is not a graph output; else nullopt.
  std::optional<Use> OnlyUse(const std::string& value) const;
  /// The same, by a node of the graph that has the value and not of a body within it.
  std::optional<Use> OnlyUseBeside(const std::string& value) const;
  bool IsInput(const std::string& value) const { return inputs_.contains(value); }
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  const format::TensorData* Initializer(const std::string& value) const {  // nullptr: none
    return view_.FindInitializer(value);
  }
  /// Its place in the graph's list.  REQUIRES: Initializer(value).
  std::size_t InitializerPlace(const std::string& value) const {
    return static_cast<std::size_t>(Initializer(value) - model().graph.initializers.data());
  }
  const format::TensorType* TypeOf(const std::string& value) const;  // nullptr: not declared

  /// The value of an initializer that is no graph input, or of a Constant node; nullopt when it is
  /// computed.
  Result<std::optional<format::Tensor>> Constant(const std::string& value) const;
  /// True for a FLOAT initializer that is not a graph input.
  bool IsFloatConstant(const std::string& value) const;
  /// True for a value that is declared FLOAT and not such an initializer.
  bool IsFloatValue(const std::string& value) const;
  /// Rank of an initializer, of a Constant or of a declared shape.
  std::optional<std::int64_t> RankOf(const std::string& value) const;

 private:
  format::ModelView view_;
  const std::string* twice_ = nullptr;  // the first value that is produced twice
  // By names in the model.
  std::unordered_map<std::string_view, std::size_t> producers_;
  std::unordered_map<std::string_view, std::vector<Use>> uses_;
  std::unordered_set<std::string_view> inputs_, outputs_;
};

/// "node 'n' (MatMul)": a place for errors. A node without a name is called by its first output.
std::string PlaceOf(const format::Node& node);

}  // namespace qtx::graph
