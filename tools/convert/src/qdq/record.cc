#include "qdq/imports.h"

#include <algorithm>
#include <charconv>

namespace qtx::convert {
namespace {

std::optional<std::int64_t> ParseVersion(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports) {
  std::string text = std::to_string(lowered) + ":";
  for (const format::OpsetImport& import : imports) {
    if (text.back() != ':') text += ',';
    text += import.domain + "=" + std::to_string(import.version);
  }
  return text;
}

std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model) {
  const auto entry =
      std::ranges::find(model.metadata, kImportsKey, &format::Metadata::value_type::first);
  if (entry == model.metadata.end()) return std::nullopt;
  const std::string_view text = entry->second;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto lowered = ParseVersion(text.substr(0, colon));
  if (!lowered || *lowered != model.OpsetVersion("")) return std::nullopt;
  std::vector<format::OpsetImport> imports;
  for (std::size_t at = colon + 1; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto version = ParseVersion(item.substr(equals + 1));
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
