#include "value_parser.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "generator.h"
#include "type_parser.h"

namespace qtx::conformance {
namespace {

using format::ElementType;

Result<GeneratorKind> ReadGeneratorKind(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ReadString(node, place));
  std::string expected;
  for (const GeneratorName& entry : kGenerators) {
    if (entry.name == name) return entry.kind;
    expected += (expected.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Refuse(place, node, "found '" + name + "', expected one of " + expected);
}

Result<Generator> ParseGenerator(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"kind", "seed", "axis"}));
  const Yaml* kind = node.Find("kind");
  if (kind == nullptr) return Refuse(place, node, "missing key 'kind'");
  Generator generator;
  QTX_ASSIGN_OR_RETURN(generator.kind, ReadGeneratorKind(*kind, place.Child("kind")));
  if (const Yaml* seed = node.Find("seed")) {
    QTX_ASSIGN_OR_RETURN(generator.seed, ReadUint(*seed, place.Child("seed")));
  }
  if (const Yaml* axis = node.Find("axis")) {
    QTX_ASSIGN_OR_RETURN(generator.axis, ReadInt(*axis, place.Child("axis")));
    if (generator.kind != GeneratorKind::kSaturatingPairs) {
      return Refuse(place.Child("axis"), *axis, "only saturating_pairs have an axis");
    }
  }
  return generator;
}

// `shape` with its one open dimension such that it has `count` elements; nullopt if it cannot.
std::optional<format::Dims> Close(format::Shape shape, std::int64_t count) {
  const auto is_open = [](const format::Dimension& dim) { return !dim.value; };
  const auto open = std::ranges::find_if(shape, is_open);
  if (open == shape.end()) return format::FixedDims(shape);
  open->value = 1;
  const auto rest = format::FixedDims(shape);
  const auto elements = rest ? format::ElementCount(*rest) : Result<std::int64_t>(0);
  if (!elements || *elements == 0) return std::nullopt;
  open->value = count / *elements;
  return format::FixedDims(shape);
}

// The dims of `count` values: as written, or one axis.
Result<format::Dims> DimsFor(const format::TensorType& type, const Yaml& node, const Place& place) {
  const std::int64_t count = node.is_list() ? std::ssize(node.items) : 1;
  if (!type.shape) return format::Dims{count};
  const auto dims = Close(*type.shape, count);
  if (!dims) return Refuse(place, node, "data needs a shape with at most one open dimension");
  const auto elements = format::ElementCount(*dims);
  if (!elements || *elements != count) {
    return Refuse(place, node,
                  "found " + std::to_string(count) + " values, expected as many as shape " +
                      format::ToString(*dims) + " has");
  }
  return *dims;
}

Result<void> FillIntegers(const Yaml& node, const Place& place, format::Tensor& tensor) {
  const ElementType storage = format::StorageOf(tensor.elem_type);
  if (storage == ElementType::kUint64) {
    QTX_ASSIGN_OR_RETURN(const auto values, ReadList(node, place, ReadUint));
    std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(std::uint64_t));
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const auto values, ReadList(node, place, ReadInt));
  const bool bipolar = storage == ElementType::kBipolar1;
  const format::IntegerRange range = format::StorageRange(storage);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= range.min && values[i] <= range.max && !(bipolar && values[i] == 0)) continue;
    return Refuse(place.Child(std::to_string(i)), node.is_list() ? node.items[i] : node,
                  "found " + std::to_string(values[i]) + ", expected " +
                      (bipolar ? std::string("-1 or 1")
                               : std::to_string(range.min) + " to " + std::to_string(range.max)));
  }
  format::PackIntegers(values, tensor);
  return {};
}

template <typename T>
Result<void> FillFloats(const Yaml& node, const Place& place, format::Tensor& tensor) {
  QTX_ASSIGN_OR_RETURN(const auto values, ReadList(node, place, ReadFloat<T>));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(T));
  return {};
}

// Codes of `bits` bits, packed from the lowest bit of each byte.
void StoreCode(std::uint32_t code, std::size_t index, int bits, format::Tensor& tensor) {
  const std::size_t bit = index * static_cast<std::size_t>(bits);
  for (int done = 0; done < bits; done += 8) {
    const auto byte = static_cast<std::uint8_t>((code >> done) << (bit % 8));
    tensor.bytes[bit / 8 + static_cast<std::size_t>(done / 8)] |= std::byte{byte};
  }
}

// The encoder saturates, so infinities are encoded here.
std::uint32_t CodeOf(ElementType storage, double value) {
  const bool negative = value < 0;
  if (std::isinf(value) && storage == ElementType::kFloat16) return negative ? 0xFC00 : 0x7C00;
  if (std::isinf(value) && storage == ElementType::kBfloat16) return negative ? 0xFF80 : 0x7F80;
  if (std::isinf(value) && storage == ElementType::kFloat8E5M2) return negative ? 0xFC : 0x7C;
  return format::EncodeSmallFloat(storage, value);
}

// float16, bfloat16, float8, float4: the values must be representable.
Result<void> FillSmallFloats(const Yaml& node, const Place& place, format::Tensor& tensor) {
  const ElementType storage = format::StorageOf(tensor.elem_type);
  QTX_ASSIGN_OR_RETURN(const auto values, ReadList(node, place, ReadFloat<double>));
  const bool is_complex = storage == ElementType::kComplex64 || storage == ElementType::kComplex128;
  if (is_complex && !values.empty()) {
    return Refuse(place, node,
                  "a case file cannot hold elements of type " + std::string(format::Name(storage)));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code = CodeOf(storage, values[i]);
    const double decoded = format::DecodeSmallFloat(storage, code);
    const bool both_nan = std::isnan(values[i]) && std::isnan(decoded);
    if (decoded != values[i] && !both_nan) {
      return Refuse(place.Child(std::to_string(i)), node.is_list() ? node.items[i] : node,
                    "found " + format::HexFloat(values[i]) + ", which " +
                        std::string(format::Name(storage)) + " cannot represent");
    }
    StoreCode(code, i, format::BitWidth(storage), tensor);
  }
  return {};
}

bool IsIntegerData(ElementType type) {
  return type == ElementType::kBool || type == ElementType::kInt64 ||
         type == ElementType::kUint64 || format::IsIntegerStorage(type);
}

}  // namespace

Result<format::Tensor> ParseData(const Yaml& node, const Place& place,
                                 const format::TensorType& type) {
  if (!node.is_list() && !node.is_scalar()) return Refuse(place, node, "expected a list of values");
  QTX_ASSIGN_OR_RETURN(format::Dims dims, DimsFor(type, node, place));
  // An annotation is no part of what is given.
  const bool quantized = format::IsQuantized(type.elem_type);
  auto made = format::MakeTensor(type.elem_type, std::move(dims),
                                 quantized ? type.quantization : std::nullopt);
  if (!made) return Refuse(place, node, made.error().message);
  format::Tensor tensor = *std::move(made);
  if (IsIntegerData(type.elem_type)) {
    QTX_RETURN_IF_ERROR(FillIntegers(node, place, tensor));
  } else if (type.elem_type == ElementType::kFloat) {
    QTX_RETURN_IF_ERROR(FillFloats<float>(node, place, tensor));
  } else if (type.elem_type == ElementType::kDouble) {
    QTX_RETURN_IF_ERROR(FillFloats<double>(node, place, tensor));
  } else {
    QTX_RETURN_IF_ERROR(FillSmallFloats(node, place, tensor));
  }
  return tensor;
}

Result<CaseValue> ParseValue(const std::string& name, const Yaml& node, const Place& place) {
  CaseValue value;
  value.name = name;
  if (node.is_scalar() && node.text == "none") {
    value.absent = true;
    return value;
  }
  QTX_ASSIGN_OR_RETURN(value.type, ParseType(node, place));
  int carriers = 0;
  if (const Yaml* data = node.Find("data")) {
    if (value.type.elem_type == ElementType::kUndefined) {
      return Refuse(place, node, "data needs a type");
    }
    QTX_ASSIGN_OR_RETURN(value.data, ParseData(*data, place.Child("data"), value.type));
    ++carriers;
  }
  if (const Yaml* bytes = node.Find("bytes")) {
    const format::TensorType type{
        ElementType::kUint8, std::nullopt, std::nullopt, std::nullopt, {}};
    QTX_ASSIGN_OR_RETURN(value.data, ParseData(*bytes, place.Child("bytes"), type));
    ++carriers;
  }
  if (const Yaml* generate = node.Find("generate")) {
    QTX_ASSIGN_OR_RETURN(value.generator, ParseGenerator(*generate, place.Child("generate")));
    ++carriers;
  }
  if (const Yaml* file = node.Find("file")) {
    QTX_ASSIGN_OR_RETURN(value.file, ReadString(*file, place.Child("file")));
    ++carriers;
  }
  if (carriers > 1) return Refuse(place, node, "found several of data, bytes, generate and file");
  if (const Yaml* initializer = node.Find("initializer")) {
    QTX_ASSIGN_OR_RETURN(value.initializer, ReadBool(*initializer, place.Child("initializer")));
  }
  return value;
}

Result<format::Attribute> ParseAttribute(const std::string& name, const Yaml& node,
                                         const Place& place) {
  if (node.is_map()) {
    QTX_ASSIGN_OR_RETURN(const CaseValue value, ParseValue(name, node, place));
    if (!value.data) return Refuse(place, node, "a tensor attribute needs type and data");
    format::Attribute attribute;
    attribute.name = name;
    attribute.type = format::AttributeType::kTensor;
    attribute.t = format::ToTensorData(name, *value.data);
    return attribute;
  }
  const std::vector<Yaml> single = {node};
  const std::vector<Yaml>& items = node.is_list() ? node.items : single;
  bool ints = true;
  bool floats = true;
  for (const Yaml& item : items) {
    ints = ints && item.is_scalar() && !item.quoted && LooksLikeInt(item.text);
    floats = floats && item.is_scalar() && !item.quoted && LooksLikeFloat(item.text);
  }
  if (ints) {
    QTX_ASSIGN_OR_RETURN(auto values, ReadList(node, place, ReadInt));
    if (node.is_list()) return format::Attribute::Ints(name, std::move(values));
    return format::Attribute::Int(name, values[0]);
  }
  if (floats) {
    QTX_ASSIGN_OR_RETURN(auto values, ReadList(node, place, ReadFloat<float>));
    if (node.is_list()) return format::Attribute::Floats(name, std::move(values));
    return format::Attribute::Float(name, values[0]);
  }
  if (node.is_list()) {
    format::Attribute attribute;
    attribute.name = name;
    attribute.type = format::AttributeType::kStrings;
    QTX_ASSIGN_OR_RETURN(attribute.strings, ReadList(node, place, ReadString));
    return attribute;
  }
  if (!node.is_scalar()) return Refuse(place, node, "expected integers, floats, text or a tensor");
  const auto type = format::ElementTypeFromName(node.text);
  if (name == "to" && type) return format::Attribute::Int(name, static_cast<std::int64_t>(*type));
  return format::Attribute::String(name, node.text);
}

}  // namespace qtx::conformance
