// Nodes that one operator of StableHLO needs beside its own: casts, transpositions, reshapes.
#pragma once

#include <vector>

#include "layout.h"
#include "stablehlo/ops.h"

namespace qtx::convert {

/// `value` with other dimensions or another type; itself where nothing changes. Constants are
/// transposed and reshaped as they are, without a node.
StablehloValue* CastTo(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                       format::ElementType type);
StablehloValue* Transposed(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                           const Permutation& perm);
/// Errors: kUnsupported where parameters along an axis have no axis afterwards.
/// REQUIRES: the dimensions of `value` are known, and `dims` have as many elements.
Result<StablehloValue*> Reshaped(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                                 const format::Dims& dims);
/// Elements at the begin and end of each axis, of real zero or of `with`; negative: taken away.
/// Errors: kUnsupported along an axis that parameters differ along.
Result<StablehloValue*> Padded(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                               const std::vector<std::int64_t>& low,
                               const std::vector<std::int64_t>& high,
                               StablehloValue* with = nullptr);
/// `zeros[i]` elements, of real zero or of `with`, between neighbours along axis i.
/// Errors: as Padded.
Result<StablehloValue*> Spread(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                               const std::vector<std::int64_t>& zeros,
                               StablehloValue* with = nullptr);
/// Every `steps[i]`-th element along axis i, from starts[i] up to ends[i]; -1: all, backwards.
StablehloValue* Sliced(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                       const std::vector<std::int64_t>& starts,
                       const std::vector<std::int64_t>& ends,
                       const std::vector<std::int64_t>& steps, const format::Dims& dims);
/// Axes turned around.
Result<StablehloValue*> Reversed(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                                 const std::vector<std::int64_t>& axes);

/// A value without quantization: FLOAT, or the reals' own type.
StablehloValue* AsReal(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value);
/// The type of the reals of a quantized type; any other type is its own.
format::TensorType RealOf(const format::TensorType& type);

Permutation InverseOf(const Permutation& perm);

}  // namespace qtx::convert
