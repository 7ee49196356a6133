// Converts TFLite's tensor types and quantization parameters to QTX types.
#pragma once

#include <span>
#include <vector>

#include "ledger.h"
#include "qtx/format/tensor_type.h"
#include "tflite/file.h"

namespace qtx::convert {

/// The type of `tensor` in TFLite's own layout: quantized when it has scales, with its range as
/// statistics (source "tflite"). Records every field read in `ledger`. `tensors` are those of the
/// file, two of which hold the parameters of a tensor that is quantized in blocks.
/// Errors: kInvalid (scale not positive and finite, sizes that disagree, offset outside the
/// storage), kUnsupported (a type or a quantization the format lacks). `where` is empty.
Result<format::TensorType> TypeOf(const TfliteTensor& tensor, std::span<const TfliteTensor> tensors,
                                  Ledger& ledger);

/// The parameters of a tensor with BlockwiseQuantization: the blocks lie along the last axis, and
/// the file's tensor of scales has one for each block, the blocks of a row side by side.
/// Errors: kInvalid (no such tensors, sizes that disagree, a scale that is not positive and
/// finite, an offset outside the storage), kUnsupported (scales of another type).
Result<format::Quantization> BlocksOf(const TfliteTensor& tensor,
                                      std::span<const TfliteTensor> tensors,
                                      format::ElementType quantized);

/// kInvalid unless every scale is positive and finite.
Result<void> CheckPositive(std::span<const float> scales);
/// One offset for each of `count` scales; none when all are 0.
/// Errors: kInvalid for another number of them and for one outside the storage.
Result<std::vector<std::int32_t>> OffsetsOf(std::span<const std::int64_t> points, std::size_t count,
                                            format::ElementType quantized);

/// The constant's data as a tensor of `type` (from TypeOf).
/// Errors: kInvalid if the buffer's size does not match type and shape.
Result<format::Tensor> ConstantOf(const TfliteTensor& tensor, const format::TensorType& type);

/// Elements of an INT32 or INT64 constant.  Errors: kInvalid for any other tensor.
Result<std::vector<std::int64_t>> IntegersOf(const TfliteTensor& tensor);

/// Narrows `type` to a fused activation, with TFLite's rounding of the bounds: offset +
/// half_away(binary32(bound / scale)). A bound at the end of the storage's range is omitted.
/// Errors: kUnsupported for TANH and SIGN_BIT.  REQUIRES: `type` is quantized per tensor.
Result<void> NarrowTo(schema::ActivationFunctionType activation, format::TensorType& type);

}  // namespace qtx::convert
