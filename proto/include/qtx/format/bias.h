// The unit of a bias that is added to a sum of products.
#pragma once

#include <cmath>

namespace qtx::format {

/// True where TFLite's kernels add a bias of `bias_scale` without rescaling: the scale differs from
/// `unit`, which is x_scale * w_scale, by at most 2^-20 of it. (Converters round that product
/// differently.)  Source: tflite.S4.
inline bool IsUnitOfProducts(float bias_scale, double unit) {
  return std::abs(static_cast<double>(bias_scale) - unit) <= 0x1p-20 * unit;
}

}  // namespace qtx::format
