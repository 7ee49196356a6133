// Parameters that stock operators take as inputs, and how the operators of quantized tensors run on
// them. Types and shapes of both are the catalogue's.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// No such input.
inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

/// Positions of the scale and the zero point among the inputs; either may be kNoInput, or absent.
struct ParameterInputs {
  std::size_t scale = kNoInput;
  std::size_t zero_point = kNoInput;
};

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

/// The quantization of a tensor of shape `dims`. Without a scale it is 1, without a zero point 0.
format::Quantization ParametersAt(const Call& call, ParameterInputs inputs,
                                  const format::Dims& dims, const ParameterShape& shape);

/// The shape that the attributes `axis` and `block_size` give.
ParameterShape LinearShape(const Call& call, std::size_t scale, const format::Dims& dims);

/// An operator of quantized tensors, run on tensors whose parameters are inputs of a stock one.
class ExtendedCall {
 public:
  explicit ExtendedCall(const Call& call) : call_(&call) {}

  /// Input `tensor` of the stock operator becomes the next input, quantized.
  void Add(std::size_t tensor, ParameterInputs parameters, ParameterShape shape = {});
  /// Input `tensor` of the stock operator, plain or absent, becomes the next input.
  void AddPlain(std::size_t tensor);
  /// The quantized type of output 0, of one scale.
  void SetOutput(ParameterInputs parameters);

  /// The stored values of the result.  Errors: those of `run`.
  Result<format::Tensor> Run(Result<format::Tensor> (*run)(const Call&),
                             std::optional<std::int64_t> opset = std::nullopt) const;

 private:
  const Call* call_;
  std::deque<format::Tensor> tensors_;
  std::vector<const format::Tensor*> inputs_;
  std::vector<std::size_t> positions_;
  std::optional<OutputType> output_;  // as the stock operator's when none is set
};

/// Parameters of the rows of a left, of the columns of a right matrix: q_linear_mat_mul.S3.
ParameterShape RowsOf(const Call& call, std::size_t tensor);
ParameterShape ColumnsOf(const Call& call, std::size_t tensor);

/// Input 0 with its parameters at 1 and 2, and those of the result at 3 and 4.
ExtendedCall UnaryCall(const Call& call);
/// Inputs 0 and 3, and the result, each with its parameters after it.
ExtendedCall BinaryCall(const Call& call);

}  // namespace qtx::reference
