// The unit of a bias that is added to a sum of products.
#pragma once

#include <cmath>

namespace qtx::format {

/// True where TFLite's kernels add a bias of `bias_scale` as it is stored: the scale differs from
/// `unit`, which is x_scale * w_scale, by 2^-20 of it at most. Converters round that product each
/// in its own way.  Source: tflite.S4.
inline bool IsUnitOfProducts(float bias_scale, double unit) {
  return std::abs(static_cast<double>(bias_scale) - unit) <= 0x1p-20 * unit;
}

}  // namespace qtx::format
