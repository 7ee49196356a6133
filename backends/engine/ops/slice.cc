// Slice, Split, Expand, Tile, DepthToSpace, SpaceToDepth: strides through the input.
#include <algorithm>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// Input `i`, a constant of INT64 or INT32.
Result<std::vector<std::int64_t>> Vector(const NodePlan& node, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* constant, node.Constant(i));
  return IndicesOf(*constant);
}

// Positions start, start + step, ... of an axis: `count` of them.
struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

// Source: slice.S2, slice.S3.
Range RangeOf(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (start < 0) start = start < -size ? -1 : start + size;
  if (end < 0) end = end < -size ? -1 : end + size;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<std::int64_t>(start, 0, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  // -(step + 1) does not overflow where -step does.
  const auto back = static_cast<std::uint64_t>(-(step + 1)) + 1;
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(start - end, 0));
  if (size == 0 || length == 0) return {0, step, 0};
  return {start, step, static_cast<std::int64_t>((length - 1) / back) + 1};
}

Result<std::vector<Range>> RangesOf(const NodePlan& node, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const auto starts, Vector(node, 1));
  QTX_ASSIGN_OR_RETURN(const auto ends, Vector(node, 2));
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (node.HasInput(3)) {
    QTX_ASSIGN_OR_RETURN(axes, Vector(node, 3));
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (node.HasInput(4)) {
    QTX_ASSIGN_OR_RETURN(steps, Vector(node, 4));
  }
  std::vector<Range> ranges;
  for (const std::int64_t size : dims) ranges.push_back({0, 1, size});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = AxisOf(axes[i], dims.size());
    ranges[d] = RangeOf(dims[d], starts[i], ends[i], steps[i]);
  }
  return ranges;
}

// The elements at all coordinates of `ranges`.
Sources SourcesOf(const Dims& from, const std::vector<Range>& ranges) {
  Dims strides = format::RowMajorStrides(from);
  Dims to;
  std::int64_t start = 0;
  for (std::size_t d = 0; d < from.size(); ++d) {
    start += ranges[d].start * strides[d];
    strides[d] = ranges[d].count > 1 ? strides[d] * ranges[d].step : 0;
    to.push_back(ranges[d].count);
  }
  return StridedIndex(to, strides, start);
}

// A move whose sources are known, to output 0.
StepResult Moved(const NodePlan& node, const Value* x, const Dims& dims, const Dims& shape,
                 const Dims& strides) {
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&x, 1), y, Plain::kAny));
  return MakeSelection({x}, y, StridedIndex(shape, strides));
}

}  // namespace

StepResult PrepareSlice(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const std::vector<Range> ranges, RangesOf(node, from));
  Dims to;
  for (const Range& range : ranges) to.push_back(range.count);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(to));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), y, Plain::kAny));
  return MakeSelection({data}, y, SourcesOf(from, ranges));
}

StepResult PrepareSplit(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  const std::size_t axis = AxisOf(node.Int("axis"), from.size());
  if (node.HasInput(1)) QTX_RETURN_IF_ERROR(node.Constant(1));
  std::vector<Range> ranges;
  for (const std::int64_t size : from) ranges.push_back({0, 1, size});
  std::vector<std::unique_ptr<Step>> steps;
  ranges[axis].count = 0;
  for (std::size_t i = 0; i < node.node().outputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(Dims to, node.InferredDims(i));
    ranges[axis] = {ranges[axis].start + ranges[axis].count, 1, to[axis]};
    if (!node.HasOutput(i)) continue;
    QTX_ASSIGN_OR_RETURN(Value * part, node.OutputAt(i, std::move(to), data->tensor));
    QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), part, Plain::kAny));
    QTX_ASSIGN_OR_RETURN(auto step, MakeSelection({data}, part, SourcesOf(from, ranges)));
    steps.push_back(std::move(step));
  }
  return MakeSequence(std::move(steps));
}

StepResult PrepareExpand(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  QTX_RETURN_IF_ERROR(node.Constant(1));
  QTX_ASSIGN_OR_RETURN(const Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), y, Plain::kAny));
  return MakeSelection({data}, y, BroadcastIndex(data->tensor.dims, dims));
}

StepResult PrepareTile(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Dims repeats, Vector(node, 1));
  // Every axis as two: the copies, which start again, and what is copied.
  const Dims own = format::RowMajorStrides(from);
  Dims dims;
  Dims shape;
  Dims strides;
  for (std::size_t d = 0; d < from.size(); ++d) {
    auto size = format::ElementCount(Dims{from[d], repeats[d]});
    if (!size.has_value()) return node.Because(size.error());
    dims.push_back(*size);
    shape.insert(shape.end(), {repeats[d], from[d]});
    strides.insert(strides.end(), {0, own[d]});
  }
  return Moved(node, data, dims, shape, strides);
}

StepResult PrepareDepthAndSpace(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  const std::int64_t b = node.Int("blocksize");
  if (b > (std::int64_t{1} << 24)) return node.Unsupported("blocksize: supported up to 2^24");
  const std::int64_t n = from[0];
  const std::int64_t c = from[1];
  const std::int64_t h = from[2];
  const std::int64_t w = from[3];
  if (node.node().op_type == "SpaceToDepth") {
    return Moved(node, data, {n, c * b * b, h / b, w / b}, {n, b, b, c, h / b, w / b},
                 {c * h * w, w, 1, h * w, b * w, b});
  }
  const std::int64_t depth = c / (b * b);
  const std::int64_t plane = h * w;
  const bool slow = node.String("mode") == "DCR";  // of the channel is the place in the block
  return Moved(node, data, {n, depth, h * b, w * b}, {n, depth, h, b, w, b},
               {c * plane, slow ? plane : b * b * plane, w, slow ? b * depth * plane : b * plane, 1,
                slow ? depth * plane : plane});
}

}  // namespace qtx::backend::engine
