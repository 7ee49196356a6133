// Types of a net's inputs, which Caffe2 knows only as it runs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "qtx/format/tensor_type.h"

namespace qtx::convert {

/// Reads {"name": [type, [dims]], ...}, as Caffe2's own converter to ONNX takes it (PyTorch,
/// caffe2/python/onnx/bin/conversion.py, --value-info), `type` being ONNX's code. For a quantized
/// input scale and zero point follow: [2, [1, 3, 3, 1], 0.5, 128].  UINT8 becomes INT8Q, shifted.
/// Errors: kInvalid, naming the input.
Result<std::map<std::string, format::TensorType>> ParseValueInfo(std::string_view json);

/// Caffe2's uint8 as INT8Q: stored values and offset less 128, the same reals.
inline constexpr int kCaffe2Shift = 128;
/// Errors: kInvalid for a scale or an offset that the format does not have.
Result<format::Quantization> Caffe2Quantization(float scale, std::int64_t zero_point);

}  // namespace qtx::convert
