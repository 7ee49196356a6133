#include "qtx/format/annotation.h"

#include <algorithm>
#include <charconv>

#include "qtx/format/scopes.h"

namespace qtx::format {
namespace {

// FNV-1a, 64 bits: offset basis and prime of draft-eastlake-fnv. It guards against tools that drop
// fields, not against forgery.
std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// Of the values that `is` names: no more than what a digest is about.
Model Bare(const Graph& graph, bool (*is)(const TensorType&)) {
  Model bare;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& info : *list) {
      if (!info.type || !is(*info.type)) continue;
      ValueInfo& value = bare.graph.values.emplace_back();
      value.name = info.name;
      value.type = info.type;
      value.type->shape.reset();  // tools that infer shapes add them
    }
  }
  std::ranges::stable_sort(bare.graph.values, {}, &ValueInfo::name);
  return bare;
}

bool IsOfLoweringRecord(const Metadata::value_type& entry) {
  return entry.first == kDigestKey || entry.first == kNodesKey || entry.first == kImportsKey ||
         entry.first == kOpsetKey;
}

bool HasOnlyStatistics(const TensorType& type) {
  return IsRealType(type.elem_type) && type.statistics && !IsAnnotated(type);
}

Result<Digest> DigestOf(std::size_t count, const Model& bare) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, bare.Serialize());
  return Digest{count, Fnv1a(bytes)};
}

Result<Digest> StatisticsDigestOf(const Graph& graph) {
  const Model bare = Bare(graph, HasOnlyStatistics);
  return DigestOf(bare.graph.values.size(), bare);
}

// ", none on 'a', 'b', ...": values of reals without statistics.
std::string Unmeasured(const Graph& graph) {
  constexpr int kNamed = 3;
  std::string text;
  int count = 0;
  for (const auto* list : {&graph.inputs, &graph.values, &graph.outputs}) {
    for (const ValueInfo& value : *list) {
      if (!value.type || !IsRealType(value.type->elem_type) || value.type->statistics) continue;
      if (count++ < kNamed) text += (count == 1 ? ", none on '" : ", '") + value.name + "'";
    }
  }
  return count > kNamed ? text + ", ..." : text;
}

// Holds `found` to the entry of `key`, if there is one; `what` was counted.
Result<void> Compare(const Metadata& metadata, std::string_view key, const Digest& found,
                     const char* what) {
  const std::string* entry = FindMetadata(metadata, key);
  if (entry == nullptr || *entry == ToText(found)) return {};
  const std::string& written = *entry;
  const std::string where = "metadata_props '" + std::string(key) + "'";
  std::size_t count = 0;
  const auto parsed = std::from_chars(written.data(), written.data() + written.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr == written.data() + written.size() ||
      *parsed.ptr != ':') {
    return Error{ErrorCode::kInvalid, where, "expected COUNT:HASH"};
  }
  return Error{ErrorCode::kInvalid, where,
               std::to_string(count) + " " + what + " written, " + std::to_string(found.count) +
                   " left" + (found.count == count ? ", some changed" : "")};
}

}  // namespace

ElementType RealTypeOf(const TensorType& type) {
  return IsQuantized(type.elem_type) && type.quantization ? RealTypeOf(*type.quantization)
                                                          : type.elem_type;
}

bool UsesHalves(const TensorType& type) {
  if (IsHalf(type.elem_type)) return type.quantization || type.statistics;
  return type.quantization && type.quantization->real_type != ElementType::kUndefined;
}

TensorType Annotated(TensorType type) {
  Quantization& q = *type.quantization;
  q.storage_type = StorageOf(type.elem_type);
  type.elem_type = RealTypeOf(q);
  if (IsHalf(type.elem_type)) q.real_type = ElementType::kUndefined;  // elem_type says it
  return type;
}

bool IsAnnotated(const TensorType& type) {
  return IsRealType(type.elem_type) && type.quantization.has_value() &&
         QuantizedOf(type.quantization->storage_type).has_value();
}

TensorType Unannotated(TensorType type) {
  if (IsHalf(type.elem_type)) type.quantization->real_type = type.elem_type;
  type.elem_type = *QuantizedOf(type.quantization->storage_type);
  type.quantization->storage_type = ElementType::kUndefined;
  return type;
}

const std::string* FindMetadata(const Metadata& metadata, std::string_view key) {
  const auto found = std::ranges::find(metadata, key, &Metadata::value_type::first);
  return found == metadata.end() ? nullptr : &found->second;
}

bool HasLoweringRecord(const Metadata& metadata) {
  return std::ranges::any_of(metadata, IsOfLoweringRecord);
}

void EraseLoweringRecord(Metadata& metadata) { std::erase_if(metadata, IsOfLoweringRecord); }

Result<Digest> DigestOf(const Graph& graph) {
  const Model bare = Bare(graph, IsAnnotated);
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
  if (FindMetadata(model.metadata, kDigestKey) == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(const Digest found, DigestOf(model.graph));
  return Compare(model.metadata, kDigestKey, found, "annotated values");
}

Result<void> RecordAnnotations(Model& model) {
  const auto entry = std::ranges::find(model.metadata, kDigestKey, &Metadata::value_type::first);
  if (entry == model.metadata.end()) return {};
  QTX_ASSIGN_OR_RETURN(const Digest found, DigestOf(FlatModel(model).model().graph));
  entry->second = ToText(found);
  return {};
}

Result<void> CheckStatisticsDigest(const Model& model) {
  if (FindMetadata(model.metadata, kStatisticsKey) == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(const Digest found, StatisticsDigestOf(model.graph));
  auto compared = Compare(model.metadata, kStatisticsKey, found, "values with statistics");
  if (!compared.has_value() && found.count > 0) compared.error().message += Unmeasured(model.graph);
  return compared;
}

Result<void> RecordStatistics(Model& model) {
  QTX_ASSIGN_OR_RETURN(const Digest found, StatisticsDigestOf(FlatModel(model).model().graph));
  const auto entry =
      std::ranges::find(model.metadata, kStatisticsKey, &Metadata::value_type::first);
  if (found.count == 0) {
    if (entry != model.metadata.end()) model.metadata.erase(entry);
  } else if (entry != model.metadata.end()) {
    entry->second = ToText(found);
  } else {
    model.metadata.emplace_back(kStatisticsKey, ToText(found));
  }
  return {};
}

}  // namespace qtx::format
