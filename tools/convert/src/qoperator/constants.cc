#include "qoperator/constants.h"

#include <algorithm>
#include <cmath>

#include "errors.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;
using Parameters = std::optional<QdqParameters>;

std::int64_t CountOf(const Tensor& tensor) { return format::ElementCount(tensor); }

// The one axis along which the parameters of dims `dims` differ, on a value of rank `rank`.
std::optional<std::int64_t> AxisOf(const Dims& dims, std::optional<std::int64_t> rank,
                                   std::int64_t axis) {
  if (axis < 0 && !rank) return std::nullopt;
  if (axis < 0) axis += *rank;
  if (axis < 0 || (rank && axis >= *rank)) return std::nullopt;
  if (dims.size() == 1) return axis;
  if (!rank || static_cast<std::int64_t>(dims.size()) != *rank) return std::nullopt;
  std::optional<std::int64_t> found;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (found) return std::nullopt;
    found = static_cast<std::int64_t>(i);
  }
  return found;
}

// An absent zero point is 0. One value stands for all scales, and one scale for all zero points.
Result<void> SetOffsets(const std::optional<Tensor>& zero_point, const std::string& name,
                        format::Quantization& q) {
  if (!zero_point || !format::IsIntegerStorage(zero_point->elem_type)) return {};
  if (format::BitWidth(zero_point->elem_type) > 32)
    return Invalid("zero point '" + name + "'", "more than 32 bits");
  q.offset = format::UnpackInt32(*zero_point);
  const std::size_t scales = q.scale.size(), offsets = q.offset.size();
  if (offsets == 0 || (scales != offsets && scales != 1 && offsets != 1)) {
    return Invalid("zero point '" + name + "'", "found " + std::to_string(offsets) +
                                                    " values, expected " + std::to_string(scales));
  }
  q.scale.resize(std::max(scales, offsets), q.scale[0]);
  q.offset.resize(std::max(scales, offsets), q.offset[0]);
  if (std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; }))
    q.offset.clear();
  return {};
}

Result<std::optional<ElementType>> QuantizedTypeOf(const GraphIndex& index,
                                                   const std::optional<Tensor>& zero_point,
                                                   const OperandQuery& query) {
  QTX_ASSIGN_OR_RETURN(ElementType storage, StorageOfValue(index, query.value));
  if (zero_point && storage != ElementType::kUndefined && storage != zero_point->elem_type &&
      !format::IsQuantized(storage)) {
    return Invalid("value '" + query.value + "'",
                   "declared " + std::string(format::Name(storage)) + ", its zero point is " +
                       std::string(format::Name(zero_point->elem_type)));
  }
  if (zero_point) storage = zero_point->elem_type;
  if (storage == ElementType::kUndefined) storage = query.storage;
  return format::QuantizedOf(storage);
}

// The constant `name`, nullopt with `why` when it is computed.
Result<std::optional<Tensor>> Wanted(const GraphIndex& index, const std::string& name,
                                     const char* what, std::string& why) {
  QTX_ASSIGN_OR_RETURN(std::optional<Tensor> tensor, index.Constant(name));
  if (!tensor) why = std::string(what) + " '" + name + "' is computed at run time";
  if (tensor && CountOf(*tensor) > format::kMaxParameters)
    return Error{ErrorCode::kTooLarge, "'" + name + "'", "more parameters than one value may have"};
  return tensor;
}

}  // namespace

std::optional<std::vector<float>> Floats(const Tensor& tensor) {
  if (tensor.elem_type != ElementType::kFloat && tensor.elem_type != ElementType::kFloat16 &&
      tensor.elem_type != ElementType::kBfloat16)
    return std::nullopt;
  std::vector<float> floats;
  for (const double value : format::StoredValues(tensor))
    floats.push_back(static_cast<float>(value));
  return floats;
}

Result<ElementType> StorageOfValue(const GraphIndex& index, const std::string& value) {
  if (const format::TensorData* data = index.Initializer(value)) return data->data_type;
  if (const format::TensorType* type = index.TypeOf(value)) return type->elem_type;
  QTX_ASSIGN_OR_RETURN(const std::optional<Tensor> constant, index.Constant(value));
  return constant ? constant->elem_type : ElementType::kUndefined;
}

Result<void> CheckScales(std::span<const float> scales, const std::string& name) {
  for (const float scale : scales) {
    if (std::isfinite(scale) && scale > 0) continue;
    return Invalid("scale '" + name + "'",
                   "found " + format::HexFloat(scale) + ", expected a finite value above 0");
  }
  return {};
}

Result<Parameters> ConstantParameters(const GraphIndex& index, const format::Node& node,
                                      const OperandQuery& query, std::string& why) {
  const std::string& scale_name = InputOf(node, query.slots.scale);
  const std::string& zero_name = InputOf(node, query.slots.zero_point);
  QTX_ASSIGN_OR_RETURN(const auto scale, Wanted(index, scale_name, "scale", why));
  if (!scale) return Parameters();
  std::optional<Tensor> zero_point;
  if (!zero_name.empty()) {
    QTX_ASSIGN_OR_RETURN(zero_point, Wanted(index, zero_name, "zero point", why));
    if (!zero_point) return Parameters();
  }
  QTX_ASSIGN_OR_RETURN(const auto type, QuantizedTypeOf(index, zero_point, query));
  const auto scales = Floats(*scale);
  if (!scales || scales->empty())
    return Invalid("scale '" + scale_name + "'", "expected one value or more of a float type");
  QTX_RETURN_IF_ERROR(CheckScales(*scales, scale_name));
  if (!type) {
    why = "no quantized type stores '" + query.value + "'";
    return Parameters();
  }
  QdqParameters parameters{*type, {}};
  parameters.quantization.scale = *scales;
  QTX_RETURN_IF_ERROR(SetOffsets(zero_point, zero_name, parameters.quantization));
  if (parameters.quantization.scale.size() == 1) return Parameters(std::move(parameters));
  const Dims& dims = scales->size() > 1 ? scale->dims : zero_point->dims;
  const auto axis = AxisOf(dims, index.RankOf(query.value), query.axis);
  if (!axis) {
    why = "the axis of the scales of '" + query.value + "' is unknown";
    return Parameters();
  }
  parameters.quantization.axis = {*axis};
  return Parameters(std::move(parameters));
}

}  // namespace qtx::convert
