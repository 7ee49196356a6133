#include "ort/entries.h"

#include <algorithm>
#include <cmath>

#include "errors.h"
#include "json_document.h"
#include "qtx/format/json_writer.h"

namespace qtx::convert::ort {
namespace {

using rapidjson::Value;
using Writer = format::JsonWriter;

const Value* Member(const Value& object, const char* key) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string Text(const Value& value) { return {value.GetString(), value.GetStringLength()}; }

// A number, an array of numbers, or either as {"data": ..., "CLS": "numpy.array"}.
Result<std::vector<double>> Numbers(const Value& value, const char* field) {
  if (value.IsObject()) {
    const auto known = CheckMembers(value, {"data", "dtype", "CLS"});
    if (!known.has_value()) return At(field, known.error());
  }
  const Value* data = value.IsObject() ? Member(value, "data") : &value;
  if (data == nullptr) return Invalid(field, "found no data");
  if (data->IsNumber()) return std::vector<double>{data->GetDouble()};
  if (!data->IsArray()) return Invalid(field, "expected a number or an array of numbers");
  std::vector<double> numbers;
  for (const Value& item : data->GetArray()) {
    if (!item.IsNumber()) return Invalid(field, "expected an array of numbers");
    numbers.push_back(item.GetDouble());
  }
  return numbers;
}

Result<void> Read(const Value& entry, const char* field, std::vector<double>& to) {
  const Value* value = Member(entry, field);
  if (value == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(to, Numbers(*value, field));
  return {};
}

Result<void> ReadOne(const Value& entry, const char* field, std::optional<double>& to) {
  std::vector<double> numbers;
  QTX_RETURN_IF_ERROR(Read(entry, field, numbers));
  if (numbers.size() > 1) return Invalid(field, "expected one number");
  if (!numbers.empty()) to = numbers[0];
  return {};
}

// Collectors for thresholds name the edges "bins", the one for distributions "hist_edges".
Result<void> ReadHistogram(const Value& value, Entry& entry) {
  std::vector<double> counts;
  QTX_RETURN_IF_ERROR(Read(value, "hist", counts));
  QTX_RETURN_IF_ERROR(Read(value, "bins", entry.edges));
  QTX_RETURN_IF_ERROR(Read(value, "hist_edges", entry.edges));
  if (counts.size() == 1 && entry.edges.size() == 1) {
    entry.edges.clear();
    entry.histogram_is_void = true;
    return {};
  }
  if (!counts.empty() && entry.edges.size() != counts.size() + 1) {
    return Invalid("hist", "found " + std::to_string(counts.size()) + " counts and " +
                               std::to_string(entry.edges.size()) + " edges, expected one more");
  }
  constexpr double kMost = 0x1p53;
  for (const double count : counts) {
    if (!(count >= 0) || count > kMost || count != std::floor(count))
      return Invalid("hist", "expected counts");
    entry.counts.push_back(static_cast<std::uint64_t>(count));
  }
  return {};
}

Result<Entry> EntryOf(std::string name, const Value& value) {
  Entry entry;
  entry.name = std::move(name);
  if (value.IsArray() && value.Size() == 2) {  // before 1.16
    QTX_ASSIGN_OR_RETURN(entry.lowest, Numbers(value[0], "lowest"));
    QTX_ASSIGN_OR_RETURN(entry.highest, Numbers(value[1], "highest"));
  } else if (value.IsObject()) {
    // onnxruntime itself refuses other fields of a TensorData.
    QTX_RETURN_IF_ERROR(CheckMembers(
        value, {"lowest", "highest", "avg", "std", "hist", "hist_edges", "bins", "CLS"}));
    QTX_RETURN_IF_ERROR(Read(value, "lowest", entry.lowest));
    QTX_RETURN_IF_ERROR(Read(value, "highest", entry.highest));
    QTX_RETURN_IF_ERROR(ReadOne(value, "avg", entry.mean));
    QTX_RETURN_IF_ERROR(ReadOne(value, "std", entry.std));
    QTX_RETURN_IF_ERROR(ReadHistogram(value, entry));
  } else {
    return Invalid("expected an object or a pair");
  }
  if (entry.lowest.size() != entry.highest.size()) {
    return Invalid("lowest", "found " + std::to_string(entry.lowest.size()) + " and " +
                                 std::to_string(entry.highest.size()) + " of highest");
  }
  return entry;
}

Result<std::string> MethodOf(const Value& document) {
  const Value* method = Member(document, "calibration_method");
  if (method == nullptr) return std::string("MinMax");
  const Value* text = method->IsObject() ? Member(*method, "value") : method;
  if (text == nullptr || !text->IsString())
    return Invalid("calibration_method", "expected its name");
  std::string name = Text(*text);
  name.erase(0, name.rfind('.') + 1);
  for (const char* known : {"MinMax", "Entropy", "Percentile", "Distribution"}) {
    if (name == known) return name;
  }
  return Invalid("calibration_method",
                 "found '" + name + "', expected MinMax, Entropy, Percentile or Distribution");
}

void WriteReals(const char* key, const std::vector<double>& values, bool scalar, Writer& writer) {
  writer.Key(key);
  writer.BeginObject();
  writer.Key("data");
  if (!scalar) writer.BeginArray();
  for (const double value : values) writer.Value(static_cast<float>(value));
  if (!scalar) writer.EndArray();
  writer.Field("dtype", "float32");
  writer.Field("CLS", "numpy.array");
  writer.EndObject();
}

void WriteCounts(const std::vector<std::uint64_t>& counts, Writer& writer) {
  writer.Key("hist");
  writer.BeginObject();
  writer.Field("data", counts);
  writer.Field("dtype", "int64");
  writer.Field("CLS", "numpy.array");
  writer.EndObject();
}

void WriteEntry(const Entry& entry, Writer& writer) {
  writer.Value(entry.name);
  writer.BeginObject();
  WriteReals("lowest", entry.lowest, false, writer);
  WriteReals("highest", entry.highest, false, writer);
  if (entry.mean) WriteReals("avg", {*entry.mean}, true, writer);
  if (entry.std) WriteReals("std", {*entry.std}, true, writer);
  if (!entry.counts.empty()) {
    WriteCounts(entry.counts, writer);
    WriteReals("hist_edges", entry.edges, false, writer);
  }
  writer.Field("CLS", "TensorData");
  writer.EndObject();
}

}  // namespace

Result<Calibration> ParseCalibration(std::string_view text) {
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(ParseObject(text, document));
  Calibration calibration;
  const Value* data = Member(document, "data");
  if (data == nullptr) {
    data = &document;
  } else {
    QTX_RETURN_IF_ERROR(
        CheckMembers(document, {"CLS", "data", "calibration_method", "smooth_quant"}));
    QTX_ASSIGN_OR_RETURN(calibration.method, MethodOf(document));
  }
  if (!data->IsObject()) return Invalid("data", "expected an object");
  for (const auto& member : data->GetObject()) {
    auto entry = EntryOf(Text(member.name), member.value);
    if (!entry.has_value()) return At("value '" + Text(member.name) + "'", entry.error());
    calibration.entries.push_back(*std::move(entry));
  }
  return calibration;
}

std::string CalibrationText(const Calibration& calibration) {
  Writer writer(Writer::Layout::kLine);
  writer.BeginObject();
  writer.Field("CLS", "TensorsData");
  writer.Key("data");
  writer.BeginObject();
  for (const Entry& entry : calibration.entries) WriteEntry(entry, writer);
  writer.EndObject();
  writer.Key("calibration_method");
  writer.BeginObject();
  writer.Field("CLS", "CalibrationMethod");
  writer.Field("value", "CalibrationMethod." + calibration.method);
  writer.EndObject();
  writer.Field("smooth_quant", false);
  writer.EndObject();
  return writer.Text() + "\n";
}

}  // namespace qtx::convert::ort
