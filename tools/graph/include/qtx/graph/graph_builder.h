// Builds a graph: unique names, declared types, initializers, nodes.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/scopes.h"

namespace qtx::graph {

/// The names that are taken in a graph. Those of a flat form are taken in all graphs of the model:
/// the prefix of a body does not make a name another one.
class Names {
 public:
  Names() = default;
  /// Takes all names of values in `graph`.
  explicit Names(const format::Graph& graph);

  /// False: it was taken already.
  bool Take(const std::string& name) { return next_.emplace(Bare(name), 2).second; }
  bool IsTaken(const std::string& name) const { return next_.contains(Bare(name)); }
  /// Takes `wanted`, or that with the first free suffix of #2, #3, ...
  std::string Unique(const std::string& wanted);

 private:
  static std::string Bare(const std::string& name) { return std::string(format::BareName(name)); }
  std::unordered_map<std::string, int> next_;  // by name without prefix: the suffix to try next
};

/// A node without a name and outputs.
struct Draft {
  std::string op_type;
  std::vector<std::string> inputs;
  std::vector<format::Attribute> attributes;
  std::string domain = {};  // ai.onnx
};

/// The order of a value's dimensions: that of the framework it comes from, or [N,C,H,W].
enum class Layout { kOwn, kFirst };

/// The names of one value in the orders in which it is at hand; "" where it is not.
struct Forms {
  std::string own, first;
  std::string& In(Layout layout) { return layout == Layout::kOwn ? own : first; }
  const std::string& In(Layout layout) const { return layout == Layout::kOwn ? own : first; }
  bool IsNew() const { return own.empty() && first.empty(); }
};

class GraphBuilder {
 public:
  format::Graph& graph() { return graph_; }
  Names& names() { return names_; }
  std::string Unique(const std::string& wanted) { return names_.Unique(wanted); }

  void AddInput(const std::string& name, format::TensorType type);
  void AddOutput(const std::string& name, format::TensorType type);
  /// Declares a value between nodes; an input or output of the graph has its own declaration.
  void Declare(const std::string& name, format::TensorType type);
  /// A new value of `type`, under a name made of `wanted`; a node must produce it.
  std::string Inner(const std::string& wanted, format::TensorType type);

  /// An initializer under a name that is the caller's, declared where it is quantized.
  void SetConstant(const std::string& name, const format::Tensor& tensor);
  /// The same under a name made of `wanted`.
  std::string AddConstant(const std::string& wanted, const format::Tensor& tensor);
  std::string AddInts(const std::string& wanted, std::span<const std::int64_t> values);

  /// Adds a node, whose name is made of `stem` and its operator.
  void Add(const std::string& stem, Draft draft, std::vector<std::string> outputs,
           std::optional<format::Origin> origin = std::nullopt);
  /// Whether a node added here reads the value.
  bool IsRead(const std::string& value) const { return read_.contains(value); }

  /// Ends the graph: what is an input or output is declared only there.
  format::Graph Finish();

 private:
  format::Graph graph_;
  Names names_, node_names_;
  std::set<std::string> read_;
};

format::Tensor IntsTensor(std::span<const std::int64_t> values);
format::Tensor FloatTensor(float value);

}  // namespace qtx::graph
