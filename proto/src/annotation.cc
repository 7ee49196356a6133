#include "qtx/format/annotation.h"

#include <algorithm>
#include <charconv>

namespace qtx::format {
namespace {

// FNV-1a, 64 bits: offset basis and prime of draft-eastlake-fnv. It guards against tools that drop
// fields, not against forgery.
std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

void CollectAnnotations(const std::vector<ValueInfo>& list, Graph& to) {
  for (const ValueInfo& info : list) {
    if (!info.type || !IsAnnotated(*info.type)) continue;
    ValueInfo bare;
    bare.name = info.name;
    bare.type = info.type;
    bare.type->shape.reset();  // tools that infer shapes add them
    to.values.push_back(std::move(bare));
  }
}

}  // namespace

TensorType Annotated(TensorType type) {
  type.quantization->storage_type = StorageOf(type.elem_type);
  type.elem_type = ElementType::kFloat;
  return type;
}

bool IsAnnotated(const TensorType& type) {
  return type.elem_type == ElementType::kFloat && type.quantization.has_value() &&
         QuantizedOf(type.quantization->storage_type).has_value();
}

TensorType Unannotated(TensorType type) {
  type.elem_type = *QuantizedOf(type.quantization->storage_type);
  type.quantization->storage_type = ElementType::kUndefined;
  return type;
}

Result<AnnotationDigest> DigestOf(const Graph& graph) {
  Model bare;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    CollectAnnotations(*list, bare.graph);
  }
  std::ranges::stable_sort(bare.graph.values, {}, &ValueInfo::name);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, bare.Serialize());
  return AnnotationDigest{bare.graph.values.size(), Fnv1a(bytes)};
}

std::string ToText(const AnnotationDigest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = std::to_string(digest.count) + ":";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(digest.hash >> shift) & 15U];
  return text;
}

Result<void> CheckDigest(const Model& model) {
  const auto entry = std::ranges::find(model.metadata, kDigestKey, &Metadata::value_type::first);
  if (entry == model.metadata.end()) return {};
  QTX_ASSIGN_OR_RETURN(const AnnotationDigest found, DigestOf(model.graph));
  const std::string& written = entry->second;
  if (written == ToText(found)) return {};
  const std::string where = "metadata_props '" + std::string(kDigestKey) + "'";
  std::size_t count = 0;
  const auto parsed = std::from_chars(written.data(), written.data() + written.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr == written.data() + written.size() ||
      *parsed.ptr != ':') {
    return Error{ErrorCode::kInvalid, where, "expected COUNT:HASH"};
  }
  return Error{ErrorCode::kInvalid, where,
               std::to_string(count) + " annotated values written, " + std::to_string(found.count) +
                   " left" + (found.count == count ? ", some changed" : "")};
}

}  // namespace qtx::format
