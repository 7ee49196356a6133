// One function for each kind of TFLite operator: reads its options, emits its nodes.
#pragma once

#include "tflite/builder.h"
#include "tflite/types.h"

namespace qtx::convert {

/// Errors: kUnsupported naming the operator when there is no function for it, else the function's.
Result<void> ConvertOperator(TfliteBuilder& builder, const TfliteOperator& op);

// All of these: errors kInvalid (options missing or shapes that disagree), kUnsupported (an option
// or type that the extended form cannot express). `where` names the input, option or tensor.
Result<void> ConvertActivation(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertArg(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBatchMatMul(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBatchToSpace(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBinary(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBlocks(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertBroadcastTo(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertCast(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertConcatenation(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertConv2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertCumsum(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertCustom(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertDepthwiseConv2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertFill(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertFloorDiv(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertFloorMod(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertFullyConnected(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertGather(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertGatherNd(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertL2Normalization(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertLstm(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertMean(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertNotEqual(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertOneHot(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPack(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPad(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPool2d(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertPower(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReduce(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReduceBool(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertRequantize(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReshape(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertResize(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReverse(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertReverseSequence(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertScatterNd(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSelect(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertShape(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSlice(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSoftmax(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSpaceToBatch(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSplit(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSquaredDifference(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertStridedSlice(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertSum(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertTile(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertTopK(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertTranspose(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertTransposeConv(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertUnary(TfliteBuilder& builder, const TfliteOperator& op);
Result<void> ConvertUnpack(TfliteBuilder& builder, const TfliteOperator& op);

/// NCHW when one of `tensors` has that form already and all have rank 4, so that nothing is
/// transposed for an operator that is the same in both.
Layout CommonLayout(const TfliteBuilder& builder, std::span<const int> tensors);

/// True when [N,H,W,C] and [N,C,H,W] have the same order of elements.
inline bool SameOrder(const format::Dims& nhwc) {
  return nhwc.size() == 4 && (nhwc[3] == 1 || nhwc[1] * nhwc[2] == 1);
}

format::Tensor Int64Scalar(std::int64_t value);

/// The INT32 or INT64 constant at `position`.  Errors: kInvalid for any other tensor, naming it.
Result<std::vector<std::int64_t>> ConstantInput(const TfliteBuilder& builder,
                                                const TfliteOperator& op, std::size_t position);

/// Emits `draft`, whose result is INT64, as the INT32 or INT64 tensor `y`.
Result<void> EmitIndices(TfliteBuilder& builder, const TfliteOperator& op, Draft draft, int y);

/// kInvalid, "options: missing".
Error NoOptions();
/// kInvalid: the output's shape does not follow from the input's.
Error BadOutput(const TfliteTensor& x, const TfliteTensor& y);

/// A type of `shape` with the element type and per-tensor parameters of `like`, without statistics.
/// Errors: kUnsupported for per-axis parameters.
Result<format::TensorType> Reshaped(const format::TensorType& like, const format::Dims& shape);

}  // namespace qtx::convert
