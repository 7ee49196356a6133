// Compatibility of nodes between opsets of ai.onnx.
#pragma once

#include <cstdint>

#include "qtx/format/model.h"

namespace qtx::convert {

/// Checks that `node` of opset `from` means the same in opset `to`.
/// Errors: kUnsupported, naming what opset `to` does not have: the operator, an attribute or
/// an input.
/// Source: ONNX 1.23, schema histories; Changelog.md.
Result<void> CheckMove(const format::Node& node, std::int64_t from, std::int64_t to);

}  // namespace qtx::convert
