// Geometry of sliding windows: Conv, ConvTranspose, the pools and their variants.
// Source: conv.S4, conv.S5, average_pool.S3, max_pool.S3, conv_transpose.S4 to conv_transpose.S6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::format {

/// Upper bound of every known size of a WindowAxis, of the padded input and output and of the
/// position of each window element, so that sums of a few of them do not overflow.
inline constexpr std::int64_t kMaxWindowSize = std::int64_t{1} << 60;

/// One spatial axis. Unknown sizes are negative, and so are pads that depend on them. Window `o`
/// holds the elements o * stride + k * dilation - pad_begin, k < kernel, of the input. In
/// ConvTranspose, input element `i` and weight element `k` add to output i * stride + k * dilation
/// - pad_begin. With a single window the stride, and with a single kernel element the dilation, may
/// be smaller than the attribute.
struct WindowAxis {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t pad_begin = 0, pad_end = 0, output = 1;
  bool operator==(const WindowAxis&) const = default;
};

// Attributes ------------------------------------------------------------------------------------
// `rank` is the number of spatial axes, nullopt where it is not known. Errors: kInvalid.

/// Checks strides, dilations and pads: conv.C6.
Result<void> CheckWindowAttributes(const Node& node, std::optional<std::size_t> rank);
/// Also checks output_padding and output_shape: conv_transpose.C6.
Result<void> CheckTransposedWindowAttributes(const Node& node, std::optional<std::size_t> rank);
/// Also checks that pads are smaller than the kernel: average_pool.C4, except its last sentence
/// (see HasWindowInPadding).  REQUIRES: CheckKernelShape.
Result<void> CheckPoolAttributes(const Node& node);
/// Checks that kernel_shape is given: average_pool.C3.
Result<void> CheckKernelShape(const Node& node, std::optional<std::size_t> rank);
/// Checks auto_pad: conv.C7.
Result<void> CheckAutoPad(const Node& node);

// Axes ------------------------------------------------------------------------------------------

/// The windows of Conv or a pool over spatial sizes `input`. `kernel` has the spatial sizes of w,
/// or kernel_shape. An output is kUnknownSize if it cannot be determined, or the input's symbol
/// number if both have the same size.
/// Errors: kInvalid for attributes as above, and for an output below 1 (conv.C8); kTooLarge past
/// kMaxWindowSize, which no clause forbids.
Result<std::vector<WindowAxis>> WindowAxes(const Node& node, std::span<const std::int64_t> input,
                                           std::span<const std::int64_t> kernel);
/// The same for ConvTranspose.  Errors: likewise, and kInvalid for an input of size 0.
Result<std::vector<WindowAxis>> TransposedWindowAxes(const Node& node,
                                                     std::span<const std::int64_t> input,
                                                     std::span<const std::int64_t> kernel);

/// True if some window of a pool certainly holds no element of the input.
bool HasWindowInPadding(const WindowAxis& axis);

}  // namespace qtx::format
