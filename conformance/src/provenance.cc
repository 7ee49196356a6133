#include "qtx/conformance/provenance.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "json_fields.h"
#include "qtx/conformance/report.h"
#include "qtx/format/text.h"
#include "report_json.h"

namespace qtx::conformance {
namespace {

// As Linux names them, for x86 and Arm: what backends choose their kernels by.
constexpr std::array<std::string_view, 16> kInstructionSets = {
    "sse4_1",   "avx",         "avx2",     "fma",         "avx512f",  "avx512bw",
    "avx512dq", "avx512vl",    "avx_vnni", "avx512_vnni", "amx_int8", "asimd",
    "asimddp",  "avx512_bf16", "i8mm",     "sve"};

std::string JoinedText(const std::map<std::string, std::string>& versions) {
  std::string text;
  for (const auto& [name, version] : versions) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, version);
  }
  return text;
}

// As one word of a POSIX shell.
std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void WriteTexts(JsonWriter& writer, const char* key, const std::map<std::string, std::string>& of) {
  writer.Key(key);
  writer.StartObject();
  for (const auto& [name, text] : of) WriteField(writer, name, text);
  writer.EndObject();
}

}  // namespace

Processor ThisProcessor() {
  Processor processor{"unknown", {}};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {  // those of the first core
    const std::size_t colon = std::min(line.find(':'), line.size() - 1);
    const std::string value = line.substr(std::min(colon + 2, line.size()));
    if (line.starts_with("model name")) processor.name = value;
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) {
      if (std::ranges::find(kInstructionSets, word) == kInstructionSets.end()) continue;
      processor.instruction_sets.push_back(word);
    }
  }
  return processor;
}

std::vector<std::pair<std::string_view, std::string>> Facts(const Provenance& provenance) {
  if (provenance.date.empty()) return {};
  std::string command = "qtx";
  for (const std::string& word : provenance.command) command += " " + Quoted(word);
  return {{"date", provenance.date},
          {"qtx", fmt::format("{}, commit {}", provenance.version, provenance.commit)},
          {"build", fmt::format("{}, {}", provenance.compiler, provenance.build_type)},
          {"libraries", JoinedText(provenance.libraries)},
          {"processor", fmt::format("{}, {} threads", provenance.processor, provenance.threads)},
          {"instruction sets", fmt::format("{}", fmt::join(provenance.instruction_sets, " "))},
          {"command", command}};
}

std::string Summary(const Provenance& provenance) {
  if (provenance.date.empty()) return "";
  constexpr std::size_t kShortCommit = 12;
  const bool dirty = provenance.commit.ends_with("-dirty");
  constexpr std::size_t kMaxSummary = 240;  // characters
  return format::Printable(
      fmt::format("qtx {} ({}{}), {}, {}, {} threads", provenance.version,
                  provenance.commit.substr(0, kShortCommit), dirty ? "-dirty" : "", provenance.date,
                  provenance.processor, provenance.threads),
      kMaxSummary);
}

std::string SchemaOf(std::string_view name) { return fmt::format("qtx/{}/1", name); }

void WriteProvenance(JsonWriter& writer, const Provenance& provenance) {
  writer.StartObject();
  WriteField(writer, "date", provenance.date);
  WriteTexts(writer, "qtx", {{"version", provenance.version}, {"commit", provenance.commit}});
  WriteTexts(writer, "build", {{"compiler", provenance.compiler}, {"type", provenance.build_type}});
  WriteTexts(writer, "libraries", provenance.libraries);
  writer.Key("processor");
  writer.StartObject();
  WriteField(writer, "name", provenance.processor);
  WriteField(writer, "threads", provenance.threads);
  WriteField(writer, "instruction_sets", provenance.instruction_sets);
  writer.EndObject();
  WriteField(writer, "command", provenance.command);
  writer.EndObject();
}

Result<Provenance> ReadProvenance(const rapidjson::Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Provenance provenance;
  provenance.date = fields.Text("date");
  provenance.command = fields.Texts("command");
  const auto object = [&](const char* key, const auto& read) -> Result<void> {
    const rapidjson::Value* const value = fields.Find(key);
    if (value == nullptr) return {};
    JsonFields members(*value, where + ": " + key);
    read(members, *value);
    return members.Finish();
  };
  QTX_RETURN_IF_ERROR(object("qtx", [&](JsonFields& qtx, const auto&) {
    provenance.version = qtx.Text("version");
    provenance.commit = qtx.Text("commit");
  }));
  QTX_RETURN_IF_ERROR(object("build", [&](JsonFields& build, const auto&) {
    provenance.compiler = build.Text("compiler");
    provenance.build_type = build.Text("type");
  }));
  QTX_RETURN_IF_ERROR(object("libraries", [&](JsonFields& libraries, const auto& value) {
    if (!value.IsObject()) return;
    for (const auto& member : value.GetObject()) {
      const std::string name = member.name.GetString();
      provenance.libraries.emplace(name, libraries.Text(name.c_str()));
    }
  }));
  QTX_RETURN_IF_ERROR(object("processor", [&](JsonFields& processor, const auto&) {
    provenance.processor = processor.Text("name");
    provenance.threads = processor.Integer("threads");
    provenance.instruction_sets = processor.Texts("instruction_sets");
  }));
  QTX_RETURN_IF_ERROR(fields.Finish());
  return provenance;
}

std::string Document(std::string_view name, const Provenance& provenance, std::string_view object) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  WriteProvenance(writer, provenance);
  return fmt::format("{{\n \"schema\": \"{}\",\n \"provenance\": {},{}", SchemaOf(name),
                     std::string_view(buffer.GetString(), buffer.GetSize()), object.substr(1));
}

}  // namespace qtx::conformance
