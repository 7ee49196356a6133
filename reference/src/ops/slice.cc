#include <algorithm>
#include <limits>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// The positions that start, end and step name on an axis of `size`. A step longer than the axis is
// as good as one of its length, which keeps the products below in 64 bits.
// Source: slice.S2, slice.S3.
Range RangeOf(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  if (size == 0) return {};
  if (start < 0) start += size;
  if (end < 0) end += size;
  step = std::clamp(step, -size, size);
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return {start, step, end <= start ? 0 : 1 + (end - start - 1) / step};
  }
  start = std::clamp<std::int64_t>(start, 0, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  return {start, step, end >= start ? 0 : 1 + (start - end - 1) / -step};
}

// starts, ends, axes or steps; `fallback` where the input is absent.
Result<Dims> ListAt(const Call& call, std::size_t i, Dims fallback) {
  if (call.Input(i) == nullptr) return fallback;
  QTX_ASSIGN_OR_RETURN(Dims list, IndexListAt(call, i));
  if (list.size() == fallback.size()) return list;
  return Error{ErrorCode::kInvalid, InputName(call, i),
               "found " + std::to_string(list.size()) + " values, expected " +
                   std::to_string(fallback.size()) + " as starts has"};
}

// The input axes, or the first `count`.  Source: slice.S1, slice.C3.
Result<std::vector<std::size_t>> SlicedAxes(const Call& call, std::size_t count) {
  const std::size_t rank = call.inputs[0]->dims.size();
  std::vector<std::size_t> axes;
  if (call.Input(3) != nullptr) {
    QTX_ASSIGN_OR_RETURN(axes, AxesAt(call, 3, rank));
  } else {
    for (std::size_t i = 0; i < std::min(count, rank); ++i) axes.push_back(i);
  }
  if (axes.size() == count) return axes;
  return Error{
      ErrorCode::kInvalid, InputName(call, 1),
      "found " + std::to_string(count) + " values for " + std::to_string(axes.size()) + " axes"};
}

// Source: slice.S1 to slice.S4.
Result<format::Tensor> Slice(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims starts, IndexListAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Dims ends, ListAt(call, 2, starts));
  QTX_ASSIGN_OR_RETURN(const auto axes, SlicedAxes(call, starts.size()));
  QTX_ASSIGN_OR_RETURN(const Dims steps, ListAt(call, 4, Dims(starts.size(), 1)));
  Dims dims = from;
  Dims strides = format::RowMajorStrides(from);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return Error{ErrorCode::kInvalid, InputName(call, 4), "found a step of 0"};
    const std::size_t axis = axes[i];
    const Range range = RangeOf(starts[i], ends[i], steps[i], from[axis]);
    first += range.start * strides[axis];
    dims[axis] = range.count;
    strides[axis] *= range.step;
  }
  return Selected(call, dims, StridedSources(dims, strides, first));
}

}  // namespace

const Operator kSlice = {
    .op_type = "Slice", .min_inputs = 3, .max_inputs = 5, .attributes = {}, .run = Slice};

}  // namespace qtx::reference::ops
