// A model of initializers, as the files that it came from.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "errors.h"
#include "qtx/format/external_elements.h"
#include "safetensors/graph.h"
#include "safetensors/safetensors.h"

namespace qtx::convert {
namespace {

using format::TensorData;
using safetensors::Container;
using safetensors::HeaderEntry;

std::string_view Bytes(const format::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// What follows `prefix` in `text`, the name of a file in this folder; nullopt: no such name.
std::optional<std::string> After(std::string_view prefix, const std::string& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  std::string name = text.substr(prefix.size());
  const bool plain = !name.empty() && name.find_first_of("/\\") == std::string::npos &&
                     name != "." && name != "..";
  return plain ? std::optional(std::move(name)) : std::nullopt;
}

// The files that a model came from, with the bytes that its initializers have.
class FilesOf {
 public:
  explicit FilesOf(const format::Model& model) : model_(model) {
    for (const TensorData& data : model.graph.initializers) initializers_.emplace(data.name, &data);
    for (const format::ValueInfo& value : model.graph.values) {
      const auto tensor = std::ranges::find(value.metadata, safetensors::kTensorKey,
                                            &format::Metadata::value_type::first);
      if (tensor != value.metadata.end()) weights_.emplace(tensor->second, value.name);
    }
  }

  Result<Container> Collect() const {
    Container files;
    for (const auto& [key, text] : model_.metadata) {
      if (const auto index = After(safetensors::kIndexKey, key)) files.index = {*index, text};
      if (key == safetensors::kConfigKey) files.config = text;
      const auto file = After(safetensors::kHeaderKey, key);
      if (!file) continue;
      const auto added = AddShard(*file, text, files);
      if (!added.has_value()) return At(*file, added.error());
    }
    if (!files.shards.empty()) return files;
    return Unsupported("model",
                       "found no header of safetensors in metadata_props, expected a model "
                       "that was read from safetensors");
  }

 private:
  Result<void> AddShard(const std::string& file, const std::string& header,
                        Container& files) const {
    QTX_ASSIGN_OR_RETURN(auto entries, safetensors::ParseHeader(header, std::nullopt));
    for (HeaderEntry& entry : entries) {
      QTX_ASSIGN_OR_RETURN(format::Piece bytes, BytesOf(entry));
      QTX_RETURN_IF_ERROR(files.Add({.name = std::move(entry.name),
                                     .dtype = entry.dtype,
                                     .dims = std::move(entry.dims),
                                     .bytes = std::move(bytes),
                                     .shard = files.shards.size(),
                                     .size = entry.end - entry.begin}));
    }
    files.shards.push_back({file, header});
    return {};
  }

  Result<format::Piece> BytesOf(const HeaderEntry& entry) const {
    const auto weight = weights_.find(entry.name);
    const std::string& name = weight == weights_.end() ? entry.name : weight->second;
    const auto found = initializers_.find(name);
    if (found == initializers_.end())
      return Unsupported(entry.name, "found no initializer '" + name + "', which has its bytes");
    const std::int64_t expected = entry.end - entry.begin;
    QTX_ASSIGN_OR_RETURN(const auto range, format::RangeOfElements(*found->second, model_.folder));
    if (range && range->size == expected) return format::Piece(*range);
    QTX_ASSIGN_OR_RETURN(const format::Tensor tensor,
                         format::Decode(*found->second, model_.folder));
    if (std::ssize(tensor.bytes) == expected) return format::Piece(std::string(Bytes(tensor)));
    return Unsupported(entry.name, "found " + std::to_string(tensor.bytes.size()) + " bytes in '" +
                                       name + "', expected " + std::to_string(expected));
  }

  const format::Model& model_;
  std::unordered_map<std::string_view, const TensorData*> initializers_;
  std::unordered_map<std::string, std::string> weights_;  // by tensor of the files
};

// Whether the files say of every value and computed initializer what the model says.
Result<void> CheckSame(const Container& files, const format::Model& model,
                       const format::Model& again) {
  const auto view = format::ModelView::Indexed(model);
  for (const format::ValueInfo& value : again.graph.values) {
    const format::ValueInfo* own = view.FindValue(value.name);
    if (own != nullptr && own->type == value.type) continue;
    return Unsupported(value.name,
                       "has another type than the tensors of its file say; safetensors holds a "
                       "changed scale, offset or block only in those tensors");
  }
  for (const TensorData& data : again.graph.initializers) {
    const format::ValueInfo* value = again.graph.FindValue(data.name);
    const bool of_files =
        files.Find(data.name) != nullptr || (value != nullptr && !value->metadata.empty());
    if (of_files) continue;
    const TensorData* own = view.FindInitializer(data.name);
    if (own == nullptr || own->dims != data.dims || own->data_type != data.data_type)
      return Unsupported(data.name, "is not the initializer that the files make");
    QTX_ASSIGN_OR_RETURN(const format::Tensor a, format::Decode(*own, model.folder));
    QTX_ASSIGN_OR_RETURN(const format::Tensor b, format::Decode(data));
    if (a.bytes != b.bytes)
      return Unsupported(data.name, "has other values than the tensors of its file say");
  }
  return {};
}

std::vector<format::Piece> PiecesOf(const Container& files, std::size_t shard) {
  const std::string& header = files.shards[shard].text;
  const auto length = static_cast<std::uint64_t>(header.size());
  std::string head(sizeof(length), '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  std::vector<format::Piece> pieces = {format::Piece(head + header)};
  for (const safetensors::Tensor& tensor : files.tensors()) {
    if (tensor.shard == shard && tensor.size > 0) pieces.push_back(tensor.bytes);
  }
  return pieces;
}

}  // namespace

Result<Export> WriteSafetensors(const format::Model& model, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const Container files, FilesOf(model).Collect());
  Ledger ledger(options);
  Ledger unused(options);
  QTX_ASSIGN_OR_RETURN(const format::Model again, safetensors::MakeModel(files, unused, nullptr));
  QTX_RETURN_IF_ERROR(CheckSame(files, model, again));
  if (model.graph.nodes != again.graph.nodes)
    QTX_RETURN_IF_ERROR(ledger.Lose("graph", "model", "nodes", "safetensors has tensors only"));
  Export result;
  if (files.index.file.empty() && files.shards.size() == 1) {
    result.content = PiecesOf(files, 0);
  } else {
    std::vector<OutputFile> written;
    for (std::size_t i = 0; i < files.shards.size(); ++i)
      written.push_back({files.shards[i].file, PiecesOf(files, i)});
    if (!files.index.file.empty()) written.push_back({files.index.file, {files.index.text}});
    if (!files.config.empty()) written.push_back({"config.json", {files.config}});
    result.content = std::move(written);
  }
  result.ledger = ledger.Take();
  return result;
}

}  // namespace qtx::convert
