// com.microsoft.GatherBlockQuantized: rows of a table of integers or small floats, in blocks along
// one axis.
//
//   data: INT4, UINT4, a float8 format or FLOAT4E2M1 as they are; UINT8 holds 8 / bits codes along
//   the last axis, the first in the lowest bits
//   scales, zero_points: one for each block along quantize_axis and each element along the others;
//   zero_points are stored as data is, absent 0, or 2^(bits - 1) for UINT8
//
// In the extended form it is a Gather of a table of the logical sizes.
// Source: ONNX Runtime docs/ContribOperators.md.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

Result<std::optional<Lift>> LiftGatherBlocks(const LiftContext& context, const format::Node& node);

struct GatherBlocksInputs {
  format::Tensor data, scales;
  std::optional<format::Tensor> zero_points;
};

/// The inputs of the GatherBlockQuantized that `origin` says was the reader of `table`.  nullopt
/// where the table is no longer of its form.
std::optional<GatherBlocksInputs> PackGatherBlocks(format::Tensor table,
                                                   const format::Origin& origin);

}  // namespace qtx::convert
