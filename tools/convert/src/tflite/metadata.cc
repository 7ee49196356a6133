#include "tflite/metadata.h"

#include <algorithm>

#include "errors.h"
#include "tflite/skeleton.h"

namespace qtx::convert {
namespace {

bool IsProperty(std::string_view name) { return name.starts_with(kPropertyPrefix); }

}  // namespace

Result<format::Metadata> PropertiesOf(const schema::Model& file, std::size_t limit) {
  format::Metadata properties;
  std::size_t bytes = 0;
  for (flatbuffers::uoffset_t i = 0; file.metadata() != nullptr && i < file.metadata()->size();
       ++i) {
    const schema::Metadata& entry = *file.metadata()->Get(i);
    if (entry.name() == nullptr || !IsProperty(entry.name()->string_view())) continue;
    const std::string where = "metadata '" + entry.name()->str() + "'";
    if (file.buffers() == nullptr || entry.buffer() >= file.buffers()->size())
      return Invalid(
          where, "found buffer " + std::to_string(entry.buffer()) + ", expected one of the file");
    const auto* data = file.buffers()->Get(entry.buffer())->data();
    bytes += entry.name()->size() + (data == nullptr ? 0 : data->size());
    if (bytes > limit) return Invalid(where, "found a buffer of another entry, expected its own");
    const std::string key = entry.name()->str().substr(kPropertyPrefix.size());
    properties.emplace_back(key, data == nullptr ? "" : std::string(data->begin(), data->end()));
  }
  return properties;
}

void SetProperties(const format::Metadata& metadata, schema::ModelT& tables) {
  format::Metadata wanted = metadata, found;
  std::erase_if(wanted, [](const auto& entry) { return entry.first == kSkeletonKey; });
  for (const auto& entry : tables.metadata) {
    if (!IsProperty(entry->name) || entry->buffer >= tables.buffers.size()) continue;
    const auto& data = tables.buffers[entry->buffer]->data;
    found.emplace_back(entry->name.substr(kPropertyPrefix.size()),
                       std::string(data.begin(), data.end()));
  }
  if (found == wanted) return;
  std::erase_if(tables.metadata, [](const auto& entry) { return IsProperty(entry->name); });
  for (const auto& [key, value] : wanted) {
    auto entry = std::make_unique<schema::MetadataT>();
    entry->name = std::string(kPropertyPrefix) + key;
    entry->buffer = static_cast<std::uint32_t>(tables.buffers.size());
    auto buffer = std::make_unique<schema::BufferT>();
    buffer->data.assign(value.begin(), value.end());
    tables.buffers.push_back(std::move(buffer));
    tables.metadata.push_back(std::move(entry));
  }
}

}  // namespace qtx::convert
