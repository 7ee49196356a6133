#include "qonnx/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "errors.h"
#include "qonnx/small_float.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;

// Scale and zero point over one grid: the dimensions that either has, from the last one on.
struct Grid {
  Dims dims;
  std::vector<float> scale, zero_point;
};

// Aligned to the last of `rank` dimensions, as NumPy broadcasts.
Dims Aligned(const Dims& dims, std::size_t rank) {
  Dims aligned(rank - dims.size(), 1);
  aligned.insert(aligned.end(), dims.begin(), dims.end());
  return aligned;
}

// One element of `from`, of dimensions `dims`, for each of the grid `to`.
std::vector<float> Spread(std::span<const float> from, const Dims& dims, const Dims& to,
                          std::int64_t count) {
  const Dims strides = format::RowMajorStrides(dims);
  const Dims to_strides = format::RowMajorStrides(to);
  std::vector<float> spread(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t element = 0;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (dims[axis] != 1) element += at / to_strides[axis] % to[axis] * strides[axis];
    }
    spread[static_cast<std::size_t>(at)] = from[static_cast<std::size_t>(element)];
  }
  return spread;
}

// The rank of x. Where the file does not say, it is that of a parameter of two dimensions or more,
// as QONNX documents.
Result<std::size_t> RankOf(const GraphIndex& index, const Node& node, std::size_t needed) {
  const auto known = index.RankOf(node.inputs[0]);
  const std::size_t rank = known ? static_cast<std::size_t>(*known) : needed;
  if (!known && needed == 1) {
    return Unsupported("value '" + node.inputs[0] + "'",
                       "its rank is unknown, but its scale or zero point has one dimension");
  }
  if (needed > rank) {
    return Invalid("scale or zero point", "found rank " + std::to_string(needed) +
                                              ", expected at most " + std::to_string(rank));
  }
  return rank;
}

Result<Grid> GridOf(const GraphIndex& index, const Node& node, const Tensor& scale,
                    const Tensor& zero_point) {
  const auto scales = scale.As<float>();
  const auto zeros = zero_point.As<float>();
  if (scales.size() == 1 && zeros.size() == 1) return Grid{{}, {scales[0]}, {zeros[0]}};
  const std::size_t needed = std::max(scale.dims.size(), zero_point.dims.size());
  QTX_ASSIGN_OR_RETURN(const std::size_t rank, RankOf(index, node, needed));
  const Dims scale_dims = Aligned(scale.dims, rank);
  const Dims zero_dims = Aligned(zero_point.dims, rank);
  const format::TensorType* type = index.TypeOf(node.inputs[0]);
  Grid grid;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t size = scale_dims[axis] == 1 ? zero_dims[axis] : scale_dims[axis];
    const bool shape_known = type != nullptr && type->shape && type->shape->size() == rank;
    const std::int64_t dim = shape_known ? (*type->shape)[axis].value.value_or(size) : size;
    if ((zero_dims[axis] != 1 && zero_dims[axis] != size) || size < 1 || (size != 1 && dim != size))
      return Invalid("scale and zero point", "found shapes " + format::ToString(scale.dims) +
                                                 " and " + format::ToString(zero_point.dims) +
                                                 ", which do not fit axis " + std::to_string(axis) +
                                                 " of '" + node.inputs[0] + "'");
    grid.dims.push_back(size);
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(grid.dims));
  if (count > format::kMaxParameters)
    return Error{ErrorCode::kTooLarge, "scale", "more parameters than one value may have"};
  grid.scale = Spread(scales, scale_dims, grid.dims, count);
  grid.zero_point = Spread(zeros, zero_dims, grid.dims, count);
  return grid;
}

Result<void> SetScales(const Grid& grid, Quantization& q) {
  for (const float scale : grid.scale) {
    if (std::isfinite(scale) && scale > 0) continue;
    return Invalid("scale",
                   "found " + format::HexFloat(scale) + ", expected a finite value above 0");
  }
  q.scale = grid.scale;
  for (std::size_t axis = 0; axis < grid.dims.size(); ++axis) {
    if (grid.dims[axis] != 1) q.axis.push_back(static_cast<std::int64_t>(axis));
  }
  return {};
}

Result<void> SetOffsets(const Grid& grid, Quantization& q) {
  if (std::ranges::all_of(grid.zero_point, [](float zero) { return zero == 0; })) return {};
  for (const float zero : grid.zero_point) {
    if (std::nearbyint(zero) != zero || std::abs(zero) >= 0x1p31F) {
      return Unsupported("zero point",
                         "found " + format::HexFloat(zero) + ", expected an integer of 32 bits");
    }
    q.offset.push_back(static_cast<std::int32_t>(zero));
  }
  return {};
}

Result<Tensor> FloatInput(const GraphIndex& index, const Node& node, std::size_t position,
                          const char* name) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, ConstantInput(index, node, position, name));
  if (tensor.elem_type != ElementType::kFloat || tensor.bytes.empty()) {
    return Unsupported(name, "found " + std::string(format::Name(tensor.elem_type)) +
                                 format::ToString(tensor.dims) + ", expected FLOAT");
  }
  return tensor;
}

// The smallest storage type that holds the range and all offsets.
Result<ElementType> StorageFor(const format::IntegerRange& range, const Quantization& q,
                               ElementType preferred) {
  using enum ElementType;
  constexpr std::array kSigned = {kInt2, kInt4, kInt8, kInt16, kInt32};
  constexpr std::array kUnsigned = {kUint2, kUint4, kUint8, kUint16, kInt32};
  format::IntegerRange needed = range;
  for (const std::int32_t offset : q.offset) {
    needed.min = std::min<std::int64_t>(needed.min, offset);
    needed.max = std::max<std::int64_t>(needed.max, offset);
  }
  const auto holds = [&](ElementType storage) {
    const format::IntegerRange own = format::StorageRange(storage);
    return own.min <= needed.min && needed.max <= own.max;
  };
  if (format::QuantizedOf(preferred) && format::IsIntegerStorage(preferred) &&
      preferred != kBipolar1 && holds(preferred)) {
    return preferred;
  }
  for (const ElementType storage : range.min < 0 ? kSigned : kUnsigned) {
    if (holds(storage)) return storage;
  }
  return Unsupported("bit width", "no storage type holds " + std::to_string(needed.min) + " to " +
                                      std::to_string(needed.max));
}

// Source: qonnx, min_int and max_int of custom_op/general/intquant.py.
format::IntegerRange RangeOf(std::int64_t bits, bool is_signed, bool narrow) {
  const std::int64_t values = std::int64_t{1} << bits;
  if (is_signed) return {-values / 2 + (narrow ? 1 : 0), values / 2 - 1};
  return {0, values - (narrow ? 2 : 1)};
}

void Narrow(const format::IntegerRange& range, ElementType storage, Quantization& q) {
  const format::IntegerRange own = format::StorageRange(storage);
  if (range.min > own.min) q.quant_min = range.min;
  if (range.max < own.max) q.quant_max = range.max;
}

Result<void> SetGrid(const GraphIndex& index, const Node& node, const Tensor& zero_point,
                     QonnxQuantizer& quantizer) {
  QTX_ASSIGN_OR_RETURN(const Tensor scale, FloatInput(index, node, 1, "scale"));
  QTX_ASSIGN_OR_RETURN(const Grid grid, GridOf(index, node, scale, zero_point));
  quantizer.grid = grid.dims;
  QTX_RETURN_IF_ERROR(SetScales(grid, quantizer.quantization));
  return SetOffsets(grid, quantizer.quantization);
}

Tensor Zero() {
  return {ElementType::kFloat, {}, std::nullopt, std::vector<std::byte>(sizeof(float))};
}

Result<QonnxQuantizer> ReadInteger(const GraphIndex& index, const Node& node,
                                   ElementType preferred) {
  QonnxQuantizer quantizer;
  QTX_ASSIGN_OR_RETURN(const Tensor zero_point, FloatInput(index, node, 2, "zero point"));
  QTX_RETURN_IF_ERROR(SetGrid(index, node, zero_point, quantizer));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bits, IntegerInput(index, node, 3, "bit width"));
  if (bits < 1 || bits > 32)
    return Unsupported("bit width", "found " + std::to_string(bits) + ", expected 1 to 32");
  quantizer.bits = static_cast<int>(bits);
  const bool is_signed = node.IntOr("signed", 1) != 0;
  if (bits == 1 && is_signed) {  // -1 and 1, whatever the mode
    if (!quantizer.quantization.offset.empty())
      return Unsupported("zero point", "a signed 1-bit type has no narrow range");
    quantizer.elem_type = ElementType::kBipolar1Q;
    return quantizer;
  }
  const auto range = RangeOf(bits, is_signed, node.IntOr("narrow", 0) != 0);
  QTX_ASSIGN_OR_RETURN(const ElementType storage,
                       StorageFor(range, quantizer.quantization, preferred));
  quantizer.elem_type = *format::QuantizedOf(storage);
  Narrow(range, storage, quantizer.quantization);
  quantizer.rounding_name = node.StringOr("rounding_mode", "ROUND");
  QTX_ASSIGN_OR_RETURN(quantizer.rounding, RoundingNamed(quantizer.rounding_name));
  return quantizer;
}

Result<QonnxQuantizer> ReadFloat(const GraphIndex& index, const Node& node) {
  QonnxQuantizer quantizer;
  QTX_RETURN_IF_ERROR(SetGrid(index, node, Zero(), quantizer));
  QTX_ASSIGN_OR_RETURN(const auto exponent, IntegerInput(index, node, 2, "exponent bit width"));
  QTX_ASSIGN_OR_RETURN(const auto mantissa, IntegerInput(index, node, 3, "mantissa bit width"));
  QTX_ASSIGN_OR_RETURN(const auto bias, IntegerInput(index, node, 4, "exponent bias"));
  QTX_ASSIGN_OR_RETURN(const Tensor max, FloatInput(index, node, 5, "maximum"));
  if (max.As<float>().size() != 1) return Unsupported("maximum", "more than one value");
  quantizer.rounding_name = node.StringOr("rounding_mode", "ROUND");
  QTX_ASSIGN_OR_RETURN(quantizer.rounding, RoundingNamed(quantizer.rounding_name));
  if (node.IntOr("saturation", 1) == 0)
    return Unsupported("saturation", "found 0; a quantized type saturates");
  QTX_ASSIGN_OR_RETURN(const ElementType storage,
                       SmallFloatOf(exponent, mantissa, bias, max.As<float>()[0]));
  quantizer.elem_type = *format::QuantizedOf(storage);
  quantizer.bits = format::BitWidth(storage);
  return quantizer;
}

}  // namespace

Result<QonnxRounding> RoundingNamed(const std::string& name) {
  using enum QonnxRounding;
  constexpr std::array<std::pair<std::string_view, QonnxRounding>, 8> kNames = {
      {{"ROUND", kHalfEven},
       {"HALF_EVEN", kHalfEven},
       {"CEIL", kCeil},
       {"FLOOR", kFloor},
       {"UP", kAwayFromZero},
       {"DOWN", kTowardZero},
       {"HALF_UP", kHalfAway},
       {"HALF_DOWN", kHalfTowardZero}}};
  std::string upper = name;
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  for (const auto& [known, rounding] : kNames) {
    if (known == upper) return rounding;
  }
  return Unsupported("rounding_mode", "found '" + name + "'");
}

Result<Tensor> ConstantInput(const GraphIndex& index, const Node& node, std::size_t position,
                             const char* name) {
  if (position >= node.inputs.size() || node.inputs[position].empty())
    return Invalid(name, "missing, expected as input " + std::to_string(position));
  QTX_ASSIGN_OR_RETURN(std::optional<Tensor> tensor, index.Constant(node.inputs[position]));
  if (!tensor) return Unsupported(name, "'" + node.inputs[position] + "' is computed");
  return *std::move(tensor);
}

Result<std::int64_t> IntegerInput(const GraphIndex& index, const Node& node, std::size_t position,
                                  const char* name) {
  QTX_ASSIGN_OR_RETURN(const Tensor tensor, ConstantInput(index, node, position, name));
  if (format::ElementCount(tensor) != 1) return Unsupported(name, "not one value");
  double value = 0;
  if (tensor.elem_type == ElementType::kInt64) {
    value = static_cast<double>(tensor.As<std::int64_t>()[0]);
  } else if (tensor.elem_type == ElementType::kFloat || tensor.elem_type == ElementType::kDouble ||
             (format::IsIntegerStorage(tensor.elem_type) &&
              format::BitWidth(tensor.elem_type) <= 32)) {
    value = format::StoredValues(tensor)[0];
  } else {
    return Unsupported(name, "found " + std::string(format::Name(tensor.elem_type)));
  }
  if (std::nearbyint(value) != value || std::abs(value) >= 0x1p31)
    return Unsupported(name, "found " + format::HexFloat(value) + ", expected an integer");
  return static_cast<std::int64_t>(value);
}

Result<QonnxQuantizer> ReadQonnxQuantizer(const GraphIndex& index, const Node& node,
                                          ElementType preferred) {
  if (node.inputs.empty() || node.inputs[0].empty() || node.outputs.size() != 1)
    return Invalid("inputs and outputs", "expected a value to quantize and one output");
  if (node.op_type == "FloatQuant") return ReadFloat(index, node);
  if (node.op_type != "BipolarQuant") return ReadInteger(index, node, preferred);
  QonnxQuantizer quantizer{.elem_type = ElementType::kBipolar1Q, .bits = 1};
  QTX_RETURN_IF_ERROR(SetGrid(index, node, Zero(), quantizer));
  return quantizer;
}

}  // namespace qtx::convert
