#include "fingerprint.h"

#include <algorithm>

#include "qtx/calibrate/calibrate.h"
#include "qtx/format/annotation.h"
#include "qtx/format/description.h"
#include "qtx/format/scopes.h"

namespace qtx::calibrate {
namespace {

// True if a calibration may have added this entry.
bool SaysOnlyFloat(const format::ValueInfo& value) {
  format::ValueInfo plain;
  plain.name = value.name;
  plain.type.emplace();
  plain.type->elem_type = format::ElementType::kFloat;
  return value == plain;
}

format::Model Stripped(const format::Model& model) {
  format::Model bare = format::FlatModel(model).model();
  for (auto* values : {&bare.graph.inputs, &bare.graph.outputs, &bare.graph.values}) {
    for (format::ValueInfo& value : *values) {
      if (!value.type || value.type->elem_type != format::ElementType::kFloat) continue;
      format::Undescribe(value);
      value.type->statistics.reset();
      value.type->shape.reset();
    }
  }
  std::erase_if(bare.graph.values, SaysOnlyFloat);
  // Calibration also puts them in order.
  std::ranges::stable_sort(bare.graph.values, {}, &format::ValueInfo::name);
  std::erase_if(bare.metadata, [](const auto& entry) {
    return entry.first == kMetadataKey || entry.first == format::kDigestKey ||
           entry.first == format::kStatisticsKey;
  });
  return bare;
}

}  // namespace

void Fingerprint::Add(std::string_view text) {
  Add(static_cast<std::int64_t>(text.size()));
  for (const char c : text) Mix(static_cast<unsigned char>(c));
}

void Fingerprint::Add(std::int64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    Mix(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
  }
}

void Fingerprint::AddBytes(std::span<const std::byte> bytes) {
  Add(std::ssize(bytes));
  for (const std::byte byte : bytes) Mix(static_cast<unsigned char>(byte));
}

std::string Fingerprint::Text() const {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash_ >> shift & 15];
  return text;
}

Result<std::string> FingerprintOf(const format::Model& model) {
  format::Model bare = Stripped(model);
  std::vector<format::TensorData> initializers;
  std::swap(initializers, bare.graph.initializers);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, bare.Serialize());
  Fingerprint fingerprint;
  fingerprint.Add(bytes);
  for (const format::TensorData& initializer : initializers) {
    fingerprint.Add(initializer.name);
    const auto tensor = format::Decode(initializer, model.folder);
    if (!tensor.has_value()) {  // STRING tensors: hashes the encoding
      fingerprint.Add(initializer.wire);
      continue;
    }
    fingerprint.Add(static_cast<std::int64_t>(tensor->elem_type));
    for (const std::int64_t dim : tensor->dims) fingerprint.Add(dim);
    fingerprint.AddBytes(tensor->bytes);
  }
  return fingerprint.Text();
}

}  // namespace qtx::calibrate
