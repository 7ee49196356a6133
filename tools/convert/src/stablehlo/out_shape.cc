// Operators that move elements. A result whose parameters are others than the operand's is moved
// first, then requantized by Bind.
#include <algorithm>
#include <numeric>

#include "errors.h"
#include "layout.h"
#include "stablehlo/out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::Node;

bool IsAlong(const HloType& type, std::int64_t axis) {
  return type.quantization &&
         std::ranges::find(type.quantization->axis, axis) != type.quantization->axis.end();
}

// The quantization of `value` in the dimensions of `result`: that of the result where only its
// dimensions and the axis of its parameters differ, as they do when elements are moved. Values with
// other parameters along axes are dequantized.
Result<HloValue> Movable(StablehloWriter& writer, HloValue value, const HloType& result) {
  if (!value.type.quantization || value.type.quantization->axis.empty()) return value;
  if (result.quantization && !result.quantization->axis.empty() &&
      result.quantization->scale == value.type.quantization->scale &&
      result.quantization->offset == value.type.quantization->offset)
    return value;
  return writer.Reals(value, ComputedType(value.type));
}

// The type of `value`, moved to the dimensions of `result`.
HloType MovedType(const HloValue& value, const HloType& result) {
  HloType type = value.type;
  type.dims = result.dims;
  if (type.quantization && !type.quantization->axis.empty())
    type.quantization->axis = result.quantization->axis;
  return type;
}

// [a:b:s, ...]
Result<HloValue> Sliced(StablehloWriter& writer, const HloValue& x, const Dims& starts,
                        const Dims& ends, const Dims& steps) {
  std::string ranges;
  HloType type = x.type;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ranges += (i > 0 ? ", " : "") + std::to_string(starts[i]) + ":" + std::to_string(ends[i]) +
              (steps[i] == 1 ? "" : ":" + std::to_string(steps[i]));
    type.dims[i] = ends[i] > starts[i] ? (ends[i] - starts[i] + steps[i] - 1) / steps[i] : 0;
    if (IsAlong(x.type, static_cast<std::int64_t>(i)) && type.dims[i] != x.type.dims[i])
      return Unsupported("", "a part of an axis along which parameters differ");
  }
  return writer.Op("stablehlo.slice", {x}, std::move(type), " [" + ranges + "]");
}

}  // namespace

Result<void> WriteReshape(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(x, Movable(writer, std::move(x), result));
  if (x.type.dims == result.dims) return writer.Bind(node, x);
  QTX_RETURN_IF_ERROR(CheckFixed(result));
  QTX_RETURN_IF_ERROR(CheckFixed(x.type));
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op("stablehlo.reshape", {x}, MovedType(x, result)));
  return writer.Bind(node, std::move(value));
}

Result<void> WriteTranspose(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  Permutation perm(x.type.dims.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = node.IntsOr("perm", perm);
  HloType type = x.type;
  type.dims = Permute(x.type.dims, perm);
  if (type.quantization) {
    for (std::int64_t& axis : type.quantization->axis) axis = PermuteAxis(axis, perm);
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op("stablehlo.transpose", {x}, std::move(type),
                                                 ", dims = " + MlirInts(perm)));
  return writer.Bind(node, std::move(value));
}

Result<void> WriteExpand(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Broadcast(x, result.dims));
  return writer.Bind(node, std::move(value));
}

// All operands in the type of the result: StableHLO's have one.
Result<void> WriteConcat(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  const auto rank = static_cast<std::int64_t>(result.dims.size());
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis, format::NormalizeAxis(node.IntOr("axis", 0), rank));
  const bool along = IsAlong(result, axis);
  std::vector<HloValue> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(HloValue operand, writer.Input(node, i));
    HloType type = along ? RealsOf(result) : result;
    type.dims = operand.type.dims;
    QTX_ASSIGN_OR_RETURN(operand, writer.Cast(std::move(operand), type));
    operands.push_back(std::move(operand));
  }
  QTX_ASSIGN_OR_RETURN(
      HloValue value, writer.Op("stablehlo.concatenate", operands, along ? RealsOf(result) : result,
                                ", dim = " + std::to_string(axis)));
  return writer.Bind(node, std::move(value));
}

Result<void> WriteSlice(StablehloWriter& writer, const Node& node, const OutRow&) {
  if (node.inputs.size() < 3) return Unsupported("", "with attributes, as before opset 10");
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  QTX_RETURN_IF_ERROR(CheckFixed(x.type));
  QTX_ASSIGN_OR_RETURN(const Dims from, writer.Ints(node, 1));
  QTX_ASSIGN_OR_RETURN(const Dims to, writer.Ints(node, 2));
  Dims axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  Dims by(from.size(), 1);
  if (StablehloWriter::Has(node, 3)) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Ints(node, 3));
  }
  if (StablehloWriter::Has(node, 4)) {
    QTX_ASSIGN_OR_RETURN(by, writer.Ints(node, 4));
  }
  const Dims& dims = x.type.dims;
  Dims starts(dims.size(), 0);
  Dims ends = dims;
  Dims steps(dims.size(), 1);
  for (std::size_t k = 0; k < from.size(); ++k) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                         format::NormalizeAxis(axes[k], static_cast<std::int64_t>(dims.size())));
    const auto i = static_cast<std::size_t>(axis);
    if (by[k] < 1) return Unsupported("", "backwards");
    const auto within = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + dims[i] : at, 0, dims[i]);
    };
    starts[i] = within(from[k]);
    ends[i] = std::max(within(to[k]), starts[i]);
    steps[i] = by[k];
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, Sliced(writer, x, starts, ends, steps));
  return writer.Bind(node, std::move(value));
}

Result<void> WriteSplit(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  QTX_RETURN_IF_ERROR(CheckFixed(x.type));
  const Dims& dims = x.type.dims;
  QTX_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      format::NormalizeAxis(node.IntOr("axis", 0), static_cast<std::int64_t>(dims.size())));
  const auto i = static_cast<std::size_t>(axis);
  Dims starts(dims.size(), 0);
  Dims ends = dims;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    QTX_ASSIGN_OR_RETURN(const HloType part, writer.TypeOf(node.outputs[k]));
    QTX_RETURN_IF_ERROR(CheckFixed(part));
    starts[i] = at;
    ends[i] = at += part.dims[i];
    QTX_ASSIGN_OR_RETURN(HloValue value, Sliced(writer, x, starts, ends, Dims(dims.size(), 1)));
    QTX_RETURN_IF_ERROR(writer.Bind(node, std::move(value), k));
  }
  return {};
}

Result<void> WritePad(StablehloWriter& writer, const Node& node, const OutRow&) {
  if (node.StringOr("mode", "constant") != "constant")
    return Unsupported("", "of mode '" + node.StringOr("mode", "") + "'");
  if (!StablehloWriter::Has(node, 1)) return Unsupported("", "with attributes, as before opset 11");
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Dims pads, writer.Ints(node, 1));
  const std::size_t rank = x.type.dims.size();
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (StablehloWriter::Has(node, 3)) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Ints(node, 3));
  }
  Dims low(rank, 0);
  Dims high(rank, 0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                         format::NormalizeAxis(axes[k], static_cast<std::int64_t>(rank)));
    low[static_cast<std::size_t>(axis)] = pads[k];
    high[static_cast<std::size_t>(axis)] = pads[axes.size() + k];
  }
  if (x.type.quantization &&
      (!x.type.quantization->axis.empty() || StablehloWriter::Has(node, 2))) {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(x.type)));
  }
  HloType scalar = x.type;
  scalar.dims.clear();
  HloValue with;
  if (StablehloWriter::Has(node, 2)) {
    QTX_ASSIGN_OR_RETURN(with, writer.Input(node, 2));
    QTX_ASSIGN_OR_RETURN(with, writer.Reshape(with, {}));
    QTX_ASSIGN_OR_RETURN(with, writer.Cast(std::move(with), scalar));
  } else {
    QTX_ASSIGN_OR_RETURN(with, writer.Scalar(0, scalar));
  }
  HloType type = x.type;
  type.dims = result.dims;
  QTX_ASSIGN_OR_RETURN(HloValue value,
                       writer.Op("stablehlo.pad", {x, with}, std::move(type),
                                 ", low = " + MlirInts(low) + ", high = " + MlirInts(high) +
                                     ", interior = " + MlirInts(Dims(rank, 0))));
  return writer.Bind(node, std::move(value));
}

// Whole slices along one axis; an index below 0 counts from the end, which StableHLO's does not.
Result<void> WriteGather(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(HloValue indices, writer.Input(node, 1));
  QTX_RETURN_IF_ERROR(CheckFixed(x.type));
  const auto rank = static_cast<std::int64_t>(x.type.dims.size());
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis, format::NormalizeAxis(node.IntOr("axis", 0), rank));
  const auto at = static_cast<std::size_t>(axis);
  if (IsAlong(x.type, axis)) return Unsupported("", "of an axis along which parameters differ");
  HloType below = indices.type;
  below.elem_type = format::ElementType::kBool;
  QTX_ASSIGN_OR_RETURN(const HloValue zero, writer.Splat(0, indices.type));
  QTX_ASSIGN_OR_RETURN(const HloValue size,
                       writer.Splat(static_cast<double>(x.type.dims[at]), indices.type));
  QTX_ASSIGN_OR_RETURN(const HloValue from_end,
                       writer.Op("stablehlo.compare LT,", {indices, zero}, below, ", SIGNED"));
  QTX_ASSIGN_OR_RETURN(const HloValue counted,
                       writer.Op("stablehlo.add", {indices, size}, indices.type));
  QTX_ASSIGN_OR_RETURN(indices,
                       writer.Op("stablehlo.select", {from_end, counted, indices}, indices.type));
  const auto batch = static_cast<std::int64_t>(indices.type.dims.size());
  HloType type = x.type;
  type.dims.erase(type.dims.begin() + axis);
  type.dims.insert(type.dims.begin() + axis, indices.type.dims.begin(), indices.type.dims.end());
  Dims sizes = x.type.dims;
  sizes[at] = 1;
  Dims offset;
  for (std::int64_t i = 0; i < rank - 1 + batch; ++i) {
    if (i < axis || i >= axis + batch) offset.push_back(i);
  }
  if (type.quantization) {
    for (std::int64_t& along : type.quantization->axis) along += along > axis ? batch - 1 : 0;
  }
  const std::string list = MlirInts(sizes);
  const std::string text =
      "\"stablehlo.gather\"(" + x.id + ", " + indices.id +
      ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + MlirInts(offset) +
      ", collapsed_slice_dims = " + MlirInts({axis}) + ", start_index_map = " + MlirInts({axis}) +
      ", index_vector_dim = " + std::to_string(batch) + ">, indices_are_sorted = false, " +
      "slice_sizes = array<i64: " + list.substr(1, list.size() - 2) + ">}>";
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Emit(text, {x, indices}, std::move(type)));
  return writer.Bind(node, std::move(value));
}

}  // namespace qtx::convert
