// Geometry of sliding windows: of Conv, ConvTranspose, the pools and those that take after them.
// Source: conv.S4, conv.S5, average_pool.S3, max_pool.S3, conv_transpose.S4 to conv_transpose.S6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::format {

/// The members of an axis whose sizes are known are at most this. Below it are its padded input,
/// the padded output of ConvTranspose and the position of each element of a window, so that no sum
/// of a few of them overflows.
inline constexpr std::int64_t kMaxWindowSize = std::int64_t{1} << 60;

/// One spatial axis. Sizes that are not known are negative, and so are pads that depend on them.
/// Window `o` holds the elements o * stride + k * dilation - pad_begin, k < kernel, of the input.
/// Of ConvTranspose: element `i` and `k` of w give to i * stride + k * dilation - pad_begin of y.
/// A stride of one window, or a dilation of one element, may be less than the attribute's.
struct WindowAxis {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t pad_begin = 0, pad_end = 0, output = 1;
  bool operator==(const WindowAxis&) const = default;
};

// Attributes ------------------------------------------------------------------------------------
// `rank` is the number of spatial axes, nullopt where it is not known. Errors: kInvalid.

/// strides, dilations and pads: conv.C6.
Result<void> CheckWindowAttributes(const Node& node, std::optional<std::size_t> rank);
/// Those, output_padding and output_shape: conv_transpose.C6.
Result<void> CheckTransposedWindowAttributes(const Node& node, std::optional<std::size_t> rank);
/// Those of CheckWindowAttributes, and pads smaller than the kernel: average_pool.C4 but for its
/// last sentence, which HasWindowInPadding is for.  REQUIRES: CheckKernelShape.
Result<void> CheckPoolAttributes(const Node& node);
/// kernel_shape is given: average_pool.C3.
Result<void> CheckKernelShape(const Node& node, std::optional<std::size_t> rank);
/// auto_pad: conv.C7.
Result<void> CheckAutoPad(const Node& node);

// Axes ------------------------------------------------------------------------------------------

/// The windows of Conv or a pool over spatial sizes `input`. `kernel` has those of w, or of a
/// pool's kernel_shape. An output is kUnknownSize where it does not follow, or the number of the
/// input where it has its size.
/// Errors: kInvalid for attributes as above, and for an output below 1 (conv.C8); kTooLarge past
/// kMaxWindowSize, for what breaks no clause.
Result<std::vector<WindowAxis>> WindowAxes(const Node& node, std::span<const std::int64_t> input,
                                           std::span<const std::int64_t> kernel);
/// The same of ConvTranspose.  Errors: likewise, and kInvalid for an input of size 0.
Result<std::vector<WindowAxis>> TransposedWindowAxes(const Node& node,
                                                     std::span<const std::int64_t> input,
                                                     std::span<const std::int64_t> kernel);

/// Whether a window of a pool holds no element of the input, for certain.
bool HasWindowInPadding(const WindowAxis& axis);

}  // namespace qtx::format
