#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <set>

#include "bounds.h"
#include "qtx/format/json_writer.h"
#include "table/text.h"

namespace qtx::convert::table {
namespace {

using Writer = format::JsonWriter;

// JSON has no number that begins with 0, except 0 itself.
bool IsNumber(std::string_view text) {
  return !text.empty() && (text == "0" || text[0] != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

void WriteItem(std::string_view text, Column::Form form, Writer& writer) {
  const bool number =
      form == Column::Form::kInteger || (form == Column::Form::kText && IsNumber(text));
  if (number) {
    writer.Raw(text);
  } else {
    writer.Value(text);
  }
}

void WriteCell(const Column& column, std::string_view text, Writer& writer) {
  if (!column.list) {
    if (column.form == Column::Form::kText) {
      writer.Value(text);
    } else {
      WriteItem(text, column.form, writer);
    }
    return;
  }
  writer.BeginArray();
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(' '), text.size());
    WriteItem(text.substr(0, size), column.form, writer);
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  writer.EndArray();
}

// Opens and closes objects until those open are `path`: the part of a key before its last dot.
void Enter(std::vector<std::string_view>& open, std::string_view key, Writer& writer) {
  std::vector<std::string_view> path;
  for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.')) {
    path.push_back(key.substr(0, dot));
    key.remove_prefix(dot + 1);
  }
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(open, path).in1 - open.begin());
  for (; open.size() > same; open.pop_back()) writer.EndObject();
  for (; open.size() < path.size(); open.push_back(path[open.size()])) {
    writer.Value(path[open.size()]);
    writer.BeginObject();
  }
}

void WriteRecord(const Record& record, Writer& writer) {
  std::vector<std::string_view> open;
  writer.BeginObject();
  for (const Column& column : Columns()) {
    const auto cell = record.find(column.key);
    if (cell == record.end()) continue;
    Enter(open, column.key, writer);
    writer.Value(column.key.substr(column.key.rfind('.') + 1));
    WriteCell(column, cell->second, writer);
  }
  Enter(open, "", writer);
  writer.EndObject();
}

// What `qtx inspect --json` says beside the values, and its schema.
constexpr std::array<std::string_view, 10> kBesideValues = {
    "provenance", "ir_version", "producer", "opset_imports", "inputs",
    "outputs",    "nodes",      "inferred", "judged",        "findings"};
constexpr std::string_view kSchema = "qtx/inspect/1";

// Takes the parser's events, so that only one record is in memory.
class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  explicit Handler(const RecordSink& take) : take_(take) {}

  std::optional<Error> error;
  bool complete() const { return seen_.contains("values"); }

  // true, false and null, which no column has. Numbers are strings, by a flag of the parser.
  bool Default() { return Beside() || Fail("found true, false or null"); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return Scalar({text, size}) || Fail("found '" + std::string(text, std::min(size, 80U)) + "'");
  }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool copy) {
    return String(text, size, copy);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (skipped_ > 0) return true;
    key_ = prefix_ + std::string(text, size);
    auto& seen = place_ == Place::kTop ? seen_ : record_keys_;
    if (!Knows(key_))
      return FailAtKey("found unknown key '" + key_.substr(0, 80) + "', expected " + Names());
    return seen.insert(key_).second ||
           FailAtKey("found key '" + key_ + "' twice, expected it once");
  }
  bool StartObject() {
    if (++depth_ > kJsonBounds.depth) return FailDepth();
    if (Skips()) return true;
    if (place_ == Place::kText) return Enter(Place::kTop);
    if (place_ == Place::kValues) {
      record_.clear();
      record_keys_.clear();
      prefix_.clear();
      return Enter(Place::kRecord);
    }
    if (place_ != Place::kRecord || ColumnOf(key_) != nullptr) return Fail("found an object");
    prefix_ = key_ + ".";
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    if (Unskips()) return true;
    if (place_ == Place::kTop) return Enter(Place::kText);
    if (!prefix_.empty()) {
      prefix_.resize(prefix_.find_last_of('.', prefix_.size() - 2) + 1);  // npos + 1 is 0
      return true;
    }
    place_ = Place::kValues;
    key_.clear();
    auto taken = take_(record_);
    if (!taken.has_value()) return Refuse(At(Where(), std::move(taken).error()));
    ++index_;
    return true;
  }
  bool StartArray() {
    if (++depth_ > kJsonBounds.depth) return FailDepth();
    if (Skips()) return true;
    if (place_ == Place::kTop && key_ == "values") return Enter(Place::kValues);
    const Column* column = place_ == Place::kRecord ? ColumnOf(key_) : nullptr;
    if (column == nullptr || !column->list) return Fail("found an array");
    return Enter(Place::kList);
  }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    if (Unskips()) return true;
    return Enter(place_ == Place::kList ? Place::kRecord : Place::kTop);
  }

 private:
  // Where the next event is: before or after the text's object, in it, in "values", in a record or
  // an object of it, in a column's list.
  enum class Place { kText, kTop, kValues, kRecord, kList };

  static const Column* ColumnOf(std::string_view key) {
    const auto found = std::ranges::find(Columns(), key, &Column::key);
    return found == Columns().end() ? nullptr : &*found;
  }
  bool Knows(const std::string& key) const {
    if (place_ == Place::kTop) return key == "values" || key == "schema" || IsBesideValues(key);
    return std::ranges::any_of(Columns(), [&](const Column& column) {
      return column.key == key || column.key.starts_with(key + ".");
    });
  }
  static bool IsBesideValues(std::string_view key) {
    return std::ranges::find(kBesideValues, key) != kBesideValues.end();
  }
  std::string Names() const { return place_ == Place::kTop ? "\"values\"" : ColumnNames(); }

  // Whether the next event is of what stands beside the values.
  bool Beside() const { return skipped_ > 0 || (place_ == Place::kTop && IsBesideValues(key_)); }
  bool Skips() {
    skipped_ += Beside() ? 1 : 0;
    return skipped_ > 0;
  }
  bool Unskips() { return skipped_ > 0 && skipped_-- > 0; }

  bool Scalar(std::string_view text) {
    if (Beside()) return true;
    if (place_ == Place::kTop && key_ == "schema") return text == kSchema;
    if ((place_ != Place::kRecord && place_ != Place::kList) || ColumnOf(key_) == nullptr)
      return false;
    if (text.empty()) return true;
    std::string& cell = record_[key_];
    if (!cell.empty()) cell += ' ';
    cell += text;
    return true;
  }
  bool Enter(Place place) {
    place_ = place;
    return true;
  }
  std::string Expected() const {
    if (place_ == Place::kText) return "an object with \"values\"";
    if (place_ == Place::kTop) {
      return key_ == "schema" ? "'" + std::string(kSchema) + "'" : "an array \"values\"";
    }
    if (place_ == Place::kValues) return "an object, the record of a value";
    const Column* column = ColumnOf(key_);
    if (column == nullptr) return "an object";
    return place_ == Place::kRecord && column->list ? "a list of texts or numbers"
                                                    : "a text or a number";
  }
  std::string Where() const {
    std::string where = place_ == Place::kText || place_ == Place::kTop
                            ? ""
                            : "values[" + std::to_string(index_) + "]";
    if (place_ != Place::kValues && !key_.empty()) where += (where.empty() ? "" : ".") + key_;
    return where;
  }
  bool Refuse(Error what) {
    error = std::move(what);
    return false;
  }
  bool Fail(const std::string& found) {
    return Refuse({ErrorCode::kInvalid, Where(), found + ", expected " + Expected()});
  }
  bool FailAtKey(std::string message) {
    key_.clear();
    return Refuse({ErrorCode::kInvalid, Where(), std::move(message)});
  }
  bool FailDepth() {
    return Refuse(
        {ErrorCode::kTooLarge, Where(),
         "found more than " + std::to_string(kJsonBounds.depth) + " levels, expected fewer"});
  }

  const RecordSink& take_;
  Place place_ = Place::kText;
  int depth_ = 0;
  int skipped_ = 0;
  std::string prefix_, key_;  // of the object that is open; of the member
  std::set<std::string> seen_, record_keys_;
  Record record_;
  std::int64_t index_ = 0;  // of the record
};

}  // namespace

std::string JsonText(const std::vector<Record>& records) {
  Writer writer;
  writer.BeginObject();
  writer.Value("values");
  writer.BeginArray();
  for (const Record& record : records) WriteRecord(record, writer);
  writer.EndArray();
  writer.EndObject();
  return writer.Text() + "\n";
}

Result<void> ParseJson(std::string_view text, const RecordSink& take) {
  QTX_RETURN_IF_ERROR(CheckTextSize(text));
  Handler handler(take);
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  // Iterative: nesting does not use the stack.
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, handler);
  if (handler.error) return At(format::PlaceIn(text, parsed.Offset()), *std::move(handler.error));
  if (parsed.IsError()) {
    return Error{ErrorCode::kInvalid, format::PlaceIn(text, parsed.Offset()),
                 std::string("found no JSON: ") + rapidjson::GetParseError_En(parsed.Code())};
  }
  if (!handler.complete())
    return Error{ErrorCode::kInvalid, "", "found no \"values\", expected an array of records"};
  return {};
}

}  // namespace qtx::convert::table
