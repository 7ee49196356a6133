// qtx schema: the JSON Schemas of the documents that --json and --report write.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "commands.h"
#include "data_folders.h"
#include "qtx/conformance/provenance.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".schema.json";
constexpr std::string_view kCommon = "common";  // definitions that several schemas use
constexpr std::int64_t kMaxSchemaBytes = std::int64_t{1} << 20;

std::vector<std::string> SchemaNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(SchemaFolder(), error)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kExtension)) continue;
    names.push_back(file.substr(0, file.size() - kExtension.size()));
  }
  std::erase(names, kCommon);
  std::ranges::sort(names);
  return names;
}

Result<rapidjson::Document> ReadSchema(std::string_view name) {
  const std::string path = fmt::format("{}/{}{}", SchemaFolder(), name, kExtension);
  QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(path, kMaxSchemaBytes));
  rapidjson::Document schema;
  schema.Parse(text.data(), text.size());
  if (schema.HasParseError() || !schema.IsObject() || !schema.HasMember("$defs")) {
    return Error{ErrorCode::kInvalid, path, "expected a schema with $defs"};
  }
  return schema;
}

// With the common definitions, so that it stands alone.
Result<std::string> WholeSchema(std::string_view name) {
  QTX_ASSIGN_OR_RETURN(rapidjson::Document schema, ReadSchema(name));
  QTX_ASSIGN_OR_RETURN(rapidjson::Document common, ReadSchema(kCommon));
  for (auto& [key, definition] : common["$defs"].GetObject()) {
    schema["$defs"].AddMember(key, definition, schema.GetAllocator());
  }
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 1);
  schema.Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace

int Schema(const SchemaOptions& options) {
  const std::vector<std::string> names = SchemaNames();
  if (options.name.empty()) {
    for (const std::string& name : names) format::Print("{}\n", conformance::SchemaOf(name));
    return kDone;
  }
  if (std::ranges::find(names, options.name) == names.end()) {
    return Fail({ErrorCode::kUsage, "qtx schema",
                 fmt::format("found '{}', expected {}", options.name, fmt::join(names, ", "))});
  }
  const auto schema = WholeSchema(options.name);
  if (!schema.has_value()) return Fail(schema.error());
  format::PrintJson(*schema);
  return kDone;
}

}  // namespace qtx::cli
