// Gather: ONNX's where whole slices are taken along one axis, else GatherND over the positions of
// all elements of a slice along the axes that have a start.
#include <algorithm>
#include <numeric>
#include <optional>

#include "errors.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

constexpr std::int64_t kMaxPositions = std::int64_t{1} << 26;

struct GatherNumbers {
  std::vector<std::int64_t> offset, collapsed, operand_batching, indices_batching, start_map;
  std::vector<std::int64_t> sizes;
  std::int64_t vector_axis = 0;
};

bool Has(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::ranges::find(values, value) != values.end();
}

Result<GatherNumbers> NumbersOf(StablehloBuilder& builder, const MlirOp& op) {
  const MlirAttribute* dims = op.Find({"dimension_numbers"});
  if (dims == nullptr) return Invalid("", "found no dimension_numbers");
  GatherNumbers numbers;
  const auto read = [&](const char* key, std::vector<std::int64_t>& to) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(to, IntsOf(builder, op, dims->Find(key), {}));
    return {};
  };
  std::vector<std::int64_t> vector_axis;
  QTX_RETURN_IF_ERROR(read("offset_dims", numbers.offset));
  QTX_RETURN_IF_ERROR(read("collapsed_slice_dims", numbers.collapsed));
  QTX_RETURN_IF_ERROR(read("operand_batching_dims", numbers.operand_batching));
  QTX_RETURN_IF_ERROR(read("start_indices_batching_dims", numbers.indices_batching));
  QTX_RETURN_IF_ERROR(read("start_index_map", numbers.start_map));
  QTX_RETURN_IF_ERROR(read("index_vector_dim", vector_axis));
  if (vector_axis.size() > 1) return Invalid("", "index_vector_dim: expected one integer");
  numbers.vector_axis = vector_axis.empty() ? 0 : vector_axis[0];
  QTX_ASSIGN_OR_RETURN(numbers.sizes, IntsOf(builder, op, {"slice_sizes"}, {}));
  return numbers;
}

Result<void> CheckNumbers(StablehloBuilder& builder, const MlirOp& op, const GatherNumbers& n,
                          const Dims& data, const Dims& indices, const Dims& result) {
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "slice_sizes", n.sizes, data.size(), 0));
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (n.sizes[i] > data[i]) return Invalid("", "slice_sizes above the sizes of the operand");
  }
  std::vector<std::int64_t> gone = n.collapsed;
  gone.insert(gone.end(), n.operand_batching.begin(), n.operand_batching.end());
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "collapsed_slice_dims", gone, data.size()));
  for (const std::int64_t axis : gone) {
    if (n.sizes[static_cast<std::size_t>(axis)] != 1)
      return Unsupported("", "slices of other sizes than 1 along an axis that goes");
  }
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "start_index_map", n.start_map, data.size()));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "offset_dims", n.offset, result.size()));
  QTX_RETURN_IF_ERROR(
      CheckAxes(builder, op, "start_indices_batching_dims", n.indices_batching, indices.size()));
  const auto rank = static_cast<std::int64_t>(indices.size());
  const std::int64_t tuple = n.vector_axis == rank ? 1
                             : n.vector_axis < 0 || n.vector_axis > rank
                                 ? -1
                                 : indices[static_cast<std::size_t>(n.vector_axis)];
  const std::size_t batch = indices.size() - (n.vector_axis == rank ? 0 : 1);
  if (tuple != static_cast<std::int64_t>(n.start_map.size()) || n.start_map.empty() ||
      n.operand_batching.size() != n.indices_batching.size() ||
      n.offset.size() + gone.size() != data.size() || n.offset.size() + batch != result.size() ||
      Has(n.indices_batching, n.vector_axis))
    return Invalid("", "dimension_numbers that do not fit the operands");
  return {};
}

// Start indices as INT64 [batch..., tuple], each within what its slice leaves of the axis.
Result<StablehloValue*> Starts(StablehloBuilder& builder, const MlirOp& op, StablehloValue* indices,
                               const GatherNumbers& n, const Dims& data) {
  QTX_ASSIGN_OR_RETURN(Dims dims, FixedDimsOf(indices->type));
  if (!format::IsIntegerStorage(indices->type.elem_type) || indices->type.quantization ||
      indices->type.elem_type == ElementType::kUint64)
    return Unsupported("", "indices of " + std::string(format::Name(indices->type.elem_type)));
  if (n.vector_axis == static_cast<std::int64_t>(dims.size())) {
    dims.push_back(1);
    QTX_ASSIGN_OR_RETURN(indices, Reshaped(builder, op, indices, dims));
  } else {
    Permutation perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    perm.erase(perm.begin() + n.vector_axis);
    perm.push_back(n.vector_axis);
    indices = Transposed(builder, op, indices, perm);
  }
  std::vector<std::int64_t> most;
  for (const std::int64_t axis : n.start_map)
    most.push_back(data[static_cast<std::size_t>(axis)] - n.sizes[static_cast<std::size_t>(axis)]);
  if (indices->constant) {
    std::vector<std::int64_t> values = format::UnpackIntegers(*indices->constant);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::clamp<std::int64_t>(values[i], 0, most[i % most.size()]);
    format::Tensor clamped = graph::IntsTensor(values);
    clamped.dims = indices->constant->dims;
    return builder.Constant(std::move(clamped));
  }
  indices = CastTo(builder, op, indices, ElementType::kInt64);
  const TensorType type = indices->type;
  const std::vector<std::int64_t> least(most.size(), 0);
  StablehloValue* low =
      builder.Inner(op, {"Max", {builder.Use(indices), builder.Ints(op, least)}, {}}, type);
  return builder.Inner(op, {"Min", {low->name, builder.Ints(op, most)}, {}}, type);
}

// The order of the result's axes, of a value whose axes are those of batches, then `slices`, axes
// of the operand.
Permutation ResultOrder(const GatherNumbers& n, std::size_t batch,
                        const std::vector<std::int64_t>& slices, std::size_t rank) {
  std::vector<std::int64_t> kept = slices;  // offset_dims follow the operand's order
  std::ranges::sort(kept);
  Permutation perm(rank);
  std::size_t next_batch = 0;
  std::vector<std::int64_t> offset = n.offset;
  std::ranges::sort(offset);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto found = std::ranges::find(offset, static_cast<std::int64_t>(axis));
    if (found == offset.end()) {
      perm[axis] = static_cast<std::int64_t>(next_batch++);
    } else {
      const std::int64_t of = kept[static_cast<std::size_t>(found - offset.begin())];
      const auto at = std::ranges::find(slices, of) - slices.begin();
      perm[axis] = static_cast<std::int64_t>(batch) + at;
    }
  }
  return perm;
}

// A constant INT64 [dims..., 1] that counts along `axis`.
StablehloValue* Counted(StablehloBuilder& builder, Dims dims, std::size_t axis) {
  std::vector<std::int64_t> values(
      static_cast<std::size_t>(format::ElementCount(dims).value_or(0)));
  const std::int64_t stride = format::RowMajorStrides(dims)[axis];
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int64_t>(i) / stride % dims[axis];
  format::Tensor tensor = graph::IntsTensor(values);
  dims.push_back(1);
  tensor.dims = std::move(dims);
  return builder.Constant(std::move(tensor));
}

// Positions as INT64 [batch..., slices along the axes that have a start..., tuple]. `axes`: those,
// in the order of the tuple: start_map, then batching. `walked`: those that the result keeps.
Result<StablehloValue*> Positions(StablehloBuilder& builder, const MlirOp& op,
                                  StablehloValue* starts, const GatherNumbers& n,
                                  const std::vector<std::int64_t>& walked) {
  QTX_ASSIGN_OR_RETURN(Dims dims, FixedDimsOf(starts->type));
  const Dims batch(dims.begin(), dims.end() - 1);
  if (!n.operand_batching.empty()) {
    graph::Draft draft{"Concat", {builder.Use(starts)}, {Attribute::Int("axis", -1)}};
    for (const std::int64_t axis : n.indices_batching) {
      const std::int64_t at = axis - (axis > n.vector_axis ? 1 : 0);
      draft.inputs.push_back(builder.Use(Counted(builder, batch, static_cast<std::size_t>(at))));
    }
    dims.back() += static_cast<std::int64_t>(n.operand_batching.size());
    starts = builder.Inner(op, std::move(draft), WithDims(starts->type, dims));
  }
  if (walked.empty()) return starts;
  Dims window;
  for (const std::int64_t axis : walked) window.push_back(n.sizes[static_cast<std::size_t>(axis)]);
  const std::int64_t tuple = dims.back();
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(window));
  QTX_ASSIGN_OR_RETURN(const std::int64_t batches, format::ElementCount(batch));
  if (count > kMaxPositions / std::max<std::int64_t>(1, batches * tuple))
    return Error{ErrorCode::kTooLarge, "", "more than 2^26 positions"};
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count * tuple), 0);
  const Dims strides = format::RowMajorStrides(window);
  for (std::size_t i = 0; i < walked.size(); ++i) {
    const auto at = std::ranges::find(n.start_map, walked[i]) - n.start_map.begin();
    for (std::int64_t k = 0; k < count; ++k)
      offsets[static_cast<std::size_t>(k * tuple + at)] = k / strides[i] % window[i];
  }
  format::Tensor tensor = graph::IntsTensor(offsets);
  tensor.dims = window;
  tensor.dims.push_back(tuple);
  Dims apart = batch;
  apart.insert(apart.end(), window.size(), 1);
  apart.push_back(tuple);
  QTX_ASSIGN_OR_RETURN(starts, Reshaped(builder, op, starts, apart));
  Dims all = batch;
  all.insert(all.end(), window.begin(), window.end());
  all.push_back(tuple);
  StablehloValue* added = builder.Constant(std::move(tensor));
  return builder.Inner(op, {"Add", {builder.Use(starts), builder.Use(added)}, {}},
                       WithDims(starts->type, all));
}

// The operand with the axes that have a start in front, and of the others what a slice takes.
Result<StablehloValue*> Operand(StablehloBuilder& builder, const MlirOp& op, StablehloValue* x,
                                const GatherNumbers& n, const std::vector<std::int64_t>& front,
                                std::vector<std::int64_t>& rest) {
  QTX_ASSIGN_OR_RETURN(const Dims data, FixedDimsOf(x->type));
  Dims taken = data;
  Permutation perm = front;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(data.size()); ++axis) {
    if (Has(front, axis)) continue;
    taken[static_cast<std::size_t>(axis)] = n.sizes[static_cast<std::size_t>(axis)];
    perm.push_back(axis);
    rest.push_back(axis);
  }
  if (taken != data)
    x = Sliced(builder, op, x, Dims(data.size(), 0), taken, Dims(data.size(), 1), taken);
  return Transposed(builder, op, x, perm);
}

// The one axis that whole slices of size 1 are taken along, as ONNX's Gather does.
std::optional<std::int64_t> PlainAxis(const GatherNumbers& n, const Dims& data) {
  if (n.start_map.size() != 1 || !n.operand_batching.empty() || n.collapsed != n.start_map)
    return std::nullopt;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (n.sizes[i] != data[i] && static_cast<std::int64_t>(i) != n.start_map[0])
      return std::nullopt;
  }
  return n.start_map[0];
}

TensorType GatheredType(const MlirOp& op, const Permutation& perm) {
  return Permute(op.result_types[0], InverseOf(perm));
}

Result<void> Finish(StablehloBuilder& builder, const MlirOp& op, graph::Draft draft,
                    const Permutation& perm) {
  if (std::ranges::is_sorted(perm)) return builder.Emit(op, std::move(draft));
  StablehloValue* y = builder.Inner(op, std::move(draft), GatheredType(op, perm));
  return builder.Bind(op, Transposed(builder, op, y, perm));
}

// ONNX's Gather, whose result has the batch in the place of the axis.
Result<void> EmitPlain(StablehloBuilder& builder, const MlirOp& op, const GatherNumbers& n,
                       StablehloValue* x, StablehloValue* starts, std::int64_t plain) {
  QTX_ASSIGN_OR_RETURN(Dims batch, FixedDimsOf(starts->type));
  batch.pop_back();
  const auto count = static_cast<std::int64_t>(batch.size());
  std::vector<std::int64_t> rest;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(n.sizes.size()); ++axis) {
    if (axis != plain) rest.push_back(axis);
  }
  Permutation perm = ResultOrder(n, batch.size(), rest, op.result_types[0].shape->size());
  for (std::int64_t& axis : perm) {  // from batches in front to batches at the axis
    if (axis < count) {
      axis += plain;
    } else if (axis < count + plain) {
      axis -= count;
    }
  }
  QTX_ASSIGN_OR_RETURN(starts, Reshaped(builder, op, starts, batch));
  return Finish(builder, op,
                {"Gather", {builder.Use(x), builder.Use(starts)}, {Attribute::Int("axis", plain)}},
                perm);
}

}  // namespace

Result<void> ConvertGather(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * indices, builder.Operand(op, 1));
  if (op.result_types.size() != 1) return Invalid("", "expected one result");
  QTX_ASSIGN_OR_RETURN(const GatherNumbers n, NumbersOf(builder, op));
  QTX_ASSIGN_OR_RETURN(const Dims data, FixedDimsOf(x->type));
  QTX_ASSIGN_OR_RETURN(const Dims index_dims, FixedDimsOf(indices->type));
  QTX_ASSIGN_OR_RETURN(const Dims result, FixedDimsOf(op.result_types[0]));
  QTX_RETURN_IF_ERROR(CheckNumbers(builder, op, n, data, index_dims, result));
  QTX_ASSIGN_OR_RETURN(StablehloValue * starts, Starts(builder, op, indices, n, data));
  if (const auto plain = PlainAxis(n, data)) return EmitPlain(builder, op, n, x, starts, *plain);
  Dims batch = FixedDimsOf(starts->type).value();
  batch.pop_back();
  std::vector<std::int64_t> front = n.start_map;
  front.insert(front.end(), n.operand_batching.begin(), n.operand_batching.end());
  std::vector<std::int64_t> walked;  // in the order of the operand's axes
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(data.size()); ++axis) {
    if (Has(n.start_map, axis) && !Has(n.collapsed, axis)) walked.push_back(axis);
  }
  std::vector<std::int64_t> rest;
  QTX_ASSIGN_OR_RETURN(StablehloValue * operand, Operand(builder, op, x, n, front, rest));
  QTX_ASSIGN_OR_RETURN(StablehloValue * positions, Positions(builder, op, starts, n, walked));
  std::vector<std::int64_t> slices = walked;
  slices.insert(slices.end(), rest.begin(), rest.end());
  return Finish(builder, op, {"GatherND", {builder.Use(operand), builder.Use(positions)}, {}},
                ResultOrder(n, batch.size(), slices, result.size()));
}

}  // namespace qtx::convert
