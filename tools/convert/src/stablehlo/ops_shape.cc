// Constants, and operators that move elements.
#include <algorithm>
#include <numeric>

#include "errors.h"
#include "stablehlo/dense.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

constexpr std::int64_t kMaxIota = std::int64_t{1} << 24;

Result<Dims> ResultDims(StablehloBuilder& builder, const MlirOp& op) {
  if (op.result_types.size() != 1) return Invalid(builder.Place(op), "expected one result");
  return FixedDimsOf(op.result_types[0]);
}

Result<std::size_t> RankOf(const StablehloValue* value) {
  if (value->type.shape) return value->type.shape->size();
  return Unsupported("", "unknown rank");
}

// Adds the result as a constant that no node reads yet.
Result<void> BindConstant(StablehloBuilder& builder, const MlirOp& op, format::Tensor tensor) {
  return builder.Bind(op, builder.Constant(std::move(tensor)));
}

}  // namespace

Result<void> ConvertConstant(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  const MlirAttribute* value = op.Find({"value"});
  if (value == nullptr || value->kind != MlirAttribute::Kind::kDense)
    return Invalid("", "found no value, expected dense<...>");
  if (op.result_types.size() != 1) return Invalid("", "expected one result");
  const TensorType& type = op.result_types[0];
  const ElementType storage = format::StorageOf(type.elem_type);
  if (format::BitWidth(value->type[0].elem_type) < format::BitWidth(storage) ||
      value->type[0].shape != type.shape)
    return Invalid("", "the type of the value is not that of the result");
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       DenseTensor(builder.text(), *value, type, builder.repeated()));
  return BindConstant(builder, op, std::move(tensor));
}

Result<void> ConvertIota(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, ResultDims(builder, op));
  QTX_ASSIGN_OR_RETURN(const auto axis, IntsOf(builder, op, {"iota_dimension", "dim"}, {0}));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "dim", axis, 1, 0));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dim", axis, dims.size()));
  const ElementType type = op.result_types[0].elem_type;
  if (type != ElementType::kFloat && !format::IsIntegerStorage(type))
    return Unsupported("", "of " + std::string(format::Name(type)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  if (count > kMaxIota) return Error{ErrorCode::kTooLarge, "", "more than 2^24 elements"};
  const auto size = dims[static_cast<std::size_t>(axis[0])];
  if (type != ElementType::kFloat && size - 1 > format::StorageRange(type).max)
    return Unsupported("", "indices that wrap around in " + std::string(format::Name(type)));
  const std::int64_t stride = format::RowMajorStrides(dims)[static_cast<std::size_t>(axis[0])];
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(type, dims, op.result_types[0].quantization));
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int64_t>(i) / stride % size;
  if (type == ElementType::kFloat) {
    std::ranges::transform(values, tensor.As<float>().begin(),
                           [](std::int64_t value) { return static_cast<float>(value); });
  } else {
    format::PackIntegers(values, tensor);
  }
  return BindConstant(builder, op, std::move(tensor));
}

// Between a quantized type and the plain type of its stored integers.
Result<void> ConvertBitcast(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Find(op, op.operands[0]));
  if (op.result_types.size() != 1) return Invalid("", "expected one result");
  const TensorType& type = op.result_types[0];
  if (x->verdict || x->type.shape != type.shape) return Unsupported("", "to another shape");
  const bool widths_agree =
      format::StorageOf(x->type.elem_type) == format::StorageOf(type.elem_type);
  if (x->stored && x->type.elem_type == type.elem_type &&
      x->type.quantization == type.quantization) {
    StablehloValue back = *x;
    back.stored = false;
    return builder.Bind(op, builder.Copy(std::move(back)));
  }
  if (!widths_agree || x->stored) return Unsupported("", "to another type");
  if (x->constant) {
    format::Tensor tensor = *x->constant;
    tensor.elem_type = type.elem_type;
    tensor.quantization = type.quantization;
    return BindConstant(builder, op, std::move(tensor));
  }
  if (!x->type.quantization || type.quantization)
    return Unsupported("", "of computed integers to a quantized type");
  StablehloValue stored = *x;
  stored.stored = true;
  return builder.Bind(op, builder.Copy(std::move(stored)));
}

Result<void> ConvertReshape(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const Dims dims, ResultDims(builder, op));
  if (x->constant && (!x->type.quantization || x->type.quantization->axis.empty())) {
    if (format::ElementCount(*x->constant) != format::ElementCount(dims).value_or(-1))
      return Invalid("", "to " + format::ToString(dims) + ", which has another size");
    QTX_ASSIGN_OR_RETURN(StablehloValue * reshaped, Reshaped(builder, op, x, dims));
    return builder.Bind(op, reshaped);
  }
  graph::Draft draft{"Reshape", {builder.Use(x), builder.Ints(op, dims)}, {}};
  if (std::ranges::find(dims, 0) != dims.end())
    draft.attributes.push_back(Attribute::Int("allowzero", 1));
  return builder.Emit(op, std::move(draft));
}

Result<void> ConvertTranspose(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t rank, RankOf(x));
  QTX_ASSIGN_OR_RETURN(const auto perm, IntsOf(builder, op, {"permutation", "dims"}, {}));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "permutation", perm, rank, 0));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "permutation", perm, rank));
  if (x->constant) return builder.Bind(op, Transposed(builder, op, x, perm));
  return builder.Emit(op, {"Transpose", {builder.Use(x)}, {Attribute::Ints("perm", perm)}});
}

// Transposed to the order of the result, with sizes of 1 for new axes, then expanded.
Result<void> ConvertBroadcastInDim(StablehloBuilder& builder, const MlirOp& op,
                                   const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const Dims dims, ResultDims(builder, op));
  QTX_ASSIGN_OR_RETURN(const Dims from, FixedDimsOf(x->type));
  QTX_ASSIGN_OR_RETURN(const auto to, IntsOf(builder, op, {"broadcast_dimensions", "dims"}, {}));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "dims", to, from.size(), 0));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dims", to, dims.size()));
  Permutation perm(to.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::ranges::sort(perm, {}, [&](std::int64_t i) { return to[static_cast<std::size_t>(i)]; });
  Dims ones(dims.size(), 1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto axis = static_cast<std::size_t>(to[i]);
    if (from[i] != 1 && from[i] != dims[axis])
      return Invalid("", "size " + std::to_string(from[i]) + " to " + std::to_string(dims[axis]));
    ones[axis] = from[i];
  }
  StablehloValue* moved = Transposed(builder, op, x, perm);
  // Parameters along an axis that keeps its size keep that axis, whatever sizes of 1 lie beside it.
  TensorType type = WithDims(moved->type, ones);
  if (type.quantization) {
    for (std::size_t i = 0; i < type.quantization->axis.size(); ++i) {
      const auto axis = static_cast<std::size_t>(x->type.quantization->axis[i]);
      type.quantization->axis[i] = to[axis];
    }
  }
  if (ones == dims && type == op.result_types[0] && FixedDimsOf(moved->type).value() == ones)
    return builder.Bind(op, moved);
  graph::Draft reshape{"Reshape", {builder.Use(moved), builder.Ints(op, ones)}, {}};
  if (std::ranges::find(ones, 0) != ones.end())
    reshape.attributes.push_back(Attribute::Int("allowzero", 1));
  if (ones == dims) return builder.Emit(op, std::move(reshape));
  StablehloValue* reshaped = FixedDimsOf(moved->type).value() == ones
                                 ? moved
                                 : builder.Inner(op, std::move(reshape), std::move(type));
  return builder.Emit(op, {"Expand", {builder.Use(reshaped), builder.Ints(op, dims)}, {}});
}

Result<void> ConvertConcatenate(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(const auto axis, IntsOf(builder, op, {"dimension", "dim"}, {}));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "dimension", axis, 1, 0));
  if (op.operands.empty()) return Invalid("", "found no operand");
  graph::Draft draft{"Concat", {}, {Attribute::Int("axis", axis[0])}};
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(StablehloValue * operand, builder.Operand(op, i));
    draft.inputs.push_back(builder.Use(operand));
  }
  return builder.Emit(op, std::move(draft));
}

Result<void> ConvertSlice(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t rank, RankOf(x));
  QTX_ASSIGN_OR_RETURN(auto starts, IntsOf(builder, op, {"start_indices"}, {}));
  QTX_ASSIGN_OR_RETURN(auto ends, IntsOf(builder, op, {"limit_indices"}, {}));
  QTX_ASSIGN_OR_RETURN(auto steps, IntsOf(builder, op, {"strides"}, Dims(rank, 1)));
  if (const MlirAttribute* ranges = op.Find({"ranges"})) {
    steps.clear();
    for (const MlirAttribute& range : ranges->list) {
      QTX_ASSIGN_OR_RETURN(const auto bounds, IntsOf(builder, op, &range, {}));
      if (bounds.size() != 2 && bounds.size() != 3)
        return Invalid("", "expected ranges [start:limit:stride, ...]");
      starts.push_back(bounds[0]);
      ends.push_back(bounds[1]);
      steps.push_back(bounds.size() == 3 ? bounds[2] : 1);
    }
  }
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "starts", starts, rank, 0));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "limits", ends, rank, 0));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "strides", steps, rank, 1));
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (rank == 0) return builder.Emit(op, {"Identity", {builder.Use(x)}, {}});
  return builder.Emit(op, {"Slice",
                           {builder.Use(x), builder.Ints(op, starts), builder.Ints(op, ends),
                            builder.Ints(op, axes), builder.Ints(op, steps)},
                           {}});
}

Result<void> ConvertReverse(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t rank, RankOf(x));
  QTX_ASSIGN_OR_RETURN(const auto axes, IntsOf(builder, op, {"dimensions", "dims"}, {}));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dims", axes, rank));
  QTX_ASSIGN_OR_RETURN(StablehloValue * reversed, Reversed(builder, op, x, axes));
  return builder.Bind(op, reversed);
}

Result<void> ConvertPad(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * with, builder.Operand(op, 1));
  QTX_ASSIGN_OR_RETURN(const std::size_t rank, RankOf(x));
  QTX_ASSIGN_OR_RETURN(const auto low, IntsOf(builder, op, {"edge_padding_low", "low"}, {}));
  QTX_ASSIGN_OR_RETURN(const auto high, IntsOf(builder, op, {"edge_padding_high", "high"}, {}));
  QTX_ASSIGN_OR_RETURN(const auto between,
                       IntsOf(builder, op, {"interior_padding", "interior"}, Dims(rank, 0)));
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "low", low, rank, -kMost));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "high", high, rank, -kMost));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "interior", between, rank, 0));
  for (const auto* amounts : {&low, &high, &between}) {
    if (std::ranges::any_of(*amounts, [](std::int64_t amount) { return amount > kMost; }))
      return Error{ErrorCode::kTooLarge, "", "more than 2^32 elements along an axis"};
  }
  QTX_ASSIGN_OR_RETURN(StablehloValue * spread, Spread(builder, op, x, between, with));
  QTX_ASSIGN_OR_RETURN(StablehloValue * padded, Padded(builder, op, spread, low, high, with));
  return builder.Bind(op, padded);
}

}  // namespace qtx::convert
