// Compatibility of nodes between opsets of ai.onnx.
#pragma once

#include <cstdint>

#include "qtx/format/model.h"

namespace qtx::convert {

/// The newest opset whose operators are known here.
inline constexpr std::int64_t kNewestOpset = 28;

/// Checks that `node` of opset `from` means the same in opset `to`.
/// Errors: kUnsupported, naming the version in which the operator came, changed, or got an
/// attribute or input that the node uses.  Source: ONNX 1.23, schema histories; Changelog.md.
Result<void> CheckMove(const format::Node& node, std::int64_t from, std::int64_t to);

}  // namespace qtx::convert
