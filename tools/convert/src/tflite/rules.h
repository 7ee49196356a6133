// What TFLite's kernels take, of all that the format can say.
// Source: TensorFlow Lite's 8-bit quantization specification, and the checks in its kernels'
// Prepare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tflite/nodes_out.h"

namespace qtx::convert {

/// A FLOAT type without shape.
format::TensorType Float();

/// kInteger: every one of `values` is quantized, in one storage. kReal: the kernel for FLOAT, and
/// quantized values are brought to it and back, which rounds where the node itself does, once.
enum class Kernel { kReal, kInteger };
/// Errors: kUnsupported for an activation that no kernel takes: per axis, in blocks, of another
/// storage than 8 or 16 bits, of 16 bits with an offset.
Result<Kernel> KernelFor(const TfliteWriter& writer, const std::vector<std::string>& values);

/// The type is quantized per tensor with this scale (to 1/1000, as kernels check it) and offset.
bool HasParameters(const format::TensorType& type, double scale, std::int32_t offset);

/// The fused activation that clamps to the range of `type`, after that of the job and of the node's
/// origin where they do.  Errors: kUnsupported for a range that none gives.
Result<schema::ActivationFunctionType> FusedInto(const TfliteWriter& writer, const Job& job);

/// A layer's x, weights and result.
struct Layer {
  std::string x, w, bias, y;
  std::int64_t w_axis = 0;  // of the output channels, in the weights' own order
  std::int64_t channels = 0;
};
/// Errors: kUnsupported naming the value: weights with an offset, along another axis, of another
/// storage than x's kernel takes; a result of another storage than x.
Result<void> CheckLayer(TfliteWriter& writer, const Layer& layer);
/// The tensor of the bias, -1 for none: INT32 with scale x * w, INT64 for 16-bit x.
/// Errors: kUnsupported for any other bias.
Result<int> UseBias(TfliteWriter& writer, const Layer& layer);
/// The same for a convolution, which LiteRT does not take without: zeros where the layer has none.
Result<int> UseBiasOrZeros(TfliteWriter& writer, const Layer& layer);

}  // namespace qtx::convert
