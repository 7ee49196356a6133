// One function for each kind of TFLite operator: reads its options, emits its nodes.
#pragma once

#include "tflite_builder.h"

namespace qtx::convert {

/// Errors: kUnsupported naming the operator when there is no function for it, else the function's.
Result<void> ConvertOperator(TfliteBuilder& builder, const TfliteOperator& op);

// All of these: errors kInvalid (options missing or shapes that disagree), kUnsupported (an option
// or type the extended form cannot say). `where` names the input, option or tensor.
Result<void> ConvertConv2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertDepthwiseConv2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertFullyConnected(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPool2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertMean(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBinary(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertActivation(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSoftmax(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertCast(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReshape(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertTranspose(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPad(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertConcatenation(TfliteBuilder& builder, const TfliteOperator& op);

/// NCHW when one of `tensors` has that form already and all have rank 4, so that nothing is
/// transposed for an operator that is the same in both.
Layout CommonLayout(const TfliteBuilder& builder, std::span<const int> tensors);

/// True when [N,H,W,C] and [N,C,H,W] put the elements in one order.
inline bool SameOrder(const format::Dims& nhwc) {
  return nhwc.size() == 4 && (nhwc[3] == 1 || nhwc[1] * nhwc[2] == 1);
}

/// A rank-1 INT64 tensor: shapes, pads.
format::Tensor Int64Vector(std::span<const std::int64_t> values);

}  // namespace qtx::convert
