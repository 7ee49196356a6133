// RESIZE_BILINEAR of TFLite's kernels and of XNNPACK's: coordinates and weights of few bits.
// Source: tflite_float64.S6, tflite_half_up.S6, xnnpack.S10.
#pragma once

#include "arithmetic/kernel_types.h"

namespace qtx::reference {

/// The arithmetic has a kernel for linear Resize of x to y, by types, parameters and attributes.
bool HasResizeKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                     const ValueType& y);
/// nullopt where there is none, or the node resizes anything but height and width of whole images.
Result<std::optional<format::Tensor>> RunResizeKernel(const Call& call);

}  // namespace qtx::reference
