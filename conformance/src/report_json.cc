// The report for programs. The keys are a contract: see report.h.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

#include "escape.h"
#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

// Text from a backend may be no UTF-8 at all; JSON must be.
void Text(Writer& writer, std::string_view text) {
  const std::string clean = ValidUtf8(text);
  writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void Field(Writer& writer, std::string_view key, std::string_view text) {
  Text(writer, key);
  Text(writer, text);
}

void Field(Writer& writer, std::string_view key, std::int64_t value) {
  Text(writer, key);
  writer.Int64(value);
}

void Field(Writer& writer, std::string_view key, double value) {
  Text(writer, key);
  writer.Double(value);
}

void WriteDifference(Writer& writer, const Difference& difference) {
  writer.StartObject();
  Field(writer, "output", difference.output);
  Field(writer, "mismatch", difference.mismatch);
  Field(writer, "elements", difference.elements);
  Field(writer, "differing", difference.differing);
  Field(writer, "unit", difference.unit);
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

void WriteCase(Writer& writer, const CaseResult& result) {
  writer.StartObject();
  Field(writer, "id", result.id);
  Field(writer, "arithmetic", result.arithmetic);
  Field(writer, "outcome", Name(result.outcome));
  Field(writer, "spec", result.spec);
  Field(writer, "why", result.why);
  Field(writer, "where", result.where);
  Field(writer, "diagnosis", result.diagnosis);
  writer.Key("explained_by");
  writer.StartArray();
  for (const std::string& name : result.explained_by) Text(writer, name);
  writer.EndArray();
  writer.Key("differences");
  writer.StartArray();
  for (const Difference& difference : result.differences) WriteDifference(writer, difference);
  writer.EndArray();
  Field(writer, "seconds", result.seconds);
  writer.EndObject();
}

void WriteBackend(Writer& writer, const BackendReport& row) {
  writer.StartObject();
  Field(writer, "name", row.description.name);
  Field(writer, "source", row.source);
  Field(writer, "version", row.description.version);
  Field(writer, "device", row.description.device);
  Field(writer, "arithmetic", row.arithmetic);
  writer.Key("counts");
  writer.StartObject();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    Field(writer, Name(static_cast<Outcome>(i)), row.counts[i]);
  }
  Field(writer, "not_applicable", row.not_applicable);
  writer.EndObject();
  Field(writer, "seconds", row.seconds);
  if (row.error) Field(writer, "error", row.error->where + ": " + row.error->message);
  writer.Key("cases");
  writer.StartArray();
  for (const CaseResult& result : row.cases) WriteCase(writer, result);
  writer.EndArray();
  writer.EndObject();
}

}  // namespace

std::string ToJson(const Report& report) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetMaxDecimalPlaces(6);
  writer.StartObject();
  Field(writer, "suite", report.suite);
  writer.Key("conforms");
  writer.Bool(Conforms(report));
  writer.Key("backends");
  writer.StartArray();
  for (const BackendReport& row : report.backends) WriteBackend(writer, row);
  writer.EndArray();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace qtx::conformance
