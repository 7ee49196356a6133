#include "table/record.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

namespace qtx::convert::table {
namespace {

using Form = Column::Form;
using format::Quantization;
using format::Scheme;
using format::Statistics;

constexpr std::array kColumns = {
    Column{"name"},
    Column{"elem_type"},
    Column{"shape", Form::kText, true},
    Column{"scale", Form::kReal, true},
    Column{"offset", Form::kInteger, true},
    Column{"axis", Form::kInteger, true},
    Column{"block_shape", Form::kInteger, true},
    Column{"scheme"},
    Column{"quant_min", Form::kInteger},
    Column{"quant_max", Form::kInteger},
    Column{"storage_type"},
    Column{"requantization.multiplier", Form::kInteger, true},
    Column{"requantization.shift", Form::kInteger, true},
    Column{"statistics.min", Form::kReal, true},
    Column{"statistics.max", Form::kReal, true},
    Column{"statistics.mean", Form::kReal, true},
    Column{"statistics.std", Form::kReal, true},
    Column{"statistics.count", Form::kInteger},
    Column{"statistics.nan_count", Form::kInteger},
    Column{"statistics.infinity_count", Form::kInteger},
    Column{"statistics.axis", Form::kInteger, true},
    Column{"statistics.histogram.lower", Form::kReal},
    Column{"statistics.histogram.upper", Form::kReal},
    Column{"statistics.histogram.counts", Form::kInteger, true},
    Column{"statistics.histogram.below", Form::kInteger},
    Column{"statistics.histogram.above", Form::kInteger},
    Column{"statistics.source"},
    Column{"statistics.moments", Form::kText, true},
};

// exponent;integer, its bytes in hexadecimal
std::string TextOfSum(const format::ExactSum& sum) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = std::to_string(sum.exponent) + ";";
  for (const char c : sum.integer) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

template <typename T>
std::string Text(const T& value) {
  if constexpr (std::is_same_v<T, format::Moments>) {
    return std::to_string(value.count) + ";" + TextOfSum(value.sum) + ";" +
           TextOfSum(value.sum_of_squares);
  } else if constexpr (std::is_floating_point_v<T>) {
    return format::HexFloat(static_cast<double>(value));
  } else {
    return std::to_string(value);
  }
}

template <typename T>
void PutList(std::string_view key, const std::vector<T>& values, Record& record) {
  if (values.empty()) return;
  std::string& text = record[std::string(key)];
  for (const T& value : values) text += (text.empty() ? "" : " ") + Text(value);
}

void PutShape(const format::TensorType& type, Record& record) {
  if (!type.shape) return;
  std::string& text = record["shape"];
  for (const format::Dimension& dimension : *type.shape) {
    text += text.empty() ? "" : " ";
    text += dimension.value ? std::to_string(*dimension.value)
                            : (dimension.symbol.empty() ? "?" : dimension.symbol);
  }
}

void Put(const Quantization& q, Record& record) {
  PutList("scale", q.scale, record);
  PutList("offset", q.offset, record);
  PutList("axis", q.axis, record);
  PutList("block_shape", q.block_shape, record);
  record["scheme"] = format::Name(q.scheme);
  if (q.quant_min) record["quant_min"] = std::to_string(*q.quant_min);
  if (q.quant_max) record["quant_max"] = std::to_string(*q.quant_max);
  if (q.storage_type != format::ElementType::kUndefined)
    record["storage_type"] = format::Name(q.storage_type);
  if (!q.requantization) return;
  PutList("requantization.multiplier", q.requantization->multiplier, record);
  PutList("requantization.shift", q.requantization->shift, record);
}

void Put(const Statistics& s, Record& record) {
  PutList("statistics.min", s.min, record);
  PutList("statistics.max", s.max, record);
  PutList("statistics.mean", s.mean, record);
  PutList("statistics.std", s.std, record);
  record["statistics.count"] = std::to_string(s.count);
  record["statistics.nan_count"] = std::to_string(s.nan_count);
  record["statistics.infinity_count"] = std::to_string(s.infinity_count);
  PutList("statistics.axis", s.axis, record);
  if (!s.source.empty()) record["statistics.source"] = s.source;
  PutList("statistics.moments", s.moments, record);
  if (!s.histogram) return;
  record["statistics.histogram.lower"] = Text(s.histogram->lower);
  record["statistics.histogram.upper"] = Text(s.histogram->upper);
  PutList("statistics.histogram.counts", s.histogram->counts, record);
  record["statistics.histogram.below"] = std::to_string(s.histogram->below);
  record["statistics.histogram.above"] = std::to_string(s.histogram->above);
}

bool ParseBytes(std::string_view hex, std::string& bytes) {
  if (hex.size() % 2 != 0) return false;
  for (; !hex.empty(); hex.remove_prefix(2)) {
    unsigned char byte = 0;
    const auto [end, failed] = std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    if (failed != std::errc() || end != hex.data() + 2) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

bool ParseMoments(std::string_view text, format::Moments& moments);

template <typename T>
bool Parse(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, format::Moments>) {
    return ParseMoments(text, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto parsed = format::ParseFloat(text);
    if (!parsed.has_value()) return false;
    value = static_cast<T>(*parsed);
    return static_cast<double>(value) == *parsed;
  } else {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size();
  }
}

bool ParseMoments(std::string_view text, format::Moments& moments) {
  std::array<std::string_view, 5> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t size = i + 1 == parts.size() ? text.size() : text.find(';');
    if (size == text.npos) return false;
    parts[i] = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return Parse(parts[0], moments.count) && Parse(parts[1], moments.sum.exponent) &&
         ParseBytes(parts[2], moments.sum.integer) &&
         Parse(parts[3], moments.sum_of_squares.exponent) &&
         ParseBytes(parts[4], moments.sum_of_squares.integer);
}

// Parses fields and remembers the first that is malformed.
class Taker {
 public:
  explicit Taker(const Record& record) : record_(record) {}

  std::string_view operator[](std::string_view key) const {
    const auto found = record_.find(key);
    return found == record_.end() ? std::string_view() : std::string_view(found->second);
  }
  template <typename T>
  void List(std::string_view key, std::vector<T>& values) {
    std::string_view rest = (*this)[key];
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.find(' '), rest.size());
      T value{};
      if (!Parse(rest.substr(0, size), value)) return Fail(key, rest.substr(0, size), FormOf<T>());
      values.push_back(value);
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
  }
  template <typename T>
  void One(std::string_view key, T& value) {
    const std::string_view text = (*this)[key];
    if (!text.empty() && !Parse(text, value)) Fail(key, text, FormOf<T>());
  }
  void One(std::string_view key, std::optional<std::int64_t>& value) {
    if ((*this)[key].empty()) return;
    value.emplace();
    One(key, *value);
  }
  void One(std::string_view key, format::ElementType& type) {
    const std::string_view text = (*this)[key];
    if (text.empty()) return;
    const auto found = format::ElementTypeFromName(text);
    if (!found) return Fail(key, text, "the name of an element type");
    type = *found;
  }
  void One(std::string_view key, Scheme& scheme) {
    const std::string_view text = (*this)[key];
    for (int i = 0; i <= static_cast<int>(Scheme::kSymmetricUint8); ++i) {
      scheme = static_cast<Scheme>(i);
      if (format::Name(scheme) == text) return;
    }
    scheme = Scheme::kUnspecified;
    if (!text.empty()) Fail(key, text, "the name of a scheme");
  }
  std::optional<Error> error;

 private:
  template <typename T>
  static std::string_view FormOf() {
    if (std::is_same_v<T, format::Moments>) return "count;exponent;integer;exponent;integer";
    if (std::is_same_v<T, float>) return "a number that a binary32 holds";
    return std::is_floating_point_v<T> ? "a number" : "an integer of its range";
  }
  void Fail(std::string_view key, std::string_view text, std::string_view expected) {
    if (!error) {
      error = Error{
          ErrorCode::kInvalid, std::string(key),
          "found '" + std::string(text.substr(0, 80)) + "', expected " + std::string(expected)};
    }
  }
  const Record& record_;
};

// The column without which `key` says nothing.
std::string_view NeededBy(std::string_view key) {
  constexpr std::string_view kCounts = "statistics.histogram.counts";
  constexpr std::string_view kMultiplier = "requantization.multiplier";
  if (key == "elem_type" || key == "shape") return "name";
  if (key.starts_with("statistics.histogram.") && key != kCounts) return kCounts;
  if (key.starts_with("statistics.")) return "statistics.count";
  return key.starts_with("requantization.") && key != kMultiplier ? kMultiplier : "scale";
}

Result<void> CheckComplete(const Record& record) {
  if (!record.contains("name"))
    return Error{ErrorCode::kInvalid, "", "found no name, expected that of a value"};
  for (const auto& [key, cell] : record) {
    const std::string_view needed = NeededBy(key);
    if (key == "name" || record.contains(needed)) continue;
    return Error{ErrorCode::kInvalid, key,
                 "found no " + std::string(needed) + ", expected it here"};
  }
  return {};
}

Quantization QuantizationIn(Taker& take) {
  Quantization q;
  take.List("scale", q.scale);
  take.List("offset", q.offset);
  take.List("axis", q.axis);
  take.List("block_shape", q.block_shape);
  take.One("scheme", q.scheme);
  take.One("quant_min", q.quant_min);
  take.One("quant_max", q.quant_max);
  take.One("storage_type", q.storage_type);
  if (take["requantization.multiplier"].empty()) return q;
  q.requantization.emplace();
  take.List("requantization.multiplier", q.requantization->multiplier);
  take.List("requantization.shift", q.requantization->shift);
  return q;
}

Statistics StatisticsIn(Taker& take) {
  Statistics s;
  take.List("statistics.min", s.min);
  take.List("statistics.max", s.max);
  take.List("statistics.mean", s.mean);
  take.List("statistics.std", s.std);
  take.One("statistics.count", s.count);
  take.One("statistics.nan_count", s.nan_count);
  take.One("statistics.infinity_count", s.infinity_count);
  take.List("statistics.axis", s.axis);
  s.source = take["statistics.source"];
  take.List("statistics.moments", s.moments);
  if (take["statistics.histogram.counts"].empty()) return s;
  s.histogram.emplace();
  take.One("statistics.histogram.lower", s.histogram->lower);
  take.One("statistics.histogram.upper", s.histogram->upper);
  take.List("statistics.histogram.counts", s.histogram->counts);
  take.One("statistics.histogram.below", s.histogram->below);
  take.One("statistics.histogram.above", s.histogram->above);
  return s;
}

// Integers are sizes, "?" is unknown, others are symbols.
std::optional<format::Shape> ShapeIn(std::string_view text) {
  if (text.empty()) return std::nullopt;
  format::Shape shape;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(' '), text.size());
    const std::string_view part = text.substr(0, size);
    format::Dimension& dimension = shape.emplace_back();
    std::int64_t value = 0;
    if (Parse(part, value) && value >= 0)
      dimension.value = value;
    else if (part != "?")
      dimension.symbol = part;
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return shape;
}

}  // namespace

std::span<const Column> Columns() { return kColumns; }

std::string ColumnNames() {
  std::string names;
  for (const Column& column : kColumns) {
    names += names.empty() ? "" : &column == &kColumns.back() ? " or " : ", ";
    names += column.key;
  }
  return names;
}

Record RecordOf(const format::ValueInfo& info) {
  Record record;
  record["name"] = info.name;
  // A number that stands for no type has no name.
  const std::string_view type = format::Name(info.type->elem_type);
  if (format::ElementTypeFromName(type)) record["elem_type"] = type;
  PutShape(*info.type, record);
  if (info.type->quantization) Put(*info.type->quantization, record);
  if (info.type->statistics) Put(*info.type->statistics, record);
  return record;
}

Result<ParsedRecord> ParseRecord(const Record& record) {
  Taker take(record);
  ParsedRecord row;
  row.name = take["name"];
  const auto complete = CheckComplete(record);
  take.One("elem_type", row.elem_type);
  row.shape = ShapeIn(take["shape"]);
  if (!take["scale"].empty()) row.quantization = QuantizationIn(take);
  if (!take["statistics.count"].empty()) row.statistics = StatisticsIn(take);
  if (!complete.has_value() && !take.error) take.error = complete.error();
  if (take.error) return At("value '" + row.name + "'", *std::move(take.error));
  return row;
}

}  // namespace qtx::convert::table
