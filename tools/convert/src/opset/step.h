// One node on its way over one boundary of opsets, and what is known of the graph around it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "errors.h"
#include "qtx/format/inference.h"
#include "qtx/format/model.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {

/// A graph whose nodes move: what is known of its values, and which constants it gains and loses.
class OpsetScope {
 public:
  /// Knows nothing: every input of a node is computed.
  OpsetScope() = default;
  /// Of a model and all its bodies. Keeps no reference to `flat`.
  explicit OpsetScope(const format::FlatModel& flat);

  format::ElementType TypeOf(const std::string& value) const;          // of reals, if quantized
  std::optional<format::Dims> DimsOf(const std::string& value) const;  // negative: unknown size
  /// nullptr where the value is not constant. A graph input with a default is not.
  const format::Tensor* ConstantOf(const std::string& value) const;

  std::string Unique(const std::string& name) { return names_.Unique(name); }
  std::string AddConstant(const std::string& name, format::Tensor tensor);
  void Unread(const std::string& constant) { unread_.insert(constant); }

  /// Adds and removes the constants in the graph.
  void Finish(format::Graph& graph) const;
  bool adds() const { return !added_.empty(); }

 private:
  std::optional<format::Inference> inference_;
  graph::Names names_;
  std::map<std::string, format::ElementType> halves_;  // types of reals of 16 bits
  std::set<std::string> inputs_;
  std::map<std::string, format::Tensor> added_;
  std::vector<std::string> order_;  // of added_
  std::set<std::string> unread_;
};

class OpsetStep {
 public:
  OpsetStep(OpsetScope& scope, format::Node moved, std::int64_t boundary)
      : node(std::move(moved)), since(boundary), scope_(scope) {}

  format::Node node;
  std::vector<format::Node> before, after;  // further nodes around it, of the same opset
  const std::int64_t since;                 // the newer side's first opset
  std::int64_t old() const { return since - 1; }

  bool Has(std::size_t input) const {
    return input < node.inputs.size() && !node.inputs[input].empty();
  }
  format::ElementType TypeOf(std::size_t input) const { return scope_.TypeOf(Name(input)); }
  std::optional<format::Dims> DimsOf(std::size_t input) const { return scope_.DimsOf(Name(input)); }
  std::optional<std::int64_t> RankOf(std::size_t input) const;
  const format::Tensor* ConstantOf(std::size_t input) const {
    return scope_.ConstantOf(Name(input));
  }
  /// "input[1] 'axes'"
  std::string PlaceOf(std::size_t input) const {
    return "input[" + std::to_string(input) + "] '" + Name(input) + "'";
  }
  /// Errors: kUnsupported where the input is computed: only a constant has a place in `old()`.
  Result<const format::Tensor*> Constant(std::size_t input) const;
  Result<std::vector<std::int64_t>> Integers(std::size_t input) const;

  void SetInput(std::size_t input, std::string name);
  /// Without the input, and without absent ones that are now the last. A constant goes where no
  /// other node reads it.
  void DropInput(std::size_t input);
  void SetConstant(std::size_t input, const std::string& what, format::Tensor tensor) {
    SetInput(input, scope_.AddConstant(Prefix() + "/" + what, std::move(tensor)));
  }
  std::string AddConstant(const std::string& what, format::Tensor tensor) {
    return scope_.AddConstant(Prefix() + "/" + what, std::move(tensor));
  }
  std::string NewValue(const std::string& what) { return scope_.Unique(Prefix() + "/" + what); }
  format::Node NewNode(const char* op_type, std::vector<std::string> inputs, std::string output,
                       std::vector<format::Attribute> attributes = {}) const;

  void Erase(std::string_view attribute);
  void Set(format::Attribute attribute);

 private:
  std::string Name(std::size_t input) const {
    return input < node.inputs.size() ? node.inputs[input] : std::string();
  }
  std::string Prefix() const { return node.outputs.empty() ? node.name : node.outputs[0]; }
  OpsetScope& scope_;
};

inline Error RefusedAttribute(const char* name, std::string message) {
  return Unsupported("attribute '" + std::string(name) + "'", std::move(message));
}

/// A 1-D INT64 tensor; with `scalar` one of rank 0, of the only value.
format::Tensor IntegerTensor(const std::vector<std::int64_t>& values, bool scalar = false);
/// The values as FLOAT, FLOAT16, BFLOAT16 or DOUBLE. Errors: kUnsupported for another type.
Result<format::Tensor> RealTensor(const std::vector<float>& values, format::ElementType type,
                                  bool scalar);

}  // namespace qtx::convert
