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
  writer.Field("seconds", std::round(seconds * 1e6) / 1e6);
}

void WriteTolerance(JsonWriter& writer, const Tolerance& tolerance) {
  writer.Key("tolerance");
  writer.BeginObject();
  writer.Field("ulp", tolerance.ulp);
  writer.Field("relative", tolerance.relative);
  writer.Field("absolute", tolerance.absolute);
  writer.EndObject();
}

void WriteDifference(JsonWriter& writer, const Difference& difference) {
  writer.BeginObject();
  writer.Field("output", difference.output);
  writer.Field("mismatch", difference.mismatch);
  writer.Field("elements", difference.elements);
  writer.Field("differing", difference.differing);
  writer.Field("unit", difference.unit);
  WriteTolerance(writer, difference.tolerance);
  writer.Key("histogram");
  writer.BeginObject();
  for (const auto& [distance, count] : difference.histogram) {
    writer.Field(std::to_string(distance), count);
  }
  writer.EndObject();
  writer.Key("first");
  writer.BeginArray();
  for (const ElementDifference& element : difference.first) {
    writer.BeginObject();
    writer.Field("index", element.index);
    writer.Field("got", element.got);
    writer.Field("expected", element.expected);
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
    writer.BeginArray();
    for (const Evidence::Value& value : values) WriteTensor(writer, value.name, value.tensor);
    writer.EndArray();
  };
  if (Elements(evidence).value_or(kMaxWrittenElements + 1) > kMaxWrittenElements) return;
  writer.Key("evidence");
  writer.BeginObject();
  write("inputs", evidence.inputs);
  write("expected", evidence.expected);
  write("got", evidence.got);
  writer.EndObject();
}

void WriteFinding(JsonWriter& writer, const Finding& finding) {
  writer.BeginObject();
  writer.Field("operators", finding.operators);
  writer.Field("candidate", finding.candidate);
  writer.Field("says", finding.says);
  writer.Field("failing", finding.failing);
  writer.Field("explained", finding.explained);
  writer.Field("confirmed", finding.confirmed);
  writer.Key("places");
  writer.BeginArray();
  for (const WrongPlace& place : finding.places) {
    writer.BeginObject();
    writer.Field("op", place.op);
    writer.Field("form", place.form);
    writer.Field("says", place.says);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

void WriteError(JsonWriter& writer, const Error& error) {
  writer.Field("error", error.Text());
  writer.Field("error_where", error.where);
  writer.Field("error_message", error.message);
  writer.Field("error_code", static_cast<std::int64_t>(error.code));
}

void WriteProtocolFaults(JsonWriter& writer, const std::vector<Error>& faults) {
  writer.Key("protocol_faults");
  writer.BeginArray();
  for (const Error& fault : faults) {
    writer.BeginObject();
    writer.Field("clause", fault.clause);
    writer.Field("where", fault.where);
    writer.Field("message", fault.message);
    writer.EndObject();
  }
  writer.EndArray();
}

void WriteSession(JsonWriter& writer, const SessionRun& run) {
  writer.Key("session");
  writer.BeginObject();
  writer.Field("run", run.run);
  writer.Field("handle", run.handle);
  if (run.threads != 0) writer.Field("threads", run.threads);
  writer.Field("draw", run.draw);
  if (run.at_once) writer.Field("at_once", true);
  writer.EndObject();
}

void WriteBackend(JsonWriter& writer, const BackendReport& row) {
  writer.BeginObject();
  writer.Field("name", row.description.name);
  writer.Field("source", row.source);
  writer.Field("version", row.description.version);
  writer.Field("device", row.description.device);
  writer.Field("arithmetics", row.description.arithmetics);
  writer.Field("arithmetic", row.arithmetic);
  writer.Key("counts");
  writer.BeginObject();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    writer.Field(Name(static_cast<Outcome>(i)), row.counts[i]);
  }
  writer.Field("not_applicable", row.not_applicable);
  writer.EndObject();
  writer.Key("passes");
  writer.BeginObject();
  const auto passes = row.Passes();
  for (std::size_t i = 0; i < kExpectationSources; ++i) {
    writer.Field(Name(static_cast<ExpectationSource>(i)), passes[i]);
  }
  writer.EndObject();
  Seconds(writer, row.seconds);
  if (row.error) WriteError(writer, *row.error);
  if (!row.protocol_faults.empty()) WriteProtocolFaults(writer, row.protocol_faults);
  writer.Key("findings");
  writer.BeginArray();
  for (const Finding& finding : row.findings) WriteFinding(writer, finding);
  writer.EndArray();
  writer.Key("cases");
  writer.BeginArray();
  for (const CaseResult& result : row.cases) WriteCase(writer, result);
  writer.EndArray();
  writer.EndObject();
}

}  // namespace

void WriteCase(JsonWriter& writer, const CaseResult& result) {
  writer.BeginObject();
  writer.Field("id", result.id);
  writer.Field("position", result.position);
  writer.Field("arithmetic", result.arithmetic);
  writer.Field("outcome", Name(result.outcome));
  writer.Field("expectation", Name(result.expectation));
  if (result.text != TextVerdict::kAbsent) writer.Field("text", Name(result.text));
  if (result.within_bound) writer.Field("within_bound", true);
  writer.Field("spec", result.spec);
  writer.Field("why", result.why);
  writer.Field("where", result.where);
  writer.Field("op", result.op);
  writer.Field("level", result.level);
  writer.Field("tags", result.tags);
  writer.Field("diagnosis", result.diagnosis);
  writer.Field("explained_by", result.explained_by);
  writer.Key("differences");
  writer.BeginArray();
  for (const Difference& difference : result.differences) WriteDifference(writer, difference);
  writer.EndArray();
  if (result.evidence) WriteEvidence(writer, *result.evidence);
  if (result.unstable) writer.Field("unstable", true);
  if (!result.unmodelled.empty()) writer.Field("unmodelled", result.unmodelled);
  if (result.session) WriteSession(writer, *result.session);
  if (!result.error_output.empty()) writer.Field("error_output", result.error_output);
  Seconds(writer, result.seconds);
  writer.EndObject();
}

std::string ToJson(const Report& report) {
  JsonWriter writer(JsonWriter::Layout::kLine);
  writer.BeginObject();
  if (!report.merged.empty()) {
    writer.Key("merged");
    writer.BeginArray();
    for (const Provenance& run : report.merged) WriteProvenance(writer, run);
    writer.EndArray();
  }
  writer.Field("suite", report.suite);
  writer.Field("suite_digest", report.suite_digest);
  writer.Field("selected", report.selected);
  if (report.shards > 1) {
    writer.Field("shard", report.shard);
    writer.Field("shards", report.shards);
  }
  writer.Field("conforms", Conforms(report));
  writer.Field("stale_expectations", report.stale_expectations);
  writer.Field("strict_expectations", report.strict_expectations);
  if (report.min_coverage > 0) writer.Field("min_coverage", report.min_coverage);
  writer.Key("backends");
  writer.BeginArray();
  for (const BackendReport& row : report.backends) WriteBackend(writer, row);
  writer.EndArray();
  writer.EndObject();
  return Document("validate", report.provenance, writer.Text()) + "\n";
}

}  // namespace qtx::conformance
