#include "qtx/conformance/provenance.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

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
  writer.BeginObject();
  for (const auto& [name, text] : of) writer.Field(name, text);
  writer.EndObject();
}

// Those that determine results.
constexpr std::array<const char*, 4> kLibraries = {"gmp", "mpfi", "mpfr", "protobuf"};

void RefuseEmpty(JsonFields& fields, const char* key, const std::string& text) {
  if (text.empty()) fields.Refuse(key, "a text", "an empty text or none");
}

void ReadProgram(JsonFields& qtx, Provenance& provenance) {
  provenance.version = qtx.Formed("version", "[0-9]+\\.[0-9]+\\.[0-9]+", "MAJOR.MINOR.PATCH");
  provenance.commit = qtx.Formed("commit", "[0-9a-f]{7,64}(-dirty)?|unknown",
                                 "7 to 64 hexadecimal digits, with -dirty or without, or unknown");
}

void ReadBuild(JsonFields& build, Provenance& provenance) {
  provenance.compiler = build.Text("compiler");
  provenance.build_type = build.Text("type");
  RefuseEmpty(build, "compiler", provenance.compiler);
  build.Require({"type"});
}

void ReadLibraries(const rapidjson::Value& json, JsonFields& libraries, Provenance& provenance) {
  if (!json.IsObject()) return;
  for (const auto& member : json.GetObject()) {
    const std::string name = member.name.GetString();
    RefuseEmpty(libraries, name.c_str(),
                provenance.libraries.emplace(name, libraries.Text(name.c_str())).first->second);
  }
  for (const char* name : kLibraries) RefuseEmpty(libraries, name, provenance.libraries[name]);
}

void ReadProcessor(JsonFields& processor, Provenance& provenance) {
  provenance.processor = processor.Text("name");
  provenance.threads = processor.Integer("threads");
  provenance.instruction_sets = processor.Texts("instruction_sets");
  RefuseEmpty(processor, "name", provenance.processor);
  processor.Require({"instruction_sets"});
  if (provenance.threads < 1) {
    processor.Refuse("threads", "at least 1", std::to_string(provenance.threads));
  }
  std::set<std::string_view> names(provenance.instruction_sets.begin(),
                                   provenance.instruction_sets.end());
  if (names.size() != provenance.instruction_sets.size() || names.contains("")) {
    processor.Refuse("instruction_sets", "different names", "an empty name or one twice");
  }
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

std::string SchemaOf(std::string_view name) {
  return fmt::format("qtx/{}/{}", name, name == "validate" ? 2 : 1);
}

void WriteProvenance(JsonWriter& writer, const Provenance& provenance) {
  writer.BeginObject();
  writer.Field("date", provenance.date);
  WriteTexts(writer, "qtx", {{"version", provenance.version}, {"commit", provenance.commit}});
  WriteTexts(writer, "build", {{"compiler", provenance.compiler}, {"type", provenance.build_type}});
  WriteTexts(writer, "libraries", provenance.libraries);
  writer.Key("processor");
  writer.BeginObject();
  writer.Field("name", provenance.processor);
  writer.Field("threads", provenance.threads);
  writer.Field("instruction_sets", provenance.instruction_sets);
  writer.EndObject();
  writer.Field("command", provenance.command);
  writer.EndObject();
}

Result<Provenance> ReadProvenance(const rapidjson::Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Provenance provenance;
  provenance.date =
      fields.Formed("date", "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z",
                    "YYYY-MM-DDThh:mm:ssZ");
  provenance.command = fields.Texts("command");
  if (provenance.command.empty()) fields.Refuse("command", "at least one", "no words");
  const auto object = [&](const char* key, const auto& read) -> Result<void> {
    fields.Require({key});
    const rapidjson::Value* const value = fields.Find(key);
    if (value == nullptr) return fields.Finish();
    JsonFields members(*value, where + ": " + key);
    read(members, *value);
    return members.Finish();
  };
  QTX_RETURN_IF_ERROR(
      object("qtx", [&](JsonFields& qtx, const auto&) { ReadProgram(qtx, provenance); }));
  QTX_RETURN_IF_ERROR(
      object("build", [&](JsonFields& build, const auto&) { ReadBuild(build, provenance); }));
  QTX_RETURN_IF_ERROR(object("libraries", [&](JsonFields& libraries, const auto& value) {
    ReadLibraries(value, libraries, provenance);
  }));
  QTX_RETURN_IF_ERROR(object("processor", [&](JsonFields& processor, const auto&) {
    ReadProcessor(processor, provenance);
  }));
  QTX_RETURN_IF_ERROR(fields.Finish());
  return provenance;
}

std::string Document(std::string_view name, const Provenance& provenance, std::string_view object) {
  JsonWriter writer(JsonWriter::Layout::kLine);
  if (!provenance.date.empty()) WriteProvenance(writer, provenance);
  const std::string text = writer.Text();
  return fmt::format("{{\n \"schema\": \"{}\",\n{}{}{}{}", SchemaOf(name),
                     text.empty() ? "" : " \"provenance\": ", text, text.empty() ? "" : ",",
                     object.substr(1));
}

}  // namespace qtx::conformance
