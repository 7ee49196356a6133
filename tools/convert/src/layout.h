// Orders of dimensions: TFLite's activations are [N,H,W,C], ONNX's [N,C,H,W].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert {

/// Dimension i of the result is dimension perm[i] of the source, as in ONNX's Transpose.
using Permutation = std::vector<std::int64_t>;

inline const Permutation& NhwcToNchw() {
  static const Permutation kPerm = {0, 3, 1, 2};  // also [O,H,W,I] to [O,I,H,W]
  return kPerm;
}
inline const Permutation& NchwToNhwc() {
  static const Permutation kPerm = {0, 2, 3, 1};
  return kPerm;
}
/// Depthwise weights [1,H,W,O] to [O,1,H,W].
inline const Permutation& DepthwiseToOihw() {
  static const Permutation kPerm = {3, 0, 1, 2};
  return kPerm;
}

/// REQUIRES: `perm` permutes the dimensions of `dims`.
format::Dims Permute(std::span<const std::int64_t> dims, const Permutation& perm);

/// Where source axis `axis` is found after `perm`.
std::int64_t PermuteAxis(std::int64_t axis, const Permutation& perm);

/// Shape, and the axes of quantization and statistics, moved with the data; an axis-major parameter
/// vector keeps its order because only single axes occur.
/// REQUIRES: fixed shape, at most one axis in each.
format::TensorType Permute(format::TensorType type, const Permutation& perm);

/// Elements moved, any width, packed or not; the quantization's axis too.
format::Tensor Permute(const format::Tensor& tensor, const Permutation& perm);

}  // namespace qtx::convert
