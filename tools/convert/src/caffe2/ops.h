// How each operator of Caffe2 is said in ONNX's operators on quantized values.
#pragma once

#include "caffe2/builder.h"

namespace qtx::convert {

/// Converts one operator.  Errors: kUnsupported for an operator that has no form here, kInvalid for
/// one that is malformed; `where` begins with the operator's place.
Result<void> ConvertCaffe2Operator(Caffe2Builder& builder, const Caffe2Operator& op);

/// The input at `position`.  Errors: kInvalid when there is none.
Result<std::string> Caffe2Input(const Caffe2Operator& op, std::size_t position);
/// INT8Q of Y_scale and Y_zero_point.  Errors: kInvalid.
Result<format::TensorType> Caffe2OutputType(const Caffe2Operator& op);
/// True for operators on quantized blobs.
inline bool IsInt8(const Caffe2Operator& op) { return op.type.starts_with("Int8"); }
/// The type that an elementwise operator gives: Y_scale's for a quantized one, else that of input
/// 0.
Result<format::TensorType> Caffe2ResultType(Caffe2Builder& builder, const Caffe2Operator& op);

Result<void> ConvertCaffe2Conv(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Fc(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Pool(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Sum(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Unary(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Softmax(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Cast(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Copy(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Order(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Reshape(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Flatten(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Concat(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Slice(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Transpose(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Shuffle(Caffe2Builder& builder, const Caffe2Operator& op);
Result<void> ConvertCaffe2Resize(Caffe2Builder& builder, const Caffe2Operator& op);

}  // namespace qtx::convert
