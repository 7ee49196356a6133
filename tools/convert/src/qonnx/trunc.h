// QONNX's Trunc: integers shifted right.
#pragma once

#include <optional>

#include "qonnx/parameters.h"

namespace qtx::convert {

/// y = rounding(x / 2^shift) as the extended form says it: x to `from`; plus `shifted`; times
/// `factor`; to `to`, rounded once, half to even.
struct TruncForm {
  QonnxQuantizer from, to;
  std::optional<float> shifted, factor;
};

/// Rounding down is rounding to nearest of integers moved by half a unit less half a bit, which
/// never gives a tie; of at most 22 bits, so that binary32 moves none of them over a boundary.
/// Source: qonnx, trunc_v1 and trunc_v2 of custom_op/general/trunc.py; the node has five inputs in
/// version 1, six in version 2.
/// Errors: kUnsupported for zero points, other roundings and scales that are not 2^shift apart.
Result<TruncForm> ReadTrunc(const GraphIndex& index, const format::Node& node);

}  // namespace qtx::convert
