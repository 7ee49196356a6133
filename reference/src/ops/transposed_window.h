// Geometry of ConvTranspose: which elements of x reach a position of y, by which weight.
// Source: conv_transpose.S1, conv_transpose.S4 to conv_transpose.S6.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/window.h"

namespace qtx::reference {

class TransposedWindow {
 public:
  /// Reads strides, dilations, pads, output_padding, output_shape and auto_pad of `node`. `input`
  /// and `kernel` are spatial dimensions.  Errors: kInvalid for attribute values that break
  /// conv_transpose.C6 or conv_transpose.C7, and for an empty input or output.
  static Result<TransposedWindow> Make(const format::Node& node,
                                       std::span<const std::int64_t> input,
                                       std::span<const std::int64_t> kernel);
  const format::Dims& output() const { return output_; }
  std::int64_t positions() const { return positions_; }
  /// The taps of row-major output position `position`, in kernel order.
  void TapsAt(std::int64_t position, std::vector<Tap>* taps) const;

 private:
  struct Axis {
    std::int64_t input, kernel, stride, dilation, pad_begin, pad_end, output_padding, output;
    std::int64_t input_stride, kernel_stride;  // of the row-major layouts
  };
  static Result<void> Place(Axis* axis, const std::string& auto_pad, bool output_given);

  std::vector<Axis> axes_;
  format::Dims output_;
  std::int64_t positions_ = 1;
};

}  // namespace qtx::reference
