// What follows for the values of a graph from its declarations, its operators and its constants.
// Source: the shape rules of the catalogue; spec/format/graph.md.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtx/format/catalogue.h"

namespace qtx::format {

/// A node that a clause refuses.
struct RefusedNode {
  std::size_t node = 0;  // in graph.nodes
  Error error;           // `where` is below the node
};

class Inference {
 public:
  /// Walks the nodes once. Borrows nothing. Initializers of at most kMostConstantElements are
  /// decoded; those that cannot be are not known. Small tensors of integers that nodes compute from
  /// these and from sizes are computed, too: kMostPropagated elements in all.
  explicit Inference(const Model& model);

  /// nullptr for a name that nothing defines.
  const ValueFacts* Find(const std::string& name) const;
  /// Nodes that break a clause; their outputs are taken for what they are declared.
  const std::vector<RefusedNode>& broken() const { return broken_; }
  /// Nodes that ask for what ONNX defines and this version of the text does not.
  const std::vector<RefusedNode>& undefined() const { return undefined_; }
  /// The symbol of a size below kUnknownSize; "" for kUnknownSize.
  std::string_view Symbol(std::int64_t size) const;
  /// Nodes for whose outputs there is no shape rule.
  const std::vector<std::size_t>& without_shape_rule() const { return without_shape_rule_; }

  static constexpr std::int64_t kMostConstantElements = 1 << 16;
  static constexpr std::int64_t kMostPropagated = 1 << 23;  // elements, read and computed

 private:
  void Declare(const std::vector<ValueInfo>& values);
  void AddInitializers(const Model& model);
  void Visit(std::size_t i, const Node& node);
  Result<void> CheckSection(Application& a) const;
  Result<void> VisitOnnx(Application& a, bool has_section) const;
  void Propagate(Application& a);
  std::vector<ValueFacts> FactsOf(const std::vector<std::string>& names) const;
  Dims DimsOf(const Shape& shape);

  std::int64_t opset_ = 0;
  bool is_stock_ = false;  // neither imports the domain of quantized types nor declares one
  std::int64_t propagated_ = 0;
  std::string folder_;  // of external data
  std::unordered_map<std::string, ValueFacts> values_;
  std::unordered_map<std::string, std::int64_t> symbols_;
  std::vector<std::string> names_;  // of symbols: that of -2 first
  std::deque<Tensor> constants_;
  std::vector<RefusedNode> broken_, undefined_;
  std::vector<std::size_t> without_shape_rule_;
};

}  // namespace qtx::format
