// TensorRT's calibration cache: "TRT-<version>-EntropyCalibration2", then a line "name: hex" for
// each activation, the hex digits being the bits of the binary32 scale (largest magnitude / 127) of
// a symmetric INT8.
// Source: NVIDIA's TAO export (tensorfile/tensor_scale to cache: hex of the bits of range / 127)
// and ONNX Runtime's tensorrt_execution_provider_utils.h (ReadDynamicRange), which read and write
// it.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// Errors: kUnsupported for what the cache has no place for (an offset, several scales, statistics,
/// another storage) where its loss is not allowed, and for a name with a line break.
Result<Export> WriteTensorrt(const format::Model& model, const Options& options);

/// Key in metadata_props of the first line to write, for another version of TensorRT.
inline constexpr std::string_view kTensorrtHeaderKey = "tensorrt.header";

}  // namespace qtx::convert
