// Conv, MaxPool and BatchNormalization on [N,H,W,C]: QONNX's domain channels_last.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx/graph_index.h"

namespace qtx::convert {

bool IsChannelsLast(const format::Node& node);

/// Rewrites to ONNX's operator on [N,C,H,W] between Transposes; `unique` makes names for new
/// values. Weights of Conv are [O,H,W,I] there.  Source: qonnx,
/// custom_op/channels_last/base_wrapped_op.py.
/// Errors: kUnsupported for another operator, kInvalid when the rank is unknown.
Result<std::vector<format::Node>> ChannelsFirst(
    const GraphIndex& index, const format::Node& node,
    const std::function<std::string(std::string)>& unique);

}  // namespace qtx::convert
