// The one node of a question and its values, for faults that read them otherwise.
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

  /// In models of several nodes a value's parameters have other readers.
  bool single() const { return graph_.nodes.size() == 1; }
  format::Node& node() { return graph_.nodes.front(); }
  format::Graph& graph() { return graph_; }

  /// Names; nullptr when absent.
  const std::string* Input(std::size_t i);
  const std::string* Output() { return &node().outputs.front(); }
  /// The declared type, and its inline parameters; nullptr without.
  format::TensorType* Type(const std::string* name);
  format::Quantization* Parameters(const std::string* name);
  std::optional<format::Dims> Dims(const std::string* name);

  /// An input or a constant, with the type it is declared as.
  std::optional<format::Tensor> Load(const std::string* name);
  /// Gives it other data, dims and type.
  void Replace(const std::string& name, format::Tensor tensor);

  /// A further constant, and a further value of open shape.
  void AddConstant(const std::string& name, const format::Tensor& tensor);
  void Declare(const std::string& name, format::TensorType type);

  using Edit = std::function<bool(std::vector<std::int64_t>& values, format::Tensor& tensor)>;
  /// Calls `edit` with the stored integers of an input or constant; it may change them, and
  /// elem_type, dims and quantization. False when there are none, or `edit` says so.
  bool EditIntegers(const std::string* name, const Edit& edit);

 private:
  Question& question_;
  format::Graph& graph_;
};

inline bool IsConv(const format::Node& node) {
  return node.op_type.find("Conv") != std::string::npos;
}

/// `tensor` becomes INT16Q of the same reals, whose storage holds values that its own does not.
void Widen(format::Tensor& tensor);

}  // namespace qtx::conformance
