// Writes QTX types and constants as TFLite tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "layout.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor_type.h"
#include "tflite_generated.h"

namespace qtx::convert {

/// Sets type, shape, scales, zero points, quantized dimension and range.
/// Errors: kUnsupported for what TFLite's tensors cannot express: open sizes, blocks, several axes,
/// element types that it lacks. `where` is empty.
Result<void> SetTensorType(const format::TensorType& type, schema::TensorT& tensor);

/// The stored elements as a tensor of `type` has them: INT32Q in 64 bits where that is INT64.
/// Errors: kUnsupported when `type` is of another storage.
Result<std::vector<std::uint8_t>> BufferBytes(const format::Tensor& tensor,
                                              schema::TensorType type);

/// What undoes `perm`.
Permutation Inverse(const Permutation& perm);

/// The type of a value or initializer of `model`, its parameters inline.
/// Errors: kInvalid when the graph does not state it, naming it.
Result<format::TensorType> TypeIn(const format::ModelView& model, const std::string& name);

/// The reals of a quantized constant, each rounded once to binary32.
/// Errors: kUnsupported for a code book and for levels.
Result<format::Tensor> FloatOf(const format::Tensor& constant);

}  // namespace qtx::convert
