#include "external_data.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
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
  const bool has_nul = location.find('\0') != std::string::npos;
  if (code || location.empty() || has_nul || fs::path(location).is_absolute())
    return BadLocation(location);
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
  if (code) return Error{ErrorCode::kUnreadable, path.string(), code.message()};
  if (!regular) return Error{ErrorCode::kUnreadable, path.string(), "expected a regular file"};
  return size;
}

std::string LocationIn(const Metadata& entries) {
  const auto found = std::ranges::find(entries, "location", &Metadata::value_type::first);
  return found == entries.end() ? "" : found->second;
}

using Use = std::function<Result<void>(const TensorData&)>;

// Calls `use` for each tensor whose elements are in a file.
class ExternalTensors {
 public:
  explicit ExternalTensors(const Use& use) : use_(use) {}

  Result<void> VisitGraph(const std::string& place, const Graph& graph) const {
    for (const TensorData& data : graph.initializers)
      QTX_RETURN_IF_ERROR(Visit(place + ".initializer '" + data.name + "'", data));
    for (const Node& node : graph.nodes) {
      for (const Attribute& attribute : node.attributes)
        QTX_RETURN_IF_ERROR(VisitAttribute(node, attribute));
    }
    return VisitBelow(place, wire::Message::kGraph, graph.unknown_fields);
  }

  Result<void> VisitBelow(const std::string& place, wire::Message kind,
                          std::string_view message) const {
    for (const std::string_view tensor : wire::ExternalTensors(kind, message)) {
      QTX_ASSIGN_OR_RETURN(const TensorData data, ParseTensorData(tensor));
      QTX_RETURN_IF_ERROR(Visit(place + ": tensor '" + data.name + "'", data));
    }
    return {};
  }

 private:
  Result<void> Visit(const std::string& place, const TensorData& data) const {
    if (!wire::IsExternal(data.wire)) return {};
    const auto used = use_(data);
    return used.has_value() ? used : At(place, used.error());
  }

  Result<void> VisitAttribute(const Node& node, const Attribute& attribute) const {
    const std::string place = "node '" + node.name + "': attribute '" + attribute.name + "'";
    if (attribute.t) QTX_RETURN_IF_ERROR(Visit(place, *attribute.t));
    for (const Graph& body : attribute.graphs) QTX_RETURN_IF_ERROR(VisitGraph(place, body));
    return VisitBelow(place, wire::Message::kAttribute, attribute.unknown_fields);
  }

  const Use& use_;
};

// Those of the model, its subgraphs and functions.
Result<void> ForEachExternal(const Model& model, const Use& use) {
  const ExternalTensors tensors(use);
  QTX_RETURN_IF_ERROR(tensors.VisitGraph("graph", model.graph));
  return tensors.VisitBelow("model", wire::Message::kModel, model.unknown_fields);
}

Result<std::set<std::string>> Locations(const Model& model) {
  std::set<std::string> locations;
  QTX_RETURN_IF_ERROR(ForEachExternal(model, [&](const TensorData& data) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(const wire::TensorFields fields, wire::ParseTensor(data.wire));
    locations.insert(LocationIn(fields.external_data));
    return {};
  }));
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

// Where the data at `location`, now the file `from`, comes to lie beside `path`; nullopt if it is
// there. Another file of that name is an error: somebody may need it.
Result<std::optional<std::string>> PlaceBeside(const std::string& path, const std::string& location,
                                               const FileRange& from) {
  const auto refuse = [&path](std::string message) {
    return Error{ErrorCode::kIo, path, std::move(message)};
  };
  std::error_code code;
  const auto to = ResolveLocation(location, fs::path(path).parent_path().string());
  if (!to.has_value()) return refuse("the external data would lie outside: " + to.error().message);
  if (*to == fs::weakly_canonical(path, code))
    return refuse("is the name of the model's external data; write to another name");
  if (!fs::exists(*to, code)) return std::optional(to->string());
  if (fs::equivalent(from.path, *to, code)) return std::optional<std::string>();
  const auto size = SizeOf(*to);
  bool same = size.has_value() && *size == from.size;
  if (same) {
    QTX_ASSIGN_OR_RETURN(same, SameContent(from, {to->string(), 0, from.size}));
  }
  if (same) return std::optional<std::string>();
  return refuse("'" + to->string() +
                "' has other content than the model's external data of that name; write to another "
                "folder, or remove it");
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
  return Error{ErrorCode::kUnreadable, range.path,
               "found " + std::to_string(available) + " bytes, expected " + std::to_string(size) +
                   " at " + std::to_string(range.offset)};
}

Result<void> CheckExternalData(const Model& model) {
  return ForEachExternal(model, [&model](const TensorData& data) -> Result<void> {
    auto checked = CheckCarrier(data, model.folder);
    if (checked.has_value()) return checked;
    // What cannot be decoded can still be copied with its model.
    const ErrorCode code = checked.error().code;
    if (code == ErrorCode::kTooLarge || code == ErrorCode::kUnsupported) return {};
    return checked;
  });
}

Result<bool> UsesFile(const Model& model, const std::string& path, const std::string& file) {
  std::error_code code;
  const fs::path wanted = fs::weakly_canonical(file, code);
  QTX_ASSIGN_OR_RETURN(const std::set<std::string> locations, Locations(model));
  for (const std::string& location : locations) {
    for (const std::string& folder : {model.folder, fs::path(path).parent_path().string()}) {
      QTX_ASSIGN_OR_RETURN(const fs::path found, ResolveLocation(location, folder));
      if (found == wanted || fs::equivalent(found, wanted, code)) return true;
    }
  }
  return false;
}

Result<std::vector<FileCopy>> ExternalFiles(const Model& model, const std::string& path,
                                            const std::string& made) {
  std::vector<FileCopy> copies;
  if (model.folder.empty()) return copies;  // made here: its data is where it will be
  QTX_ASSIGN_OR_RETURN(std::set<std::string> locations, Locations(model));
  if (!made.empty()) locations.erase(made);
  for (const std::string& location : locations) {
    QTX_ASSIGN_OR_RETURN(const fs::path from, ResolveLocation(location, model.folder));
    FileRange whole{.path = from.string()};
    QTX_ASSIGN_OR_RETURN(whole.size, SizeOf(from));
    QTX_ASSIGN_OR_RETURN(auto to, PlaceBeside(path, location, whole));
    if (to) copies.push_back({std::move(whole), *std::move(to)});
  }
  std::error_code code;
  const fs::path folder = fs::path(path).parent_path();
  if (!copies.empty() && !folder.empty() && !fs::is_directory(folder, code))
    return Error{ErrorCode::kIo, path, "found no folder '" + folder.string() + "'"};
  return copies;
}

}  // namespace qtx::format
