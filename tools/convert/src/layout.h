// Layouts: TFLite's activations are [N,H,W,C], ONNX's [N,C,H,W].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"
#include "qtx/graph/graph_builder.h"

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

/// The axis to which `perm` moves source axis `axis`.
std::int64_t PermuteAxis(std::int64_t axis, const Permutation& perm);

/// Permutes the shape and the axes of quantization and statistics. Parameter vectors keep their
/// order because only single axes occur. REQUIRES: at most one axis in each.
format::TensorType Permute(format::TensorType type, const Permutation& perm);

/// Transposes elements of any width, and the quantization's axis.
format::Tensor Permute(const format::Tensor& tensor, const Permutation& perm);

/// `own`, the type of a value in its framework's order, as it is in `layout`.
format::TensorType InLayout(graph::Layout layout, format::TensorType own);

/// The name of a value in `layout`; a Transpose of its other form gives what is not at hand, under
/// a name made of `stem`, or under `stem` itself where that is declared elsewhere (`edge`).
/// REQUIRES: one of the forms is there; rank 4.
const std::string& UseForm(graph::GraphBuilder& builder, graph::Forms& forms, graph::Layout layout,
                           const format::TensorType& own, const std::string& stem,
                           bool edge = false);

}  // namespace qtx::convert
