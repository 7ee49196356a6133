#include "stablehlo/steps.h"

#include <algorithm>
#include <numeric>

#include "errors.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

std::int64_t ProductBefore(const Dims& dims, std::size_t axis) {
  return std::accumulate(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis),
                         std::int64_t{1}, std::multiplies<>());
}

// The axis of `to` that is `axis` of `from`: of the same size, with as many elements before it.
std::optional<std::int64_t> SameAxis(const Dims& from, const Dims& to, std::size_t axis) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[axis] && ProductBefore(to, i) == ProductBefore(from, axis))
      return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

Result<void> MoveAxes(TensorType& type, const Dims& from, const Dims& to) {
  if (!type.quantization) return {};
  for (std::int64_t& axis : type.quantization->axis) {
    const auto moved = SameAxis(from, to, static_cast<std::size_t>(axis));
    if (!moved)
      return Unsupported("", "parameters along axis " + std::to_string(axis) + " of " +
                                 format::ToString(from) + ", which " + format::ToString(to) +
                                 " does not have");
    axis = *moved;
  }
  return {};
}

// Elements that are added along an axis have parameters of their own, which nothing gives.
Result<void> CheckNotAlong(const TensorType& type, const std::vector<std::int64_t>& amounts) {
  if (!type.quantization) return {};
  for (const std::int64_t axis : type.quantization->axis) {
    if (amounts[static_cast<std::size_t>(axis)] != 0)
      return Unsupported(
          "", "padding along axis " + std::to_string(axis) + ", along which parameters differ");
  }
  return {};
}

bool IsZero(const std::vector<std::int64_t>& values) {
  return std::ranges::all_of(values, [](std::int64_t value) { return value == 0; });
}

}  // namespace

TensorType RealOf(const TensorType& type) {
  TensorType real = type;
  if (!type.quantization) return real;
  real.elem_type = format::RealTypeOf(*type.quantization);
  real.quantization.reset();
  return real;
}

StablehloValue* CastTo(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                       ElementType type) {
  if (value->type.elem_type == type && !value->type.quantization) return value;
  TensorType cast = value->type;
  cast.elem_type = type;
  cast.quantization.reset();
  return builder.Inner(
      op, {"Cast", {builder.Use(value)}, {Attribute::Int("to", static_cast<std::int64_t>(type))}},
      std::move(cast));
}

StablehloValue* AsReal(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value) {
  return value->type.quantization
             ? CastTo(builder, op, value, format::RealTypeOf(*value->type.quantization))
             : value;
}

StablehloValue* Transposed(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                           const Permutation& perm) {
  if (std::ranges::is_sorted(perm)) return value;
  const bool one_axis = !value->type.quantization || value->type.quantization->axis.size() <= 1;
  if (value->constant && one_axis) return builder.Constant(Permute(*value->constant, perm));
  TensorType type = value->type;
  format::Shape shape;
  for (const std::int64_t axis : perm)
    shape.push_back((*type.shape)[static_cast<std::size_t>(axis)]);
  type.shape = std::move(shape);
  if (type.quantization) {
    for (std::int64_t& axis : type.quantization->axis) axis = PermuteAxis(axis, perm);
  }
  return builder.Inner(op, {"Transpose", {builder.Use(value)}, {Attribute::Ints("perm", perm)}},
                       std::move(type));
}

Result<StablehloValue*> Reshaped(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                                 const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const Dims from, FixedDimsOf(value->type));
  if (from == dims) return value;
  TensorType type = WithDims(value->type, dims);
  QTX_RETURN_IF_ERROR(MoveAxes(type, from, dims));
  if (value->constant) {
    format::Tensor tensor = *value->constant;
    tensor.dims = dims;
    tensor.quantization = type.quantization;
    return builder.Constant(std::move(tensor));
  }
  graph::Draft draft{"Reshape", {builder.Use(value), builder.Ints(op, dims)}, {}};
  if (std::ranges::find(dims, 0) != dims.end())
    draft.attributes.push_back(Attribute::Int("allowzero", 1));
  return builder.Inner(op, std::move(draft), std::move(type));
}

Result<StablehloValue*> Padded(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                               const std::vector<std::int64_t>& low,
                               const std::vector<std::int64_t>& high, StablehloValue* with) {
  if (IsZero(low) && IsZero(high)) return value;
  QTX_RETURN_IF_ERROR(CheckNotAlong(value->type, low));
  QTX_RETURN_IF_ERROR(CheckNotAlong(value->type, high));
  QTX_ASSIGN_OR_RETURN(Dims dims, FixedDimsOf(value->type));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] += low[i] + high[i];
    if (dims[i] < 0) return Invalid("", "padding that takes more than axis " + std::to_string(i));
  }
  std::vector<std::int64_t> pads = low;
  pads.insert(pads.end(), high.begin(), high.end());
  graph::Draft draft{"Pad", {builder.Use(value), builder.Ints(op, pads)}, {}};
  if (with != nullptr) draft.inputs.push_back(builder.Use(with));
  return builder.Inner(op, std::move(draft), WithDims(value->type, dims));
}

// [.., n, ..] as [.., n, 1, ..], padded to [.., n, 1 + zeros, ..], as [.., n * (1 + zeros), ..]
// without the last zeros.
Result<StablehloValue*> Spread(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                               const std::vector<std::int64_t>& zeros, StablehloValue* with) {
  if (IsZero(zeros)) return value;
  QTX_RETURN_IF_ERROR(CheckNotAlong(value->type, zeros));
  QTX_ASSIGN_OR_RETURN(const Dims dims, FixedDimsOf(value->type));
  Dims apart;
  Dims together;
  std::vector<std::int64_t> high;
  std::vector<std::int64_t> surplus;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    apart.push_back(dims[i]);
    high.push_back(0);
    if (zeros[i] > 0) {
      apart.push_back(1);
      high.push_back(zeros[i]);
    }
    together.push_back(dims[i] * (1 + zeros[i]));
    surplus.push_back(dims[i] > 0 ? -zeros[i] : 0);
  }
  QTX_RETURN_IF_ERROR(format::ElementCount(together));
  QTX_ASSIGN_OR_RETURN(value, Reshaped(builder, op, value, apart));
  QTX_ASSIGN_OR_RETURN(value, Padded(builder, op, value, Dims(high.size(), 0), high, with));
  QTX_ASSIGN_OR_RETURN(value, Reshaped(builder, op, value, together));
  return Padded(builder, op, value, Dims(dims.size(), 0), surplus);
}

StablehloValue* Sliced(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                       const std::vector<std::int64_t>& starts,
                       const std::vector<std::int64_t>& ends,
                       const std::vector<std::int64_t>& steps, const Dims& dims) {
  Dims axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  graph::Draft draft{"Slice",
                     {builder.Use(value), builder.Ints(op, starts), builder.Ints(op, ends),
                      builder.Ints(op, axes), builder.Ints(op, steps)},
                     {}};
  return builder.Inner(op, std::move(draft), WithDims(value->type, dims));
}

Result<StablehloValue*> Reversed(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                                 const std::vector<std::int64_t>& axes) {
  if (axes.empty()) return value;
  QTX_ASSIGN_OR_RETURN(const Dims dims, FixedDimsOf(value->type));
  std::vector<std::int64_t> starts(dims.size(), 0);
  std::vector<std::int64_t> ends = dims;
  std::vector<std::int64_t> steps(dims.size(), 1);
  for (const std::int64_t axis : axes) {
    const auto i = static_cast<std::size_t>(axis);
    if (value->type.quantization && std::ranges::find(value->type.quantization->axis, axis) !=
                                        value->type.quantization->axis.end())
      return Unsupported("", "reversal of an axis along which parameters differ");
    starts[i] = -1;
    ends[i] = -dims[i] - 1;
    steps[i] = -1;
  }
  return Sliced(builder, op, value, starts, ends, steps, dims);
}

Permutation InverseOf(const Permutation& perm) {
  Permutation inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

}  // namespace qtx::convert
