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

enum class Layout { kOwn, kNchw };

/// A node under construction; Emit names it and adds output and origin.
struct Draft {
  std::string op_type;
  std::vector<std::string> inputs;
  std::vector<format::Attribute> attributes;
};

/// A value of the graph that holds a tensor of the file: its dimensions permuted, none for "as is".
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
  /// Errors: kInvalid when there is none.
  Result<int> Input(const TfliteOperator& op, std::size_t position) const;
  Result<int> Output(const TfliteOperator& op) const;
  bool HasInput(const TfliteOperator& op, std::size_t position) const;

  /// Type in TFLite's own layout.  Errors: those of TypeOf, naming the tensor.
  Result<format::TensorType> Type(int tensor);
  /// Replaces it; `field` and `why` go into the ledger.
  void SetType(int tensor, format::TensorType type, const std::string& field,
               const std::string& why);
  /// Gives a tensor that has no shape in the file the one that its operator computes.
  void InferShape(int tensor, const format::Dims& dims);
  /// Integers that an operator only moves from x to y are of one type on both sides: a graph input
  /// x without parameters, which no operator has read yet, takes those of y.
  Result<void> TakeTypeOfMoved(int x, int y);
  /// A note of a change that no type shows.
  void Note(const std::string& value, const std::string& field, const std::string& why);
  /// Ledger::Lose of a tensor's field.
  Result<void> Lose(std::string_view loss, int tensor, const std::string& field,
                    const std::string& why) {
    return ledger_.Lose(loss, this->tensor(tensor).name, field, why);
  }

  /// The name of the tensor's value in `layout`, transposed or added as initializer where needed.
  /// Errors: kInvalid when nothing has produced it yet, or it has not rank 4.
  Result<std::string> Use(int tensor, Layout layout);
  /// A constant as initializer, its dimensions permuted.
  Result<std::string> UseConstant(int tensor, const Permutation& perm);
  /// An initializer that is in no file: shapes, pads, bounds.
  std::string AddInitializer(const std::string& name, const format::Tensor& tensor);
  /// The same of a type that is declared.
  std::string AddConstant(const std::string& name, const format::Tensor& tensor);
  /// A variable, which TFLite keeps from run to run, as a value of `type`: a graph input, 0 unless
  /// it is given, and a graph output for the value after the run, which a node must produce.
  /// REQUIRES: `type` is made from StateType, its shape fixed.
  struct State {
    std::string before, after;
  };
  Result<State> AddState(int tensor, const format::TensorType& type);
  /// Errors: kUnsupported for a tensor that is no variable, that has no one scale, or that two
  /// operators keep.
  Result<format::TensorType> StateType(int tensor);

  /// The layout to stay in: NCHW when the tensor already has that form.
  Layout Preferred(int tensor) const;

  /// The value of a tensor of weights, constant or not, its dimensions permuted.
  Result<std::string> UsePermuted(const TfliteOperator& op, int tensor, const Permutation& perm);
  /// The value of a tensor of integers as INT64, which ONNX asks for where TFLite has INT32.
  Result<std::string> UseInt64(const TfliteOperator& op, int tensor);
  /// The version of ai.onnx whose operators all nodes are: that of the newest operator needed.
  std::int64_t opset() const { return opset_; }

  /// Adds a node that produces `output` in `layout`, with TFLite's fused activation.
  Result<void> Emit(
      const TfliteOperator& op, Draft draft, int output, Layout layout,
      schema::ActivationFunctionType activation = schema::ActivationFunctionType::NONE);
  /// Adds a node that produces all of `outputs` in `layout`, and the values `inner` after them.
  Result<void> EmitAll(const TfliteOperator& op, Draft draft, std::span<const int> outputs,
                       Layout layout, const std::vector<std::string>& inner = {});
  /// A new value of `type` which no tensor of the file stands for; a node must produce it.
  std::string Inner(const std::string& name, format::TensorType type);
  /// Adds a node that produces a value of `type` which no tensor of the file stands for.
  std::string EmitInner(const TfliteOperator& op, Draft draft, const std::string& name,
                        format::TensorType type);

  /// Adds a node whose outputs are values of Inner or AddState.  `op` may be nullptr: no origin.
  void Append(const TfliteOperator* op, Draft draft, std::vector<std::string> outputs);

  /// Graph inputs and outputs, then the finished graph.  Errors: kInvalid for a bad edge.
  Result<void> AddInputs();
  Result<format::Graph> Finish();

  /// Which values and initializers hold which tensors, by tensor.
  std::vector<TensorForm> Forms() const;
  /// Types in TFLite's own layout, by tensor; those of tensors that nothing asked for are absent.
  const std::vector<std::optional<format::TensorType>>& types() const { return types_; }

 private:
  std::string Unique(std::string name);
  bool IsInput(int tensor) const;
  bool IsOutput(int tensor) const;
  void Declare(const std::string& name, format::TensorType type);
  std::string Define(int tensor, Layout layout, const format::TensorType& own);
  std::string Transpose(const std::string& from, int tensor, Layout to,
                        const format::TensorType& own);
  Result<void> CheckNew(int output, Layout layout) const;
  Result<void> Fuse(schema::ActivationFunctionType activation, int output);
  Result<void> EmitFloatActivation(const TfliteOperator& op, Draft draft, int output, Layout layout,
                                   schema::ActivationFunctionType activation);

  TfliteFile& file_;
  Ledger& ledger_;
  format::Graph graph_;
  std::set<std::string> names_, node_names_;
  std::vector<std::optional<format::TensorType>> types_;
  std::map<std::pair<int, Layout>, std::string> values_;
  std::map<std::pair<int, Permutation>, std::string> constants_;
  std::vector<format::ValueInfo> states_;  // after the run
  const std::int64_t opset_;
};

}  // namespace qtx::convert
