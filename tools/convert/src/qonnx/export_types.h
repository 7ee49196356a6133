// Quantized types as parameters of QONNX quantizers.
#pragma once

#include <optional>

#include "qtx/format/model.h"

namespace qtx::convert {

/// Bits of a Quant, and how they are read.
struct QonnxWidth {
  std::int64_t bits = 0;
  bool is_signed = false, narrow = false;
};

/// The bit width with this range.
std::optional<QonnxWidth> WidthOf(const format::IntegerRange& range);
/// The width of an integer storage.
QonnxWidth FullWidth(format::ElementType type);

/// Errors: kUnsupported for blocks, small floats, and axes of an unknown rank.
/// REQUIRES: inline parameters.
Result<void> CheckSayable(const format::TensorType& type);

/// Scales, or offsets as FLOAT, of the rank that QONNX broadcasts: [1,C,1,1] for axis 1; [] when
/// there is one.  Errors: kUnsupported for an offset that binary32 does not hold.
/// REQUIRES: CheckSayable.
format::Tensor QonnxScale(const format::TensorType& type);
Result<format::Tensor> QonnxZeroPoint(const format::TensorType& type);

/// The reals of `stored`, which Quant brings back.  Errors: kUnsupported when it does not.
Result<format::Tensor> RealsOf(const format::Tensor& stored);

}  // namespace qtx::convert
