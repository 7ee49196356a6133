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
#include "qtx/backend/backend.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/check.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// A value of the graph as a row-major tensor. Type, fixed dims and parameters are set when the
/// model is prepared; the elements when a step computes them, or at once for a constant.
struct Value {
  std::string name;
  format::Tensor tensor;
  bool constant = false;
};

/// Computes one value, or several. Points into the Workspace, which outlives it.
class Step {
 public:
  virtual ~Step() = default;
  virtual Result<void> Run() = 0;
  /// True if the step only copies an input or output of the model between tensor and buffer.
  /// Measure leaves such steps out.
  virtual bool AtBorder() const { return false; }
  /// How it computes, for a profile: the name of its kernel, or kGeneralPath.
  virtual std::string_view Path() const { return kGeneralPath; }

  static constexpr std::string_view kGeneralPath = "general";
};

/// All values of one prepared model, and the steps that compute them, in order. A value exists as a
/// tensor, as a buffer (buffer.h), or as both, whatever its users ask for.
class Workspace {
 public:
  Workspace(const format::Model& model, const Kernels& kernels, Threads& threads)
      : view_(format::ModelView::Indexed(model)), kernels_(kernels), threads_(threads) {}
  /// The tensor of value `name`. Decodes an initializer on first use.  Errors: those of
  /// LoadInitializer; kUnsupported if no earlier node computes the value.
  Result<Value*> Find(const std::string& name);
  /// The buffer of value `name`.  Errors: as Find; kUnsupported for elements that are not whole
  /// bytes.
  Result<Buffer*> FindBuffer(const std::string& name, Layout layout);
  /// Type and dims of value `name`; no elements.  Errors: as Find.
  Result<const format::Tensor*> TypeOf(const std::string& name);
  /// The same as facts for the catalogue, with the elements of a constant.
  Result<format::ValueFacts> FactsOf(const std::string& name);
  /// True for an initializer, and for a value that was computed at preparation.
  bool IsConstant(const std::string& name);
  /// The layout in which value `name` exists already; row-major if it exists in both or in none.
  Layout LayoutOf(const std::string& name) const;

  /// Adds a value of the type of `like`.  Errors: kTooLarge if all values together exceed
  /// kMaxTensorBytes; kUnsupported if the name is taken.
  Result<Value*> Define(const std::string& name, format::Tensor like, format::Dims dims);
  Result<Buffer*> DefineBuffer(const std::string& name, format::Tensor like, format::Dims dims,
                               Layout layout);
  /// Adds a value that shares the memory of `of` under another type and shape.
  Result<Buffer*> DefineAlias(const std::string& name, Buffer& of, format::Tensor like,
                              format::Dims dims, Layout layout);
  /// Adds a constant without a name.
  Value* Keep(format::Tensor tensor);
  /// Adds a constant.  Errors: kUnsupported if the name is taken.
  Result<void> DefineConstant(const std::string& name, format::Tensor tensor);
  /// Memory that the node being planned may use while it runs.
  Result<Buffer*> Scratch(std::int64_t bytes) { return arena_.AddScratch(bytes, node_); }

  /// Begins the planning of the next node.
  void NextNode() { ++node_; }

  void Append(std::unique_ptr<Step> step) { steps_.push_back({std::move(step), node_}); }
  /// Assigns addresses to all buffers. To be called after the last node.
  void Place() { arena_.Place(); }
  Result<void> Run();
  /// Runs all steps but those AtBorder.  REQUIRES: Run has been called since the inputs were set.
  Result<void> RunInside();
  /// The same, `repetitions` times, and what each step took in all of them together.
  Result<std::vector<NodeTime>> Profile(int repetitions);

  const format::Model& model() const { return view_.model(); }
  const format::ModelView& view() const { return view_; }
  const Kernels& kernels() const { return kernels_; }
  Threads& threads() const { return threads_; }

 private:
  struct Forms {
    format::Tensor type;  // as declared, without bytes
    Value* value = nullptr;
    std::size_t node = 0;  // number, from 1, of the node that computes it; 0: an input
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
  std::deque<Value> values_;  // a deque, because pointers to values must stay valid
  std::map<std::string, Forms, std::less<>> forms_;
  Arena arena_;
  struct Planned {
    std::unique_ptr<Step> step;
    std::size_t node;  // number, from 1, of the node that asked for it
  };
  std::vector<Planned> steps_;
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
  /// See PrepareNested.
  std::optional<float> bias_factor() const { return bias_factor_; }
  /// Attributes of the node, or the defaults of its operator.
  std::int64_t Int(std::string_view name) const { return attributes_.Int(name); }
  float Float(std::string_view name) const { return attributes_.Float(name); }
  std::string String(std::string_view name) const { return attributes_.String(name); }
  std::vector<std::int64_t> Ints(std::string_view name) const { return attributes_.Ints(name); }
  bool HasAttribute(std::string_view name) const { return attributes_.Has(name); }
  /// Sizes of output `i` by the operator's shape rule.  Errors: kUnsupported if they depend on
  /// values that the model computes.
  Result<format::Dims> InferredDims(std::size_t i = 0) const;
  const Kernels& kernels() const { return workspace_.kernels(); }
  Threads& threads() const { return workspace_.threads(); }

  bool HasInput(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// The tensor of input `i`.  Errors: kUnsupported if it is absent or no earlier node computes it.
  Result<Value*> Input(std::size_t i) const;
  /// Type and dims of input `i`; no elements.  Errors: as Input.
  Result<const format::Tensor*> TypeOf(std::size_t i) const;
  /// The buffer of input `i`.  Errors: as Input; kUnsupported for elements that are not whole
  /// bytes.
  Result<Buffer*> InputBuffer(std::size_t i, Layout layout) const;
  /// See Workspace::LayoutOf.
  Layout LayoutOf(std::size_t i) const { return workspace_.LayoutOf(node_.inputs[i]); }
  bool IsConstant(std::size_t i) const { return workspace_.IsConstant(node_.inputs[i]); }
  bool IsInitializer(std::size_t i) const {
    return workspace_.view().FindInitializer(node_.inputs[i]) != nullptr;
  }
  /// The tensor of a constant input.  Errors: kUnsupported if the model computes it.
  Result<const format::Tensor*> Constant(std::size_t i) const;
  /// The elements of a constant INT64 input (shapes, pads, axes).  Errors: as Constant.
  Result<std::vector<std::int64_t>> ConstantIntegers(std::size_t i) const;
  /// The type of output 0 with `dims`: as declared, else as the operator's type rule gives it; no
  /// elements.  Errors: kUnsupported if another shape is declared.
  Result<format::Tensor> OutputType(const format::Dims& dims) const;
  /// Element type and parameters of output 0; no dims.  Errors: as OutputType.
  Result<format::Tensor> OutputParameters() const;
  /// Adds the tensor of output 0, of type OutputType(dims). Returns the same tensor when called
  /// again.  Errors: as OutputType.
  Result<Value*> Output(format::Dims dims) const;
  /// Adds the buffer of output 0.  Errors: as OutputType.
  Result<Buffer*> OutputBuffer(format::Dims dims, Layout layout) const;
  /// Makes output 0 an alias of `x` with other dims.  Errors: as OutputType; kUnsupported if the
  /// output has another type than `x`.
  Result<Buffer*> OutputAlias(Buffer& x, format::Dims dims, Layout layout) const;
  Result<Buffer*> Scratch(std::int64_t bytes) const { return workspace_.Scratch(bytes); }
  /// As Output, for an operator whose output has the fixed type `type`.  Errors: kUnsupported if
  /// another type is declared.
  Result<Value*> OutputOfType(format::Dims dims, format::ElementType type) const;
  /// Adds output `i` of an operator with several: of its declared type or, without a declaration,
  /// of the type and quantization of `type`.  Errors: kUnsupported if it is absent or declared with
  /// another shape.
  Result<Value*> OutputAt(std::size_t i, format::Dims dims, const format::Tensor& type) const;
  /// The type of output `i`, as OutputAt and OutputBufferAt add it; no elements.
  Result<format::Tensor> OutputTypeAt(std::size_t i, const format::Dims& dims,
                                      const format::Tensor& type) const;
  Result<Buffer*> OutputBufferAt(std::size_t i, format::Dims dims, const format::Tensor& type,
                                 Layout layout) const;
  bool HasOutput(std::size_t i) const {
    return i < node_.outputs.size() && !node_.outputs[i].empty();
  }

  /// Stores a constant for the lifetime of the prepared model.
  const Value* Keep(format::Tensor tensor) const { return workspace_.Keep(std::move(tensor)); }

  /// Makes output 0 the constant `tensor`, with the declared type.  Errors: kUnsupported if storage
  /// or shape differ from the declaration.
  Result<void> OutputConstant(format::Tensor tensor) const;
  /// The opset of ai.onnx that the model imports.
  std::int64_t opset() const { return format::OnnxOpset(workspace_.model()); }
  const std::string& folder() const { return workspace_.model().folder; }
  /// Element type that output 0 is declared with.
  std::optional<format::ElementType> DeclaredElementType() const;
  /// True when output 0 is declared 8-bit quantized per tensor.
  bool EightBitOutput() const;

  Error Unsupported(std::string reason) const {
    return {ErrorCode::kUnsupported, Place(), std::move(reason)};
  }
  /// The error of a step whose input elements break clause `number` ("C4") of the operator.
  Error Breaks(std::string_view number, std::string reason) const;
  Error Because(Error error) const { return At(Place(), std::move(error)); }

 private:
  std::string Place() const;
  /// Element type of output 0 by the operator's type rule; never a quantized one (graph.C8).
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
  std::vector<format::ValueFacts> outputs_;         // set by Check
  std::vector<const format::ValueInfo*> declared_;  // likewise
  mutable Value* output_ = nullptr;                 // output 0, once added
  Arithmetic arithmetic_ = Arithmetic::kExact;
};

/// True if both types have the same parameters, per tensor, so that stored values can be copied.
bool SameReals(const format::Tensor& a, const format::Tensor& b);

/// Parameters of the buffer of input `i`, which is 8-bit quantized per tensor.  Errors:
/// kUnsupported for any other type.
Result<PerTensor> EightBitInput(const NodePlan& plan, std::size_t i);

inline const std::uint8_t* Bytes(const format::Tensor& tensor) {
  return reinterpret_cast<const std::uint8_t*>(tensor.bytes.data());
}
inline std::uint8_t* Bytes(format::Tensor& tensor) {
  return reinterpret_cast<std::uint8_t*>(tensor.bytes.data());
}

/// nullptr if there is nothing to do at run time.
using StepResult = Result<std::unique_ptr<Step>>;
StepResult PrepareConv(const NodePlan& plan);
StepResult PrepareMatMul(const NodePlan& plan);
StepResult PrepareGemm(const NodePlan& plan);
StepResult PrepareAdd(const NodePlan& plan);
StepResult PrepareSub(const NodePlan& plan);
StepResult PrepareMul(const NodePlan& plan);
StepResult PrepareAveragePool(const NodePlan& plan);
StepResult PrepareGlobalAveragePool(const NodePlan& plan);
StepResult PrepareMaxPool(const NodePlan& plan);
StepResult PrepareSoftmax(const NodePlan& plan);
// The same operators for all types, shapes and parameters: exact, but slow.
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
// The same operators as aliases of buffers, if the order of the elements in memory stays the same.
StepResult PrepareReshapedNames(const NodePlan& plan);
StepResult PrepareTransposedNames(const NodePlan& plan);
StepResult PreparePad(const NodePlan& plan);
StepResult PrepareConcat(const NodePlan& plan);
StepResult PrepareConstant(const NodePlan& plan);  // Constant, Shape: computed at preparation

}  // namespace qtx::backend::engine
