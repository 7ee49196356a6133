// The JSON report. Its keys are a contract: see report.h.
#include "report_json.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "qtx/backend/protocol.h"

namespace qtx::conformance {
namespace {

// Larger evidence belongs in a reproducer.
constexpr std::int64_t kMaxWrittenElements = std::int64_t{1} << 16;

// The precision of the measurement; more digits only enlarge the report.
void Seconds(JsonWriter& writer, double seconds) {
  WriteField(writer, "seconds", std::round(seconds * 1e6) / 1e6);
}

void WriteTolerance(JsonWriter& writer, const Tolerance& tolerance) {
  writer.Key("tolerance");
  writer.StartObject();
  WriteField(writer, "ulp", tolerance.ulp);
  WriteField(writer, "relative", tolerance.relative);
  WriteField(writer, "absolute", tolerance.absolute);
  writer.EndObject();
}

void WriteDifference(JsonWriter& writer, const Difference& difference) {
  writer.StartObject();
  WriteField(writer, "output", difference.output);
  WriteField(writer, "mismatch", difference.mismatch);
  WriteField(writer, "elements", difference.elements);
  WriteField(writer, "differing", difference.differing);
  WriteField(writer, "unit", difference.unit);
  WriteTolerance(writer, difference.tolerance);
  writer.Key("histogram");
  writer.StartObject();
  for (const auto& [distance, count] : difference.histogram) {
    WriteField(writer, std::to_string(distance), count);
  }
  writer.EndObject();
  writer.Key("first");
  writer.StartArray();
  for (const ElementDifference& element : difference.first) {
    writer.StartObject();
    WriteField(writer, "index", element.index);
    WriteField(writer, "got", element.got);
    WriteField(writer, "expected", element.expected);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

// Number of elements in all values; nullopt if a tensor is malformed, which a reader would refuse.
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
  WriteField(writer, "operators", finding.operators);
  WriteField(writer, "candidate", finding.candidate);
  WriteField(writer, "says", finding.says);
  WriteField(writer, "failing", finding.failing);
  WriteField(writer, "explained", finding.explained);
  WriteField(writer, "confirmed", finding.confirmed);
  writer.Key("places");
  writer.StartArray();
  for (const WrongPlace& place : finding.places) {
    writer.StartObject();
    WriteField(writer, "op", place.op);
    WriteField(writer, "form", place.form);
    WriteField(writer, "says", place.says);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

void WriteError(JsonWriter& writer, const Error& error) {
  WriteField(writer, "error", error.Text());
  WriteField(writer, "error_where", error.where);
  WriteField(writer, "error_message", error.message);
  WriteField(writer, "error_code", static_cast<std::int64_t>(error.code));
}

void WriteProtocolFaults(JsonWriter& writer, const std::vector<Error>& faults) {
  writer.Key("protocol_faults");
  writer.StartArray();
  for (const Error& fault : faults) {
    writer.StartObject();
    WriteField(writer, "clause", fault.clause);
    WriteField(writer, "where", fault.where);
    WriteField(writer, "message", fault.message);
    writer.EndObject();
  }
  writer.EndArray();
}

void WriteSession(JsonWriter& writer, const SessionRun& run) {
  writer.Key("session");
  writer.StartObject();
  WriteField(writer, "run", run.run);
  WriteField(writer, "handle", run.handle);
  if (run.threads != 0) WriteField(writer, "threads", run.threads);
  WriteField(writer, "draw", run.draw);
  if (run.at_once) WriteField(writer, "at_once", true);
  writer.EndObject();
}

void WriteBackend(JsonWriter& writer, const BackendReport& row) {
  writer.StartObject();
  WriteField(writer, "name", row.description.name);
  WriteField(writer, "source", row.source);
  WriteField(writer, "version", row.description.version);
  WriteField(writer, "device", row.description.device);
  WriteField(writer, "arithmetics", row.description.arithmetics);
  WriteField(writer, "arithmetic", row.arithmetic);
  writer.Key("counts");
  writer.StartObject();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    WriteField(writer, Name(static_cast<Outcome>(i)), row.counts[i]);
  }
  WriteField(writer, "not_applicable", row.not_applicable);
  writer.EndObject();
  writer.Key("passes");
  writer.StartObject();
  const auto passes = row.Passes();
  for (std::size_t i = 0; i < kExpectationSources; ++i) {
    WriteField(writer, Name(static_cast<ExpectationSource>(i)), passes[i]);
  }
  writer.EndObject();
  Seconds(writer, row.seconds);
  if (row.error) WriteError(writer, *row.error);
  if (!row.protocol_faults.empty()) WriteProtocolFaults(writer, row.protocol_faults);
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

void WriteCase(JsonWriter& writer, const CaseResult& result) {
  writer.StartObject();
  WriteField(writer, "id", result.id);
  WriteField(writer, "position", result.position);
  WriteField(writer, "arithmetic", result.arithmetic);
  WriteField(writer, "outcome", Name(result.outcome));
  WriteField(writer, "expectation", Name(result.expectation));
  if (result.text != TextVerdict::kAbsent) WriteField(writer, "text", Name(result.text));
  if (result.within_bound) WriteField(writer, "within_bound", true);
  WriteField(writer, "spec", result.spec);
  WriteField(writer, "why", result.why);
  WriteField(writer, "where", result.where);
  WriteField(writer, "op", result.op);
  WriteField(writer, "level", result.level);
  WriteField(writer, "tags", result.tags);
  WriteField(writer, "diagnosis", result.diagnosis);
  WriteField(writer, "explained_by", result.explained_by);
  writer.Key("differences");
  writer.StartArray();
  for (const Difference& difference : result.differences) WriteDifference(writer, difference);
  writer.EndArray();
  if (result.evidence) WriteEvidence(writer, *result.evidence);
  if (result.unstable) WriteField(writer, "unstable", true);
  if (!result.unmodelled.empty()) WriteField(writer, "unmodelled", result.unmodelled);
  if (result.session) WriteSession(writer, *result.session);
  if (!result.error_output.empty()) WriteField(writer, "error_output", result.error_output);
  Seconds(writer, result.seconds);
  writer.EndObject();
}

std::string ToJson(const Report& report) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  if (!report.merged.empty()) {
    writer.Key("merged");
    writer.StartArray();
    for (const Provenance& run : report.merged) WriteProvenance(writer, run);
    writer.EndArray();
  }
  WriteField(writer, "suite", report.suite);
  WriteField(writer, "suite_digest", report.suite_digest);
  WriteField(writer, "selected", report.selected);
  if (report.shards > 1) {
    WriteField(writer, "shard", report.shard);
    WriteField(writer, "shards", report.shards);
  }
  writer.Key("conforms");
  writer.Bool(Conforms(report));
  WriteField(writer, "stale_expectations", report.stale_expectations);
  writer.Key("strict_expectations");
  writer.Bool(report.strict_expectations);
  if (report.min_coverage > 0) WriteField(writer, "min_coverage", report.min_coverage);
  writer.Key("backends");
  writer.StartArray();
  for (const BackendReport& row : report.backends) WriteBackend(writer, row);
  writer.EndArray();
  writer.EndObject();
  return Document("validate", report.provenance, {buffer.GetString(), buffer.GetSize()}) + "\n";
}

}  // namespace qtx::conformance
