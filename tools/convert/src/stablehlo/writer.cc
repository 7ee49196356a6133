#include "stablehlo/writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "errors.h"
#include "qtx/format/levels.h"

namespace qtx::convert {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Tensor;

namespace {

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || format::IsHalf(type);
}

// The stored value of a type that is nearest to a real.
double StoredOf(double real, const HloType& type) {
  if (!type.quantization) {
    if (IsFloat(type.elem_type)) return real;
    const format::IntegerRange range = format::StorageRange(type.elem_type);
    return std::clamp(real, static_cast<double>(range.min), static_cast<double>(range.max));
  }
  const format::Quantization& q = *type.quantization;
  const format::IntegerRange range = format::StoredRange(type.elem_type, q);
  const double stored =
      std::nearbyint(real / static_cast<double>(format::ScaleAt(q, 0))) + format::OffsetAt(q, 0);
  return std::clamp(stored, static_cast<double>(range.min), static_cast<double>(range.max));
}

void Store(double value, Tensor& tensor) {
  const ElementType type = format::StorageOf(tensor.elem_type);
  if (type == ElementType::kFloat) {
    tensor.As<float>()[0] = static_cast<float>(value);
  } else if (type == ElementType::kDouble) {
    tensor.As<double>()[0] = value;
  } else if (format::IsHalf(type)) {
    const std::uint32_t infinity = type == ElementType::kFloat16 ? 0x7C00 : 0x7F80;
    const std::uint32_t code = std::isinf(value) ? infinity | (value < 0 ? 0x8000U : 0U)
                                                 : format::EncodeSmallFloat(type, value);
    tensor.As<std::uint16_t>()[0] = static_cast<std::uint16_t>(code);
  } else {
    constexpr double kMost = 9223372036854774784.0;  // the largest binary64 below 2^63
    const std::int64_t integer =
        value > kMost ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(value);
    format::PackIntegers(std::span(&integer, 1), tensor);
  }
}

Result<void> CheckNoBlocks(const HloType& type) {
  if (IsPerTensorOrAxis(type)) return {};
  return Unsupported("", "parameters in blocks, which no operator of StableHLO takes or gives");
}

}  // namespace

Result<void> CheckFixed(const HloType& type) {
  if (std::ranges::all_of(type.dims, [](std::int64_t dim) { return dim >= 0; })) return {};
  return Unsupported("", "unknown sizes, where StableHLO wants them");
}

std::string MlirInts(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

Result<HloType> StablehloWriter::TypeOf(const std::string& name) const {
  HloType type;
  const format::ValueFacts* facts = inference_.Find(name);
  const format::TensorType* declared = graph_.TypeOf(name);
  const format::TensorData* data = graph_.Initializer(name);
  if (facts != nullptr) {
    type.elem_type = facts->type;
    if (facts->dims) type.dims = *facts->dims;
  }
  const bool ranked = facts != nullptr && facts->dims;
  if (declared != nullptr) type.elem_type = declared->elem_type;
  if (data != nullptr && !ranked) type.dims = data->dims;
  if (type.elem_type == ElementType::kUndefined || (!ranked && data == nullptr))
    return Unsupported("value '" + name + "'", "its element type or rank is unknown");
  if (declared == nullptr || !format::IsQuantized(declared->elem_type)) return type;
  auto resolved = format::Resolve(graph_.view(), *declared, name);
  if (!resolved.has_value()) return At("value '" + name + "'", resolved.error());
  type.quantization = *std::move(resolved);
  format::Quantization& q = *type.quantization;
  q.scheme = format::Scheme::kUnspecified;
  q.requantization.reset();
  for (std::int64_t& axis : q.axis)
    axis += axis < 0 ? static_cast<std::int64_t>(type.dims.size()) : 0;
  return type;
}

Result<std::vector<std::int64_t>> StablehloWriter::Ints(const Node& node, std::size_t i) const {
  QTX_ASSIGN_OR_RETURN(const auto constant, graph_.Constant(node.inputs[i]));
  if (constant && format::IsIntegerStorage(constant->elem_type) && !constant->quantization)
    return format::UnpackIntegers(*constant);
  const format::ValueFacts* facts = inference_.Find(node.inputs[i]);
  if (facts != nullptr && facts->constant != nullptr)
    return format::UnpackIntegers(*facts->constant);
  return Unsupported("", "input " + std::to_string(i) + " is computed; StableHLO has an attribute");
}

Result<HloValue> StablehloWriter::Argument(const std::string& name) {
  QTX_ASSIGN_OR_RETURN(HloType type, TypeOf(name));
  HloValue value{"%" + names_.Unique(name), std::move(type)};
  values_.emplace(name, value);
  return value;
}

Result<HloValue> StablehloWriter::Find(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  auto constant = graph_.Constant(name);
  if (!constant.has_value()) return At("value '" + name + "'", constant.error());
  if (!*constant) return Invalid("value '" + name + "'", "nothing defines it");
  HloType type;
  if (graph_.Initializer(name) != nullptr) {
    QTX_ASSIGN_OR_RETURN(type, TypeOf(name));
    (*constant)->elem_type = type.elem_type;
    (*constant)->quantization = type.quantization;
  }
  auto value = Constant(**constant, name);
  if (!value.has_value()) return At("value '" + name + "'", value.error());
  values_.emplace(name, *value);
  return value;
}

Result<HloValue> StablehloWriter::Input(const Node& node, std::size_t i) {
  if (!Has(node, i)) return Invalid("", "input " + std::to_string(i) + " is absent");
  return Find(node.inputs[i]);
}

Result<HloValue> StablehloWriter::Emit(std::string text, const std::vector<HloValue>& operands,
                                       HloType type) {
  QTX_RETURN_IF_ERROR(CheckNoBlocks(type));
  for (const HloValue& operand : operands) QTX_RETURN_IF_ERROR(CheckNoBlocks(operand.type));
  std::string types = "(";
  for (std::size_t i = 0; i < operands.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::string operand, MlirType(operands[i].type));
    types += (i > 0 ? ", " : "") + operand;
  }
  QTX_ASSIGN_OR_RETURN(const std::string result, MlirType(type));
  lines_.push_back({"", std::move(text), types + ") -> " + result, ""});
  lines_.back().id = "%" + names_.Unique("q" + std::to_string(lines_.size()));
  return HloValue{lines_.back().id, std::move(type)};
}

Result<HloValue> StablehloWriter::Op(std::string_view op, const std::vector<HloValue>& operands,
                                     HloType type, const std::string& suffix) {
  std::string text(op);
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i > 0 ? ", " : " ") + operands[i].id;
  return Emit(text + suffix, operands, std::move(type));
}

Result<HloValue> StablehloWriter::Constant(const Tensor& tensor, std::string_view name) {
  HloType type{tensor.elem_type, tensor.dims, tensor.quantization};
  QTX_RETURN_IF_ERROR(CheckNoBlocks(type));
  QTX_ASSIGN_OR_RETURN(const std::string dense, MlirDense(tensor));
  QTX_ASSIGN_OR_RETURN(const std::string result, MlirType(type));
  Line line{"%" + names_.Unique(name.empty() ? "c" : name), "stablehlo.constant " + dense, "",
            std::string(name)};
  if (type.quantization) {
    line.text = "\"stablehlo.constant\"() <{value = " + dense + "}>";
    line.types = "() -> " + result;
  }
  lines_.push_back(line);
  return HloValue{line.id, std::move(type)};
}

Result<HloValue> StablehloWriter::Scalar(double real, const HloType& type) {
  if (type.quantization && !type.quantization->axis.empty())
    return Unsupported("", "a constant of parameters along an axis");
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(type.elem_type, {}, type.quantization));
  Store(StoredOf(real, type), tensor);
  return Constant(tensor);
}

Result<HloValue> StablehloWriter::Splat(double real, const HloType& type) {
  QTX_ASSIGN_OR_RETURN(const HloValue scalar, Scalar(real, type));
  return Broadcast(scalar, type.dims);
}

Result<HloValue> StablehloWriter::Cast(HloValue value, const HloType& to) {
  if (value.type == to) return value;
  if (to.quantization) {
    const bool plain = !value.type.quantization;
    if (plain) {
      QTX_ASSIGN_OR_RETURN(value, Reals(value, format::RealTypeOf(*to.quantization)));
    }
    return Op("stablehlo.uniform_quantize", {value}, to);
  }
  return Reals(value, to.elem_type);
}

Result<HloValue> StablehloWriter::Reals(const HloValue& value, ElementType type) {
  HloValue real = value;
  if (value.type.quantization) {
    QTX_ASSIGN_OR_RETURN(real, Op("stablehlo.uniform_dequantize", {value}, RealsOf(value.type)));
  }
  if (real.type.elem_type == type) return real;
  HloType to = real.type;
  to.elem_type = type;
  return Op("stablehlo.convert", {real}, to);
}

Result<HloValue> StablehloWriter::Broadcast(const HloValue& value, const Dims& dims,
                                            const std::vector<std::int64_t>& axes) {
  if (value.type.dims == dims) return value;
  HloType type = value.type;
  type.dims = dims;
  QTX_RETURN_IF_ERROR(CheckFixed(type));
  QTX_RETURN_IF_ERROR(CheckFixed(value.type));
  if (type.quantization) {
    for (std::int64_t& axis : type.quantization->axis) axis = axes[static_cast<std::size_t>(axis)];
  }
  return Op("stablehlo.broadcast_in_dim", {value}, std::move(type), ", dims = " + MlirInts(axes));
}

Result<HloValue> StablehloWriter::Broadcast(const HloValue& value, const Dims& dims) {
  if (value.type.dims.size() > dims.size()) return Invalid("", "an input of a higher rank");
  std::vector<std::int64_t> axes(value.type.dims.size());
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(dims.size() - axes.size()));
  return Broadcast(value, dims, axes);
}

Result<HloValue> StablehloWriter::Reshape(const HloValue& value, const Dims& dims) {
  if (value.type.dims == dims) return value;
  HloType type = value.type;
  type.dims = dims;
  QTX_RETURN_IF_ERROR(CheckFixed(type));
  QTX_RETURN_IF_ERROR(CheckFixed(value.type));
  return Op("stablehlo.reshape", {value}, std::move(type));
}

Result<void> StablehloWriter::Bind(const Node& node, HloValue value, std::size_t i) {
  const std::string& name = node.outputs[i];
  if (name.empty()) return {};
  QTX_ASSIGN_OR_RETURN(const HloType type, TypeOf(name));
  if (value.type.dims.size() != type.dims.size())
    return Invalid("", "output " + std::to_string(i) + " has another rank");
  HloType to = type;
  to.dims = value.type.dims;
  QTX_ASSIGN_OR_RETURN(value, Cast(std::move(value), to));
  Line* last = lines_.empty() ? nullptr : &lines_.back();
  if (last != nullptr && last->id == value.id && last->name.empty()) {
    last->id = value.id = "%" + names_.Unique(name);
    last->name = name;
  }
  values_.emplace(name, std::move(value));
  return {};
}

std::string StablehloWriter::Body() const {
  std::string text;
  for (const Line& line : lines_) {
    text += "    " + line.id + " = " + line.text;
    if (!line.types.empty()) text += " : " + line.types;
    if (!line.name.empty()) text += " loc(" + MlirString(line.name) + ")";
    text += "\n";
  }
  return text;
}

}  // namespace qtx::convert
