#include "ops/move.h"

#include <algorithm>

namespace qtx::reference {

using format::Dims;
using format::ElementType;

Result<format::Tensor> Selected(const Call& call, Dims dims,
                                const std::vector<std::int64_t>& sources) {
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], std::move(dims)));
  if (!sources.empty()) QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], {}, sources));
  return mover.Take();
}

std::vector<std::int64_t> StridedSources(Dims dims, Dims strides, std::int64_t start) {
  const std::int64_t count = Product(dims, 0, dims.size());
  std::vector<std::int64_t> sources;
  sources.reserve(static_cast<std::size_t>(count));
  StridedIndex index(std::move(dims), std::move(strides), start);
  for (std::int64_t i = 0; i < count; ++i, index.Next()) sources.push_back(*index);
  return sources;
}

Result<format::Tensor> Permuted(const Call& call, const Dims& view,
                                const std::vector<std::int64_t>& perm, Dims dims) {
  const Dims strides = format::RowMajorStrides(view);
  Dims permuted;
  Dims permuted_strides;
  for (const std::int64_t axis : perm) {
    permuted.push_back(view[static_cast<std::size_t>(axis)]);
    permuted_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return Selected(call, std::move(dims),
                  StridedSources(std::move(permuted), std::move(permuted_strides)));
}

Result<std::vector<std::int64_t>> IndicesAt(const Call& call, std::size_t i) {
  const format::Tensor* tensor = call.Input(i);
  if (tensor == nullptr) {
    return Error{ErrorCode::kInvalid, "input[" + std::to_string(i) + "]", "is required"};
  }
  if (tensor->elem_type != ElementType::kInt64 && tensor->elem_type != ElementType::kInt32) {
    return Error{
        ErrorCode::kInvalid, InputName(call, i),
        "found type " + std::string(format::Name(tensor->elem_type)) + ", expected INT64 or INT32"};
  }
  return format::UnpackIntegers(*tensor);
}

Result<std::vector<std::int64_t>> IndexListAt(const Call& call, std::size_t i) {
  const format::Tensor* tensor = call.Input(i);
  if (tensor != nullptr && tensor->dims.size() != 1) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found shape " + format::ToString(tensor->dims) + ", expected rank 1"};
  }
  return IndicesAt(call, i);
}

Result<std::vector<std::size_t>> AxesAt(const Call& call, std::size_t i, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> named, IndexListAt(call, i));
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : named) {
    const auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
    if (!normal.has_value()) return At(InputName(call, i), normal.error());
    if (std::ranges::find(axes, static_cast<std::size_t>(*normal)) != axes.end()) {
      return Error{ErrorCode::kInvalid, InputName(call, i),
                   "axis " + std::to_string(axis) + " twice"};
    }
    axes.push_back(static_cast<std::size_t>(*normal));
  }
  return axes;
}

Result<std::size_t> AxisOf(const Call& call, std::int64_t fallback, std::size_t rank) {
  const auto axis =
      format::NormalizeAxis(call.node.IntOr("axis", fallback), static_cast<std::int64_t>(rank));
  if (!axis.has_value()) return At("attribute 'axis'", axis.error());
  return static_cast<std::size_t>(*axis);
}

Result<std::int64_t> IndexWithin(std::int64_t index, std::int64_t size) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  return Error{
      ErrorCode::kInvalid, "",
      "found index " + std::to_string(index) + " for an axis of size " + std::to_string(size)};
}

std::int64_t Product(const Dims& dims, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= dims[i];
  return product;
}

Result<void> CheckInt64Output(const Call& call, std::size_t i) {
  if (!call.Wants(i) || call.outputs[i].elem_type == ElementType::kInt64) return {};
  return Error{
      ErrorCode::kInvalid, "output[" + std::to_string(i) + "]",
      "found type " + std::string(format::Name(call.outputs[i].elem_type)) + ", expected INT64"};
}

}  // namespace qtx::reference
