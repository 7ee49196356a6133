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
/// DEQUANTIZE and QUANTIZE, which rounds once, as the node does. kHybrid, of layers: quantized
/// weights and FLOAT x, which the kernel quantizes at run time.
enum class Kernel { kReal, kInteger, kHybrid };
/// Errors: kUnsupported for activations that no kernel accepts: per axis, in blocks, other than 8
/// or 16 bits, 16 bits with an offset.
Result<Kernel> KernelFor(const TfliteWriter& writer, const std::vector<std::string>& values);

/// The tensor of `value`; for kReal as FLOAT, behind a DEQUANTIZE where it is quantized.
Result<int> UseFor(TfliteWriter& writer, Kernel kernel, const std::string& value, Order order);

/// True if the type is per tensor with this scale and offset. Some kernels take one within 1/1000,
/// and compute as with this one.
bool HasParameters(const format::TensorType& type, float scale, std::int32_t offset);

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
/// kReal, which the ledger names, where the kernel of x lacks something: weights with an offset,
/// along another axis or of another storage, a result with another storage than x, another bias
/// than INT32 with scale x * w. Errors: kUnsupported for activations that no kernel accepts, and
/// for weights in blocks.
Result<Kernel> KernelForLayer(TfliteWriter& writer, const Layer& layer);
/// The weights, permuted; for kReal as FLOAT.  Errors: kUnsupported if they are not constant.
Result<int> UseWeights(TfliteWriter& writer, const Layer& layer, const Permutation& perm,
                       Kernel kernel);
/// The fused activation of a layer's node.  Errors: those of FusedInto.
Result<schema::ActivationFunctionType> ActivationFor(const TfliteWriter& writer, const Job& job,
                                                     Kernel kernel);
/// What a layer's kernel gives.
Result<format::TensorType> TypeFrom(const TfliteWriter& writer, const Job& job, Kernel kernel);
/// The tensor of the bias, -1 for none: INT32 with scale x * w, INT64 for 16-bit x, FLOAT for
/// kReal. Errors: kUnsupported for a bias that is no constant, or of another shape.
Result<int> UseBias(TfliteWriter& writer, const Layer& layer, Kernel kernel);
/// The same for a convolution, for which LiteRT requires a bias: zeros if the layer has none.
Result<int> UseBiasOrZeros(TfliteWriter& writer, const Layer& layer, Kernel kernel);

}  // namespace qtx::convert
