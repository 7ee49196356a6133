// Parameters that stock operators take as inputs, and how the operators of quantized tensors run on
// them.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// Zero points of X, and of A and B, that QLinear operators of ONNX Runtime may leave out.
inline constexpr std::size_t kUnaryZeroPoints[] = {2};
inline constexpr std::size_t kBinaryZeroPoints[] = {2, 5};

/// No such input.
inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

/// Positions of the scale and the zero point among the inputs; either may be kNoInput, or absent.
struct ParameterInputs {
  std::size_t scale = kNoInput;
  std::size_t zero_point = kNoInput;
};

/// Scales of QuantizeLinear; DequantizeLinear takes all but the last, QLinearMatMul the first
/// three, the other operators FLOAT.
inline constexpr format::ElementType kScaleTypes[] = {
    format::ElementType::kFloat, format::ElementType::kFloat16, format::ElementType::kBfloat16,
    format::ElementType::kFloat8E8M0, format::ElementType::kInt32};

/// Which shapes a scale may have, and which elements each of its values is for.
struct ParameterShape {
  enum class Kind {
    kScalar,  // one element
    kAxis,    // that, or one value for each coordinate of `axis`
    kBlocks,  // the rank of the tensor, one value for each `block` coordinates of `axis`
    kMatrix,  // one element, a vector along `axis`, or the rank of the tensor with sizes of 1
  } kind = Kind::kScalar;
  std::int64_t axis = 0;
  std::int64_t block = 0;
};

/// The quantization of a tensor of shape `dims` and type `storage`. Without a scale it is 1,
/// without a zero point 0.  Errors: kInvalid for a scale of none of `types`, or one that is not a
/// finite positive binary32, and for parameters that do not fit each other, `storage` or `dims`.
Result<format::Quantization> ParametersAt(const Call& call, ParameterInputs inputs,
                                          format::ElementType storage, const format::Dims& dims,
                                          const ParameterShape& shape,
                                          std::span<const format::ElementType> types);

/// The shape that the attributes `axis` and `block_size` give.
/// Errors: kInvalid for an axis out of range.
Result<ParameterShape> LinearShape(const Call& call, std::size_t scale, const format::Dims& dims);

/// An operator of quantized tensors, run on tensors whose parameters are inputs of a stock one.
class ExtendedCall {
 public:
  explicit ExtendedCall(const Call& call) : call_(&call) {}

  /// Storage types that inputs and outputs may have; 8-bit integers at first.
  void Allow(std::span<const format::ElementType> storage) { storage_ = storage; }
  void AllowScales(std::span<const format::ElementType> types) { scales_ = types; }

  /// Input `tensor` of the stock operator becomes the next input, quantized.
  /// Errors: kInvalid for a type that is not allowed, and those of ParametersAt.
  Result<void> Add(std::size_t tensor, ParameterInputs parameters, ParameterShape shape = {});
  /// Input `tensor` of the stock operator, plain or absent, becomes the next input.
  void AddPlain(std::size_t tensor);
  /// The quantized type of output 0, of one scale.  Errors: as Add; kInvalid when output 0 has not
  /// the type of its zero point.
  Result<void> SetOutput(ParameterInputs parameters);
  /// Errors: kInvalid unless all inputs and the output have one type.
  Result<void> CheckOneType() const;

  /// The stored values of the result.  Errors: those of `run`.
  Result<format::Tensor> Run(Result<format::Tensor> (*run)(const Call&),
                             std::optional<std::int64_t> opset = std::nullopt) const;

 private:
  Result<void> CheckStorage(format::ElementType type, const std::string& place) const;

  static constexpr format::ElementType kBytes[] = {format::ElementType::kUint8,
                                                   format::ElementType::kInt8};
  const Call* call_;
  std::span<const format::ElementType> storage_ = kBytes;
  std::span<const format::ElementType> scales_ = std::span(kScaleTypes).first(1);
  std::deque<format::Tensor> tensors_;
  std::vector<const format::Tensor*> inputs_;
  std::vector<std::size_t> positions_;
  std::optional<OutputType> output_;  // as the stock operator's when none is set
};

/// Parameters of the rows of a left, of the columns of a right matrix: q_linear_mat_mul.S3.
ParameterShape RowsOf(const Call& call, std::size_t tensor);
ParameterShape ColumnsOf(const Call& call, std::size_t tensor);

/// Input 0 with its parameters at 1 and 2, and those of the result, of one type, at 3 and 4.
/// Errors: those of ExtendedCall.
Result<ExtendedCall> UnaryCall(const Call& call);

/// Errors: kInvalid for a bias that is not INT32.
Result<void> CheckBias(const Call& call, std::size_t i);
/// Errors: kInvalid unless output 0 is INT32.
Result<void> CheckInt32Output(const Call& call);
/// Errors: kInvalid for `channels_last` other than 0.
Result<void> CheckChannelsFirst(const format::Node& node);

/// Output types where the model does not declare one: INT32; that of the zero point at input `I`.
format::ElementType TypeInt32(const format::Node&, std::span<const format::ElementType>,
                              std::size_t);
template <std::size_t I>
format::ElementType TypeOfInput(const format::Node&, std::span<const format::ElementType> inputs,
                                std::size_t) {
  return I < inputs.size() ? inputs[I] : format::ElementType::kUndefined;
}

}  // namespace qtx::reference
