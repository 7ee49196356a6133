// What convolutions and pools share: a window that slides over height and width, and the bias.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tflite/builder.h"

namespace qtx::convert {

/// Elements per axis that a kernel may span; real ones span a few hundred. It bounds the pads.
inline constexpr std::int64_t kMaxSpan = 1 << 16;

/// Height first in each pair.
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

/// The value of the bias, or "" when the operator has none. A quantized operator's bias without a
/// scale of its own gets x_scale * w_scale, rounded to binary32, as TFLite takes it; where it has
/// another scale, it is a copy with that one. A bias of 64 bits becomes INT32Q.
/// Errors: kInvalid when it has not `size` elements, kUnsupported when it is no constant or does
/// not fit 32 bits.
Result<std::string> UseBias(TfliteBuilder& builder, const TfliteOperator& op,
                            const BiasPlace& place, std::int64_t size);

/// The first step of UseBias: the type of a bias without a scale.
Result<void> ScaleBias(TfliteBuilder& builder, const BiasPlace& place, int bias);

/// Notes where TFLite's kernel computes otherwise than the node says: FLOAT x with quantized
/// weights, where it quantizes x as it runs.  REQUIRES: inputs 0 and 1 are there.  Errors: those of
/// Type.
Result<void> NoteHybrid(TfliteBuilder& builder, const TfliteOperator& op);

}  // namespace qtx::convert
