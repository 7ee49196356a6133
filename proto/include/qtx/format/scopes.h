// A model whose nodes have bodies (If, Loop, Scan, SequenceMap) as one flat graph, and back. What
// reads or rewrites a graph works on the flat form, and so needs neither recursion nor scopes of
// names.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::format {

/// A graph of the model: its own, or the body of a node.
struct Scope {
  std::size_t parent = 0;  // the graph that has the node
  std::string prefix;      // of the flat names of its values
  std::string place;       // "graph.node[1] 'if': then_branch: "
  std::string path;        // "if.then_branch/"
  std::string attribute;
  std::vector<std::string> inputs, outputs;  // flat names
  // Its nodes and those of bodies below are [begin, end) of the flat graph's; `node` comes after.
  std::size_t begin = 0, end = 0, node = 0;
};

/// The flat form has the nodes, initializers and values of all graphs in one: those of a body stand
/// before the node that has it, by names of their own (lowering.S4 says which), and a name in a
/// body is that of the value it stands for, in whichever graph. An attribute keeps its graphs
/// without contents. A model without bodies is its own flat form.
class FlatModel {
 public:
  /// Borrows `model` where it has no bodies.
  explicit FlatModel(const Model& model);

  const Model& model() const { return flat_ ? *flat_ : *source_; }
  /// [0] is the model's graph; a body comes after the one that its node is in.
  const std::vector<Scope>& scopes() const { return scopes_; }
  /// The scope that has a flat name.
  std::size_t ScopeOf(std::string_view name) const;
  /// A flat name, or a flat node's or graph's, without the prefix of its scope.
  std::string_view Bare(std::string_view name) const;
  /// The place of a flat node or value, by its list in GraphProto ("node", "input", ...):
  /// "graph.node[1] 'if': then_branch: graph.node[0] 'relu'".
  std::string PlaceOf(std::string_view list, std::size_t i) const;
  /// `text` with the path of a body in place of each prefix: "value 'if.then_branch/t'".
  std::string Readable(std::string_view text) const;
  Error Readable(Error error) const;

  /// The nested form of `flat`, which was made of model(): new nodes and values belong to the graph
  /// that their names say.  Errors: kInvalid (an initializer that is no TensorProto).
  Result<Model> Nest(Model flat) const;

 private:
  struct Position {
    std::size_t scope = 0, index = 0;
  };
  struct Level;
  void Add(Graph graph, std::size_t scope, const Level* outer);
  void AddNode(Node node, const Level& level);
  void TakeBodies(Node& node, std::size_t index, const Level& level);
  void AddValues(std::string_view list, std::vector<ValueInfo>& from, std::vector<ValueInfo>& to,
                 const Level& level);
  std::string Resolve(const std::string& name, const Level& level) const;

  const Model* source_;
  std::unique_ptr<Model> flat_;
  std::string marker_;
  std::vector<Scope> scopes_;
  std::vector<std::pair<std::string_view, std::vector<Position>>> positions_;  // by list
};

/// True if the node, or a node of the graph, has a body that FlatModel has not emptied.
bool HasBodies(const Node& node);
bool HasBodies(const Graph& graph);

/// True for the flat name of a value of a body.
bool IsOfBody(std::string_view flat_name);
/// A flat name without its prefix, where FlatModel::Bare is out of reach.
std::string_view BareName(std::string_view flat_name);
/// True if both values are of one graph.
bool AreOfOneGraph(std::string_view flat_name, std::string_view other);

/// If, Loop, Scan and SequenceMap of ai.onnx.
bool IsControlFlow(const Node& node);

}  // namespace qtx::format
