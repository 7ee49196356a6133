// Sliding windows: the sizes and the taps of convolutions and pools, independent of
// qtx/format/window.h.
#pragma once

#include <vector>

#include "call.h"

namespace qtx::backend::faulty {

/// One kernel position over one output position.
struct Tap {
  std::int64_t kernel = 0;  // row-major index in the kernel
  std::int64_t input = -1;  // row-major index in one channel's plane; -1 outside of it
  bool beyond = false;      // outside of the padding too, where only ceil_mode reaches
};

struct Window {
  Dims input, output, kernel, stride, dilation, begin, end;

  std::int64_t planes_in() const { return Size(input); }
  std::int64_t planes_out() const { return Size(output); }
  /// The taps of output position `at` (row-major), in row-major order of the kernel.
  std::vector<Tap> Taps(std::int64_t at) const;
  /// The same for a transposed convolution: only the taps that reach the input.
  std::vector<Tap> TransposedTaps(std::int64_t at) const;
};

/// From the attributes of Conv, AveragePool or MaxPool.  Source: conv.S4, conv.S5, average_pool.S3.
/// Errors: kUnsupported for attributes that the clauses do not allow.
Result<Window> WindowOf(const Call& call, const Dims& input, const Dims& kernel);
/// Source: conv_transpose.S4 to .S6.
Result<Window> TransposedWindowOf(const Call& call, const Dims& input, const Dims& kernel);

}  // namespace qtx::backend::faulty
