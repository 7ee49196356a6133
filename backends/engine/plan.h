// A prepared graph: values with their buffers, and steps that compute one value from others. Each
// operator's preparation reads its node through a NodePlan and returns a Step.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/arithmetic.h"
#include "engine/buffer.h"
#include "engine/kernels.h"
#include "engine/requantize.h"
#include "engine/threads.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/check.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// A value of the graph in ONNX's order: its tensor holds type, fixed dims and parameters from
/// preparation on, and data once computed (constants from the start).
struct Value {
  std::string name;
  format::Tensor tensor;
  bool constant = false;
};

/// Computes its output value. Holds pointers into the Workspace that outlives it.
class Step {
 public:
  virtual ~Step() = default;
  virtual Result<void> Run() = 0;
  /// True for a change of form of the model's inputs and outputs: what a caller that holds its
  /// values as kernels do would be spared.
  virtual bool AtBorder() const { return false; }
};

/// All values of one prepared model, and the steps that compute them in order. A value is there as
/// a tensor, or as kernels want it (buffer.h), or both, as its users ask.
class Workspace {
 public:
  Workspace(const format::Model& model, const Kernels& kernels, Threads& threads)
      : view_(format::ModelView::Indexed(model)), kernels_(kernels), threads_(threads) {}
  /// The value `name`; an initializer is decoded on first use.  Errors: those of LoadInitializer,
  /// kUnsupported when nothing has that name yet.
  Result<Value*> Find(const std::string& name);
  /// The same as kernels want it.  Errors: also kUnsupported for elements that are not whole bytes.
  Result<Buffer*> FindBuffer(const std::string& name, Layout layout);
  /// Type and dims, whatever form there is.
  Result<const format::Tensor*> TypeOf(const std::string& name);
  /// The same as facts for the catalogue, with elements that are known now.
  Result<format::ValueFacts> FactsOf(const std::string& name);
  /// True for an initializer or what was computed at preparation.
  bool IsConstant(const std::string& name);
  /// The layout `name` is there in without a copy, else row-major.
  Layout LayoutOf(const std::string& name) const;

  /// Adds a value.  Errors: kTooLarge when all values together pass kMaxTensorBytes,
  /// kUnsupported when the name is taken.
  Result<Value*> Define(const std::string& name, format::Tensor like, format::Dims dims);
  Result<Buffer*> DefineBuffer(const std::string& name, format::Tensor like, format::Dims dims,
                               Layout layout);
  /// Gives the held elements of `of` another name, type and shape as well.
  Result<Buffer*> DefineAlias(const std::string& name, Buffer& of, format::Tensor like,
                              format::Dims dims, Layout layout);
  /// Adds a constant that no node can name.
  Value* Keep(format::Tensor tensor);
  /// Adds a value that is known now.  Errors: kUnsupported when the name is taken.
  Result<void> DefineConstant(const std::string& name, format::Tensor tensor);
  /// Memory that lasts for the node that is being planned.
  Result<Buffer*> Scratch(std::int64_t bytes) { return arena_.AddScratch(bytes, node_); }

  /// Says that what follows is for the next node.
  void NextNode() { ++node_; }

  void Append(std::unique_ptr<Step> step) { steps_.push_back(std::move(step)); }
  /// After the last node.
  void Place() { arena_.Place(); }
  Result<void> Run();
  /// The same without what is AtBorder.  REQUIRES: Run has been called since the inputs were given.
  Result<void> RunInside();

  const format::Model& model() const { return view_.model(); }
  const format::ModelView& view() const { return view_; }
  const Kernels& kernels() const { return kernels_; }
  Threads& threads() const { return threads_; }

 private:
  struct Forms {
    format::Tensor type;  // as declared, without bytes
    Value* value = nullptr;
    std::size_t node = 0;  // that computes it, counted from 1; 0: an input
    Buffer* row_major = nullptr;
    Buffer* channels_last = nullptr;
  };
  Result<Forms*> FindForms(const std::string& name);
  Result<Forms*> AddForms(const std::string& name, format::Tensor like, format::Dims dims);
  static Buffer*& Form(Forms& forms, Layout layout);
  Result<Buffer*> MakeConstantBuffer(Forms& forms, Layout layout);
  Result<Buffer*> MakeComputedBuffer(Forms& forms, Layout layout);
  Result<Value*> AddValue(const std::string& name, Forms& forms);

  const format::ModelView view_;  // during preparation
  const Kernels& kernels_;
  Threads& threads_;
  std::deque<Value> values_;  // a deque: pointers to values stay good
  std::map<std::string, Forms, std::less<>> forms_;
  Arena arena_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::size_t node_ = 0;  // number of the node that is being planned
  std::int64_t total_bytes_ = 0;
};

/// One node during preparation.
class NodePlan {
 public:
  NodePlan(const format::Node& node, Workspace& workspace, std::optional<float> bias_factor = {})
      : node_(node),
        attributes_(node, format::OnnxOpset(workspace.model())),
        workspace_(workspace),
        bias_factor_(bias_factor) {}

  /// Checks node `i` of the model again, with the shapes and elements that planning has computed,
  /// unless the check of the model knew them all. The operators' preparation relies on it.
  /// Errors: kInvalid with the clause; those of LoadInitializer.
  Result<void> Check(const format::CheckedModel& model, std::size_t i);
  void SetArithmetic(Arithmetic arithmetic) { arithmetic_ = arithmetic; }

  const format::Node& node() const { return node_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  /// nested_model.h.
  std::optional<float> bias_factor() const { return bias_factor_; }
  /// Attributes of the node, or the defaults of its operator.
  std::int64_t Int(std::string_view name) const { return attributes_.Int(name); }
  float Float(std::string_view name) const { return attributes_.Float(name); }
  std::string String(std::string_view name) const { return attributes_.String(name); }
  std::vector<std::int64_t> Ints(std::string_view name) const { return attributes_.Ints(name); }
  bool HasAttribute(std::string_view name) const { return attributes_.Has(name); }
  /// Sizes of output `i` as the operator's shape rule has them.
  /// Errors: kUnsupported where they depend on what the model computes.
  Result<format::Dims> InferredDims(std::size_t i = 0) const;
  const Kernels& kernels() const { return workspace_.kernels(); }
  Threads& threads() const { return workspace_.threads(); }

  bool HasInput(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// In ONNX's order.  Errors: kUnsupported when absent or not computed by an earlier node.
  Result<Value*> Input(std::size_t i) const;
  /// Its type and dims alone.  Errors: as Input.
  Result<const format::Tensor*> TypeOf(std::size_t i) const;
  /// As kernels want it.  Errors: as Input, kUnsupported for elements that are not whole bytes.
  Result<Buffer*> InputBuffer(std::size_t i, Layout layout) const;
  /// The layout that input `i` is there in without a copy.
  Layout LayoutOf(std::size_t i) const { return workspace_.LayoutOf(node_.inputs[i]); }
  bool IsConstant(std::size_t i) const { return workspace_.IsConstant(node_.inputs[i]); }
  bool IsInitializer(std::size_t i) const {
    return workspace_.view().FindInitializer(node_.inputs[i]) != nullptr;
  }
  /// An input known now.  Errors: kUnsupported when it is computed by the model.
  Result<const format::Tensor*> Constant(std::size_t i) const;
  /// A constant INT64 tensor's elements (shapes, pads, axes).
  Result<std::vector<std::int64_t>> ConstantIntegers(std::size_t i) const;
  /// The declared type of output 0 with `dims`, as Output would give it; without bytes.
  Result<format::Tensor> OutputType(const format::Dims& dims) const;
  /// Element type and parameters of output 0, its dims left out.  Errors: as OutputType.
  Result<format::Tensor> OutputParameters() const;
  /// Allocates output 0 with the declared type and `dims`; the same value when asked again.
  /// Without a declaration it has the type that the operator gives it.  Errors: kUnsupported when
  /// the declared shape is another.
  Result<Value*> Output(format::Dims dims) const;
  /// Output 0 as kernels write it.  Errors: as Output.
  Result<Buffer*> OutputBuffer(format::Dims dims, Layout layout) const;
  /// Output 0 as other dims over the elements of `x`, if the declared type is that of `x`.
  /// Errors: kUnsupported when it is another.
  Result<Buffer*> OutputAlias(Buffer& x, format::Dims dims, Layout layout) const;
  Result<Buffer*> Scratch(std::int64_t bytes) const { return workspace_.Scratch(bytes); }
  /// The same for an operator that fixes its output's type.  Errors: kUnsupported when another
  /// is declared.
  Result<Value*> OutputOfType(format::Dims dims, format::ElementType type) const;
  /// Output `i` of an operator of several, of the declared type or else `type` (its quantization
  /// too).  Errors: kUnsupported when absent, or declared with another shape.
  Result<Value*> OutputAt(std::size_t i, format::Dims dims, const format::Tensor& type) const;
  bool HasOutput(std::size_t i) const {
    return i < node_.outputs.size() && !node_.outputs[i].empty();
  }

  /// A constant that lives as long as the prepared model.
  const Value* Keep(format::Tensor tensor) const { return workspace_.Keep(std::move(tensor)); }

  /// Makes output 0 the constant `tensor`, of the declared type when its storage and shape agree.
  /// Errors: kUnsupported when they do not.
  Result<void> OutputConstant(format::Tensor tensor) const;
  /// Of ai.onnx.
  std::int64_t opset() const { return format::OnnxOpset(workspace_.model()); }
  const std::string& folder() const { return workspace_.model().folder; }
  /// Element type that output 0 is declared with.
  std::optional<format::ElementType> DeclaredElementType() const;
  /// True when output 0 is declared 8-bit quantized per tensor.
  bool EightBitOutput() const;

  Error Unsupported(std::string reason) const {
    return {ErrorCode::kUnsupported, Place(), std::move(reason)};
  }
  /// What elements that are known at run time alone break: clause `number`, "C4", of the operator.
  Error Breaks(std::string_view number, std::string reason) const;
  Error Because(Error error) const { return At(Place(), std::move(error)); }

 private:
  std::string Place() const;
  /// Of output 0, where none is declared: it is not quantized (graph.C8).
  format::ElementType InferredType() const;
  Error Absent(const char* what, std::size_t i) const;
  /// nullptr for an output that the model does not declare.
  const format::ValueInfo* Declared(const std::string& output) const;
  Result<format::Tensor> DeclaredType(const std::string& name, const format::Dims& dims) const;
  Result<format::Tensor> DeclaredParameters(const std::string& name) const;
  Result<void> CheckOnlyOutput() const;
  Result<Value*> Define(format::Tensor like, format::Dims dims) const;

  const format::Node& node_;
  format::Attributes attributes_;
  Workspace& workspace_;
  std::optional<float> bias_factor_;
  std::vector<format::ValueFacts> outputs_;         // once checked
  std::vector<const format::ValueInfo*> declared_;  // likewise
  mutable Value* output_ = nullptr;                 // 0, once asked for
  Arithmetic arithmetic_ = Arithmetic::kExact;
};

/// Whether equal stored values mean equal reals, and each of two types, per tensor or of plain
/// numbers, has all values that the other has.
bool SameReals(const format::Tensor& a, const format::Tensor& b);

/// Parameters of 8-bit per-tensor input `i` as kernels hold it.
/// Errors: kUnsupported when it is anything else.
Result<PerTensor> EightBitInput(const NodePlan& plan, std::size_t i);

inline const std::uint8_t* Bytes(const format::Tensor& tensor) {
  return reinterpret_cast<const std::uint8_t*>(tensor.bytes.data());
}
inline std::uint8_t* Bytes(format::Tensor& tensor) {
  return reinterpret_cast<std::uint8_t*>(tensor.bytes.data());
}

/// Null where nothing is left to do at run time.
using StepResult = Result<std::unique_ptr<Step>>;
StepResult PrepareConv(const NodePlan& plan);
StepResult PrepareMatMul(const NodePlan& plan);
StepResult PrepareGemm(const NodePlan& plan);
StepResult PrepareAdd(const NodePlan& plan);
StepResult PrepareEightBitAdd(const NodePlan& plan);
StepResult PrepareSub(const NodePlan& plan);
StepResult PrepareMul(const NodePlan& plan);
StepResult PrepareAveragePool(const NodePlan& plan);
StepResult PrepareGlobalAveragePool(const NodePlan& plan);
StepResult PrepareMaxPool(const NodePlan& plan);
StepResult PrepareSoftmax(const NodePlan& plan);
// The same for all types, shapes and parameters, exact and slow.
StepResult PrepareGeneralConv(const NodePlan& plan);
StepResult PrepareGeneralMatMul(const NodePlan& plan);
StepResult PrepareGeneralGemm(const NodePlan& plan);
StepResult PrepareGeneralAveragePool(const NodePlan& plan);
StepResult PrepareGeneralGlobalAveragePool(const NodePlan& plan);
StepResult PrepareGeneralMaxPool(const NodePlan& plan);
StepResult PrepareGeneralSoftmax(const NodePlan& plan);

StepResult PrepareConversion(const NodePlan& plan);  // Relu, Clip, Cast, Identity
StepResult PrepareQuantizeLinear(const NodePlan& plan);
StepResult PrepareDequantizeLinear(const NodePlan& plan);
StepResult PrepareReshape(const NodePlan& plan);  // Reshape, Flatten, Squeeze, Unsqueeze
StepResult PrepareTranspose(const NodePlan& plan);
// The same for values that kernels hold, where no element moves.
StepResult PrepareReshapedNames(const NodePlan& plan);
StepResult PrepareTransposedNames(const NodePlan& plan);
StepResult PreparePad(const NodePlan& plan);
StepResult PrepareConcat(const NodePlan& plan);
StepResult PrepareConstant(const NodePlan& plan);  // Constant, Shape: known once planned

}  // namespace qtx::backend::engine
