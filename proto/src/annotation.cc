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

Result<Digest> DigestOf(std::size_t count, const Model& bare) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, bare.Serialize());
  return Digest{count, Fnv1a(bytes)};
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

const std::string* FindMetadata(const Metadata& metadata, std::string_view key) {
  const auto found = std::ranges::find(metadata, key, &Metadata::value_type::first);
  return found == metadata.end() ? nullptr : &found->second;
}

void EraseLoweringRecord(Metadata& metadata) {
  std::erase_if(metadata, [](const auto& entry) {
    return entry.first == kDigestKey || entry.first == kNodesKey || entry.first == kImportsKey ||
           entry.first == kOpsetKey;
  });
}

Result<Digest> DigestOf(const Graph& graph) {
  Model bare;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    CollectAnnotations(*list, bare.graph);
  }
  std::ranges::stable_sort(bare.graph.values, {}, &ValueInfo::name);
  return DigestOf(bare.graph.values.size(), bare);
}

Result<Digest> NodeDigestOf(const Graph& graph) {
  Model bare;
  for (const Node& node : graph.nodes) {
    Node& kept = bare.graph.nodes.emplace_back();
    kept.op_type = node.op_type;
    if (node.domain != "ai.onnx") kept.domain = node.domain;
    kept.inputs = node.inputs;
    kept.outputs = node.outputs;
  }
  return DigestOf(graph.nodes.size(), bare);
}

std::string ToText(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = std::to_string(digest.count) + ":";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(digest.hash >> shift) & 15U];
  return text;
}

Result<void> CheckDigest(const Model& model) {
  const std::string* entry = FindMetadata(model.metadata, kDigestKey);
  if (entry == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(const Digest found, DigestOf(model.graph));
  const std::string& written = *entry;
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
