#include "external_data.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "qtx/format/limits.h"
#include "wire.h"
#include "wire_large.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // bytes compared at a time

Error BadLocation(const std::string& location) {
  return {ErrorCode::kInvalid, "external_data.location",
          "found '" + location + "', expected a relative path inside the model's folder"};
}

Result<std::int64_t> ParseCount(const std::string& text, const char* key) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kMaxTensorBytes * 1024) {
      return Error{ErrorCode::kInvalid, std::string("external_data.") + key,
                   "found '" + text.substr(0, 40) + "', expected a number of bytes"};
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

// A location that cannot leave `folder`, neither by .. nor through a symbolic link.
Result<fs::path> ResolveLocation(const std::string& location, const std::string& folder) {
  std::error_code code;
  const fs::path root = fs::weakly_canonical(folder.empty() ? "." : folder, code);
  if (code || location.empty() || fs::path(location).is_absolute()) return BadLocation(location);
  const fs::path path = fs::weakly_canonical(root / location, code);
  if (code) return BadLocation(location);
  const auto [mismatch, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (mismatch != root.end()) return BadLocation(location);
  return path;
}

Result<std::int64_t> SizeOf(const fs::path& path) {
  std::error_code code;
  const bool regular = fs::is_regular_file(path, code);
  const auto size = regular ? static_cast<std::int64_t>(fs::file_size(path, code)) : 0;
  if (code) return Error{ErrorCode::kIo, path.string(), code.message()};
  if (!regular) return Error{ErrorCode::kIo, path.string(), "expected a regular file"};
  return size;
}

std::string LocationIn(const Metadata& entries) {
  const auto found = std::ranges::find(entries, "location", &Metadata::value_type::first);
  return found == entries.end() ? "" : found->second;
}

Result<void> AddLocation(const TensorData& data, std::set<std::string>& locations) {
  if (!wire::IsExternal(data.wire)) return {};
  const auto fields = wire::ParseTensor(data.wire);
  if (!fields.has_value()) return At("initializer '" + data.name + "'", fields.error());
  locations.insert(LocationIn(fields->external_data));
  return {};
}

Result<std::set<std::string>> Locations(const Graph& graph) {
  std::set<std::string> locations;
  for (const TensorData& data : graph.initializers)
    QTX_RETURN_IF_ERROR(AddLocation(data, locations));
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.t) QTX_RETURN_IF_ERROR(AddLocation(*attribute.t, locations));
    }
  }
  return locations;
}

Result<bool> SameContent(const FileRange& a, const FileRange& b) {
  std::vector<std::byte> left, right;
  for (std::int64_t at = 0; at < a.size; at += kBlock) {
    left.resize(static_cast<std::size_t>(std::min(kBlock, a.size - at)));
    right.resize(left.size());
    QTX_RETURN_IF_ERROR(ReadRange(a, at, left));
    QTX_RETURN_IF_ERROR(ReadRange(b, at, right));
    if (left != right) return false;
  }
  return true;
}

// True when the file at `to` is `from`; an error when it is another one, which somebody may need.
Result<bool> IsThere(const FileRange& from, const fs::path& to) {
  std::error_code code;
  if (!fs::exists(to, code)) return false;
  if (fs::equivalent(from.path, to, code)) return true;
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, SizeOf(to));
  bool same = size == from.size;
  if (same) {
    QTX_ASSIGN_OR_RETURN(same, SameContent(from, {to.string(), 0, size}));
  }
  if (same) return true;
  return Error{ErrorCode::kIo, to.string(),
               "has other content than the model's external data of that name; write to another "
               "folder, or remove it"};
}

}  // namespace

Result<FileRange> LocateExternal(const Metadata& entries, const std::string& folder,
                                 std::int64_t size) {
  FileRange range{.size = size};
  for (const auto& [key, value] : entries) {
    if (key == "offset") {
      QTX_ASSIGN_OR_RETURN(range.offset, ParseCount(value, "offset"));
    }
    if (key != "length") continue;
    QTX_ASSIGN_OR_RETURN(const std::int64_t length, ParseCount(value, "length"));
    if (length == size) continue;
    return Error{ErrorCode::kInvalid, "external_data.length",
                 "found " + value + " bytes, expected " + std::to_string(size)};
  }
  QTX_ASSIGN_OR_RETURN(const fs::path path, ResolveLocation(LocationIn(entries), folder));
  range.path = path.string();
  QTX_ASSIGN_OR_RETURN(const std::int64_t available, SizeOf(path));
  if (available - range.offset >= size) return range;
  return Error{ErrorCode::kIo, range.path,
               "found " + std::to_string(available) + " bytes, expected " + std::to_string(size) +
                   " at " + std::to_string(range.offset)};
}

Result<std::vector<FileCopy>> ExternalFiles(const Model& model, const std::string& folder) {
  std::vector<FileCopy> copies;
  if (model.folder.empty()) return copies;  // made here: its data is where it will be
  QTX_ASSIGN_OR_RETURN(const std::set<std::string> locations, Locations(model.graph));
  for (const std::string& location : locations) {
    QTX_ASSIGN_OR_RETURN(const fs::path from, ResolveLocation(location, model.folder));
    QTX_ASSIGN_OR_RETURN(const fs::path to, ResolveLocation(location, folder));
    FileRange whole{.path = from.string()};
    QTX_ASSIGN_OR_RETURN(whole.size, SizeOf(from));
    QTX_ASSIGN_OR_RETURN(const bool there, IsThere(whole, to));
    if (!there) copies.push_back({std::move(whole), to.string()});
  }
  return copies;
}

}  // namespace qtx::format
