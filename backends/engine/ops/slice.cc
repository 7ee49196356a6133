// Slice, Split, Expand, Tile, DepthToSpace, SpaceToDepth: strides through the input.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// Input `i`, constant, INT64 or INT32 of rank 1.
Result<std::vector<std::int64_t>> Vector(const NodePlan& node, std::size_t i, bool narrow) {
  QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
  const format::Tensor& tensor = value->tensor;
  const bool typed =
      narrow ? IsIndex(tensor.elem_type) : tensor.elem_type == format::ElementType::kInt64;
  if (!typed || tensor.dims.size() != 1) {
    return node.Invalid("'" + value->name + "' is " + std::string(format::Name(tensor.elem_type)) +
                        format::ToString(tensor.dims) + ", expected a vector of integers");
  }
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
  QTX_ASSIGN_OR_RETURN(const auto starts, Vector(node, 1, true));
  QTX_ASSIGN_OR_RETURN(const auto ends, Vector(node, 2, true));
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (node.HasInput(3)) {
    QTX_ASSIGN_OR_RETURN(axes, Vector(node, 3, true));
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (node.HasInput(4)) {
    QTX_ASSIGN_OR_RETURN(steps, Vector(node, 4, true));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return node.Invalid("starts, ends, axes and steps differ in size");
  }
  std::vector<Range> ranges;
  for (const std::int64_t size : dims) ranges.push_back({0, 1, size});
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto axis = format::NormalizeAxis(axes[i], static_cast<std::int64_t>(dims.size()));
    if (!axis.has_value()) return node.Because(At("axes", axis.error()));
    if (!seen.insert(*axis).second) return node.Invalid("axes name one twice");
    if (steps[i] == 0) return node.Invalid("a step of 0");
    const auto d = static_cast<std::size_t>(*axis);
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

// The sizes of the parts of Split.  Source: split.S2, split.S3.
Result<std::vector<std::int64_t>> PartsOf(const NodePlan& node, std::int64_t size) {
  const auto outputs = static_cast<std::int64_t>(node.node().outputs.size());
  if (node.HasInput(1)) {
    if (node.node().Find("num_outputs") != nullptr) {
      return node.Invalid("split and num_outputs are both given");
    }
    QTX_ASSIGN_OR_RETURN(auto parts, Vector(node, 1, false));
    std::int64_t rest = size;
    for (const std::int64_t part : parts) {
      if (part < 0 || part > rest) return node.Invalid("split does not fit the axis");
      rest -= part;
    }
    if (rest != 0 || static_cast<std::int64_t>(parts.size()) != outputs) {
      return node.Invalid("split does not fit the axis or the outputs");
    }
    return parts;
  }
  const bool counted = node.node().Find("num_outputs") != nullptr;
  if (counted && node.node().IntOr("num_outputs", 0) != outputs) {
    return node.Invalid("num_outputs is not the number of outputs");
  }
  if (!counted && node.opset() >= 18) return node.Invalid("neither split nor num_outputs");
  if (!counted && size % outputs != 0) return node.Invalid("parts that are not equal");
  const std::int64_t part = size / outputs + (size % outputs == 0 ? 0 : 1);
  if (part * (outputs - 1) > size) return node.Invalid("more parts than the axis has");
  std::vector<std::int64_t> parts(static_cast<std::size_t>(outputs), part);
  parts.back() = size - part * (outputs - 1);
  return parts;
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
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(node, "axis", 0, from.size()));
  QTX_ASSIGN_OR_RETURN(const auto parts, PartsOf(node, from[axis]));
  std::vector<Range> ranges;
  for (const std::int64_t size : from) ranges.push_back({0, 1, size});
  std::vector<std::unique_ptr<Step>> steps;
  ranges[axis].count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ranges[axis] = {ranges[axis].start + ranges[axis].count, 1, parts[i]};
    if (!node.HasOutput(i)) continue;
    Dims to = from;
    to[axis] = parts[i];
    QTX_ASSIGN_OR_RETURN(Value * part, node.OutputAt(i, std::move(to), data->tensor));
    QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), part, Plain::kAny));
    QTX_ASSIGN_OR_RETURN(auto step, MakeSelection({data}, part, SourcesOf(from, ranges)));
    steps.push_back(std::move(step));
  }
  return MakeSequence(std::move(steps));
}

StepResult PrepareExpand(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Dims shape, Vector(node, 1, false));
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
    return node.Invalid("shape has a negative size");
  }
  auto dims = BroadcastDims(data->tensor.dims, shape);
  if (!dims.has_value()) return node.Because(dims.error());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(*dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), y, Plain::kAny));
  return MakeSelection({data}, y, BroadcastIndex(data->tensor.dims, *dims));
}

StepResult PrepareTile(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Dims repeats, Vector(node, 1, false));
  if (repeats.size() != from.size()) return node.Invalid("repeats has not one value per axis");
  // Every axis as two: the copies, which start again, and what is copied.
  const Dims own = format::RowMajorStrides(from);
  Dims dims;
  Dims shape;
  Dims strides;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (repeats[d] < 0) return node.Invalid("a negative repeat");
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
  const std::int64_t b = node.node().IntOr("blocksize", 0);
  if (from.size() != 4) return node.Invalid("data is " + format::ToString(from));
  if (b < 1) return node.Invalid("blocksize: expected at least 1");
  if (b > (std::int64_t{1} << 24)) return node.Unsupported("blocksize: supported up to 2^24");
  const std::string mode = node.node().StringOr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return node.Invalid("mode '" + mode + "'");
  const std::int64_t n = from[0];
  const std::int64_t c = from[1];
  const std::int64_t h = from[2];
  const std::int64_t w = from[3];
  if (node.node().op_type == "SpaceToDepth") {
    if (h % b != 0 || w % b != 0) return node.Invalid("H or W is no multiple of blocksize");
    return Moved(node, data, {n, c * b * b, h / b, w / b}, {n, b, b, c, h / b, w / b},
                 {c * h * w, w, 1, h * w, b * w, b});
  }
  if (c % (b * b) != 0) return node.Invalid("C is no multiple of blocksize squared");
  const std::int64_t depth = c / (b * b);
  const std::int64_t plane = h * w;
  const bool slow = mode == "DCR";  // the place in the block is the slow part of the channel
  return Moved(node, data, {n, depth, h * b, w * b}, {n, depth, h, b, w, b},
               {c * plane, slow ? plane : b * b * plane, w, slow ? b * depth * plane : b * plane, 1,
                slow ? depth * plane : plane});
}

}  // namespace qtx::backend::engine
