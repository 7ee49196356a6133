// Reads a JSON report, which is untrusted input.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "report_json.h"

namespace qtx::conformance {
namespace {

using rapidjson::Value;

// Upper bound of times and counts, so that sums stay finite.
constexpr double kMaxSeconds = 1e12;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
// Merging compares all pairs of rows.
constexpr std::size_t kMaxBackends = 4096;

double Seconds(JsonFields& fields) {
  const double seconds = fields.Number("seconds");
  if (!(seconds >= 0 && seconds <= kMaxSeconds)) fields.Refuse("seconds", "a time");
  return seconds;
}

std::int64_t Count(JsonFields& fields, const char* key) {
  const std::int64_t count = fields.Integer(key);
  if (count < 0 || count > kMaxCount) fields.Refuse(key, "a count");
  return count;
}

// The value of an enumeration of `count` values that has this name.
template <typename Enumeration>
std::optional<Enumeration> FromName(std::string_view name, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (Name(static_cast<Enumeration>(i)) == name) return static_cast<Enumeration>(i);
  }
  return std::nullopt;
}

Result<void> ReadHistogram(const Value& json, const std::string& where, Difference& difference) {
  if (!json.IsObject()) return Error{ErrorCode::kInvalid, where, "expected an object"};
  if (json.MemberCount() > kMaxHistogram) {
    return Error{ErrorCode::kTooLarge, where,
                 "expected at most " + std::to_string(kMaxHistogram) + " entries"};
  }
  for (const auto& [name, count] : json.GetObject()) {
    const std::string_view text(name.GetString(), name.GetStringLength());
    std::int64_t distance = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), distance);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !count.IsInt64()) {
      return Error{ErrorCode::kInvalid, where, "expected integers"};
    }
    if (count.GetInt64() < 0 || count.GetInt64() > kMaxCount) {
      return Error{ErrorCode::kInvalid, where, "expected counts"};
    }
    difference.histogram[distance] = count.GetInt64();
  }
  return {};
}

Result<Tolerance> ReadTolerance(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  const Tolerance tolerance{fields.Integer("ulp"), fields.Number("relative"),
                            fields.Number("absolute")};
  if (tolerance.ulp < 0) fields.Refuse("ulp", "at least 0");
  if (tolerance.relative < 0) fields.Refuse("relative", "at least 0");
  if (tolerance.absolute < 0) fields.Refuse("absolute", "at least 0");
  QTX_RETURN_IF_ERROR(fields.Finish());
  return tolerance;
}

Result<Difference> ReadDifference(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Difference difference;
  difference.output = fields.Text("output");
  difference.mismatch = fields.Text("mismatch");
  difference.elements = Count(fields, "elements");
  difference.differing = Count(fields, "differing");
  difference.unit = fields.Text("unit");
  if (const auto* const tolerance = fields.Find("tolerance")) {
    QTX_ASSIGN_OR_RETURN(difference.tolerance, ReadTolerance(*tolerance, where + ": tolerance"));
  }
  fields.Array("first", [&](const Value& value, const std::string& place) -> Result<void> {
    if (difference.first.size() == kFirstDifferences) {
      return Error{ErrorCode::kTooLarge, place,
                   "expected at most " + std::to_string(kFirstDifferences) + " elements"};
    }
    JsonFields element(value, place);
    difference.first.push_back(
        {element.Integer("index"), element.Text("got"), element.Text("expected")});
    return element.Finish();
  });
  if (const auto* const histogram = fields.Find("histogram")) {
    QTX_RETURN_IF_ERROR(ReadHistogram(*histogram, where + ": histogram", difference));
  }
  // Writers require a first element and a distance for a difference.
  if (difference.mismatch.empty() && (difference.first.empty() || difference.histogram.empty())) {
    fields.Refuse("first", "elements that differ, and their histogram");
  }
  QTX_RETURN_IF_ERROR(fields.Finish());
  return difference;
}

Result<Evidence> ReadEvidence(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Evidence evidence;
  const auto read = [&](const char* key, std::vector<Evidence::Value>& values) {
    fields.Array(key, [&](const Value& value, const std::string& place) -> Result<void> {
      QTX_ASSIGN_OR_RETURN(Evidence::Value one, ReadTensor(value, place));
      values.push_back(std::move(one));
      return {};
    });
  };
  read("inputs", evidence.inputs);
  read("expected", evidence.expected);
  read("got", evidence.got);
  QTX_RETURN_IF_ERROR(fields.Finish());
  return evidence;
}

Result<WrongPlace> ReadPlace(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  WrongPlace place{fields.Text("op"), fields.Text("form"), fields.Text("says")};
  QTX_RETURN_IF_ERROR(fields.Finish());
  return place;
}

Result<Finding> ReadFinding(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Finding finding;
  finding.operators = fields.Texts("operators");
  finding.candidate = fields.Text("candidate");
  finding.says = fields.Text("says");
  finding.failing = Count(fields, "failing");
  finding.explained = Count(fields, "explained");
  finding.confirmed = Count(fields, "confirmed");
  fields.Array("places", [&](const Value& value, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(WrongPlace one, ReadPlace(value, place));
    finding.places.push_back(std::move(one));
    return {};
  });
  QTX_RETURN_IF_ERROR(fields.Finish());
  return finding;
}

void ReadError(JsonFields& fields, BackendReport& row) {
  if (fields.Find("error") == nullptr) return;
  const std::int64_t code = fields.Integer("error_code");
  const bool known = code >= 0 && code <= static_cast<std::int64_t>(ErrorCode::kProtocol);
  row.error = Error{known ? static_cast<ErrorCode>(code) : ErrorCode::kInvalid,
                    fields.Text("error_where"), fields.Text("error_message")};
  if (row.error->message.empty()) row.error->message = fields.Text("error");
}

// Into `fault`: a Result<Error> that is given an Error would be one that failed.
Result<void> ReadProtocolFault(const Value& json, const std::string& where, Error& fault) {
  JsonFields fields(json, where);
  fault = {ErrorCode::kProtocol, fields.Text("where"), fields.Text("message"),
           fields.Text("clause")};
  return fields.Finish();
}

Result<SessionRun> ReadSession(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  SessionRun run{Count(fields, "run"), Count(fields, "handle"), Count(fields, "threads"),
                 Count(fields, "draw"), fields.Flag("at_once")};
  QTX_RETURN_IF_ERROR(fields.Finish());
  return run;
}

Result<BackendReport> ReadBackend(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  BackendReport row;
  row.source = fields.Text("source");
  row.description = {fields.Text("name"), fields.Text("version"), fields.Texts("arithmetics"),
                     fields.Text("device")};
  row.arithmetic = fields.Text("arithmetic");
  row.seconds = Seconds(fields);
  ReadError(fields, row);
  fields.Array("protocol_faults",
               [&](const Value& value, const std::string& place) -> Result<void> {
                 return ReadProtocolFault(value, place, row.protocol_faults.emplace_back());
               });
  if (const auto* const counts = fields.Find("counts")) {
    JsonFields inner(*counts, where + ": counts");
    row.not_applicable = Count(inner, "not_applicable");
    // Those of outcomes follow from the cases.
    for (std::size_t i = 0; i < kOutcomes; ++i)
      (void)inner.Integer(std::string(Name(static_cast<Outcome>(i))).c_str());
    QTX_RETURN_IF_ERROR(inner.Finish());
  }
  (void)fields.Find("passes");  // follow from the cases
  fields.Array("findings", [&](const Value& value, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(Finding finding, ReadFinding(value, place));
    row.findings.push_back(std::move(finding));
    return {};
  });
  fields.Array("cases", [&](const Value& value, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(CaseResult result, ReadCase(value, place));
    ++row.counts[static_cast<std::size_t>(result.outcome)];
    row.cases.push_back(std::move(result));
    return {};
  });
  fields.Require({"name", "cases"});
  QTX_RETURN_IF_ERROR(fields.Finish());
  return row;
}

}  // namespace

Result<CaseResult> ReadCase(const Value& json, const std::string& where) {
  JsonFields fields(json, where);
  CaseResult result;
  result.id = fields.Text("id");
  result.position = Count(fields, "position");
  result.arithmetic = fields.Text("arithmetic");
  const auto outcome = FromName<Outcome>(fields.Text("outcome"), kOutcomes);
  const auto expectation =
      FromName<ExpectationSource>(fields.Text("expectation"), kExpectationSources);
  const auto text = fields.Find("text") == nullptr
                        ? TextVerdict::kAbsent
                        : FromName<TextVerdict>(fields.Text("text"), kTextVerdicts);
  result.within_bound = fields.Flag("within_bound");
  result.spec = fields.Text("spec");
  result.why = fields.Text("why");
  result.where = fields.Text("where");
  result.op = fields.Text("op");
  result.level = fields.Text("level");
  result.tags = fields.Texts("tags");
  result.diagnosis = fields.Text("diagnosis");
  result.explained_by = fields.Texts("explained_by");
  fields.Array("differences", [&](const Value& value, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(Difference difference, ReadDifference(value, place));
    result.differences.push_back(std::move(difference));
    return {};
  });
  if (const auto* const evidence = fields.Find("evidence")) {
    QTX_ASSIGN_OR_RETURN(result.evidence, ReadEvidence(*evidence, where + ": evidence"));
  }
  result.unstable = fields.Flag("unstable");
  result.unmodelled = fields.Texts("unmodelled");
  if (const auto* const session = fields.Find("session")) {
    QTX_ASSIGN_OR_RETURN(result.session, ReadSession(*session, where + ": session"));
  }
  result.error_output = fields.Text("error_output");
  result.seconds = Seconds(fields);
  if (result.id.empty()) fields.Refuse("id", "a case's id");
  if (!outcome) fields.Refuse("outcome", "the name of an outcome");
  if (!expectation) fields.Refuse("expectation", "the name of a source of expectations");
  if (!text) fields.Refuse("text", "the name of a verdict");
  QTX_RETURN_IF_ERROR(fields.Finish());
  result.outcome = *outcome;
  result.expectation = *expectation;
  result.text = *text;
  return result;
}

Result<Report> ParseReport(std::string_view json, const std::string& where) {
  rapidjson::Document document;
  if (const auto parsed = format::ParseJson(json, kReportBounds, document); !parsed.has_value())
    return At(where, parsed.error());
  JsonFields fields(document, where);
  Report report;
  if (fields.Find("schema") != nullptr && fields.Text("schema") != SchemaOf("validate")) {
    fields.Refuse("schema", SchemaOf("validate"));
  }
  if (const auto* const provenance = fields.Find("provenance")) {
    QTX_ASSIGN_OR_RETURN(report.provenance, ReadProvenance(*provenance, where + ": provenance"));
  }
  fields.Array("merged", [&](const Value& value, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(report.merged.emplace_back(), ReadProvenance(value, place));
    return {};
  });
  report.suite = fields.Text("suite");
  report.suite_digest =
      fields.Formed("suite_digest", "([0-9a-f]{16})?", "16 hexadecimal digits, or nothing");
  report.selected = Count(fields, "selected");
  if (fields.Find("shards") != nullptr || fields.Find("shard") != nullptr) {
    report.shard = fields.Integer("shard");
    report.shards = fields.Integer("shards");
    if (report.shard < 1 || report.shard > report.shards) {
      fields.Refuse("shard", "1 to the number of shards");
    }
  }
  (void)fields.Flag("conforms");  // follows from the outcomes
  report.stale_expectations = fields.Texts("stale_expectations");
  report.strict_expectations = fields.Flag("strict_expectations");
  if (fields.Find("min_coverage") != nullptr) {
    report.min_coverage = fields.Number("min_coverage");
    if (!(report.min_coverage >= 0 && report.min_coverage <= 100)) {
      fields.Refuse("min_coverage", "0 to 100");
    }
  }
  fields.Array("backends", [&](const Value& value, const std::string& place) -> Result<void> {
    if (report.backends.size() == kMaxBackends) {
      return Error{ErrorCode::kTooLarge, place,
                   "expected at most " + std::to_string(kMaxBackends) + " backends"};
    }
    QTX_ASSIGN_OR_RETURN(BackendReport row, ReadBackend(value, place));
    report.backends.push_back(std::move(row));
    return {};
  });
  fields.Require({"backends"});
  if (report.suite.empty()) fields.Refuse("suite", "a folder", "an empty text or none");
  QTX_RETURN_IF_ERROR(fields.Finish());
  return report;
}

}  // namespace qtx::conformance
