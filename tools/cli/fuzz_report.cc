#include "fuzz_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "json.h"
#include "qtx/format/json_reader.h"
#include "qtx/format/print.h"
#include "shrunk_json.h"

namespace qtx::cli {
namespace {

using conformance::FuzzFinding;
using format::JsonFields;
using Operators = std::map<std::string, std::int64_t>;

constexpr std::string_view kSchema = "qtx/fuzz/1";
constexpr format::JsonBounds kBounds = {.depth = 8, .values = std::int64_t{1} << 20};

// "Conv 12, MatMul 3".
format::Printable TextOf(const Operators& operators) {
  std::vector<std::string> names;
  for (const auto& [op, count] : operators) names.push_back(fmt::format("{} {}", op, count));
  return format::Joined(names);
}

std::string Title(const FuzzFinding& finding) {
  if (!finding.cause.empty()) return finding.cause + ": " + finding.says;
  return finding.kind + (finding.says.empty() ? "" : ", " + finding.says);
}

format::Printable TextOf(const FuzzFinding& finding, const std::string& folder) {
  constexpr std::size_t kMaxText = 600;  // characters
  format::Printable text = format::Format(
      "\n{}\n  {} failures ({}), first in model {}\n  {}\n",
      format::Printable(Title(finding), kMaxText), finding.failures, TextOf(finding.operators),
      finding.number, format::Printable(finding.detail, kMaxText));
  if (finding.threads != 0) text += format::Format("  with {} threads\n", finding.threads);
  if (finding.shrunk) {
    text += format::Format("  {} elements, {} node{}\n", finding.shrunk->elements,
                           finding.shrunk->nodes, finding.shrunk->nodes == 1 ? "" : "s");
    text += Explanation(*finding.shrunk, "  ");
  }
  if (!folder.empty()) text += format::Format("  {}\n", folder);
  return text;
}

void WriteOperators(const Operators& operators, Json& json) {
  json.Key("operators");
  json.BeginObject();
  for (const auto& [op, count] : operators) json.Field(op, count);
  json.EndObject();
}

void WriteFinding(const FuzzFinding& finding, const std::string& arithmetic,
                  const std::string& folder, Json& json) {
  const auto commonest = std::ranges::max_element(finding.operators, {},
                                                  [](const auto& entry) { return entry.second; });
  json.BeginObject();
  json.Field("op", std::string_view(commonest->first));
  WriteOperators(finding.operators, json);
  json.Field("arithmetic", std::string_view(arithmetic));
  json.Field("kind", std::string_view(finding.kind));
  json.Field("cause", std::string_view(finding.cause));
  json.Field("place", std::string_view(finding.place));
  json.Field("says", std::string_view(finding.says));
  json.Field("threads", finding.threads);
  json.Field("failures", finding.failures);
  json.Field("model", finding.number);
  json.Field("detail", std::string_view(finding.detail));
  if (finding.shrunk) WriteShrunk(json, *finding.shrunk, folder);
  json.EndObject();
}

// An object of numbers.
Operators ReadOperators(const char* key, JsonFields& fields) {
  Operators operators;
  const rapidjson::Value* const object = fields.Find(key);
  if (object == nullptr || !object->IsObject()) {
    fields.Refuse(key, "an object of numbers");
    return operators;
  }
  for (const auto& [name, count] : object->GetObject()) {
    if (!count.IsInt64() || count.GetInt64() < 1) {
      fields.Refuse(key, "an object of numbers above 0");
      break;
    }
    operators[{name.GetString(), name.GetStringLength()}] = count.GetInt64();
  }
  return operators;
}

// A number, or beyond 2^53 its digits as a text.
std::uint64_t ReadSeed(JsonFields& fields) {
  const rapidjson::Value* const seed = fields.Find("seed");
  if (seed != nullptr && seed->IsUint64()) return seed->GetUint64();
  std::uint64_t value = 0;
  if (seed != nullptr && seed->IsString()) {
    const char* const end = seed->GetString() + seed->GetStringLength();
    const auto [at, failed] = std::from_chars(seed->GetString(), end, value);
    if (failed == std::errc() && at == end) return value;
  }
  fields.Refuse("seed", "a number");
  return 0;
}

Result<void> ReadShrunk(const rapidjson::Value& json, const std::string& where,
                        FuzzFinding& finding, std::string& folder) {
  JsonFields fields(json, where);
  conformance::Shrunk& shrunk = finding.shrunk.emplace();
  shrunk.nodes = fields.Integer("nodes");
  shrunk.elements = fields.Integer("elements");
  shrunk.runs = fields.Integer("runs");
  shrunk.place.form = fields.Text("form");
  shrunk.place.says = fields.Text("place");
  shrunk.candidate = fields.Text("candidate");
  shrunk.cause = fields.Text("cause");
  folder = fields.Text("folder");
  return fields.Finish();
}

Result<void> ReadFinding(const rapidjson::Value& json, const std::string& where,
                         FuzzResult& result) {
  JsonFields fields(json, where);
  FuzzFinding& finding = result.report.findings.emplace_back();
  std::string& folder = result.folders.emplace_back();
  (void)fields.Text("op");
  (void)fields.Text("arithmetic");
  finding.operators = ReadOperators("operators", fields);
  finding.kind = fields.Text("kind");
  finding.cause = fields.Text("cause");
  finding.place = fields.Text("place");
  finding.says = fields.Text("says");
  finding.threads = fields.Integer("threads");
  finding.failures = fields.Integer("failures");
  finding.number = fields.Integer("model");
  finding.detail = fields.Text("detail");
  if (finding.operators.empty()) fields.Refuse("operators", "one or more");
  const rapidjson::Value* const shrunk = fields.Find("shrunk");
  QTX_RETURN_IF_ERROR(fields.Finish());
  return shrunk == nullptr ? Result<void>()
                           : ReadShrunk(*shrunk, where + ": shrunk", finding, folder);
}

bool HaveOneCause(const FuzzFinding& a, const FuzzFinding& b) {
  const auto key = [](const FuzzFinding& finding) {
    return std::tie(finding.cause, finding.kind, finding.place, finding.threads);
  };
  return key(a) == key(b) && (!a.cause.empty() || a.operators == b.operators ||
                              a.operators.begin()->first == b.operators.begin()->first);
}

// Keeps the smaller reproducer.
void Join(FuzzFinding&& from, std::string&& folder, FuzzFinding& into, std::string& kept) {
  for (const auto& [op, failures] : from.operators) into.operators[op] += failures;
  into.failures += from.failures;
  into.number = std::min(into.number, from.number);
  if (!from.shrunk || (into.shrunk && into.shrunk->elements <= from.shrunk->elements)) return;
  into.detail = std::move(from.detail);
  into.shrunk = std::move(from.shrunk);
  kept = std::move(folder);
}

Result<void> CheckShards(const std::vector<FuzzResult>& parts) {
  const FuzzResult& first = parts.front();
  std::set<std::int64_t> shards;
  for (const FuzzResult& part : parts) {
    const auto run = [](const FuzzResult& one) {
      return std::tie(one.backend, one.report.arithmetic, one.seed, one.commit, one.shard.count);
    };
    const std::string place = "shard " + std::to_string(part.shard.index);
    if (run(part) != run(first)) {
      return Error{ErrorCode::kInvalid, place,
                   "is of another run: backend, arithmetic, seed, commit and number of shards must "
                   "be those of the first"};
    }
    if (!shards.insert(part.shard.index).second) {
      return Error{ErrorCode::kInvalid, place, "is given twice"};
    }
  }
  if (std::ssize(shards) == first.shard.count) return {};
  return Error{ErrorCode::kInvalid, "reports",
               "found " + std::to_string(shards.size()) + " shards, expected " +
                   std::to_string(first.shard.count)};
}

}  // namespace

format::Printable ToText(const FuzzResult& result) {
  const conformance::FuzzReport& report = result.report;
  const conformance::FuzzCounts& counts = report.counts;
  format::Printable text = format::Format(
      "{} in {}, seed {}: {} models, {} unsupported, {} failures\n"
      "judged by the reference alone; nodes of {} operators; of {} drafts of nodes {} were "
      "refused\n",
      result.backend, report.arithmetic, result.seed, counts.models, counts.unsupported,
      report.failures, counts.operators.size(), counts.drafts, counts.refused);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    text += TextOf(report.findings[i], result.folders[i]);
  }
  return text;
}

std::string ToJson(const FuzzResult& result) {
  const conformance::FuzzReport& report = result.report;
  const conformance::FuzzCounts& counts = report.counts;
  Json json("fuzz");
  json.BeginObject();
  json.Field("backend", std::string_view(result.backend));
  json.Field("judge", kJudge);
  json.Field("arithmetic", std::string_view(report.arithmetic));
  json.Field("seed", result.seed);
  json.Field("shard", result.shard.index);
  json.Field("shards", result.shard.count);
  json.Field("models", counts.models);
  json.Field("unsupported", counts.unsupported);
  json.Field("failures", report.failures);
  json.Field("drafts", counts.drafts);
  json.Field("refused", counts.refused);
  WriteOperators(counts.operators, json);
  std::size_t next = 0;
  json.Array("findings", report.findings, [&](const FuzzFinding& finding) {
    WriteFinding(finding, report.arithmetic, result.folders[next++], json);
  });
  json.EndObject();
  return json.Text();
}

bool IsFuzzResult(std::string_view text) {
  constexpr std::size_t kBeginning = 100;
  return text.substr(0, kBeginning).find("\"" + std::string(kSchema) + "\"") != text.npos;
}

Result<FuzzResult> ReadFuzzResult(std::string_view text, const std::string& where) {
  rapidjson::Document document;
  if (const auto parsed = format::ParseJson(text, kBounds, document); !parsed.has_value())
    return At(where, parsed.error());
  JsonFields fields(document, where);
  if (fields.Text("schema") != kSchema) fields.Refuse("schema", std::string(kSchema));
  FuzzResult result;
  const rapidjson::Value* const provenance = fields.Find("provenance");
  if (provenance != nullptr && provenance->IsObject() && provenance->HasMember("commit") &&
      (*provenance)["commit"].IsString()) {
    result.commit = (*provenance)["commit"].GetString();
  }
  result.backend = fields.Text("backend");
  (void)fields.Text("judge");
  result.report.arithmetic = fields.Text("arithmetic");
  result.seed = ReadSeed(fields);
  result.shard = {fields.Integer("shard"), fields.Integer("shards")};
  conformance::FuzzCounts& counts = result.report.counts;
  counts.models = fields.Integer("models");
  counts.unsupported = fields.Integer("unsupported");
  result.report.failures = fields.Integer("failures");
  counts.drafts = fields.Integer("drafts");
  counts.refused = fields.Integer("refused");
  counts.operators = ReadOperators("operators", fields);
  fields.Array("findings", [&](const rapidjson::Value& value, const std::string& place) {
    return ReadFinding(value, place, result);
  });
  if (result.shard.index < 1 || result.shard.index > result.shard.count) {
    fields.Refuse("shard", "a number from 1 to shards");
  }
  QTX_RETURN_IF_ERROR(fields.Finish());
  return result;
}

Result<FuzzResult> MergeFuzzResults(std::vector<FuzzResult> parts) {
  QTX_RETURN_IF_ERROR(CheckShards(parts));
  std::ranges::sort(parts, {}, [](const FuzzResult& part) { return part.shard.index; });
  FuzzResult merged = std::move(parts.front());
  merged.shard = {};
  std::vector<FuzzFinding>& findings = merged.report.findings;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    merged.report.counts.Add(parts[i].report.counts);
    merged.report.failures += parts[i].report.failures;
    for (std::size_t k = 0; k < parts[i].report.findings.size(); ++k) {
      FuzzFinding& finding = parts[i].report.findings[k];
      const auto same = std::ranges::find_if(
          findings, [&finding](const FuzzFinding& known) { return HaveOneCause(known, finding); });
      if (same != findings.end()) {
        Join(std::move(finding), std::move(parts[i].folders[k]), *same,
             merged.folders[static_cast<std::size_t>(same - findings.begin())]);
        continue;
      }
      findings.push_back(std::move(finding));
      merged.folders.push_back(std::move(parts[i].folders[k]));
    }
  }
  return merged;
}

}  // namespace qtx::cli
