#include "safetensors/container.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "errors.h"
#include "json_document.h"
#include "qtx/format/limits.h"

namespace qtx::convert::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kWeightMap = "\"weight_map\"";
constexpr std::int64_t kMaxConfigBytes = std::int64_t{1} << 24;
constexpr std::size_t kMaxShards = 4096;

bool LooksLikeIndex(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && bytes[begin] == '{' &&
         bytes.substr(0, std::size_t{1} << 20).find(kWeightMap) != std::string_view::npos;
}

std::int64_t SizeOfFile(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return -1;
  const auto size = fs::file_size(path, code);
  return code ? -1 : static_cast<std::int64_t>(size);
}

Result<std::string> ReadPart(const format::FileRange& file, std::int64_t at, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  QTX_RETURN_IF_ERROR(format::ReadRange(file, at, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

// One shard: a file, or bytes in memory.
class ShardReader {
 public:
  ShardReader(std::string file, format::FileRange range)
      : file_(std::move(file)), range_(std::move(range)), size_(range_.size) {}
  ShardReader(std::string file, std::string_view bytes)
      : file_(std::move(file)), bytes_(bytes), size_(std::ssize(bytes)) {}

  Result<void> AddTo(Container& container) const {
    if (size_ < kLengthBytes) {
      return Invalid("found " + std::to_string(size_) + " bytes, expected at least " +
                     std::to_string(kLengthBytes));
    }
    QTX_ASSIGN_OR_RETURN(const std::string first, Part(0, kLengthBytes));
    QTX_ASSIGN_OR_RETURN(const std::int64_t length, HeaderLength(first, size_));
    QTX_ASSIGN_OR_RETURN(std::string header, Part(kLengthBytes, length));
    const std::int64_t data = kLengthBytes + length;
    QTX_ASSIGN_OR_RETURN(auto entries, ParseHeader(header, size_ - data));
    for (HeaderEntry& entry : entries) {
      const std::int64_t size = entry.end - entry.begin;
      QTX_RETURN_IF_ERROR(container.Add({.name = std::move(entry.name),
                                         .dtype = entry.dtype,
                                         .dims = std::move(entry.dims),
                                         .bytes = PieceAt(data + entry.begin, size),
                                         .shard = container.shards.size(),
                                         .size = size}));
    }
    container.shards.push_back({file_, std::move(header)});
    return {};
  }

 private:
  bool in_memory() const { return range_.path.empty(); }
  std::string_view Bytes(std::int64_t at, std::int64_t size) const {
    return bytes_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }
  Result<std::string> Part(std::int64_t at, std::int64_t size) const {
    if (in_memory()) return std::string(Bytes(at, size));
    return ReadPart(range_, at, size);
  }
  format::Piece PieceAt(std::int64_t at, std::int64_t size) const {
    if (in_memory()) return std::string(Bytes(at, size));
    return format::FileRange{range_.path, at, size};
  }

  std::string file_;
  format::FileRange range_;  // an empty path: in memory
  std::string_view bytes_;
  std::int64_t size_ = 0;
};

// Of each tensor that the index names, its file.
Result<std::map<std::string, std::string>> WeightMap(std::string_view text) {
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(ParseObject(text, document));
  const auto found = document.FindMember("weight_map");
  if (found == document.MemberEnd() || !found->value.IsObject())
    return Invalid("weight_map", "expected an object");
  std::map<std::string, std::string> files;
  for (const auto& member : found->value.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    const std::string place = "weight_map: '" + name + "'";
    if (!member.value.IsString()) return Invalid(place, "expected the name of a file");
    const std::string file(member.value.GetString(), member.value.GetStringLength());
    const bool plain = !file.empty() &&
                       file.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos &&
                       file != "." && file != "..";
    if (!plain) return Invalid(place, "found '" + file + "', expected a file of this folder");
    if (!files.emplace(name, file).second) return Invalid(place, "is named twice");
  }
  return files;
}

// Each tensor lies in the file that the index names.
Result<void> CheckIndex(const std::map<std::string, std::string>& files,
                        const Container& container) {
  for (const auto& [name, file] : files) {
    const Tensor* tensor = container.Find(name);
    if (tensor != nullptr && container.shards[tensor->shard].file == file) continue;
    return Invalid("weight_map: '" + name + "'", "found no tensor of that name in '" + file + "'");
  }
  return {};
}

Result<Container> OpenShards(const Source& source, const fs::path& folder) {
  Container container;
  container.index = {fs::path(source.path).filename().string(), std::string(source.bytes())};
  QTX_ASSIGN_OR_RETURN(const auto files, WeightMap(container.index.text));
  std::set<std::string> shards;
  for (const auto& [name, file] : files) shards.insert(file);
  if (shards.size() > kMaxShards) {
    return Error{ErrorCode::kTooLarge, "weight_map",
                 "found " + std::to_string(shards.size()) + " files, expected at most " +
                     std::to_string(kMaxShards)};
  }
  for (const std::string& file : shards) {
    const std::string path = (folder / file).string();
    const std::int64_t size = SizeOfFile(path);
    if (size < 0) return Error{ErrorCode::kUnreadable, file, "found no such file"};
    const auto added = ShardReader(file, format::FileRange{path, 0, size}).AddTo(container);
    if (!added.has_value()) return At(file, added.error());
  }
  QTX_RETURN_IF_ERROR(CheckIndex(files, container));
  return container;
}

Result<Container> OpenOne(const Source& source) {
  Container container;
  const fs::path path = source.path;
  const std::string file = path.filename().string();
  const std::int64_t size = SizeOfFile(path);
  const bool is_file = size == std::ssize(source.bytes());
  const ShardReader reader = is_file ? ShardReader(file, format::FileRange{path.string(), 0, size})
                                     : ShardReader(file, source.bytes());
  QTX_RETURN_IF_ERROR(reader.AddTo(container));
  return container;
}

}  // namespace

const Tensor* Container::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Result<void> Container::Add(Tensor tensor) {
  if (by_name_.emplace(tensor.name, tensors_.size()).second) {
    tensors_.push_back(std::move(tensor));
    return {};
  }
  return Invalid("'" + tensor.name + "'", "is the name of a tensor of another file, too");
}

bool LooksLikeContainer(std::string_view bytes) {
  return LooksLikeHeader(bytes) || LooksLikeIndex(bytes);
}

std::optional<std::string> FileOfFolder(const std::string& folder) {
  std::vector<std::string> indices, files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string path = entry.path().string();
    if (path.ends_with(kIndexSuffix)) indices.push_back(path);
    if (path.ends_with(".safetensors")) files.push_back(path);
  }
  if (indices.size() == 1) return indices[0];
  if (indices.empty() && files.size() == 1) return files[0];
  const auto usual = std::ranges::find_if(
      files, [](const std::string& path) { return path.ends_with("/model.safetensors"); });
  return indices.empty() && usual != files.end() ? std::optional(*usual) : std::nullopt;
}

Result<Container> OpenContainer(const Source& source) {
  const fs::path path = source.path;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool index = !LooksLikeHeader(source.bytes()) && LooksLikeIndex(source.bytes());
  QTX_ASSIGN_OR_RETURN(Container container, index ? OpenShards(source, folder) : OpenOne(source));
  const std::string config = (folder / "config.json").string();
  if (SizeOfFile(config) < 0) return container;
  QTX_ASSIGN_OR_RETURN(container.config, format::ReadFile(config, kMaxConfigBytes));
  return container;
}

Result<std::string> ReadTensor(const Tensor& tensor, std::int64_t limit) {
  if (tensor.size > limit) {
    return Error{ErrorCode::kTooLarge, "'" + tensor.name + "'",
                 "found " + std::to_string(tensor.size) + " bytes, expected at most " +
                     std::to_string(limit)};
  }
  if (const auto* bytes = std::get_if<std::string>(&tensor.bytes)) return *bytes;
  return ReadPart(std::get<format::FileRange>(tensor.bytes), 0, tensor.size);
}

}  // namespace qtx::convert::safetensors
