// Converts windows of ONNX's Conv and pools to TFLite's strides and padding.
#pragma once

#include <array>
#include <string>

#include "tflite/writer.h"

namespace qtx::convert {

struct OutWindow {
  std::array<std::int64_t, 2> strides = {1, 1}, dilations = {1, 1}, output{};
  std::array<std::int64_t, 2> begin{}, end{};  // pads
  schema::Padding padding = schema::Padding::VALID;
  bool explicit_pads = false;  // neither SAME nor VALID: needs a PAD before it
};

/// `x` is [N,C,H,W]; if both paddings are equivalent, the node's origin decides.
/// Errors: kUnsupported for attributes out of range, kInvalid for windows larger than x.
Result<OutWindow> OutWindowOf(const format::Node& node, const format::Dims& x,
                              std::array<std::int64_t, 2> kernel);

/// A PAD of the [N,H,W,C] tensor `index`, which is `value`.
Result<int> PadAround(TfliteWriter& writer, const std::string& value, int index,
                      const format::Dims& x, const OutWindow& window);

}  // namespace qtx::convert
