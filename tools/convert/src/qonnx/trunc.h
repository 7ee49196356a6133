// QONNX's Trunc: a right shift of integers.
#pragma once

#include <optional>

#include "qonnx/parameters.h"

namespace qtx::convert {

/// y = rounding(x / 2^shift) in the extended form: x quantized to `from`, plus `shifted`, times
/// `factor`, quantized to `to` (rounded once, half to even).
struct TruncForm {
  QonnxQuantizer from, to;
  std::optional<float> shifted, factor;
};

/// Rounds down by rounding to nearest after adding half a bit less half a unit, which makes no
/// ties. At most 22 bits, so that binary32 is exact enough.
/// Source: qonnx, trunc_v1 and trunc_v2 of custom_op/general/trunc.py; the node has five inputs in
/// version 1, six in version 2.
/// Errors: kUnsupported for zero points, other roundings and scales that are not 2^shift apart.
Result<TruncForm> ReadTrunc(const GraphIndex& index, const format::Node& node);

}  // namespace qtx::convert
