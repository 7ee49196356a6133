// Type and shape inference over a graph, from its declarations, operators and constants.
// Source: the shape rules of the catalogue; spec/format/graph.md.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/scopes.h"

namespace qtx::format {

/// A node that a clause refuses.
struct RefusedNode {
  std::size_t node = 0;  // in the nodes of the flat form; without bodies, in graph.nodes
  Error error;           // `where` is relative to the node
};

/// What a node must keep: what ONNX says in a stock model and the text in an extended one, or the
/// text in both, by which the reference computes them.
enum class Rules { kOfTheModel, kOfTheText };

class Inference {
 public:
  /// Walks the nodes once, those of bodies before the node that has them. Keeps no reference to the
  /// model. Decodes initializers of at most kMostConstantElements; the elements of others are
  /// unknown. Computes small tensors of integers that follow from these and from sizes,
  /// kMostPropagated elements in all.
  explicit Inference(const Model& model) : Inference(FlatModel(model)) {}
  explicit Inference(const FlatModel& flat, Rules rules = Rules::kOfTheModel);
  Inference(Inference&&) = default;  // no copy: values point to constants
  Inference& operator=(Inference&&) = default;

  /// A value of the model's graph, or of a body by its flat name. nullptr for an undefined name.
  const ValueFacts* Find(const std::string& name) const;
  /// Nodes that break a clause; their outputs are taken for what they are declared.
  const std::vector<RefusedNode>& broken() const { return broken_; }
  /// Nodes that ask for what ONNX defines and this version of the text does not.
  const std::vector<RefusedNode>& undefined() const { return undefined_; }
  /// The symbol of a size below kUnknownSize; "" for kUnknownSize.
  std::string_view Symbol(std::int64_t size) const;
  /// Nodes of operators without a shape rule.
  const std::vector<std::size_t>& without_shape_rule() const { return without_shape_rule_; }
  /// Whether all types and sizes of the node's values were known, and the elements of its constant
  /// inputs, so that another check of the node cannot find more.
  bool KnowsAll(std::size_t node) const { return complete_[node]; }

  static constexpr std::int64_t kMostConstantElements = 1 << 16;
  static constexpr std::int64_t kMostPropagated = 1 << 23;  // elements, read and computed

 private:
  void Declare(const std::vector<ValueInfo>& values);
  void AddInitializers(const Model& model);
  void Enter(const Scope& body, const Node& node);
  void Visit(std::size_t i, const Node& node);
  Result<void> CheckNode(Application& a, bool has_rules) const;
  std::optional<std::vector<ValueFacts>> OutputsInItself(const Application& refused,
                                                         bool has_rules) const;
  Result<void> VisitBodies(Application& a) const;
  Result<void> CheckSection(Application& a) const;
  Result<void> VisitOnnx(Application& a, bool has_section) const;
  Result<void> VisitMicrosoft(const Application& a) const;
  void Propagate(Application& a);
  bool IsComplete(const Application& a) const;
  std::vector<ValueFacts> FactsOf(const std::vector<std::string>& names) const;
  Dims DimsOf(const Shape& shape);

  std::int64_t opset_ = 0;
  bool is_stock_ = false;  // neither imports the domain of quantized types nor declares one
  std::int64_t propagated_ = 0;
  std::string folder_;  // of external data
  std::unordered_map<std::string, ValueFacts> values_;
  std::unordered_map<std::string, std::int64_t> symbols_;
  std::vector<std::string> names_;  // symbol names, that of size -2 first
  std::deque<Tensor> constants_;
  std::vector<RefusedNode> broken_, undefined_;
  std::vector<std::size_t> without_shape_rule_;
  std::unordered_set<std::string> stored_;     // initializers, and what Constant nodes give
  std::unordered_set<std::string> undecoded_;  // constants whose elements are unknown
  std::vector<bool> in_branches_;              // of each node: whether an If has it
  std::vector<bool> complete_;                 // of each node: KnowsAll
  // Outputs of bodies, by the node that has them; only while the nodes are walked.
  std::unordered_map<const Node*, std::vector<std::vector<std::string>>> body_outputs_;
};

/// `model` with what Inference says of values that nodes give: value_info gains those that are not
/// declared, and declarations the type, rank and sizes that they leave open. What is declared stays
/// as it is; sizes of one symbol have its name.
Model WithInferredTypes(const Model& model);

}  // namespace qtx::format
