// Conv and products of FLOAT x, quantized as it comes, by INT8Q weights.
// Source: tflite_float64.S7, tflite_half_up.S7, xnnpack.S9.
#pragma once

#include <cstdint>
#include <span>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// Zero, or neither so small nor so large that the kernels' arithmetic leaves normal numbers.
bool IsInRange(float value);
/// One scale for each index of `axis`.
bool HasOneScaleFor(const format::Tensor& w, std::int64_t axis);

/// What ConvInteger gives for the INT8 codes of one image with their zero point and the stored
/// integers of the Conv's weights: INT32.  REQUIRES: `call` is of a Conv with INT8Q weights.
Result<format::Tensor> SumsOfImage(const Call& call, std::span<const std::int32_t> codes,
                                   std::int64_t zero_point);

}  // namespace qtx::reference
