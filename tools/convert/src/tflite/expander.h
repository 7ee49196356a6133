// Writes the nodes by which TFLite computes one that it lacks.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtx/format/attributes.h"
#include "qtx/format/inference.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {

class Expander {
 public:
  using Values = std::vector<std::string>;

  /// Borrows both; the nodes go to `builder`, whose names are those of the model.
  Expander(const format::Model& model, graph::GraphBuilder& builder)
      : view_(model), inference_(model), opset_(format::OnnxOpset(model)), builder_(builder) {}

  void Start(const format::Node& node) { node_ = &node; }

  const format::Node& node() const { return *node_; }
  format::Attributes attributes() const { return format::Attributes(*node_, opset_); }
  /// "" when absent.
  std::string Input(std::size_t i) const {
    return i < node_->inputs.size() ? node_->inputs[i] : std::string();
  }
  /// The shape, if all of it is known.
  std::optional<format::Dims> DimsOf(const std::string& value) const;
  const format::TensorType* TypeOf(const std::string& value) const;  // nullptr: not declared
  /// True for FLOAT, and for a quantized value that stands for it.
  bool IsReal(const std::string& value) const;
  /// The elements of a constant of reals, rounded to binary32; nullopt for another value.
  std::optional<std::vector<double>> Constant(const std::string& value) const;

  std::optional<std::vector<std::int64_t>> ConstantIntegers(const std::string& value) const;
  /// kUndefined where it is not known.
  format::ElementType ElementTypeOf(const std::string& value) const;

  /// What the node reads, as FLOAT.
  std::string Real(const std::string& value);
  std::string Floats(const std::vector<double>& values, format::Dims dims);
  std::string Number(double value) { return Floats({value}, {}); }
  std::string Integers(const std::vector<std::int64_t>& values) {
    return builder_.AddInts(node_->outputs[0] + "/integers", values);
  }

  /// The result of an operator, FLOAT where it computes with FLOAT.
  std::string Op(std::string op_type, Values inputs,
                 std::vector<format::Attribute> attributes = {});
  /// The operator that gives an output of the node; none where that is absent.
  void Last(std::string op_type, Values inputs, std::vector<format::Attribute> attributes = {},
            std::size_t output = 0);
  /// A value of the type of `like` in another shape.
  std::string Reshaped(const std::string& value, const format::Dims& dims, const std::string& like);

  graph::GraphBuilder& builder() { return builder_; }
  const format::ModelView& view() const { return view_; }

 private:
  format::ModelView view_;
  format::Inference inference_;
  std::int64_t opset_ = 0;
  graph::GraphBuilder& builder_;
  const format::Node* node_ = nullptr;
};

/// LSTM and GRU as many steps as the sequence is long.  False, and nothing written: more than
/// 256 steps, sizes that are not known, computed weights, sequences of several lengths, peepholes,
/// a clip, other activations than the default, batches first.
bool Unroll(Expander& expander);

}  // namespace qtx::convert
