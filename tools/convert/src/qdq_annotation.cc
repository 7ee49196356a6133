#include "qdq_annotation.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace qtx::convert {
namespace {

using format::ElementType;

const std::string* MetadataOf(const format::Model& model, std::string_view key) {
  for (const auto& [name, value] : model.metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// FNV-1a, 64 bits: offset basis and prime of draft-eastlake-fnv. It guards against tools that drop
// fields, not against forgery.
std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

void CollectAnnotations(const std::vector<format::ValueInfo>& list, format::Graph& to) {
  for (const format::ValueInfo& info : list) {
    if (!info.type || !IsAnnotated(*info.type)) continue;
    format::ValueInfo bare;
    bare.name = info.name;
    bare.type = info.type;
    bare.type->shape.reset();
    to.values.push_back(std::move(bare));
  }
}

}  // namespace

format::TensorType Annotated(format::TensorType type) {
  type.quantization->storage_type = format::StorageOf(type.elem_type);
  type.elem_type = ElementType::kFloat;
  return type;
}

bool IsAnnotated(const format::TensorType& type) {
  return type.elem_type == ElementType::kFloat && type.quantization.has_value() &&
         format::QuantizedOf(type.quantization->storage_type).has_value();
}

format::TensorType Unannotated(format::TensorType type) {
  type.elem_type = *format::QuantizedOf(type.quantization->storage_type);
  type.quantization->storage_type = ElementType::kUndefined;
  return type;
}

Result<Seal> SealOf(const format::Graph& graph) {
  format::Model bare;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    CollectAnnotations(*list, bare.graph);
  }
  std::ranges::stable_sort(bare.graph.values, {}, &format::ValueInfo::name);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, bare.Serialize());
  return Seal{bare.graph.values.size(), Fnv1a(bytes)};
}

std::string ToText(const Seal& seal) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = std::to_string(seal.count) + ":";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(seal.hash >> shift) & 15U];
  return text;
}

std::optional<Seal> SealIn(const format::Model& model) {
  const std::string* text = MetadataOf(model, kSealKey);
  if (text == nullptr) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto count = ParseNumber<std::size_t>(std::string_view(*text).substr(0, colon));
  const auto hash = ParseNumber<std::uint64_t>(std::string_view(*text).substr(colon + 1), 16);
  if (!count || !hash) return std::nullopt;
  return Seal{*count, *hash};
}

std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports) {
  std::string text = std::to_string(lowered) + ":";
  for (const format::OpsetImport& import : imports) {
    if (text.back() != ':') text += ',';
    text += import.domain + "=" + std::to_string(import.version);
  }
  return text;
}

std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model) {
  const std::string* text = MetadataOf(model, kImportsKey);
  if (text == nullptr) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto lowered = ParseNumber<std::int64_t>(std::string_view(*text).substr(0, colon));
  if (!lowered || *lowered != model.OpsetVersion("")) return std::nullopt;
  std::vector<format::OpsetImport> imports;
  for (std::size_t at = colon + 1; at < text->size();) {
    const std::size_t end = std::min(text->find(',', at), text->size());
    const std::string_view item = std::string_view(*text).substr(at, end - at);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto version = ParseNumber<std::int64_t>(item.substr(equals + 1));
    if (!version) return std::nullopt;
    format::OpsetImport import{std::string(item.substr(0, equals)), *version};
    const auto same =
        std::ranges::find(model.opset_imports, import.domain, &format::OpsetImport::domain);
    if (same != model.opset_imports.end()) import.unknown_fields = same->unknown_fields;
    imports.push_back(std::move(import));
    at = end + 1;
  }
  return imports;
}

}  // namespace qtx::convert
