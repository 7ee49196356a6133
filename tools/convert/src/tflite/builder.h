// Builds the ONNX graph while the operators of a TFLite file are walked. A value exists in TFLite's
// own order of dimensions, as [N,C,H,W], or in both, whichever its producer and consumers need.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout.h"
#include "ledger.h"
#include "qtx/format/model.h"
#include "tflite/file.h"

namespace qtx::convert {

using graph::Draft;
using graph::Layout;

/// A value of the graph that holds a tensor of the file, with its permutation.
struct TensorForm {
  int tensor = 0;
  Permutation perm;
  std::string name;
};

class TfliteBuilder {
 public:
  TfliteBuilder(TfliteFile& file, Ledger& ledger);

  const TfliteTensor& tensor(int index) const {
    return file_.tensors[static_cast<std::size_t>(index)];
  }

  /// The tensor at `position` of the operator's inputs or outputs.
  /// Errors: kInvalid if it is missing.
  Result<int> Input(const TfliteOperator& op, std::size_t position) const;
  Result<int> Output(const TfliteOperator& op) const;
  bool HasInput(const TfliteOperator& op, std::size_t position) const;

  /// Type in TFLite's own layout.  Errors: those of TypeOf, naming the tensor.
  Result<format::TensorType> Type(int tensor);
  /// Replaces the type; `field` and `why` go into the ledger.
  void SetType(int tensor, format::TensorType type, const std::string& field,
               const std::string& why);
  /// Sets the shape that its operator computes for a tensor without shape in the file.
  void InferShape(int tensor, const format::Dims& dims);
  /// Takes away the shape of a tensor that has none in the file and none that its operator tells.
  Result<void> ForgetShape(int tensor);
  /// For an operator that only moves elements from x to y: if x is an unread graph input without
  /// parameters, it gets those of y.
  Result<void> TakeTypeOfMoved(int x, int y);
  /// Adds a ledger entry for a change that types do not show.
  void Note(const std::string& value, const std::string& field, const std::string& why);
  /// Ledger::Lose for a field of a tensor.
  Result<void> Lose(std::string_view loss, int tensor, const std::string& field,
                    const std::string& why) {
    return ledger_.Lose(loss, this->tensor(tensor).name, field, why);
  }

  /// The name of the tensor's value in `layout`; adds a Transpose or an initializer if needed.
  /// Errors: kInvalid if it is not yet produced, or has not rank 4.
  Result<std::string> Use(int tensor, Layout layout);
  /// Adds a constant as initializer, permuted.
  Result<std::string> UseConstant(int tensor, const Permutation& perm);
  /// The tensor that a DEQUANTIZE widens from a constant of FLOAT16 to `index`; nullopt for others.
  std::optional<int> HalfOf(int index) const;
  /// True for such a tensor that LSTMs alone read, which take the constant.
  bool IsStacked(int index) const { return halves_.contains(index) && !unstacked_.contains(index); }
  /// Adds a new initializer: shapes, pads, bounds; one that is quantized is declared.
  std::string AddConstant(const std::string& name, const format::Tensor& tensor) {
    return out_.AddConstant(name, tensor);
  }
  /// Adds a variable, which TFLite keeps between runs, as a graph input (default 0) and a graph
  /// output for the value after the run, which a node must produce.
  /// REQUIRES: `type` is made from StateType, its shape fixed.
  struct State {
    std::string before, after;
  };
  Result<State> AddState(int tensor, const format::TensorType& type);
  /// Errors: kUnsupported for a tensor that is not a variable, is not per tensor, or is used by two
  /// operators.
  Result<format::TensorType> StateType(int tensor);

  /// The current layout: NCHW if the tensor already has that form.
  Layout Preferred(int tensor) const;

  /// The permuted value of weights, constant or not.
  Result<std::string> UsePermuted(const TfliteOperator& op, int tensor, const Permutation& perm);
  /// The value of an integer tensor as INT64, which ONNX requires where TFLite has INT32.
  Result<std::string> UseInt64(const TfliteOperator& op, int tensor);
  /// The version of ai.onnx: that of the newest operator used.
  std::int64_t opset() const { return opset_; }

  /// Adds a node that produces `output` in `layout`, with TFLite's fused activation.
  Result<void> Emit(
      const TfliteOperator& op, Draft draft, int output, Layout layout,
      schema::ActivationFunctionType activation = schema::ActivationFunctionType::NONE);
  /// Adds a node that produces all of `outputs` in `layout`, and the values `inner` after them.
  Result<void> EmitAll(const TfliteOperator& op, Draft draft, std::span<const int> outputs,
                       Layout layout, const std::vector<std::string>& inner = {});
  /// Declares a new value of `type` without a tensor in the file; a node must produce it.
  std::string Inner(const std::string& name, format::TensorType type) {
    return out_.Inner(name, std::move(type));
  }
  /// Adds a node that produces a new value of `type` without a tensor in the file.
  std::string EmitInner(const TfliteOperator& op, Draft draft, const std::string& name,
                        format::TensorType type);

  /// Adds a node whose outputs are values of Inner or AddState.  `op` may be nullptr: no origin.
  /// `channels_first`: in Layout::kFirst, which the origin says where TFLite's kernel hangs on it.
  void Append(const TfliteOperator* op, Draft draft, std::vector<std::string> outputs,
              bool channels_first = false);

  /// Adds graph inputs and outputs and returns the graph.  Errors: kInvalid for a bad input or
  /// output.
  Result<void> AddInputs();
  Result<format::Graph> Finish();

  /// The values and initializers of each tensor.
  std::vector<TensorForm> Forms() const;
  /// Types in TFLite's layout, by tensor; absent for unused tensors.
  const std::vector<std::optional<format::TensorType>>& types() const { return types_; }

 private:
  bool IsInput(int tensor) const;
  bool IsOutput(int tensor) const;
  graph::Forms& FormsOf(int tensor) { return forms_[static_cast<std::size_t>(tensor)]; }
  const graph::Forms& FormsOf(int tensor) const { return forms_[static_cast<std::size_t>(tensor)]; }
  std::string Define(int tensor, Layout layout, const format::TensorType& own);
  Result<void> CheckNew(int output, Layout layout) const;
  Result<void> Fuse(schema::ActivationFunctionType activation, int output);
  Result<void> EmitFloatActivation(const TfliteOperator& op, Draft draft, int output, Layout layout,
                                   schema::ActivationFunctionType activation);

  TfliteFile& file_;
  Ledger& ledger_;
  graph::GraphBuilder out_;
  std::vector<std::optional<format::TensorType>> types_;
  std::vector<graph::Forms> forms_;  // of computed tensors
  std::map<std::pair<int, Permutation>, std::string> constants_;
  std::vector<std::pair<std::string, format::TensorType>> states_;  // after the run
  std::map<int, int> halves_;  // by the tensor that DEQUANTIZE gives
  std::set<int> unstacked_;    // read by an operator that is no LSTM
  const std::int64_t opset_;
};

}  // namespace qtx::convert
