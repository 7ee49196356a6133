// Converts windows of ONNX's Conv and pools to TFLite's strides and padding.
#pragma once

#include <array>
#include <string>

#include "tflite/writer.h"

namespace qtx::convert {

struct OutWindow {
  std::array<std::int64_t, 2> strides = {1, 1}, dilations = {1, 1}, output{};
  std::array<std::int64_t, 2> begin{}, end{};  // pads
  std::array<std::int64_t, 2> beyond{};        // of `end`, what ceil_mode adds to the node's pads
  schema::Padding padding = schema::Padding::VALID;
  bool explicit_pads = false;  // neither SAME nor VALID: needs a PAD before it
};

/// What is padded: a tensor in [N,H,W,C], by 0, or by the lowest number.
struct Padded {
  std::string value;
  int index = 0;
  format::TensorType type;
  bool by_lowest = false;
};

/// `x` is [N,C,H,W]; if both paddings are equivalent, the node's origin decides.
/// Errors: kUnsupported for attributes out of range, kInvalid for windows larger than x.
Result<OutWindow> OutWindowOf(const format::Node& node, const format::Dims& x,
                              std::array<std::int64_t, 2> kernel);

/// `x` is [N,C,H,W].
Result<int> PadAround(TfliteWriter& writer, const Padded& padded, const format::Dims& x,
                      const OutWindow& window);

}  // namespace qtx::convert
