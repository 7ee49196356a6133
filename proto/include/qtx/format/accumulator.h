// Operators whose output is a sum of products of stored x and w, and the unit of their bias.
#pragma once

#include <cmath>
#include <cstdint>

#include "qtx/format/model.h"

namespace qtx::format {

/// Whether the node is ONNX's Conv, Gemm or MatMul, with x as input 0 and w as input 1.
/// Source: float32.S4, requantization.C3.
bool HasAccumulator(const Node& node);

/// The axis of w, of `rank` axes, along which its slices give different outputs.
/// REQUIRES: HasAccumulator, or a ConvTranspose of one group.  Source: conv.S1, conv_transpose.S1,
/// gemm.S1, mat_mul.S1.
std::int64_t OutputAxis(const Node& node, std::int64_t rank);

/// Whether the node is a Gemm that multiplies by an alpha or beta other than 1.
bool IsScaledGemm(const Node& node);

/// True where TFLite's kernels add a bias of `bias_scale` without rescaling: the scale differs from
/// `unit`, which is x_scale * w_scale, by at most 2^-20 of it. (Converters round that product
/// differently.)  Source: tflite.S4.
inline bool IsUnitOfProducts(float bias_scale, double unit) {
  return std::abs(static_cast<double>(bias_scale) - unit) <= 0x1p-20 * unit;
}

}  // namespace qtx::format
