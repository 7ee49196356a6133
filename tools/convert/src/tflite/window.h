// Shared by convolutions and pools: windows over height and width, and biases.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tflite/builder.h"

namespace qtx::convert {

/// Maximal extent of a kernel along an axis, which bounds pads; real ones span a few hundred.
inline constexpr std::int64_t kMaxSpan = 1 << 16;

/// Each pair is height, width.
struct Window {
  std::array<std::int64_t, 2> kernel{};
  std::array<std::int64_t, 2> stride{};
  std::array<std::int64_t, 2> dilation = {1, 1};
  schema::Padding padding = schema::Padding::SAME;
};

/// kernel_shape, strides, pads and (unless all 1) dilations. TFLite's SAME becomes explicit pads,
/// the odd one at the end.  `input`, `output`: [N,H,W,C]. Errors: kInvalid when a stride, dilation
/// or kernel is out of range, or when the output's height and width are not what the window gives.
Result<std::vector<format::Attribute>> WindowAttributes(const Window& window,
                                                        const format::Dims& input,
                                                        const format::Dims& output);

/// The same for a transposed convolution, `output` larger than `input`; rows of the output that no
/// window reaches become output_padding.
Result<std::vector<format::Attribute>> TransposedWindowAttributes(const Window& window,
                                                                  const format::Dims& input,
                                                                  const format::Dims& output);

/// Tensors x and w of an operator, and the position of its bias.
struct BiasPlace {
  int x = 0, w = 0;
  std::size_t position = 0;
};

/// The value of the bias, or "" without one. A quantized operator's bias without a scale gets
/// x_scale * w_scale, rounded to binary32, as TFLite computes; a bias with another scale is copied
/// with that. A 64-bit bias becomes INT32Q.
/// Errors: kInvalid unless it has `size` elements, kUnsupported when it does not fit 32 bits, or is
/// computed and not FLOAT.
Result<std::string> UseBias(TfliteBuilder& builder, const TfliteOperator& op,
                            const BiasPlace& place, std::int64_t size);

/// The first step of UseBias: the type of a bias without a scale.
Result<void> ScaleBias(TfliteBuilder& builder, const BiasPlace& place, int bias);

/// Adds a ledger entry if TFLite's kernel differs from the node: with FLOAT x and quantized weights
/// it quantizes x at run time.  REQUIRES: inputs 0 and 1 are there.  Errors: those of Type.
Result<void> NoteHybrid(TfliteBuilder& builder, const TfliteOperator& op);

}  // namespace qtx::convert
