// The elements of sliding windows, shared by Conv and the pools.
// Source: conv.S4, conv.S5, average_pool.S3, max_pool.S3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"
#include "qtx/format/window.h"

namespace qtx::reference {

/// One element of a window that lies inside the input: row-major indices over the spatial axes.
struct Tap {
  std::int64_t kernel = 0;
  std::int64_t input = 0;
};

/// Spatial axes, and the row-major layouts of their inputs and kernels.
struct WindowLayout {
  /// Errors: kTooLarge.
  static Result<WindowLayout> Make(std::vector<format::WindowAxis> axes);

  std::vector<format::WindowAxis> axes;
  format::Dims input_strides, kernel_strides;
  std::int64_t positions = 1;  // of the output
};

class Window {
 public:
  /// `input` and `kernel` are spatial dimensions.  REQUIRES: `node`, Conv or a pool, keeps the
  /// clauses of its section.  Errors: kTooLarge.
  static Result<Window> Make(const format::Node& node, std::span<const std::int64_t> input,
                             std::span<const std::int64_t> kernel);

  std::int64_t positions() const { return layout_.positions; }
  /// The taps of row-major output position `position`, in kernel order.
  void TapsAt(std::int64_t position, std::vector<Tap>* taps) const;
  /// Window elements at `position` that lie in the input or its padding.
  std::int64_t PaddedCount(std::int64_t position) const;
  /// Whether the one window is the whole input, without padding.
  bool IsWholeInput() const;
  bool HasPadding() const;

 private:
  WindowLayout layout_;
};

}  // namespace qtx::reference
