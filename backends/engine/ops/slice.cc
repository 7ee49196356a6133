// Slice, Split, Expand, Tile, DepthToSpace, SpaceToDepth: strides through the input.
#include <algorithm>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"
#include "engine/ops/strided_move.h"

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
MovedPart PartOf(const std::vector<Range>& ranges, const Dims& x, const Dims& y) {
  MovedPart part{.from = x, .to = y};
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    part.first_from += ranges[d].start * x[d];
    part.from[d] = ranges[d].count > 1 ? x[d] * ranges[d].step : 0;
    part.dims.push_back(ranges[d].count);
  }
  return part;
}

bool IsUnsupported(const StepResult& step) {
  return !step.has_value() && step.error().code == ErrorCode::kUnsupported;
}

// A movement of input 0 to one output, by bytes or element by element.
StepResult Moved(const NodePlan& node, const Movement& movement) {
  StepResult strided = PrepareStridedMove(node, movement);
  if (!IsUnsupported(strided)) return strided;
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const std::optional<std::size_t>& output = movement.output_of_several;
  QTX_ASSIGN_OR_RETURN(Value * y, output.has_value()
                                      ? node.OutputAt(*output, movement.dims, x->tensor)
                                      : node.Output(movement.dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&x, 1), y, Plain::kAny));
  // The strides of a movement of element numbers: where each goes and comes from.
  const MovedPart part = movement.parts({format::RowMajorStrides(x->tensor.dims)},
                                        format::RowMajorStrides(movement.dims))[0];
  const Sources to = StridedIndex(part.dims, part.to, part.first_to);
  const Sources from = StridedIndex(part.dims, part.from, part.first_from);
  Sources sources(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) sources[static_cast<std::size_t>(to[i])] = from[i];
  return MakeSelection({x}, y, std::move(sources));
}

}  // namespace

StepResult PrepareSlice(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* data, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const std::vector<Range> ranges, RangesOf(node, data->dims));
  Dims to;
  for (const Range& range : ranges) to.push_back(range.count);
  return Moved(node, {.output_of_several = {},
                      .dims = std::move(to),
                      .parts = [&](const std::vector<Dims>& x, const Dims& y) {
                        return std::vector{PartOf(ranges, x[0], y)};
                      }});
}

StepResult PrepareSplit(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* data, node.TypeOf(0));
  const Dims from = data->dims;
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
    QTX_ASSIGN_OR_RETURN(auto step,
                         Moved(node, {.output_of_several = i,
                                      .dims = std::move(to),
                                      .parts = [&](const std::vector<Dims>& x, const Dims& y) {
                                        return std::vector{PartOf(ranges, x[0], y)};
                                      }}));
    steps.push_back(std::move(step));
  }
  return MakeSequence(std::move(steps));
}

StepResult PrepareExpand(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* data, node.TypeOf(0));
  const Dims from = data->dims;
  QTX_RETURN_IF_ERROR(node.Constant(1));
  QTX_ASSIGN_OR_RETURN(const Dims dims, node.InferredDims());
  return Moved(node, {.output_of_several = {},
                      .dims = dims,
                      .channels_stay = from.size() == dims.size(),
                      .parts = [&](const std::vector<Dims>& x, const Dims& y) {
                        Dims strides(dims.size(), 0);
                        const std::size_t skipped = dims.size() - from.size();
                        for (std::size_t d = 0; d < from.size(); ++d) {
                          if (from[d] != 1) strides[skipped + d] = x[0][d];
                        }
                        return std::vector{MovedPart{.dims = dims, .from = strides, .to = y}};
                      }});
}

StepResult PrepareTile(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* data, node.TypeOf(0));
  const Dims from = data->dims;
  QTX_ASSIGN_OR_RETURN(const Dims repeats, Vector(node, 1));
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    auto size = format::ElementCount(Dims{from[d], repeats[d]});
    if (!size.has_value()) return node.Because(size.error());
    dims.push_back(*size);
  }
  // Every axis as two: the copies, which start again, and what is copied.
  return Moved(node, {.output_of_several = {},
                      .dims = dims,
                      .parts = [&](const std::vector<Dims>& x, const Dims& y) {
                        MovedPart part;
                        for (std::size_t d = 0; d < from.size(); ++d) {
                          part.dims.insert(part.dims.end(), {repeats[d], from[d]});
                          part.from.insert(part.from.end(), {0, x[0][d]});
                          part.to.insert(part.to.end(), {from[d] * y[d], y[d]});
                        }
                        return std::vector{std::move(part)};
                      }});
}

StepResult PrepareDepthAndSpace(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* data, node.TypeOf(0));
  const Dims& from = data->dims;
  const std::int64_t b = node.Int("blocksize");
  if (b > (std::int64_t{1} << 24)) return node.Unsupported("blocksize: supported up to 2^24");
  const std::int64_t n = from[0];
  const std::int64_t c = from[1];
  const std::int64_t h = from[2];
  const std::int64_t w = from[3];
  if (node.node().op_type == "SpaceToDepth") {
    return Moved(node, {.output_of_several = {},
                        .dims = {n, c * b * b, h / b, w / b},
                        .parts = [=](const std::vector<Dims>& inputs, const Dims& y) {
                          const Dims& x = inputs[0];
                          return std::vector{
                              MovedPart{.dims = {n, b, b, c, h / b, w / b},
                                        .from = {x[0], x[2], x[3], x[1], b * x[2], b * x[3]},
                                        .to = {y[0], b * c * y[1], c * y[1], y[1], y[2], y[3]}}};
                        }});
  }
  const std::int64_t depth = c / (b * b);
  const bool slow = node.String("mode") == "DCR";  // of the channel is the place in the block
  return Moved(
      node, {.output_of_several = {},
             .dims = {n, depth, h * b, w * b},
             .parts = [=](const std::vector<Dims>& inputs, const Dims& y) {
               const Dims& x = inputs[0];
               return std::vector{MovedPart{
                   .dims = {n, depth, h, b, w, b},
                   .from = {x[0], slow ? x[1] : b * b * x[1], x[2],
                            slow ? b * depth * x[1] : b * x[1], x[3], slow ? depth * x[1] : x[1]},
                   .to = {y[0], y[1], b * y[2], y[2], b * y[3], y[3]}}};
             }});
}

}  // namespace qtx::backend::engine
