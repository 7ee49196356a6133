#include "report_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare.h"
#include "qtx/backend/protocol.h"
#include "qtx/format/json_writer.h"
#include "qtx/format/text.h"
#include "row_names.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;
using Writer = format::JsonWriter;

// Largest integer that a double, and so JavaScript, holds exactly.
constexpr std::int64_t kExactInteger = std::int64_t{1} << 53;

void Text(Writer& writer, std::string_view text) {
  writer.Value(format::PrintableLines(text, kMaxShownText));
}

void Field(Writer& writer, const char* key, std::string_view text) {
  writer.Key(key);
  Text(writer, text);
}

void Field(Writer& writer, const char* key, std::int64_t value) { writer.Field(key, value); }

template <typename Range, typename Write>
void Array(Writer& writer, const Range& range, const Write& write) {
  writer.BeginArray();
  for (const auto& element : range) write(element);
  writer.EndArray();
}

void Texts(Writer& writer, const char* key, const std::vector<std::string>& texts) {
  writer.Key(key);
  Array(writer, texts, [&](const std::string& text) { Text(writer, text); });
}

void Integer(Writer& writer, std::int64_t value) {
  if (value > kExactInteger || value < -kExactInteger) return Text(writer, std::to_string(value));
  writer.Value(value);
}

void Integers(Writer& writer, const char* key, std::span<const std::int64_t> values) {
  writer.Key(key);
  Array(writer, values, [&](std::int64_t value) { Integer(writer, value); });
}

// The shortest decimal that reads back as the same value; JSON has no NaN and no infinity.
template <typename Float>
void Real(Writer& writer, Float value) {
  if (std::isnan(value)) return Text(writer, "NaN");
  if (std::isinf(value)) return Text(writer, value < 0 ? "-Infinity" : "Infinity");
  const std::string text = fmt::format("{}", value);
  writer.Raw(text);
}

// Prints elements of a type.
enum class Kind { kInteger, kUnsigned64, kDouble, kFloat, kNone };
Kind KindOf(ElementType type) {
  const ElementType storage = format::StorageOf(type);
  if (storage == ElementType::kUint64) return Kind::kUnsigned64;
  if (storage == ElementType::kBool || storage == ElementType::kInt64 ||
      format::IsIntegerStorage(type)) {
    return Kind::kInteger;
  }
  if (storage == ElementType::kDouble) return Kind::kDouble;
  const bool no_numbers = storage == ElementType::kComplex64 ||
                          storage == ElementType::kComplex128 || storage == ElementType::kString ||
                          storage == ElementType::kUndefined;
  return no_numbers ? Kind::kNone : Kind::kFloat;
}

// Writes elements of a tensor by index.  REQUIRES: CheckTensor succeeded.
class Values {
 public:
  explicit Values(const Tensor& tensor) : kind_(KindOf(tensor.elem_type)) {
    if (kind_ == Kind::kInteger || kind_ == Kind::kUnsigned64) {
      integers_ = format::UnpackIntegers(tensor);
    } else if (kind_ != Kind::kNone) {
      reals_ = format::StoredValues(tensor);
    }
  }
  std::size_t size() const { return std::max(integers_.size(), reals_.size()); }
  void Write(Writer& writer, std::size_t i) const {
    if (kind_ == Kind::kUnsigned64 && integers_[i] < 0) {
      return Text(writer, std::to_string(static_cast<std::uint64_t>(integers_[i])));
    }
    if (!integers_.empty()) return Integer(writer, integers_[i]);
    if (kind_ == Kind::kDouble) return Real(writer, reals_[i]);
    Real(writer, static_cast<float>(reals_[i]));  // exact: every other float type fits
  }

 private:
  Kind kind_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
};

void WriteQuantization(Writer& writer, const format::Quantization& q) {
  const auto shown = std::min(q.scale.size(), kMaxShownElements);
  writer.Key("scale");
  Array(writer, std::span(q.scale).first(shown), [&](float scale) { Real(writer, scale); });
  if (!q.offset.empty()) {
    writer.Key("offset");
    Array(writer, std::span(q.offset).first(std::min(q.offset.size(), kMaxShownElements)),
          [&](std::int32_t offset) { writer.Value(offset); });
  }
  if (!q.axis.empty()) Integers(writer, "axis", q.axis);
  if (!q.block_shape.empty()) Integers(writer, "block", q.block_shape);
  if (q.quant_min) Field(writer, "min", *q.quant_min);
  if (q.quant_max) Field(writer, "max", *q.quant_max);
}

void WriteShownTensor(Writer& writer, const std::string& name, const Tensor& tensor) {
  writer.BeginObject();
  Field(writer, "name", name);
  Field(writer, "type", format::Name(tensor.elem_type));
  Integers(writer, "dims", tensor.dims);
  if (tensor.quantization) WriteQuantization(writer, *tensor.quantization);
  const Values values(tensor);
  writer.Key("data");
  writer.BeginArray();
  for (std::size_t i = 0; i < std::min(values.size(), kMaxShownElements); ++i) {
    values.Write(writer, i);
  }
  writer.EndArray();
  writer.EndObject();
}

void WriteElements(Writer& writer, const char* key, const Tensor& tensor,
                   std::span<const ElementDistance> distances) {
  const Values values(tensor);
  writer.Key(key);
  Array(writer, distances,
        [&](const ElementDistance& element) { values.Write(writer, element.index); });
}

// Only differing elements: index, both values, distance (null if one is NaN), and whether the
// tolerance allows it.
void WriteDistances(Writer& writer, const Tensor& got, const Tensor& expected,
                    std::span<const ElementDistance> distances) {
  distances = distances.first(std::min(distances.size(), kMaxShownElements));
  writer.Key("at");
  Array(writer, distances, [&](const ElementDistance& element) { writer.Value(element.index); });
  writer.Key("delta");
  Array(writer, distances, [&](const ElementDistance& element) {
    if (!element.distance) {
      writer.Null();
    } else {
      Real(writer, static_cast<double>(*element.distance));
    }
  });
  if (std::ranges::any_of(distances, &ElementDistance::allowed)) {
    writer.Key("allowed");
    Array(writer, distances,
          [&](const ElementDistance& element) { writer.Value(element.allowed ? 1 : 0); });
  }
  WriteElements(writer, "got", got, distances);
  WriteElements(writer, "want", expected, distances);
}

const Tensor* Find(const std::vector<Evidence::Value>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &Evidence::Value::name);
  return found == values.end() ? nullptr : &found->tensor;
}

void WriteValues(Writer& writer, const Difference& difference, const Evidence& evidence) {
  const Tensor* expected = Find(evidence.expected, difference.output);
  const Tensor* got = Find(evidence.got, difference.output);
  if (expected != nullptr) {
    writer.Key("tensor");
    WriteShownTensor(writer, difference.output, *expected);
  }
  if (got == nullptr) return;
  const auto distances =
      expected == nullptr ? std::nullopt : Distances(*got, *expected, difference.tolerance);
  if (distances) return WriteDistances(writer, *got, *expected, *distances);
  writer.Key("instead");
  WriteShownTensor(writer, difference.output, *got);
}

// "1 ulp", "0.001 of the value"; empty for none.
std::string InWords(const Tolerance& tolerance) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  if (tolerance.ulp != 0) add(fmt::format("{} ulp", tolerance.ulp));
  if (tolerance.absolute != 0) add(fmt::format("{}", tolerance.absolute));
  if (tolerance.relative != 0) add(fmt::format("{} of the value", tolerance.relative));
  return text;
}

void WriteDifference(Writer& writer, const Difference& difference, const Evidence* evidence) {
  writer.BeginObject();
  Field(writer, "output", difference.output);
  Field(writer, "mismatch", difference.mismatch);
  Field(writer, "elements", difference.elements);
  Field(writer, "differing", difference.differing);
  Field(writer, "unit", difference.unit);
  Field(writer, "tolerance", InWords(difference.tolerance));
  writer.Key("histogram");
  Array(writer, difference.histogram, [&](const auto& entry) {
    writer.BeginArray();
    Real(writer, static_cast<double>(entry.first));
    writer.Value(entry.second);
    writer.EndArray();
  });
  writer.Key("first");
  Array(writer, difference.first, [&](const ElementDifference& element) {
    writer.BeginArray();
    writer.Value(element.index);
    Text(writer, element.got);
    Text(writer, element.expected);
    writer.EndArray();
  });
  if (evidence != nullptr) WriteValues(writer, difference, *evidence);
  writer.EndObject();
}

bool IsSound(const Evidence& evidence) {
  const auto sound = [](const Evidence::Value& value) {
    return backend::CheckTensor(value.tensor).has_value();
  };
  return std::ranges::all_of(evidence.inputs, sound) &&
         std::ranges::all_of(evidence.expected, sound) && std::ranges::all_of(evidence.got, sound);
}

// Estimated bytes of `result` on the page: inputs and expected outputs in full, and index, distance
// and both values of each differing element.
std::int64_t EstimateBytes(const CaseResult& result) {
  constexpr auto kMost = static_cast<std::int64_t>(kMaxShownElements);
  const auto width = [](const Tensor& tensor) {
    return format::BitWidth(tensor.elem_type) <= 8 ? 5 : 13;
  };
  std::int64_t bytes = 0;
  const auto add = [&](const Evidence::Value& value) {
    bytes += 200 + std::min(format::ElementCount(value.tensor), kMost) * width(value.tensor);
  };
  std::ranges::for_each(result.evidence->inputs, add);
  std::ranges::for_each(result.evidence->expected, add);
  for (const Difference& difference : result.differences) {
    const Tensor* got = Find(result.evidence->got, difference.output);
    if (got == nullptr) continue;
    const std::int64_t shown =
        difference.mismatch.empty() ? difference.differing : format::ElementCount(*got);
    bytes += 200 + std::min(shown, kMost) * (10 + 2 * width(*got));
  }
  return bytes;
}

class PageData {
 public:
  explicit PageData(const Report& report) : report_(report) { ChooseEvidence(); }

  std::string Write() {
    writer_.BeginObject();
    WriteRuns();
    Field(writer_, "suite", report_.suite);
    writer_.Field("conforms", Conforms(report_));
    writer_.Key("outcomes");
    writer_.BeginArray();
    for (std::size_t i = 0; i < kOutcomes; ++i) Text(writer_, Name(static_cast<Outcome>(i)));
    writer_.EndArray();
    writer_.Key("expectations");
    writer_.BeginArray();
    for (std::size_t i = 0; i < kExpectationSources; ++i)
      Text(writer_, Name(static_cast<ExpectationSource>(i)));
    writer_.EndArray();
    Texts(writer_, "stale_expectations", report_.stale_expectations);
    const std::vector<std::string> names = RowNames(report_);
    writer_.Key("rows");
    writer_.BeginArray();
    for (std::size_t i = 0; i < names.size(); ++i) WriteRow(report_.backends[i], names[i]);
    writer_.EndArray();
    writer_.Key("cases");
    Array(writer_, cases_, [this](const CaseResult* result) { WriteCase(*result); });
    writer_.Key("strings");
    Array(writer_, strings_, [this](const std::string& text) { Text(writer_, text); });
    writer_.EndObject();
    return writer_.Text();
  }

 private:
  // Smallest first, to include as many wrong answers as possible.
  void ChooseEvidence() {
    std::vector<std::pair<std::int64_t, const CaseResult*>> sizes;
    for (const BackendReport& row : report_.backends) {
      for (const CaseResult& result : row.cases) {
        if (!result.evidence || !IsSound(*result.evidence)) continue;
        sizes.emplace_back(EstimateBytes(result), &result);
      }
    }
    std::ranges::stable_sort(sizes, {}, &std::pair<std::int64_t, const CaseResult*>::first);
    std::int64_t left = kMaxValueBytes;
    for (const auto& [bytes, result] : sizes) {
      left -= bytes;
      if (left < 0) return;
      shown_.insert(result);
    }
  }

  void String(std::string_view text) {
    const auto [known, added] = indices_.try_emplace(std::string(text), strings_.size());
    if (added) strings_.push_back(known->first);
    writer_.Value(known->second);
  }

  // The facts of each run as pairs of texts.
  void WriteRuns() {
    writer_.Key("runs");
    Array(writer_, report_.runs(), [this](const Provenance& run) {
      Array(writer_, Facts(run), [this](const auto& fact) {
        Array(writer_, std::array{fact.first, std::string_view(fact.second)},
              [this](std::string_view text) { Text(writer_, text); });
      });
    });
  }

  void WriteRow(const BackendReport& row, const std::string& name) {
    writer_.BeginObject();
    Field(writer_, "name", name);
    Field(writer_, "source", row.source);
    Field(writer_, "version", row.description.version);
    Field(writer_, "device", row.description.device);
    Field(writer_, "arithmetic", row.arithmetic);
    writer_.Field("conforms", Conforms(row));
    Integers(writer_, "counts", row.counts);
    Integers(writer_, "passes", row.Passes());
    Field(writer_, "not_applicable", row.not_applicable);
    writer_.Key("seconds");
    Real(writer_, row.seconds);
    if (row.error) Field(writer_, "error", row.error->where + ": " + row.error->message);
    writer_.Key("findings");
    Array(writer_, row.findings, [this](const Finding& finding) { WriteFinding(finding); });
    writer_.Key("results");
    Array(writer_, row.cases, [this](const CaseResult& result) { WriteResult(result); });
    writer_.EndObject();
  }

  void WriteFinding(const Finding& finding) {
    writer_.BeginObject();
    Texts(writer_, "operators", finding.operators);
    Field(writer_, "candidate", finding.candidate);
    Field(writer_, "says", finding.says);
    Field(writer_, "failing", finding.failing);
    Field(writer_, "explained", finding.explained);
    Field(writer_, "confirmed", finding.confirmed);
    writer_.Key("places");
    Array(writer_, finding.places, [this](const WrongPlace& place) {
      writer_.BeginObject();
      Field(writer_, "op", place.op);
      Field(writer_, "form", place.form);
      Field(writer_, "says", place.says);
      writer_.EndObject();
    });
    writer_.EndObject();
  }

  void WriteResult(const CaseResult& result) {
    const auto [known, added] = case_indices_.try_emplace(result.id, cases_.size());
    if (added) cases_.push_back(&result);
    writer_.BeginArray();
    writer_.Value(known->second);
    writer_.Value(static_cast<std::uint64_t>(result.outcome));
    writer_.Value(std::llround(result.seconds * 1e6));
    String(std::string(Name(result.expectation)) +
           (result.within_bound ? ", within the bound" : ""));
    if (!result.diagnosis.empty() || HasDetail(result)) String(result.diagnosis);
    if (HasDetail(result)) WriteDetail(result);
    writer_.EndArray();
  }

  static bool HasDetail(const CaseResult& result) {
    return !result.differences.empty() || !result.explained_by.empty() ||
           !result.error_output.empty();
  }

  void WriteDetail(const CaseResult& result) {
    writer_.BeginObject();
    Texts(writer_, "explained_by", result.explained_by);
    const Evidence* evidence = shown_.contains(&result) ? &*result.evidence : nullptr;
    if (evidence != nullptr) {
      writer_.Key("inputs");
      Array(writer_, evidence->inputs, [this](const Evidence::Value& value) {
        WriteShownTensor(writer_, value.name, value.tensor);
      });
    }
    writer_.Key("differences");
    Array(writer_, result.differences, [this, evidence](const Difference& difference) {
      WriteDifference(writer_, difference, evidence);
    });
    if (!result.error_output.empty()) WriteErrorOutput(result.error_output);
    writer_.EndObject();
  }

  // The end is the most useful part; the limit bounds the page when thousands of cases crash.
  void WriteErrorOutput(std::string_view output) {
    const std::size_t most = error_output_left_ > 0 ? kMaxShownErrorOutput : 200;
    if (output.size() > most) output.remove_prefix(output.size() - most);
    error_output_left_ -= static_cast<std::int64_t>(output.size());
    writer_.Field("error_output", format::PrintableLines(output));
  }

  void WriteCase(const CaseResult& result) {
    writer_.BeginArray();
    Text(writer_, result.id);
    for (const std::string* text :
         {&result.spec, &result.why, &result.where, &result.op, &result.level}) {
      String(*text);
    }
    Array(writer_, result.tags, [this](const std::string& tag) { String(tag); });
    writer_.EndArray();
  }

  const Report& report_;
  Writer writer_{Writer::Layout::kLine};
  std::unordered_set<const CaseResult*> shown_;                // results with tensors on the page
  std::unordered_map<std::string, std::size_t> indices_;       // of strings_
  std::unordered_map<std::string, std::size_t> case_indices_;  // by id, of cases_
  std::vector<std::string> strings_;
  std::vector<const CaseResult*> cases_;
  std::int64_t error_output_left_ = kMaxErrorOutputBytes;
};

}  // namespace

std::string ToPageData(const Report& report) { return PageData(report).Write(); }

}  // namespace qtx::conformance
