// Geometry of sliding windows, shared by Conv and the pools.
// Source: conv.S4, conv.S5, average_pool.S3, max_pool.S3.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::reference {

/// One element of a window that lies inside the input: row-major indices over the spatial axes.
struct Tap {
  std::int64_t kernel = 0;
  std::int64_t input = 0;
};

class Window {
 public:
  /// Reads strides, dilations, pads, auto_pad and ceil_mode of `node`. `input` and `kernel` are
  /// spatial dimensions.  Errors: kInvalid for attribute values that break conv.C6, conv.C7 or
  /// average_pool.C4, and for an empty output.
  static Result<Window> Make(const format::Node& node, std::span<const std::int64_t> input,
                             std::span<const std::int64_t> kernel);

  const format::Dims& output() const { return output_; }
  std::int64_t positions() const { return positions_; }
  /// The taps of row-major output position `position`, in kernel order.
  void TapsAt(std::int64_t position, std::vector<Tap>* taps) const;
  /// Window elements at `position` that lie in the input or its padding.
  std::int64_t PaddedCount(std::int64_t position) const;
  /// Whether the one window is the whole input, without padding.
  bool IsWholeInput() const;

 private:
  struct Axis {
    std::int64_t input, kernel, stride, dilation, pad_begin, pad_end, output;
    std::int64_t input_stride, kernel_stride;  // of the row-major layouts
  };
  Result<void> ReadAxes(const format::Node& node, std::span<const std::int64_t> input,
                        std::span<const std::int64_t> kernel);
  static Result<void> Place(Axis* axis, const std::string& auto_pad, bool ceil_mode);

  std::vector<Axis> axes_;
  format::Dims output_;
  std::int64_t positions_ = 1;
};

/// The attribute with `count` values, each at least `fallback` and less than 2^31, or `count` times
/// the fallback.  Errors: kInvalid.
Result<format::Dims> WindowInts(const format::Node& node, const std::string& name,
                                std::size_t count, std::int64_t fallback);

/// That the window's attribute `attribute` is wrong.
Error BadAttribute(const std::string& attribute, std::string message);

/// Values of `auto_pad` that a Window reads; for the operators' checks.
Result<void> CheckWindowAttributes(const format::Node& node);

}  // namespace qtx::reference
