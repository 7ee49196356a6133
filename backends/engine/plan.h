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

#include "engine/kernels.h"
#include "engine/requantize.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// A value of the graph: its tensor holds type, fixed dims and parameters from preparation on, and
/// data once computed (constants from the start).
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
};

/// All values of one prepared model.
class Workspace {
 public:
  explicit Workspace(const format::Model& model) : model_(model) {}
  /// The value `name`; an initializer is decoded on first use.  Errors: those of LoadInitializer,
  /// kInvalid when nothing has that name yet.
  Result<Value*> Find(const std::string& name);
  /// Allocates a value.  Errors: kTooLarge when all values together pass kMaxTensorBytes.
  Result<Value*> Define(const std::string& name, format::Tensor like, format::Dims dims);
  /// Adds a value that is known now.  Errors: kInvalid when the name is taken.
  Result<void> DefineConstant(const std::string& name, format::Tensor tensor);
  const format::Model& model() const { return model_; }

 private:
  const format::Model& model_;  // during preparation
  std::deque<Value> values_;    // a deque: pointers to values stay good
  std::map<std::string, Value*, std::less<>> by_name_;
  std::int64_t total_bytes_ = 0;
};

/// One node during preparation.
class NodePlan {
 public:
  NodePlan(const format::Node& node, Workspace& workspace, const Kernels& kernels)
      : node_(node), workspace_(workspace), kernels_(kernels) {}

  const format::Node& node() const { return node_; }
  const Kernels& kernels() const { return kernels_; }

  bool HasInput(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Errors: kInvalid when absent or not computed by an earlier node.
  Result<Value*> Input(std::size_t i) const;
  /// An input known now.  Errors: kUnsupported when it is computed by the model.
  Result<const format::Tensor*> Constant(std::size_t i) const;
  /// A constant INT64 tensor's elements (shapes, pads, axes).
  Result<std::vector<std::int64_t>> ConstantIntegers(std::size_t i) const;
  /// Allocates output 0 with the declared type and `dims`; the same value when asked again.
  /// Without a declaration it has the type of input 0.  Errors: kInvalid when the declared shape is
  /// another.
  Result<Value*> Output(format::Dims dims) const;
  /// The same for an operator that fixes its output's type.  Errors: kInvalid when another is
  /// declared.
  Result<Value*> OutputOfType(format::Dims dims, format::ElementType type) const;

  /// Makes output 0 the constant `tensor`, of the declared type when its storage and shape agree.
  /// Errors: kInvalid when they do not.
  Result<void> OutputConstant(format::Tensor tensor) const;
  /// Version of ai.onnx that the model imports.
  std::int64_t opset() const { return workspace_.model().OpsetVersion(""); }
  const std::string& folder() const { return workspace_.model().folder; }
  /// Element type that output 0 is declared with.
  std::optional<format::ElementType> DeclaredElementType() const;
  /// True when output 0 is declared (or taken to be) 8-bit quantized per tensor.
  bool EightBitOutput() const;

  Error Unsupported(std::string reason) const {
    return {ErrorCode::kUnsupported, Place(), std::move(reason)};
  }
  Error Invalid(std::string reason) const {
    return {ErrorCode::kInvalid, Place(), std::move(reason)};
  }
  Error Because(Error error) const { return At(Place(), std::move(error)); }

 private:
  std::string Place() const;
  Result<format::Tensor> DeclaredType(const std::string& name, const format::Dims& dims) const;
  Result<Value*> Define(format::Tensor like, format::Dims dims) const;

  const format::Node& node_;
  Workspace& workspace_;
  const Kernels& kernels_;
  // Once allocated: a kernel path may find out after that it cannot, and the general path asks
  // again.
  mutable Value* output_ = nullptr;
};

/// 8-bit per-tensor operand of an arithmetic kernel.
struct Operand {
  Value* value = nullptr;
  PerTensor type;
  bool is_signed = false;
  std::int32_t LargestMagnitude() const;  // of stored - offset, over the storage's whole range
};
/// Errors: kUnsupported when input `i` is anything else.
Result<Operand> EightBitOperand(const NodePlan& plan, std::size_t i);

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
/// The one axis that Softmax sums over.  Errors: kInvalid out of range, kUnsupported for several.
Result<std::int64_t> SoftmaxAxis(const NodePlan& plan, const format::Dims& dims);

StepResult PrepareConversion(const NodePlan& plan);  // Relu, Clip, Cast, Identity
StepResult PrepareQuantizeLinear(const NodePlan& plan);
StepResult PrepareDequantizeLinear(const NodePlan& plan);
StepResult PrepareReshape(const NodePlan& plan);  // Reshape, Flatten, Squeeze, Unsqueeze
StepResult PrepareTranspose(const NodePlan& plan);
StepResult PreparePad(const NodePlan& plan);
StepResult PrepareConcat(const NodePlan& plan);
StepResult PrepareConstant(const NodePlan& plan);  // Constant, Shape: known once planned

}  // namespace qtx::backend::engine
