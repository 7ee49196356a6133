// Caffe2's operators that fill a blob with given values.
#pragma once

#include "caffe2/net.h"

namespace qtx::convert {

bool IsFill(const Caffe2Operator& op);

/// The blob's values; a quantized one is INT8Q or INT32Q with its parameters.
/// Source: PyTorch, caffe2/operators/given_tensor_fill_op.h, filler_op.h,
/// quantized/int8_given_tensor_fill_op.h.
/// Errors: kInvalid when shape and values disagree, kUnsupported for a fill that is not constant,
/// kTooLarge past `max_elements` for one value repeated.
Result<format::Tensor> FillOf(const Caffe2Operator& op, std::int64_t max_elements);

}  // namespace qtx::convert
