#include "qtx/format/model.h"

#include <algorithm>
#include <filesystem>

#include "qtx/format/limits.h"
#include "wire.h"

namespace qtx::format {
namespace {

template <typename Named>
const Named* FindNamed(const std::vector<Named>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Named::name);
  return found == list.end() ? nullptr : &*found;
}

Error Mismatch(const std::string& what, const std::string& found, const std::string& expected) {
  return {ErrorCode::kInvalid, what, "found " + found + ", expected " + expected};
}

Result<Tensor> DecodeNamed(const Model& model, std::string_view name) {
  const TensorData* data = model.graph.FindInitializer(name);
  const std::string place = "graph.initializer '" + std::string(name) + "'";
  if (data == nullptr) return Error{ErrorCode::kInvalid, place, "there is no such initializer"};
  auto tensor = Decode(*data, model.folder);
  if (!tensor.has_value()) return At(place, tensor.error());
  return tensor;
}

// The packed bits of a BIPOLAR1Q initializer come as UINT8 of ceil(n / 8) elements.
Result<void> MatchStorage(const TensorType& type, const Dims& dims, Tensor& tensor) {
  const ElementType storage = StorageOf(type.elem_type);
  const bool bipolar = storage == ElementType::kBipolar1;
  if (tensor.elem_type != (bipolar ? ElementType::kUint8 : storage)) {
    return Mismatch("data_type", std::string(Name(tensor.elem_type)), std::string(Name(storage)));
  }
  if (bipolar) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                         ElementCount(std::span<const std::int64_t>(dims)));
    QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(storage, count));
    if (size != static_cast<std::int64_t>(tensor.bytes.size())) {
      return Mismatch("dims", std::to_string(tensor.bytes.size()) + " bytes", std::to_string(size));
    }
  } else if (tensor.dims != dims) {
    return Mismatch("dims", ToString(tensor.dims), ToString(dims));
  }
  tensor.dims = dims;
  tensor.elem_type = type.elem_type;
  return {};
}

Result<void> MatchParameters(const Quantization& q, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const Dims parameters, ParameterDims(q, dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       ElementCount(std::span<const std::int64_t>(parameters)));
  if (static_cast<std::int64_t>(q.scale.size()) != count) {
    return Mismatch("quantization.scale", std::to_string(q.scale.size()) + " values",
                    std::to_string(count));
  }
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) {
    return Mismatch("quantization.offset", std::to_string(q.offset.size()) + " values",
                    std::to_string(q.scale.size()));
  }
  return {};
}

}  // namespace

Attribute Attribute::Int(std::string name, std::int64_t value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

Attribute Attribute::Float(std::string name, float value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kFloat;
  attribute.f = value;
  return attribute;
}

Attribute Attribute::String(std::string name, std::string value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kString;
  attribute.s = std::move(value);
  return attribute;
}

Attribute Attribute::Ints(std::string name, std::vector<std::int64_t> value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kInts;
  attribute.ints = std::move(value);
  return attribute;
}

Attribute Attribute::Floats(std::string name, std::vector<float> value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kFloats;
  attribute.floats = std::move(value);
  return attribute;
}

const Attribute* Node::Find(std::string_view attribute) const {
  return FindNamed(attributes, attribute);
}

std::int64_t Node::IntOr(std::string_view attribute, std::int64_t fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? fallback : found->i;
}

float Node::FloatOr(std::string_view attribute, float fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? fallback : found->f;
}

std::string Node::StringOr(std::string_view attribute, std::string fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? std::move(fallback) : found->s;
}

std::vector<std::int64_t> Node::IntsOr(std::string_view attribute,
                                       std::vector<std::int64_t> fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? std::move(fallback) : found->ints;
}

const ValueInfo* Graph::FindValue(std::string_view value) const {
  for (const auto* list : {&inputs, &outputs, &values}) {
    if (const ValueInfo* found = FindNamed(*list, value)) return found;
  }
  return nullptr;
}

const TensorData* Graph::FindInitializer(std::string_view initializer) const {
  return FindNamed(initializers, initializer);
}

Result<Model> Model::Load(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxModelBytes - 1));
  QTX_ASSIGN_OR_RETURN(Model model, Parse(bytes, path));
  model.folder = std::filesystem::path(path).parent_path().string();
  if (model.folder.empty()) model.folder = ".";
  return model;
}

Result<Model> Model::Parse(std::string_view bytes, const std::string& where) {
  if (bytes.empty()) {
    return Error{ErrorCode::kInvalid, where, "the file is empty, expected an ONNX model"};
  }
  if (bytes.size() >= static_cast<std::size_t>(kMaxModelBytes)) {
    return Error{ErrorCode::kTooLarge, where, "expected less than 2 GiB"};
  }
  auto model = wire::ParseModel(bytes);
  if (!model.has_value()) return At(where, model.error());
  return model;
}

Result<std::string> Model::Serialize() const { return wire::SerializeModel(*this); }

Result<void> Model::Save(const std::string& path) const {
  auto bytes = Serialize();
  if (!bytes.has_value()) return At(path, bytes.error());
  return WriteFileAtomically(path, *bytes);
}

std::int64_t Model::OpsetVersion(std::string_view op_domain) const {
  for (const OpsetImport& import : opset_imports) {
    const bool default_domain = op_domain.empty() && import.domain == "ai.onnx";
    if (import.domain == op_domain || default_domain) return import.version;
  }
  return 0;
}

Result<Quantization> Resolve(const Model& model, const Quantization& q) {
  Quantization resolved = q;
  if (!q.scale_tensor.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor scale, DecodeNamed(model, q.scale_tensor));
    if (scale.elem_type != ElementType::kFloat) {
      return Mismatch("quantization.scale_tensor", std::string(Name(scale.elem_type)), "FLOAT");
    }
    const auto values = scale.As<float>();
    resolved.scale.assign(values.begin(), values.end());
    resolved.scale_tensor.clear();
  }
  if (!q.offset_tensor.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor offset, DecodeNamed(model, q.offset_tensor));
    if (!IsIntegerStorage(offset.elem_type) || BitWidth(offset.elem_type) > 32 ||
        offset.elem_type == ElementType::kUint32) {
      return Mismatch("quantization.offset_tensor", std::string(Name(offset.elem_type)),
                      "an integer type of at most 32 bits");
    }
    resolved.offset = UnpackInt32(offset);
    resolved.offset_tensor.clear();
  }
  return resolved;
}

Result<Tensor> LoadInitializer(const Model& model, std::string_view name) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, DecodeNamed(model, name));
  const ValueInfo* value = model.graph.FindValue(name);
  if (value == nullptr || !value->type || !IsQuantized(value->type->elem_type)) return tensor;
  const TensorType& type = *value->type;
  const std::string place = "graph.initializer '" + std::string(name) + "'";
  const auto dims = type.shape ? FixedDims(*type.shape) : std::nullopt;
  if (!dims || !type.quantization) {
    return Error{ErrorCode::kInvalid, place,
                 "expected a type with a fixed shape and a quantization"};
  }
  if (auto matched = MatchStorage(type, *dims, tensor); !matched.has_value()) {
    return At(place, matched.error());
  }
  QTX_ASSIGN_OR_RETURN(tensor.quantization, Resolve(model, *type.quantization));
  if (auto matched = MatchParameters(*tensor.quantization, *dims); !matched.has_value()) {
    return At(place, matched.error());
  }
  return tensor;
}

}  // namespace qtx::format
