#include <algorithm>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// The first position that a start and a step name on an axis of `size`.  Source: slice.S2,
// slice.S3.
std::int64_t FirstOf(std::int64_t start, std::int64_t step, std::int64_t size) {
  if (size == 0) return 0;
  if (start < 0) start += size;
  return std::clamp<std::int64_t>(start, 0, step > 0 ? size : size - 1);
}

// Source: slice.S1 to slice.S4.
Result<format::Tensor> Slice(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  const std::vector<std::int64_t> starts = IntegersAt(call, 1);
  Dims strides = format::RowMajorStrides(from);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis =
        call.Input(3) != nullptr ? FromFirst(IntegersAt(call, 3)[i], from.size()) : i;
    const std::int64_t step = call.Input(4) != nullptr ? IntegersAt(call, 4)[i] : 1;
    first += FirstOf(starts[i], step, from[axis]) * strides[axis];
    // A step longer than the axis is as good as one of its length, which overflows nothing.
    strides[axis] *= std::clamp(step, -from[axis], from[axis]);
  }
  return Selected(call, dims, StridedSources(dims, strides, first));
}

}  // namespace

const Operator kSlice = {.op_type = "Slice", .run = Slice};

}  // namespace qtx::reference::ops
