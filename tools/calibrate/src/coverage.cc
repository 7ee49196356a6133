#include "coverage.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "qtx/calibrate/calibrate.h"
#include "qtx/format/annotation.h"
#include "qtx/format/json_reader.h"
#include "qtx/format/json_writer.h"

namespace qtx::calibrate {
namespace {

using format::JsonFields;
using format::JsonWriter;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMaxShards = 1'000'000;

void Write(JsonWriter& writer, const Part& part) {
  writer.BeginObject();
  writer.Field("data", part.data);
  writer.Field("index", part.index);
  writer.Field("count", part.count);
  writer.Field("samples", part.samples);
  writer.Key("skipped");
  writer.BeginArray();
  for (const auto& [name, reason] : part.skipped) {
    writer.BeginObject();
    writer.Field("sample", name);
    writer.Field("reason", reason);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

Result<Part> ReadPart(const rapidjson::Value& value, const std::string& where) {
  JsonFields fields(value, where);
  fields.Require({"data", "index", "count", "samples", "skipped"});
  Part part{fields.Text("data"),
            fields.Integer("index"),
            fields.Integer("count"),
            fields.Integer("samples"),
            {}};
  if (part.count < 1 || part.count > kMaxShards)
    fields.Refuse("count", "1 to " + std::to_string(kMaxShards));
  if (part.index < 1 || part.index > part.count) fields.Refuse("index", "1 to the count");
  // A sum that anybody may have written.
  if (part.samples < 0 || part.samples > format::kMaxElements)
    fields.Refuse("samples", "0 to " + std::to_string(format::kMaxElements));
  fields.Array("skipped", [&](const auto& entry, const std::string& place) -> Result<void> {
    JsonFields sample(entry, place);
    sample.Require({"sample", "reason"});
    part.skipped.emplace_back(sample.Text("sample"), sample.Text("reason"));
    return sample.Finish();
  });
  QTX_RETURN_IF_ERROR(fields.Finish());
  return part;
}

Result<Coverage> ReadCoverage(const rapidjson::Value& value) {
  JsonFields fields(value, "");
  if (fields.Integer("version") != kVersion) fields.Refuse("version", std::to_string(kVersion));
  fields.Require({"model", "executor", "bins", "axis", "parts"});
  Coverage coverage{.model = fields.Text("model"),
                    .executor = fields.Text("executor"),
                    .bins = fields.Integer("bins")};
  if (coverage.bins < 0 || coverage.bins == 1 || coverage.bins > format::kMaxHistogramBins)
    fields.Refuse("bins", "0, or 2 to " + std::to_string(format::kMaxHistogramBins));
  const rapidjson::Value* const axis = fields.Find("axis");
  if (axis != nullptr && !axis->IsNull()) coverage.axis = fields.Integer("axis");
  fields.Array("parts", [&](const auto& entry, const std::string& place) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(coverage.parts.emplace_back(), ReadPart(entry, place));
    return {};
  });
  QTX_RETURN_IF_ERROR(fields.Finish());
  return coverage;
}

// The text of the only entry of that key.
Result<std::string_view> MetadataText(const format::Model& model) {
  const std::string* text = nullptr;
  for (const auto& [key, value] : model.metadata) {
    if (key != kMetadataKey) continue;
    if (text != nullptr) return Error{ErrorCode::kInvalid, "", "found it twice, expected it once"};
    text = &value;
  }
  if (text == nullptr)
    return Error{ErrorCode::kInvalid, "", "missing, expected a calibrated model"};
  return *text;
}

Result<Coverage> ParseCoverage(const format::Model& model) {
  QTX_ASSIGN_OR_RETURN(const std::string_view text, MetadataText(model));
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(format::ParseJson(text, kJsonBounds, document));
  return ReadCoverage(document);
}

Error SameSamples(const Part& part) {
  return {ErrorCode::kInvalid, "",
          "shard " + std::to_string(part.index) + "/" + std::to_string(part.count) +
              " of the samples " + part.data + " is there twice"};
}

// All shards of one collection as one part, if they are all there.
void Collapse(std::vector<Part>& parts) {
  std::vector<Part> result;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first;
    while (last < parts.size() && parts[last].data == parts[first].data) ++last;
    if (static_cast<std::int64_t>(last - first) == parts[first].count) {
      Part whole{.data = parts[first].data};
      for (std::size_t i = first; i < last; ++i) {
        whole.samples += parts[i].samples;
        whole.skipped.insert(whole.skipped.end(), parts[i].skipped.begin(), parts[i].skipped.end());
      }
      std::ranges::sort(whole.skipped);
      result.push_back(std::move(whole));
    } else {
      result.insert(result.end(), parts.begin() + static_cast<std::ptrdiff_t>(first),
                    parts.begin() + static_cast<std::ptrdiff_t>(last));
    }
    first = last;
  }
  parts = std::move(result);
}

}  // namespace

std::int64_t Coverage::Samples() const {
  std::int64_t samples = 0;
  for (const Part& part : parts) samples += part.samples;
  return samples;
}

std::string ToJson(const Coverage& coverage) {
  JsonWriter writer(JsonWriter::Layout::kLine);
  writer.BeginObject();
  writer.Field("version", kVersion);
  writer.Field("model", coverage.model);
  writer.Field("executor", coverage.executor);
  writer.Field("bins", coverage.bins);
  writer.Key("axis");
  coverage.axis ? writer.Value(*coverage.axis) : writer.Null();
  writer.Key("parts");
  writer.BeginArray();
  for (const Part& part : coverage.parts) Write(writer, part);
  writer.EndArray();
  writer.EndObject();
  return writer.Text();
}

Result<Coverage> CoverageOf(const format::Model& model) {
  auto coverage = ParseCoverage(model);
  if (coverage.has_value()) return coverage;
  return At("metadata_props '" + std::string(kMetadataKey) + "'", coverage.error());
}

Result<void> SetCoverage(const Coverage& coverage, format::Model& model) {
  std::erase_if(model.metadata, [](const auto& entry) {
    return entry.first == kMetadataKey || entry.first == format::kStatisticsKey;
  });
  model.metadata.emplace_back(kMetadataKey, ToJson(coverage));
  return format::RecordStatistics(model);
}

Result<Coverage> Join(const Coverage& a, const Coverage& b) {
  const auto differ = [](const char* what) {
    return Error{ErrorCode::kInvalid, "", std::string("was calibrated with ") + what};
  };
  if (a.model != b.model) return Error{ErrorCode::kInvalid, "", "differs from the first model"};
  if (a.executor != b.executor) {
    return Error{ErrorCode::kInvalid, "",
                 "was computed by '" + b.executor + "', the first by '" + a.executor + "'"};
  }
  if (a.bins != b.bins) return differ("another number of histogram bins than the first");
  if (a.axis != b.axis) return differ("another axis than the first");
  Coverage joined = a;
  joined.parts.insert(joined.parts.end(), b.parts.begin(), b.parts.end());
  const auto place = [](const Part& part) { return std::tie(part.data, part.index); };
  std::ranges::stable_sort(joined.parts, {}, place);
  for (std::size_t i = 1; i < joined.parts.size(); ++i) {
    const Part& part = joined.parts[i];
    const Part& before = joined.parts[i - 1];
    if (part.data != before.data) continue;
    if (part.count != before.count) {
      return Error{ErrorCode::kInvalid, "",
                   "the samples " + part.data + " were split into " + std::to_string(part.count) +
                       " shards and into " + std::to_string(before.count)};
    }
    if (part.index == before.index) return SameSamples(part);
  }
  Collapse(joined.parts);
  return joined;
}

std::vector<std::string> Missing(const Coverage& coverage) {
  std::map<std::string, std::vector<const Part*>> collections;
  for (const Part& part : coverage.parts) collections[part.data].push_back(&part);
  std::vector<std::string> missing;
  constexpr std::size_t kMostNamed = 1000;
  for (const auto& [data, parts] : collections) {
    std::size_t next = 0;
    for (std::int64_t i = 1; i <= parts[0]->count && missing.size() < kMostNamed; ++i) {
      if (next < parts.size() && parts[next]->index == i) {
        ++next;
      } else {
        missing.push_back(std::to_string(i) + "/" + std::to_string(parts[0]->count));
      }
    }
  }
  return missing;
}

std::string SourceOf(std::int64_t samples) {
  return "qtx calibrate: " + std::to_string(samples) + (samples == 1 ? " sample" : " samples");
}

}  // namespace qtx::calibrate
