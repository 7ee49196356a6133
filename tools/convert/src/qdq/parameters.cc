#include "qdq/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "errors.h"
#include "qdq/half_reals.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

bool IsBlocked(const Quantization& q) {
  return std::ranges::any_of(q.block_shape, [](std::int64_t block) { return block > 1; });
}

// In the type of the reals where it has all of them, else FLOAT.
Tensor Scales(ElementType real, std::span<const float> values, Dims dims) {
  if (auto halves = ToHalves(real, values, dims)) return *std::move(halves);
  const auto bytes = std::as_bytes(values);
  return {ElementType::kFloat, std::move(dims), std::nullopt, {bytes.begin(), bytes.end()}};
}

// Offsets in the storage type. A small float's are 0, whose code is 0 in every such format.
Tensor ZeroPoints(ElementType storage, std::span<const std::int32_t> offsets, Dims dims) {
  Tensor tensor{storage, std::move(dims), std::nullopt, {}};
  const std::size_t bits = offsets.size() * static_cast<std::size_t>(format::BitWidth(storage));
  tensor.bytes.assign((bits + 7) / 8, std::byte{0});
  const bool zeros = std::ranges::all_of(offsets, [](std::int32_t offset) { return offset == 0; });
  if (format::IsIntegerStorage(storage) && !zeros) format::PackInt32(offsets, tensor);
  return tensor;
}

// ONNX's blocked form has a parameter for every block along one axis and for every element along
// the others: the grid that a type with fewer axes stands for, its parameters repeated.
Result<StockParameters> ToBlocked(const format::TensorType& type) {
  const Quantization& q = *type.quantization;
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims) return Unsupported("blocked parameters on a value without fixed shape");
  StockParameters stock;
  Dims grid = *dims;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    if (q.block_shape[i] <= 1) continue;
    stock.axis = q.axis[i];
    stock.block_size = q.block_shape[i];
    std::int64_t& size = grid[static_cast<std::size_t>(q.axis[i])];
    size = (size + q.block_shape[i] - 1) / q.block_shape[i];
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(grid));
  if (count > format::kMaxParameters)
    return Error{ErrorCode::kTooLarge, "", "more parameters than one value may have"};
  const Dims strides = format::RowMajorStrides(*dims);
  const Dims grid_strides = format::RowMajorStrides(grid);
  const format::ParameterMap map(q, *dims);
  const ElementType real = format::RealTypeOf(q), storage = format::StorageOf(type.elem_type);
  std::vector<float> scales;
  std::vector<std::int32_t> offsets;
  if (NamesAllAxes(q, grid.size()) && std::ssize(q.scale) == count) {
    offsets = q.offset;
    offsets.resize(q.scale.size());
    stock.scale = Scales(real, q.scale, grid);
    stock.zero_point = ZeroPoints(storage, offsets, grid);
    return stock;
  }
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t element = 0;
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      const std::int64_t step =
          static_cast<std::int64_t>(axis) == *stock.axis ? *stock.block_size : 1;
      element += at / grid_strides[axis] % grid[axis] * step * strides[axis];
    }
    scales.push_back(format::ScaleAt(q, map(element)));
    offsets.push_back(format::OffsetAt(q, map(element)));
  }
  stock.scale = Scales(real, scales, grid);
  stock.zero_point = ZeroPoints(storage, offsets, grid);
  return stock;
}

Result<void> CheckSizes(const format::TensorType& type) {
  const Quantization& q = *type.quantization;
  // The number for an axis of unknown size is unknown.
  std::int64_t expected = q.axis.empty() ? 1 : static_cast<std::int64_t>(q.scale.size());
  if (const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt) {
    QTX_ASSIGN_OR_RETURN(const Dims counts, format::ParameterDims(q, *dims));
    QTX_ASSIGN_OR_RETURN(expected, format::ElementCount(counts));
  }
  const auto scales = static_cast<std::int64_t>(q.scale.size());
  if ((scales != expected && scales != 1) ||
      (!q.offset.empty() && q.offset.size() != q.scale.size())) {
    return Invalid("quantization", "found " + std::to_string(scales) + " scales and " +
                                       std::to_string(q.offset.size()) + " offsets, expected " +
                                       std::to_string(expected));
  }
  return {};
}

// Reading: offsets from a zero point, empty when all 0.
Result<std::vector<std::int32_t>> OffsetsOf(const Tensor& zero_point, std::size_t count,
                                            const std::string& name) {
  if (static_cast<std::size_t>(format::ElementCount(zero_point)) != count) {
    return Invalid("zero point '" + name + "'",
                   "found " + std::to_string(format::ElementCount(zero_point)) +
                       " values, expected " + std::to_string(count));
  }
  if (!format::IsIntegerStorage(zero_point.elem_type)) return std::vector<std::int32_t>{};
  std::vector<std::int32_t> offsets = format::UnpackInt32(zero_point);
  if (std::ranges::all_of(offsets, [](std::int32_t offset) { return offset == 0; }))
    offsets.clear();
  return offsets;
}

// The axes of scale's dims on a value of the rank that input 0 of `node` has. False if unknown.
bool ReadAxes(const GraphIndex& index, const format::Node& node, const Tensor& scale,
              Quantization& q) {
  const std::int64_t block = format::Attributes(node).Int("block_size");
  if (block == 0 && q.scale.size() == 1) return true;
  auto rank = index.RankOf(node.inputs[0]);
  // Blocked scales have the rank of the value, which need not be declared.
  if (block != 0 && !rank) rank = std::ssize(scale.dims);
  std::int64_t axis = format::Attributes(node).Int("axis");
  if (!rank && axis < 0) return false;
  if (axis < 0) axis += *rank;
  if (axis < 0 || (rank && axis >= *rank)) return false;
  if (block == 0) {
    q.axis = {axis};
    return scale.dims.size() == 1;
  }
  if (static_cast<std::int64_t>(scale.dims.size()) != *rank || block < 1) return false;
  for (std::int64_t i = 0; i < *rank; ++i) {
    q.axis.push_back(i);
    q.block_shape.push_back(i == axis ? block : 1);
  }
  return true;
}

// The storage type: the zero point's, else that of the integers, else what the attribute says. An
// annotated value, as QOperatorsToPairs declares those whose integers are read, has that of its
// annotation.
ElementType StorageIn(const GraphIndex& index, const format::Node& node,
                      const std::optional<Tensor>& zero_point) {
  if (zero_point) return zero_point->elem_type;
  if (IsQuantizeLinear(node)) {
    const std::int64_t code = format::Attributes(node).Int("output_dtype");
    return code == 0 ? ElementType::kUint8
                     : format::ElementTypeFromCode(code).value_or(ElementType::kUndefined);
  }
  if (const format::TensorData* data = index.Initializer(node.inputs[0])) return data->data_type;
  const format::TensorType* type = index.TypeOf(node.inputs[0]);
  if (type == nullptr) return ElementType::kUndefined;
  return format::IsAnnotated(*type) ? format::StorageOf(format::Unannotated(*type).elem_type)
                                    : type->elem_type;
}

// The type of what a DequantizeLinear gives.  Source: dequantize_linear.S5.
ElementType DequantizedType(const format::Node& node, ElementType scale) {
  const ElementType type = TypeIn(node, "output_dtype");
  if (type != ElementType::kUndefined) return type;
  return scale == ElementType::kFloat8E8M0 ? ElementType::kFloat : scale;
}

// The type of the reals on the other side of the node. Until opset 23 x has the type of the scale;
// then that of an undeclared x is what its integers are read as.
ElementType RealTypeIn(const GraphIndex& index, const format::Node& node, ElementType scale) {
  constexpr std::int64_t kMixed = 23;
  if (IsDequantizeLinear(node)) return DequantizedType(node, scale);
  if (index.model().OpsetVersion("") < kMixed) return scale;
  const format::TensorType* x = index.TypeOf(node.inputs[0]);
  if (x != nullptr && format::IsRealType(x->elem_type)) return x->elem_type;
  for (const Use& use : index.Uses(node.outputs[0])) {
    const format::Node& reader = index.node(use.node);
    if (IsDequantizeLinear(reader)) return DequantizedType(reader, scale);
  }
  return DequantizedType(node, scale);
}

Result<std::optional<QdqParameters>> Read(const GraphIndex& index, const format::Node& node,
                                          const Tensor& scale,
                                          const std::optional<Tensor>& zero_point,
                                          std::string& why) {
  const ElementType storage = StorageIn(index, node, zero_point);
  const auto quantized = format::QuantizedOf(storage);
  if (!quantized) {
    why = "no quantized type stores " + std::string(format::Name(storage));
    return std::optional<QdqParameters>();
  }
  const ElementType real = RealTypeIn(index, node, scale.elem_type);
  if (!format::IsRealType(real)) {
    why = "its reals are " + std::string(format::Name(real)) + ", not FLOAT, FLOAT16 or BFLOAT16";
    return std::optional<QdqParameters>();
  }
  if (const ElementType precision = TypeIn(node, "precision");
      precision == ElementType::kDouble || (format::IsHalf(precision) && precision != real)) {
    why = "precision is " + std::string(format::Name(precision));
    return std::optional<QdqParameters>();
  }
  QdqParameters parameters{*quantized, {}};
  if (format::IsHalf(real)) parameters.quantization.real_type = real;
  std::vector<float>& scales = parameters.quantization.scale;
  for (const double value : format::StoredValues(scale)) {
    scales.push_back(static_cast<float>(value));
  }
  const bool divides = IsQuantizeLinear(node);
  for (const float value : scales) {
    if (std::isfinite(value) && (!divides || value > 0)) continue;
    return Invalid("scale '" + node.inputs[1] + "'", "found " + format::HexFloat(value) +
                                                         ", expected a finite value" +
                                                         (divides ? " above 0" : ""));
  }
  const auto is_above_0 = [](float value) { return value > 0; };
  // quantization.C2.
  if (index.Initializer(node.inputs[0]) == nullptr && !std::ranges::all_of(scales, is_above_0)) {
    why = "a scale of 0 or below, which only constants may have";
    return std::optional<QdqParameters>();
  }
  if (zero_point) {
    QTX_ASSIGN_OR_RETURN(parameters.quantization.offset,
                         OffsetsOf(*zero_point, scales.size(), node.inputs[2]));
  }
  if (!ReadAxes(index, node, scale, parameters.quantization)) {
    why = "the axis of its scales is unknown";
    return std::optional<QdqParameters>();
  }
  return std::optional(std::move(parameters));
}

// The smallest opset whose QuantizeLinear has the storage.
std::int64_t OpsetForStorage(ElementType storage) {
  switch (storage) {
    case ElementType::kUint2:
    case ElementType::kInt2:
      return 25;
    case ElementType::kFloat4E2M1:
      return 23;
    case ElementType::kInt4:
    case ElementType::kUint4:
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 21;
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kInt32:
      return 13;
    default:
      return 19;  // the float8 formats
  }
}

bool SameAt(const Quantization& a, std::int64_t i, const Quantization& b, std::int64_t j) {
  return format::ScaleAt(a, i) == format::ScaleAt(b, j) &&
         format::OffsetAt(a, i) == format::OffsetAt(b, j);
}

bool SameLayout(const Quantization& a, const Quantization& b) {
  const auto blocks = [](const Quantization& q) {
    return q.block_shape.empty() ? Dims(q.axis.size(), 1) : q.block_shape;
  };
  return a.scale.size() == b.scale.size() &&
         (a.scale.size() == 1 || (a.axis == b.axis && blocks(a) == blocks(b)));
}

// Adds where a parameter of `q` begins along each axis.  False: `q` does not fit `dims`.
bool AddStarts(const Quantization& q, const Dims& dims, std::vector<Dims>& starts) {
  const auto counts = format::ParameterDims(q, dims);
  if (!counts.has_value()) return false;
  const auto count = format::ElementCount(*counts);
  if (!count.has_value() || *count != std::ssize(q.scale)) return false;
  for (std::size_t i = 0; *count > 0 && i < q.axis.size(); ++i) {
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    Dims& list = starts[static_cast<std::size_t>(q.axis[i])];
    for (std::int64_t k = 1; k < (*counts)[i]; ++k) list.push_back(k * block);
  }
  return true;
}

// True if both have the same parameters at every element. Compares one element of each part in
// which neither changes.
bool SameOver(const Dims& dims, const Quantization& a, const Quantization& b) {
  std::vector<Dims> starts(dims.size(), {0});
  const bool fit = format::ElementCount(dims).has_value() && AddStarts(a, dims, starts) &&
                   AddStarts(b, dims, starts);
  if (!fit || a.scale.empty() || b.scale.empty()) return fit && a.scale.size() == b.scale.size();
  std::int64_t parts = 1;  // no more than elements
  for (Dims& list : starts) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());  // Clang 14: not std::ranges
    parts *= std::ssize(list);
  }
  // A small hostile file may cause too many parts: scales per row in one, per column in the other.
  constexpr std::int64_t kMaxParts = std::int64_t{1} << 26;
  if (parts > kMaxParts) return false;
  const Dims strides = format::RowMajorStrides(dims);
  const format::ParameterMap map_a(a, dims), map_b(b, dims);
  for (std::int64_t part = 0; part < parts; ++part) {
    std::int64_t element = 0, rest = part;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      element += starts[d][static_cast<std::size_t>(rest % std::ssize(starts[d]))] * strides[d];
      rest /= std::ssize(starts[d]);
    }
    if (!SameAt(a, map_a(element), b, map_b(element))) return false;
  }
  return true;
}

// Scale and offset of every element of `shape`, of two types with inline parameters.
bool SameParameters(const std::optional<format::Shape>& shape, const Quantization& a,
                    const Quantization& b) {
  const auto odd = [](const Quantization& q) {
    return !q.offset.empty() && q.offset.size() != q.scale.size();
  };
  if (odd(a) || odd(b)) return false;
  if (SameLayout(a, b)) {
    for (std::int64_t i = 0; i < std::ssize(a.scale); ++i) {
      if (!SameAt(a, i, b, i)) return false;
    }
    return true;
  }
  Dims dims;
  for (const format::Dimension& dimension : shape.value_or(format::Shape())) {
    if (dimension.value == 0) return true;  // no element, which nothing contradicts
    const auto axis = std::ssize(dims);
    const auto names = [axis](const auto& axes) { return std::ranges::count(axes, axis) > 0; };
    const bool named = names(a.axis) || names(b.axis);  // the size of others does not matter
    dims.push_back(named ? dimension.value.value_or(1) : 1);
  }
  return SameOver(dims, a, b);
}

}  // namespace

Result<std::int64_t> OpsetFor(const format::TensorType& type) {
  const Quantization& q = *type.quantization;
  // A code book's are looked up: what matters is which Cast has the storage.
  const auto blocked =
      format::HasCodeBook(q)
          ? 0
          : std::ranges::count_if(q.block_shape, [](std::int64_t block) { return block > 1; });
  if (blocked > 1) return Unsupported("QuantizeLinear has no blocks along several axes");
  if (q.axis.size() > 1 && blocked == 0 && !format::HasCodeBook(q))
    return Unsupported("QuantizeLinear has no parameters along several axes");
  const ElementType storage = format::StorageOf(type.elem_type);
  if (storage == ElementType::kBipolar1) return Unsupported("QuantizeLinear has no BIPOLAR1Q");
  return std::max(
      {OpsetForStorage(storage), OpsetForReals(q), std::int64_t{IsBlocked(q) ? 21 : 13}});
}

Result<StockParameters> ToStock(const format::TensorType& type) {
  QTX_RETURN_IF_ERROR(OpsetFor(type));
  QTX_RETURN_IF_ERROR(CheckSizes(type));
  const Quantization& q = *type.quantization;
  const ElementType storage = format::StorageOf(type.elem_type);
  if (storage == ElementType::kInt32 && !q.offset.empty()) {
    return Unsupported("DequantizeLinear has no zero point for INT32");
  }
  StockParameters stock;
  if (IsBlocked(q)) {
    QTX_ASSIGN_OR_RETURN(stock, ToBlocked(type));
  } else {
    const Dims dims = q.axis.empty() ? Dims{} : Dims{static_cast<std::int64_t>(q.scale.size())};
    if (!q.axis.empty()) stock.axis = q.axis[0];
    std::vector<std::int32_t> offsets = q.offset;
    offsets.resize(q.scale.size());
    stock.scale = Scales(format::RealTypeOf(q), q.scale, dims);
    stock.zero_point = ZeroPoints(storage, offsets, dims);
  }
  if (storage == ElementType::kInt32) stock.zero_point.reset();
  return stock;
}

bool NamesAllAxes(const Quantization& q, std::size_t rank) {
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    if (q.axis[i] != static_cast<std::int64_t>(i)) return false;
  }
  return q.axis.size() == rank;
}

void AddPairAttributes(const StockParameters& stock, ElementType real, std::int64_t opset,
                       format::Node& node) {
  const auto add = [&node](const char* name, std::int64_t number) {
    node.attributes.push_back(format::Attribute::Int(name, number));
  };
  if (stock.axis) add("axis", *stock.axis);
  if (stock.block_size) add("block_size", *stock.block_size);
  const bool quantizes = node.op_type == "QuantizeLinear";
  if (quantizes && DividesInHalf(opset, node, stock.scale.elem_type)) {
    add("precision", static_cast<std::int64_t>(ElementType::kFloat));
  }
  if (!quantizes && stock.scale.elem_type != real) {
    add("output_dtype", static_cast<std::int64_t>(real));
  }
}

Result<std::optional<QdqParameters>> FromStock(const GraphIndex& index, const format::Node& node,
                                               std::string& why) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return std::optional<QdqParameters>();
  why = "its scale or zero point is computed at run time";
  QTX_ASSIGN_OR_RETURN(const std::optional<Tensor> scale, index.Constant(node.inputs[1]));
  if (!scale) return std::optional<QdqParameters>();
  std::optional<Tensor> zero_point;
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    QTX_ASSIGN_OR_RETURN(zero_point, index.Constant(node.inputs[2]));
    if (!zero_point) return std::optional<QdqParameters>();
  }
  // A zero point has one value for all scales or one for each; a single scale of any rank is per
  // tensor.
  return Read(index, node, *scale, zero_point, why);
}

void NameParameters(const GraphIndex& index, const format::Node& dequantizer,
                    const std::string& value, Quantization& q) {
  constexpr std::size_t kFew = std::size_t{1} << 14;
  if (!IsBlocked(q) || q.scale.size() < kFew) return;
  const auto named = [&](std::size_t input) {
    const std::string& name = dequantizer.inputs[input];
    const format::TensorData* data = index.Initializer(name);
    const bool visible = !index.IsInput(name) && format::AreOfOneGraph(name, value);
    return data != nullptr && visible ? data : nullptr;
  };
  const format::TensorData* scale = named(1);
  const format::TensorData* zero_point = q.offset.empty() ? nullptr : named(2);
  if (scale == nullptr || (zero_point == nullptr && !q.offset.empty())) return;
  q.scale = std::vector<float>();  // clear() would keep the memory
  if (scale->data_type == ElementType::kFloat)
    q.scale_tensor = scale->name;
  else
    q.scale_levels = {{.tensor = scale->name}};
  q.offset = std::vector<std::int32_t>();
  if (zero_point != nullptr) q.offset_tensor = zero_point->name;
}

bool Agree(const format::ModelView& model, const format::TensorType& annotation,
           const QdqParameters& parameters) {
  const Quantization& declared = *annotation.quantization;
  if (format::QuantizedOf(declared.storage_type) != parameters.elem_type ||
      annotation.elem_type != format::RealTypeOf(parameters.quantization)) {
    return false;
  }
  const bool elsewhere = !declared.scale_tensor.empty() || !declared.offset_tensor.empty();
  if (!elsewhere && !format::HasLevels(declared)) {
    return SameParameters(annotation.shape, declared, parameters.quantization);
  }
  const auto q = format::Resolve(model, annotation);
  return q.has_value() && SameParameters(annotation.shape, *q, parameters.quantization);
}

}  // namespace qtx::convert
