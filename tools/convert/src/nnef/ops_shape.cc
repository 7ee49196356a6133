// Operators that move elements.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "errors.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {
namespace {

using format::Dims;

Result<std::size_t> Axis(const Call& call, std::int64_t axis, std::size_t rank) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(rank)) return static_cast<std::size_t>(axis);
  return Invalid(call.text().Place(), "found axis " + std::to_string(axis) + ", expected 0 to " +
                                          std::to_string(static_cast<std::int64_t>(rank) - 1));
}

Result<std::size_t> AxisOf(const Call& call, std::size_t rank) {
  if (call.Find("axis") == nullptr) return call.Wrong("axis", "an integer");
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis, call.Int("axis", 0));
  return Axis(call, axis, rank);
}

// The types of several tensors, if it is one; else their reals.
void ToOneType(Builder& builder, const Call& call, std::vector<GraphTensor*>& tensors) {
  const auto same = [&](const GraphTensor* tensor) {
    return tensor->type.elem_type == tensors[0]->type.elem_type &&
           tensor->type.quantization == tensors[0]->type.quantization;
  };
  const bool one = std::ranges::all_of(tensors, same);
  for (GraphTensor*& tensor : tensors)
    tensor = one ? builder.Movable(call, tensor) : builder.Reals(call, tensor);
}

Result<Dims> JoinedDims(const Call& call, const std::vector<GraphTensor*>& tensors,
                        std::size_t axis) {
  Dims dims = tensors[0]->dims;
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    Dims other = tensors[i]->dims;
    bool fits = other.size() == dims.size();
    for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = k == axis || dims[k] == other[k];
    if (!fits) return call.Wrong("values", "tensors that are equal along all other axes");
    dims[axis] += other[axis];
  }
  return dims;
}

// The size of 0 is that of the input at this place; that of -1 follows from the others.
Result<Dims> ReshapedDims(const Call& call, const Dims& from, Dims shape, std::size_t begin,
                          std::size_t end) {
  std::int64_t old = 1, known = 1;
  for (std::size_t i = begin; i < end; ++i) old *= from[i];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && begin + i < from.size()) shape[i] = from[begin + i];
    if (shape[i] < -1 || shape[i] == 0) return call.Wrong("shape", "sizes, 0 or one -1");
    if (shape[i] > 0 && __builtin_mul_overflow(known, shape[i], &known))
      return call.Wrong("shape", "as many elements as the input has");
  }
  const auto open = std::ranges::count(shape, -1);
  const bool fits = open == 0 ? known == old : open == 1 && old % known == 0;
  if (!fits)
    return call.Wrong("shape", "as many elements as the input has, " + std::to_string(old));
  if (open == 1) *std::ranges::find(shape, -1) = old / known;
  Dims dims(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(begin));
  dims.insert(dims.end(), shape.begin(), shape.end());
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(end), from.end());
  return dims;
}

Result<void> Join(Builder& builder, const Call& call, std::vector<GraphTensor*>& tensors,
                  std::size_t axis) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, JoinedDims(call, tensors, axis));
  ToOneType(builder, call, tensors);
  std::vector<std::string> inputs(tensors.size());
  std::ranges::transform(tensors, inputs.begin(),
                         [&builder](GraphTensor* tensor) { return builder.Use(tensor); });
  return builder.EmitMove(
      call, {"Concat", inputs, {IntAttribute("axis", static_cast<std::int64_t>(axis))}}, dims,
      *tensors[0]);
}

}  // namespace

Result<void> ConvertReshape(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const Dims shape, call.Ints("shape"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t start, call.Int("axis_start", 0));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, call.Int("axis_count", -1));
  const std::int64_t rank = std::ssize(x->dims);
  const bool good = start >= 0 && start <= rank && count >= -1 && count <= rank - start;
  if (!good) return call.Wrong("axis_start", "axes of the input, of rank " + std::to_string(rank));
  const std::int64_t end = count < 0 ? rank : start + count;
  QTX_ASSIGN_OR_RETURN(const Dims dims,
                       ReshapedDims(call, x->dims, shape, static_cast<std::size_t>(start),
                                    static_cast<std::size_t>(end)));
  x = builder.Movable(call, x);
  return builder.EmitMove(call, {"Reshape", {builder.Use(x), builder.Ints(call, dims)}, {}}, dims,
                          *x);
}

Result<void> ConvertTranspose(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> axes, call.Ints("axes"));
  const std::size_t given = axes.size();
  for (std::size_t i = given; i < x->dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  std::vector<std::int64_t> sorted = axes;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i) || sorted.size() != x->dims.size())
      return call.Wrong("axes", "a permutation of the input's axes");
  }
  x = builder.Movable(call, x);
  Dims dims;
  for (const std::int64_t axis : axes) dims.push_back(x->dims[static_cast<std::size_t>(axis)]);
  return builder.EmitMove(
      call, {"Transpose", {builder.Use(x)}, {format::Attribute::Ints("perm", axes)}}, dims, *x);
}

Result<void> ConvertConcat(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(auto tensors, builder.Operands(call, "values"));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, tensors[0]->dims.size()));
  return Join(builder, call, tensors, axis);
}

namespace {

// A Slice for each part, which all types may go through.
Result<void> EmitParts(Builder& builder, const Call& call, GraphTensor* x, std::size_t axis,
                       const std::vector<std::int64_t>& sizes, bool squeeze) {
  std::int64_t begin = 0;
  const auto along = static_cast<std::int64_t>(axis);
  x = builder.Movable(call, x);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Dims dims = x->dims;
    dims[axis] = sizes[i];
    graph::Draft slice = {"Slice",
                          {builder.Use(x), builder.Ints(call, {begin}),
                           builder.Ints(call, {begin + sizes[i]}), builder.Ints(call, {along})},
                          {}};
    begin += sizes[i];
    if (!squeeze) {
      QTX_RETURN_IF_ERROR(builder.EmitMove(call, std::move(slice), dims, *x, i));
      continue;
    }
    GraphTensor* part = builder.Inner(call, std::move(slice), dims, *x);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    QTX_RETURN_IF_ERROR(builder.EmitMove(
        call, {"Squeeze", {builder.Use(part), builder.Ints(call, {along})}, {}}, dims, *part, i));
  }
  return {};
}

}  // namespace

Result<void> ConvertSplit(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "value"));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, x->dims.size()));
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> ratios, call.Ints("ratios"));
  std::int64_t total = 0;
  for (const std::int64_t ratio : ratios) {
    const bool good = ratio > 0 && ratio <= x->dims[axis] - total;
    if (!good) return call.Wrong("ratios", "positive integers whose sum divides the size");
    total += ratio;
  }
  if (total == 0 || x->dims[axis] % total != 0 || ratios.size() != builder.ResultCount(call))
    return call.Wrong("ratios",
                      "one for each result, whose sum divides " + std::to_string(x->dims[axis]));
  for (std::int64_t& ratio : ratios) ratio *= x->dims[axis] / total;
  return EmitParts(builder, call, x, axis, ratios, /*squeeze=*/false);
}

Result<void> ConvertUnstack(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "value"));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, x->dims.size()));
  const std::size_t count = builder.ResultCount(call);
  if (static_cast<std::int64_t>(count) != x->dims[axis])
    return Invalid(call.text().Place(), "found " + std::to_string(count) + " results, expected " +
                                            std::to_string(x->dims[axis]));
  return EmitParts(builder, call, x, axis, std::vector<std::int64_t>(count, 1), /*squeeze=*/true);
}

Result<void> ConvertSlice(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto axes, call.Ints("axes"));
  QTX_ASSIGN_OR_RETURN(auto begins, call.Ints("begin"));
  QTX_ASSIGN_OR_RETURN(auto ends, call.Ints("end"));
  QTX_ASSIGN_OR_RETURN(auto strides, call.Ints("stride"));
  if (strides.empty()) strides.assign(axes.size(), 1);
  if (begins.size() != axes.size() || ends.size() != axes.size() || strides.size() != axes.size())
    return call.Wrong("begin", "lists as long as axes");
  Dims dims = x->dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::size_t axis, Axis(call, axes[i], dims.size()));
    const std::int64_t size = x->dims[axis];
    if (strides[i] < 1) return Unsupported(call.text().Place(), "a stride below 1");
    if (begins[i] < 0) begins[i] += size;
    if (ends[i] <= 0) ends[i] += size;  // an end of 0 is that of the axis
    const bool good = begins[i] >= 0 && begins[i] < ends[i] && ends[i] <= size;
    if (!good)
      return call.Wrong("begin", "a range within the size of axis " + std::to_string(axes[i]) +
                                     ", " + std::to_string(size));
    dims[axis] = (ends[i] - begins[i] + strides[i] - 1) / strides[i];
  }
  x = builder.Movable(call, x);
  return builder.EmitMove(call,
                          {"Slice",
                           {builder.Use(x), builder.Ints(call, begins), builder.Ints(call, ends),
                            builder.Ints(call, axes), builder.Ints(call, strides)},
                           {}},
                          dims, *x);
}

// squeeze, unsqueeze.
Result<void> ConvertSqueeze(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(auto axes, call.Ints("axes"));
  std::ranges::sort(axes);
  const bool squeeze = op.name == "squeeze";
  Dims dims = x->dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t rank = squeeze ? x->dims.size() : x->dims.size() + axes.size();
    QTX_ASSIGN_OR_RETURN(const std::size_t axis, Axis(call, axes[i], rank));
    if (i > 0 && axes[i] == axes[i - 1]) return call.Wrong("axes", "axes that differ");
    if (!squeeze) {
      dims.insert(dims.begin() + axes[i], 1);
    } else if (x->dims[axis] != 1) {
      return call.Wrong("axes", "axes of size 1");
    } else {
      dims.erase(dims.begin() + axes[i] - static_cast<std::ptrdiff_t>(i));
    }
  }
  x = builder.Movable(call, x);
  return builder.EmitMove(
      call, {squeeze ? "Squeeze" : "Unsqueeze", {builder.Use(x), builder.Ints(call, axes)}, {}},
      dims, *x);
}

Result<void> ConvertStack(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(auto tensors, builder.Operands(call, "values"));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, tensors[0]->dims.size() + 1));
  const Dims single = tensors[0]->dims;
  for (GraphTensor*& tensor : tensors) {
    if (tensor->dims != single) return call.Wrong("values", "tensors of one shape");
    Dims dims = single;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    QTX_ASSIGN_OR_RETURN(tensor, builder.Reshaped(call, tensor, dims));
  }
  return Join(builder, call, tensors, axis);
}

Result<void> ConvertTile(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto repeats, call.Ints("repeats"));
  if (repeats.size() != x->dims.size())
    return call.Wrong("repeats", "a positive integer for each axis");
  Dims dims = x->dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 1 || __builtin_mul_overflow(dims[i], repeats[i], &dims[i]))
      return call.Wrong("repeats", "a positive integer for each axis");
  }
  x = builder.Movable(call, x);
  return builder.EmitMove(call, {"Tile", {builder.Use(x), builder.Ints(call, repeats)}, {}}, dims,
                          *x);
}

std::vector<std::int64_t> BeginsThenEnds(const std::vector<std::int64_t>& pairs) {
  std::vector<std::int64_t> pads;
  for (const std::size_t first : {0U, 1U}) {
    for (std::size_t i = first; i < pairs.size(); i += 2) pads.push_back(pairs[i]);
  }
  return pads;
}

namespace {

Result<std::string> PadMode(const Call& call, const std::string& border) {
  if (border == "constant" || border == "reflect") return border;
  if (border == "replicate") return std::string("edge");
  return Unsupported(call.text().Place(), "border '" + border.substr(0, 32) + "'");
}

Result<Dims> PaddedDims(const Call& call, const Dims& from, const std::vector<std::int64_t>& pads) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  Dims dims = from;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t begin = pads[i], end = pads[i + dims.size()];
    if (begin < -kMost || begin > kMost || end < -kMost || end > kMost)
      return call.Wrong("padding", "pairs within 2^31");
    dims[i] += begin + end;
    if (dims[i] < 1) return call.Wrong("padding", "at least one element along each axis");
  }
  return dims;
}

}  // namespace

Result<GraphTensor*> Padded(Builder& builder, const Call& call, GraphTensor* tensor,
                            const std::vector<std::int64_t>& pads, const std::string& border,
                            float value) {
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return tensor;
  QTX_ASSIGN_OR_RETURN(const std::string mode, PadMode(call, border));
  QTX_ASSIGN_OR_RETURN(const Dims dims, PaddedDims(call, tensor->dims, pads));
  tensor = builder.Reals(call, tensor);
  return builder.Inner(
      call,
      {"Pad",
       {builder.Use(tensor), builder.Ints(call, pads), builder.Scalar(call, value)},
       {format::Attribute::String("mode", mode)}},
      dims);
}

Result<void> ConvertPad(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto pairs, call.Pairs("padding"));
  QTX_ASSIGN_OR_RETURN(const std::string border, call.String("border", "constant"));
  QTX_ASSIGN_OR_RETURN(const double value, call.Number("value", 0.0));
  if (pairs.size() != 2 * x->dims.size())
    return call.Wrong("padding", "a pair for each axis of the input");
  const auto pads = BeginsThenEnds(pairs);
  QTX_ASSIGN_OR_RETURN(const std::string mode, PadMode(call, border));
  QTX_ASSIGN_OR_RETURN(const Dims dims, PaddedDims(call, x->dims, pads));
  x = builder.Reals(call, x);
  return builder.Emit(
      call,
      {"Pad",
       {builder.Use(x), builder.Ints(call, pads), builder.Scalar(call, static_cast<float>(value))},
       {format::Attribute::String("mode", mode)}},
      dims);
}

Result<void> ConvertGather(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * indices, builder.Operand(call, "indices"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t given, call.Int("axis", 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, Axis(call, given, x->dims.size()));
  if (indices->type.elem_type != format::ElementType::kInt64)
    return call.Wrong("indices", "a tensor of integers");
  Dims dims(x->dims.begin(), x->dims.begin() + given);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), x->dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x->dims.end());
  x = builder.Movable(call, x);
  return builder.EmitMove(
      call, {"Gather", {builder.Use(x), builder.Use(indices)}, {IntAttribute("axis", given)}}, dims,
      *x);
}

}  // namespace qtx::convert::nnef
