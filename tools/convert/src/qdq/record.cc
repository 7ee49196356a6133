#include "qdq/record.h"

#include <algorithm>
#include <charconv>

#include "opset/opset.h"
#include "opset/revert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/levels.h"
#include "qtx/format/onnx_operators.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

std::optional<std::int64_t> ParseVersion(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "<lowered opset>:<domain>=<version>,..."
std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports) {
  std::string text = std::to_string(lowered) + ":";
  for (const format::OpsetImport& import : imports) {
    if (text.back() != ':') text += ',';
    text += import.domain + "=" + std::to_string(import.version);
  }
  return text;
}

bool HasQuantized(const format::Model& model) {
  const format::FlatModel flat(model);
  const format::Graph& graph = flat.model().graph;
  const auto is_quantized = [](const format::ValueInfo& value) {
    return value.type && format::IsQuantized(value.type->elem_type);
  };
  return std::ranges::any_of(graph.inputs, is_quantized) ||
         std::ranges::any_of(graph.outputs, is_quantized) ||
         std::ranges::any_of(graph.values, is_quantized);
}

// True if every node means the same under `imports` and under the model's imports.
bool MeanTheSame(const format::Model& model, const std::vector<format::OpsetImport>& imports) {
  format::Model other;
  other.opset_imports = imports;
  const std::int64_t from = model.OpsetVersion("");
  const std::int64_t to = other.OpsetVersion("");
  const format::FlatModel flat(model);
  return std::ranges::all_of(flat.model().graph.nodes, [&](const format::Node& node) {
    const bool stock = format::IsOnnxDomain(node.domain);
    if (!stock) return model.OpsetVersion(node.domain) == other.OpsetVersion(node.domain);
    return MeansTheSame(node, from, to);
  });
}

// The model in the opset of `imports`, or as it is where the record is of other nodes.
void RestoreNodes(const std::vector<format::OpsetImport>& imports, const std::string& record,
                  format::Model& model, Ledger& ledger) {
  const std::int64_t opset = model.OpsetVersion("");
  format::Model moved = model;
  moved.opset_imports = imports;
  auto original = FromOpsetRecord(moved, record, opset);
  if (original.has_value()) {
    model = *std::move(original);
    return;
  }
  ledger.Dropped(
      "model", std::string(format::kOpsetKey),
      original.error().message + "; the nodes stay those of opset " + std::to_string(opset));
}

}  // namespace

std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model) {
  const std::string* entry = format::FindMetadata(model.metadata, format::kImportsKey);
  if (entry == nullptr) return std::nullopt;
  const std::string_view text = *entry;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto lowered = ParseVersion(text.substr(0, colon));
  if (!lowered || *lowered != model.OpsetVersion("")) return std::nullopt;
  std::vector<format::OpsetImport> imports;
  for (std::size_t at = colon + 1; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const std::size_t equals = item.rfind('=');  // a domain may have one
    if (equals == std::string_view::npos) return std::nullopt;
    const auto version = ParseVersion(item.substr(equals + 1));
    const bool is_stock = format::IsOnnxDomain(item.substr(0, equals));
    if (!version || (is_stock && *version > format::catalogue::kNewestOpset)) return std::nullopt;
    format::OpsetImport import{std::string(item.substr(0, equals)), *version};
    const auto same =
        std::ranges::find(model.opset_imports, import.domain, &format::OpsetImport::domain);
    if (same != model.opset_imports.end()) import.unknown_fields = same->unknown_fields;
    imports.push_back(std::move(import));
    at = end + 1;
  }
  return imports;
}

Result<void> RecordNodes(const std::vector<format::OpsetImport>& extended, format::Model& model) {
  QTX_ASSIGN_OR_RETURN(const format::Digest nodes,
                       format::NodeDigestOf(format::FlatModel(model).model().graph));
  format::EraseLoweringRecord(model.metadata);
  model.metadata.emplace_back(format::kNodesKey, ToText(nodes));
  model.metadata.emplace_back(format::kImportsKey, ImportsText(model.OpsetVersion(""), extended));
  return {};
}

Result<void> RecordAll(const std::vector<format::OpsetImport>& extended, format::Model& model) {
  QTX_ASSIGN_OR_RETURN(const format::Digest annotations,
                       format::DigestOf(format::FlatModel(model).model().graph));
  QTX_RETURN_IF_ERROR(RecordNodes(extended, model));
  model.metadata.emplace_back(format::kDigestKey, ToText(annotations));
  return {};
}

Recorded ReadRecord(const format::Model& model, Ledger& ledger) {
  Recorded recorded;
  const std::string* written = format::FindMetadata(model.metadata, format::kNodesKey);
  const auto found = format::NodeDigestOf(model.graph);
  recorded.nodes = written != nullptr && found.has_value() && *written == ToText(*found);
  if (format::FindMetadata(model.metadata, format::kDigestKey) == nullptr) return recorded;
  const auto annotations = format::CheckDigest(model);
  recorded.annotations = annotations.has_value();
  if (!recorded.annotations) {
    ledger.Dropped("model", "annotations",
                   annotations.error().message + "; the rest is what the QDQ nodes say");
  } else if (!recorded.nodes) {
    const auto count = written == nullptr
                           ? std::nullopt
                           : ParseVersion(std::string_view(*written).substr(0, written->find(':')));
    const std::string before = count ? std::to_string(*count) + " written" : "not recorded";
    ledger.Changed("model", "nodes",
                   before + ", " + std::to_string(model.graph.nodes.size()) +
                       " found; QuantizeLinear and DequantizeLinear nodes say the type of what is "
                       "not annotated");
  }
  return recorded;
}

void RestoreImports(Recorded recorded, format::Model& model, Ledger& ledger) {
  const auto imports = ImportsIn(model);
  const std::string* entry = format::FindMetadata(model.metadata, format::kOpsetKey);
  const std::optional<std::string> moved = entry == nullptr ? std::nullopt : std::optional(*entry);
  format::EraseLoweringRecord(model.metadata);
  if (imports && moved && recorded.nodes) {
    RestoreNodes(*imports, *moved, model, ledger);
  } else if (imports && (recorded.nodes || MeanTheSame(model, *imports))) {
    model.opset_imports = *imports;
  }
  const bool needs_none = imports && recorded.all() && !HasQuantized(model);
  if (needs_none) return;
  const auto own =
      std::ranges::find(model.opset_imports, format::kDomain, &format::OpsetImport::domain);
  if (own == model.opset_imports.end()) {
    model.opset_imports.push_back({std::string(format::kDomain), format::FormatVersion(model)});
  } else if (!recorded.all()) {  // types may need more than those that were recorded
    own->version = std::max(own->version, format::FormatVersion(model));
  }
}

}  // namespace qtx::convert
