// The window of a Caffe2 convolution or pool.
#pragma once

#include <array>
#include <vector>

#include "caffe2/net.h"

namespace qtx::convert {

struct Caffe2Window {
  std::array<std::int64_t, 2> kernel = {0, 0};  // height, width; 0: not said
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::array<std::int64_t, 4> pads = {0, 0, 0, 0};  // top, left, bottom, right
  bool global = false;
  bool channels_last = false;
};

/// Source: PyTorch, caffe2/operators/conv_pool_op_base.h.  Errors: kInvalid for sizes out of range,
/// kUnsupported for legacy paddings, other orders and other than two spatial dimensions.
Result<Caffe2Window> Caffe2WindowOf(const Caffe2Operator& op);

/// strides, pads and, unless all are 1, dilations; kernel_shape where it is said.
std::vector<format::Attribute> WindowAttributes(const Caffe2Window& window);

}  // namespace qtx::convert
