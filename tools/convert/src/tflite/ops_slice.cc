// SLICE, STRIDED_SLICE, REVERSE_V2, SPLIT and UNPACK: operators that cut.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "errors.h"
#include "qtx/format/shape.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using schema::BuiltinOperator;
using Vector = std::vector<std::int64_t>;

// Along each axis of the input, as ONNX's Slice takes them.
struct Range {
  Vector starts, ends, steps;
  Dims shape;  // of the result, before axes are dropped
};

// Elements from `start` to before `end` in steps.
std::int64_t Count(std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t distance = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  return distance <= 0 ? 0 : (distance + stride - 1) / stride;
}

Vector InLayout(const Vector& values, Layout layout) {
  return layout == Layout::kFirst ? Permute(values, NhwcToNchw()) : values;
}

// Emits the slice of x, and a Reshape where `y` lacks some of its axes.
Result<void> EmitSlice(TfliteBuilder& builder, const TfliteOperator& op, int x, int y,
                       const Range& range) {
  const TfliteTensor& output = builder.tensor(y);
  const bool same = output.dims == range.shape;
  const Layout layout = same ? CommonLayout(builder, std::vector<int>{x, y}) : Layout::kOwn;
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, layout));
  const auto vector = [&](const char* suffix, const Vector& values) {
    return builder.AddConstant(output.name + suffix, graph::IntsTensor(values));
  };
  Vector axes(range.starts.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  Draft slice{"Slice",
              {name, vector("/starts", InLayout(range.starts, layout)),
               vector("/ends", InLayout(range.ends, layout)), vector("/axes", axes),
               vector("/steps", InLayout(range.steps, layout))},
              {}};
  if (same) return builder.Emit(op, std::move(slice), y, layout);
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(y));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, range.shape));
  Draft reshape{"Reshape",
                {builder.EmitInner(op, std::move(slice), output.name + "/slice", std::move(type)),
                 vector("/shape", output.dims)},
                {}};
  return builder.Emit(op, std::move(reshape), y, Layout::kOwn);
}

// Along one axis of STRIDED_SLICE.
struct Stride {
  std::int64_t begin, end, step;
  bool from_edge, to_edge, drop;  // the bits of the axis in the masks
};

// Clamps bounds as TFLite does. ONNX counts a negative end from the back, so the end before the
// first element becomes the least integer.
Result<void> AddStride(const Stride& s, std::int64_t size, Range* range) {
  if (s.step == 0) return Invalid("strides", "0");
  const std::int64_t step = s.drop ? 1 : s.step;
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto bounded = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  const std::int64_t begin = s.from_edge ? (step > 0 ? low : high) : bounded(s.begin);
  std::int64_t end = s.to_edge ? (step > 0 ? high : low) : bounded(s.end);
  if (s.drop) end = begin + 1;
  if (s.drop && (begin < 0 || begin >= size)) return Invalid("begin", "outside the input");
  range->starts.push_back(begin);
  range->ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
  range->steps.push_back(step);
  range->shape.push_back(Count(begin, end, step));
  return {};
}

// The axes of the input that the ellipsis stands for: those that no entry names.
std::size_t AxesOfEllipsis(const schema::StridedSliceOptions& options, std::size_t entries,
                           std::size_t rank) {
  std::size_t named = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const auto other =
        static_cast<std::uint32_t>(options.new_axis_mask() | options.ellipsis_mask());
    named += ((other >> i) & 1U) == 0 ? 1 : 0;
  }
  return rank - std::min(named, rank);
}

// The bounds along every axis of the input; `kept` is the shape of the result, with the axes that
// the masks drop and those that they add.
Result<Range> StridedRange(const schema::StridedSliceOptions& options, const Dims& dims,
                           const std::array<Vector, 3>& bounds, Dims* kept) {
  const auto& [begin, end, step] = bounds;
  if (begin.size() != end.size() || begin.size() != step.size() || begin.size() > 31) {
    return Invalid("begin", "found " + std::to_string(begin.size()) + " values");
  }
  const auto ellipsis = static_cast<std::uint32_t>(options.ellipsis_mask());
  if (std::popcount(ellipsis) > 1) return Invalid("ellipsis_mask", "more than one bit");
  Range range;
  const auto whole = [&]() -> Result<void> {
    const std::int64_t size = dims[range.shape.size()];
    QTX_RETURN_IF_ERROR(AddStride({0, 0, 1, true, true, false}, size, &range));
    kept->push_back(size);
    return {};
  };
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const auto bit = [i](std::int32_t mask) { return ((mask >> i) & 1) != 0; };
    if (bit(options.ellipsis_mask())) {
      std::size_t axes = AxesOfEllipsis(options, begin.size(), dims.size());
      for (; axes > 0; --axes) QTX_RETURN_IF_ERROR(whole());
      continue;
    }
    if (bit(options.new_axis_mask())) {
      kept->push_back(1);
      continue;
    }
    const std::size_t axis = range.shape.size();
    if (axis == dims.size()) return Invalid("begin", "more axes than the input has");
    const Stride stride = {begin[i],
                           options.offset() ? begin[i] + end[i] : end[i],
                           step[i],
                           bit(options.begin_mask()),
                           bit(options.end_mask()),
                           bit(options.shrink_axis_mask())};
    QTX_RETURN_IF_ERROR(AddStride(stride, dims[axis], &range));
    if (!stride.drop) kept->push_back(range.shape.back());
  }
  while (range.shape.size() < dims.size()) QTX_RETURN_IF_ERROR(whole());
  return range;
}

// The sizes of the outputs along `axis`, which make up x.
Result<Vector> PartsOf(const TfliteBuilder& builder, const TfliteOperator& op,
                       const TfliteTensor& x, std::size_t axis) {
  Vector parts;
  std::int64_t rest = x.dims[axis];
  for (const int y : op.outputs) {
    Dims dims = builder.tensor(y).dims;
    if (dims.size() != x.dims.size()) return BadOutput(x, builder.tensor(y));
    parts.push_back(dims[axis]);
    rest -= std::min(parts.back(), rest + 1);
    dims[axis] = x.dims[axis];
    if (dims != x.dims) return BadOutput(x, builder.tensor(y));
  }
  if (rest != 0) return Invalid("outputs", "do not make up the input");
  return parts;
}

}  // namespace

Result<void> ConvertSlice(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const Vector begin, ConstantInput(builder, op, 1));
  QTX_ASSIGN_OR_RETURN(const Vector size, ConstantInput(builder, op, 2));
  const Dims& dims = builder.tensor(x).dims;
  if (begin.size() != dims.size() || size.size() != dims.size()) {
    return Invalid("begin", "found " + std::to_string(begin.size()) + " values for rank " +
                                std::to_string(dims.size()));
  }
  Range range;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool inside = begin[i] >= 0 && begin[i] <= dims[i] && size[i] >= -1;
    const std::int64_t end = size[i] < 0 || !inside ? dims[i] : begin[i] + size[i];
    if (!inside || size[i] > dims[i] || end > dims[i]) return Invalid("begin", "outside the input");
    range.starts.push_back(begin[i]);
    range.ends.push_back(end);
    range.steps.push_back(1);
    range.shape.push_back(end - begin[i]);
  }
  if (builder.tensor(y).dims != range.shape) return BadOutput(builder.tensor(x), builder.tensor(y));
  return EmitSlice(builder, op, x, y, range);
}

Result<void> ConvertStridedSlice(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_StridedSliceOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  std::array<Vector, 3> bounds;  // begin, end, step
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(bounds[i], ConstantInput(builder, op, i + 1));
  }
  Dims kept;
  QTX_ASSIGN_OR_RETURN(const Range range,
                       StridedRange(*options, builder.tensor(x).dims, bounds, &kept));
  builder.InferShape(y, kept);
  if (builder.tensor(y).dims != kept) return BadOutput(builder.tensor(x), builder.tensor(y));
  return EmitSlice(builder, op, x, y, range);
}

Result<void> ConvertReverse(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const Vector axes, ConstantInput(builder, op, 1));
  const Dims& dims = builder.tensor(x).dims;
  if (builder.tensor(y).dims != dims) return BadOutput(builder.tensor(x), builder.tensor(y));
  std::vector<bool> reversed(dims.size());
  for (const std::int64_t axis : axes) {
    const auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(dims.size()));
    if (!normal.has_value()) return At("axis", normal.error());
    reversed[static_cast<std::size_t>(*normal)] = true;
  }
  Range range;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Stride whole = {0, 0, reversed[axis] ? -1 : 1, true, true, false};
    QTX_RETURN_IF_ERROR(AddStride(whole, dims[axis], &range));
  }
  return EmitSlice(builder, op, x, y, range);
}

Result<void> ConvertSplit(TfliteBuilder& builder, const TfliteOperator& op) {
  const bool sized = op.code == BuiltinOperator::SPLIT_V;
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, sized ? 0 : 1));
  QTX_ASSIGN_OR_RETURN(const Vector axes, ConstantInput(builder, op, sized ? 2 : 0));
  const Dims& dims = builder.tensor(x).dims;
  if (axes.size() != 1 || op.outputs.empty()) return Invalid("axis", "expected one, and outputs");
  auto axis = format::NormalizeAxis(axes[0], static_cast<std::int64_t>(dims.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  QTX_ASSIGN_OR_RETURN(const Vector parts,
                       PartsOf(builder, op, builder.tensor(x), static_cast<std::size_t>(*axis)));
  std::vector<int> tensors = op.outputs;
  tensors.push_back(x);
  const Layout layout = CommonLayout(builder, tensors);
  if (layout == Layout::kFirst) *axis = PermuteAxis(*axis, NhwcToNchw());
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, layout));
  const std::string split =
      builder.AddConstant(builder.tensor(op.outputs[0]).name + "/split", graph::IntsTensor(parts));
  return builder.EmitAll(op, {"Split", {name, split}, {Attribute::Int("axis", *axis)}}, op.outputs,
                         layout);
}

Result<void> ConvertUnpack(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_UnpackOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  Dims expected = builder.tensor(x).dims;
  auto axis = format::NormalizeAxis(options->axis(), static_cast<std::int64_t>(expected.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  const std::int64_t count = expected[static_cast<std::size_t>(*axis)];
  expected.erase(expected.begin() + *axis);
  if (count != static_cast<std::int64_t>(op.outputs.size())) {
    return Invalid("outputs", "found " + std::to_string(op.outputs.size()) + ", expected " +
                                  std::to_string(count));
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  for (std::int64_t i = 0; i < count; ++i) {
    const int y = op.outputs[static_cast<std::size_t>(i)];
    if (builder.tensor(y).dims != expected) return BadOutput(builder.tensor(x), builder.tensor(y));
    const std::string index =
        builder.AddConstant(builder.tensor(y).name + "/index", Int64Scalar(i));
    QTX_RETURN_IF_ERROR(builder.Emit(op, {"Gather", {name, index}, {Attribute::Int("axis", *axis)}},
                                     y, Layout::kOwn));
  }
  return {};
}

}  // namespace qtx::convert
