// Access to the node of a one-node question and its values, for fault models to edit.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fault.h"

namespace qtx::conformance {

class NodeEditor {
 public:
  explicit NodeEditor(Question& question) : question_(question), graph_(question.model.graph) {}

  /// Faults edit parameters only in models of one node, where nothing else reads them.
  bool single() const { return graph_.nodes.size() == 1; }
  format::Node& node() { return graph_.nodes.front(); }
  format::Graph& graph() { return graph_; }

  /// The name of an input or output; nullptr when absent.
  const std::string* Input(std::size_t i);
  const std::string* Output() { return &node().outputs.front(); }
  /// The declared type, and its inline parameters; nullptr when absent.
  format::TensorType* Type(const std::string* name);
  format::Quantization* Parameters(const std::string* name);
  std::optional<format::Dims> Dims(const std::string* name);

  /// The tensor of an input or constant, with its declared type.
  std::optional<format::Tensor> Load(const std::string* name);
  /// Replaces data, dims and type of a value.
  void Replace(const std::string& name, format::Tensor tensor);

  /// Adds a constant; declares a value without shape.
  void AddConstant(const std::string& name, const format::Tensor& tensor);
  void Declare(const std::string& name, format::TensorType type);

  using Edit = std::function<bool(std::vector<std::int64_t>& values, format::Tensor& tensor)>;
  /// Calls `edit` with the stored integers of an input or constant; it may change them, and
  /// elem_type, dims and quantization. False if there are none or `edit` returns false.
  bool EditIntegers(const std::string* name, const Edit& edit);

 private:
  Question& question_;
  format::Graph& graph_;
};

inline bool IsConv(const format::Node& node) {
  return node.op_type.find("Conv") != std::string::npos;
}

/// Converts `tensor` to INT16Q with the same reals, so that larger stored values fit.
void Widen(format::Tensor& tensor);

}  // namespace qtx::conformance
