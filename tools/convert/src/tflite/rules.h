// Constraints of TFLite's kernels on types.
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

/// kInteger: all `values` are quantized with one storage. kReal: the FLOAT kernel between
/// DEQUANTIZE and QUANTIZE, which rounds once, as the node does.
enum class Kernel { kReal, kInteger };
/// Errors: kUnsupported for activations that no kernel accepts: per axis, in blocks, other than 8
/// or 16 bits, 16 bits with an offset.
Result<Kernel> KernelFor(const TfliteWriter& writer, const std::vector<std::string>& values);

/// True if the type is per tensor with this scale (within 1/1000, as kernels check) and offset.
bool HasParameters(const format::TensorType& type, double scale, std::int32_t offset);

/// The fused activation that clamps to the range of `type`; prefers the job's, then the origin's.
/// Errors: kUnsupported for a range that no activation has.
Result<schema::ActivationFunctionType> FusedInto(const TfliteWriter& writer, const Job& job);

/// A layer's x, weights and result.
struct Layer {
  std::string x, w, bias, y;
  std::int64_t w_axis = 0;  // of the output channels, in the weights' own order
  std::int64_t channels = 0;
  bool takes_blocks = false;  // its kernel knows weights that are quantized in blocks
};
/// Errors: kUnsupported naming the value: weights with an offset, another axis or a storage that
/// the kernel of x lacks; a result with another storage than x.
Result<void> CheckLayer(TfliteWriter& writer, const Layer& layer);
/// The tensor of the bias, -1 for none: INT32 with scale x * w, INT64 for 16-bit x.
/// Errors: kUnsupported for any other bias.
Result<int> UseBias(TfliteWriter& writer, const Layer& layer);
/// The same for a convolution, for which LiteRT requires a bias: zeros if the layer has none.
Result<int> UseBiasOrZeros(TfliteWriter& writer, const Layer& layer);

}  // namespace qtx::convert
