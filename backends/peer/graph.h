// A model as the adapters of third-party libraries read it: values with types and fixed shapes,
// constants decoded, activations joined to the node they follow.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::peer {

/// `tensor` has type, dims and inline parameters; bytes when the value is constant.
struct Value {
  std::string name;
  format::Tensor tensor;
  bool constant = false;
  bool is_input = false;  // of the graph

  format::ElementType type() const { return tensor.elem_type; }
  const format::Dims& dims() const { return tensor.dims; }
  std::int64_t rank() const { return static_cast<std::int64_t>(tensor.dims.size()); }
  bool is_float() const { return type() == format::ElementType::kFloat; }
  /// INT8Q or UINT8Q.
  bool is_byte() const;
  bool per_tensor() const;
  /// The parameters of a quantized value with one of each.
  float scale() const { return tensor.quantization->scale[0]; }
  std::int32_t offset() const { return format::OffsetAt(*tensor.quantization, 0); }
  format::IntegerRange range() const { return StoredRange(type(), *tensor.quantization); }
  /// Constants as reals in binary32: stored - offset, times the scale.
  std::vector<float> Reals() const;
};

/// The types are one, with the same parameters: a copy of the elements is a copy of the reals.
bool SameType(const Value& a, const Value& b);

/// Real bounds of a result: of a Relu or Clip that nothing else stands between.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  bool any() const;
};
/// `value`'s range of stored integers, narrowed to the bounds.
format::IntegerRange StoredBounds(const Value& value, const Bounds& bounds);

/// A node in the making. Everything it refuses names the node.
class Reader {
 public:
  Reader(const format::Node& node, const format::Model& model, Bounds bounds,
         std::function<Value*(const std::string&)> find,
         std::function<Result<Value*>(const std::string&, format::Dims)> define);

  /// Holds the node to the clauses of its operator, with the shapes and constants that are known by
  /// now.  Errors: kInvalid with the clause.
  Result<void> Check();

  const std::string& op() const { return node_.op_type; }
  const format::Node& node() const { return node_; }
  /// Of the Relu or Clip joined to this node; of a Relu or Clip by itself, its own.
  const Bounds& bounds() const { return bounds_; }
  std::int64_t opset() const { return opset_; }
  /// Attributes of the node, or the defaults of its operator.
  std::int64_t Int(std::string_view name) const { return attributes_.Int(name); }
  float Float(std::string_view name) const { return attributes_.Float(name); }
  std::size_t input_count() const { return node_.inputs.size(); }
  bool Has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  Result<Value*> Input(std::size_t i) const;
  /// Sizes of output 0 as the operator's shape rule has them.
  /// Errors: kUnsupported where they depend on what the model computes.
  Result<format::Dims> InferredDims() const;
  /// Output 0, with the declared type (FLOAT where none is declared).
  Result<Value*> Output(format::Dims dims) const;

  /// Errors: kUnsupported for a second output.
  Result<void> HasOneOutput() const;
  Error Unsupported(std::string message) const;

 private:
  std::string Place() const { return "node '" + node_.name + "' (" + op() + ")"; }

  const format::Node& node_;
  const format::Model& model_;
  Bounds bounds_;
  std::int64_t opset_;
  format::Attributes attributes_;
  std::vector<format::ValueFacts> outputs_;  // once checked
  std::function<Value*(const std::string&)> find_;
  std::function<Result<Value*>(const std::string&, format::Dims)> define_;
};

/// Wall-clock seconds of each of `repetitions` calls.
template <typename F>
std::vector<double> SecondsOf(F run, int repetitions) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return seconds;
}

/// Values and nodes of one model.
class Graph {
 public:
  /// Errors: kInvalid for a model that breaks a rule of the format; kUnsupported for a value
  /// without a fixed shape.
  static Result<std::unique_ptr<Graph>> Read(const format::Model& model);

  /// Calls `add` for each node in order.
  Result<void> ForEachNode(const std::function<Result<void>(const Reader&)>& add);

  const std::vector<Value*>& inputs() const { return inputs_; }
  Result<std::vector<Value*>> Outputs();
  /// Frees the constants and the model, once the library has its own copies.
  void Forget();
  /// Errors: kInvalid for inputs of another number, type or shape than declared; kUnsupported for
  /// reals that are to be quantized.
  Result<void> CheckInputs(std::span<const format::Tensor> inputs) const;

 private:
  explicit Graph(const format::Model& model) : model_(model) {}
  Result<void> ReadInputs();
  Result<Value*> Define(const std::string& name, format::Dims dims);
  Value* Find(const std::string& name);
  void JoinActivations();
  Result<Bounds> BoundsOf(const format::Node& node);

  format::Model model_;
  std::vector<Bounds> bounds_;  // one a node
  std::deque<Value> values_;    // a deque: pointers to values stay good
  std::map<std::string, Value*, std::less<>> by_name_;
  std::vector<Value*> inputs_;
  std::int64_t total_bytes_ = 0;
};

}  // namespace qtx::backend::peer
