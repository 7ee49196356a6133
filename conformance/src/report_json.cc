// The report for programs. The keys are a contract: see report.h.
#include "report_json.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "escape.h"
#include "qtx/backend/protocol.h"

namespace qtx::conformance {
namespace {

// More of a case than this is for the reproducer, not for a report of thousands of cases.
constexpr std::int64_t kMaxWrittenElements = std::int64_t{1} << 16;

void Field(JsonWriter& writer, std::string_view key, std::string_view text) {
  WriteText(writer, key);
  WriteText(writer, text);
}

void Field(JsonWriter& writer, std::string_view key, std::int64_t value) {
  WriteText(writer, key);
  writer.Int64(value);
}

void Field(JsonWriter& writer, std::string_view key, double value) {
  WriteText(writer, key);
  writer.Double(value);
}

// Nothing finer is measured, and reports of thousands of cases are large enough.
void Seconds(JsonWriter& writer, double seconds) {
  Field(writer, "seconds", std::round(seconds * 1e6) / 1e6);
}

void Field(JsonWriter& writer, std::string_view key, const std::vector<std::string>& texts) {
  WriteText(writer, key);
  writer.StartArray();
  for (const std::string& text : texts) WriteText(writer, text);
  writer.EndArray();
}

void WriteTolerance(JsonWriter& writer, const Tolerance& tolerance) {
  writer.Key("tolerance");
  writer.StartObject();
  Field(writer, "ulp", tolerance.ulp);
  Field(writer, "relative", tolerance.relative);
  Field(writer, "absolute", tolerance.absolute);
  writer.EndObject();
}

void WriteDifference(JsonWriter& writer, const Difference& difference) {
  writer.StartObject();
  Field(writer, "output", difference.output);
  Field(writer, "mismatch", difference.mismatch);
  Field(writer, "elements", difference.elements);
  Field(writer, "differing", difference.differing);
  Field(writer, "unit", difference.unit);
  WriteTolerance(writer, difference.tolerance);
  writer.Key("histogram");
  writer.StartObject();
  for (const auto& [distance, count] : difference.histogram) {
    Field(writer, std::to_string(distance), count);
  }
  writer.EndObject();
  writer.Key("first");
  writer.StartArray();
  for (const ElementDifference& element : difference.first) {
    writer.StartObject();
    Field(writer, "index", element.index);
    Field(writer, "got", element.got);
    Field(writer, "expected", element.expected);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

// Elements of all values; nullopt when one is no sound tensor, which a reader would refuse.
std::optional<std::int64_t> Elements(const Evidence& evidence) {
  std::int64_t elements = 0;
  for (const auto* values : {&evidence.inputs, &evidence.expected, &evidence.got}) {
    for (const Evidence::Value& value : *values) {
      if (!backend::CheckTensor(value.tensor)) return std::nullopt;
      elements += format::ElementCount(value.tensor);
    }
  }
  return elements;
}

void WriteEvidence(JsonWriter& writer, const Evidence& evidence) {
  const auto write = [&](const char* key, const std::vector<Evidence::Value>& values) {
    writer.Key(key);
    writer.StartArray();
    for (const Evidence::Value& value : values) WriteTensor(writer, value.name, value.tensor);
    writer.EndArray();
  };
  if (Elements(evidence).value_or(kMaxWrittenElements + 1) > kMaxWrittenElements) return;
  writer.Key("evidence");
  writer.StartObject();
  write("inputs", evidence.inputs);
  write("expected", evidence.expected);
  write("got", evidence.got);
  writer.EndObject();
}

void WriteFinding(JsonWriter& writer, const Finding& finding) {
  writer.StartObject();
  Field(writer, "operators", finding.operators);
  Field(writer, "candidate", finding.candidate);
  Field(writer, "says", finding.says);
  Field(writer, "failing", finding.failing);
  Field(writer, "explained", finding.explained);
  writer.EndObject();
}

void WriteError(JsonWriter& writer, const Error& error) {
  Field(writer, "error", error.where.empty() ? error.message : error.where + ": " + error.message);
  Field(writer, "error_where", error.where);
  Field(writer, "error_message", error.message);
  Field(writer, "error_code", static_cast<std::int64_t>(error.code));
}

void WriteBackend(JsonWriter& writer, const BackendReport& row) {
  writer.StartObject();
  Field(writer, "name", row.description.name);
  Field(writer, "source", row.source);
  Field(writer, "version", row.description.version);
  Field(writer, "device", row.description.device);
  Field(writer, "arithmetics", row.description.arithmetics);
  Field(writer, "arithmetic", row.arithmetic);
  writer.Key("counts");
  writer.StartObject();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    Field(writer, Name(static_cast<Outcome>(i)), row.counts[i]);
  }
  Field(writer, "not_applicable", row.not_applicable);
  writer.EndObject();
  Seconds(writer, row.seconds);
  if (row.error) WriteError(writer, *row.error);
  writer.Key("findings");
  writer.StartArray();
  for (const Finding& finding : row.findings) WriteFinding(writer, finding);
  writer.EndArray();
  writer.Key("cases");
  writer.StartArray();
  for (const CaseResult& result : row.cases) WriteCase(writer, result);
  writer.EndArray();
  writer.EndObject();
}

}  // namespace

void WriteText(JsonWriter& writer, std::string_view text) {
  const std::string clean = ValidUtf8(text);
  writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void WriteCase(JsonWriter& writer, const CaseResult& result) {
  writer.StartObject();
  Field(writer, "id", result.id);
  Field(writer, "position", result.position);
  Field(writer, "arithmetic", result.arithmetic);
  Field(writer, "outcome", Name(result.outcome));
  Field(writer, "spec", result.spec);
  Field(writer, "why", result.why);
  Field(writer, "where", result.where);
  Field(writer, "op", result.op);
  Field(writer, "level", result.level);
  Field(writer, "tags", result.tags);
  Field(writer, "diagnosis", result.diagnosis);
  Field(writer, "explained_by", result.explained_by);
  writer.Key("differences");
  writer.StartArray();
  for (const Difference& difference : result.differences) WriteDifference(writer, difference);
  writer.EndArray();
  if (result.evidence) WriteEvidence(writer, *result.evidence);
  if (result.unstable) {
    writer.Key("unstable");
    writer.Bool(true);
  }
  if (result.reversed) {
    writer.Key("reversed");
    writer.Bool(true);
  }
  if (!result.error_output.empty()) Field(writer, "error_output", result.error_output);
  Seconds(writer, result.seconds);
  writer.EndObject();
}

std::string ToJson(const Report& report) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  Field(writer, "suite", report.suite);
  Field(writer, "selected", report.selected);
  if (report.shards > 1) {
    Field(writer, "shard", report.shard);
    Field(writer, "shards", report.shards);
  }
  writer.Key("conforms");
  writer.Bool(Conforms(report));
  Field(writer, "stale_expectations", report.stale_expectations);
  writer.Key("strict_expectations");
  writer.Bool(report.strict_expectations);
  writer.Key("backends");
  writer.StartArray();
  for (const BackendReport& row : report.backends) WriteBackend(writer, row);
  writer.EndArray();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace qtx::conformance
