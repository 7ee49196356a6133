// Producers and readers of each value of a graph.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::quantize {

/// An input of a node.
struct Use {
  std::size_t node = 0;
  std::size_t input = 0;
};

class GraphIndex {
 public:
  /// Borrows `model`, whose nodes and lists must not change.
  explicit GraphIndex(const format::Model& model);

  const format::Model& model() const { return *model_; }
  const format::Node& node(std::size_t i) const { return model_->graph.nodes[i]; }

  std::optional<std::size_t> Producer(const std::string& value) const;
  const std::vector<Use>& Uses(const std::string& value) const;
  bool IsInput(const std::string& value) const { return inputs_.contains(value); }
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  const format::TensorData* Initializer(const std::string& value) const;
  /// The declared type, or nullptr.
  const format::TensorType* TypeOf(const std::string& value) const;
  /// True for a FLOAT initializer that is not a graph input.
  bool IsFloatConstant(const std::string& value) const;
  /// True for a value that is declared FLOAT and not an initializer.
  bool IsFloatValue(const std::string& value) const;
  /// The only use of a value that is not a graph output; else nullopt.
  std::optional<Use> OnlyUse(const std::string& value) const;
  /// All names in the graph.
  std::set<std::string> AllNames() const;

 private:
  const format::Model* model_ = nullptr;
  std::map<std::string, std::size_t> producers_;
  std::map<std::string, std::vector<Use>> uses_;
  std::map<std::string, const format::TensorData*> initializers_;
  std::map<std::string, const format::TensorType*> types_;
  std::set<std::string> inputs_, outputs_;
};

/// "node 'conv1' (Conv)", by its first output where it has no name.
std::string PlaceOf(const format::Node& node);

/// "initializer 'w1'".
std::string PlaceOfInitializer(const std::string& name);
/// The elements of a FLOAT initializer.  Errors: those of Decode.  REQUIRES: there is an
/// initializer of this name.
Result<format::Tensor> LoadInitializer(const GraphIndex& index, const std::string& name);

/// Makes unique names: `wanted`, or with the first free suffix of #2, #3, ...
class NameSource {
 public:
  explicit NameSource(const GraphIndex& index) : taken_(index.AllNames()) {}
  std::string Unique(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

}  // namespace qtx::quantize
