#include <algorithm>

#include "bounds.h"
#include "table/text.h"

namespace qtx::convert::table {
namespace {

std::string Quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == field.npos) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Fields and lines of a text, one at a time.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }

  /// The fields of the next line.  Errors: kInvalid for more than `most`.
  Result<std::vector<std::string>> Line(std::size_t most) {
    std::vector<std::string> fields;
    first_ = line_;
    left_ = kMaxLineBytes;
    for (bool more = true; more;) {
      QTX_ASSIGN_OR_RETURN(std::string field, Field());
      fields.push_back(std::move(field));
      more = Take(',');
      if (more && fields.size() == most)
        return Fail("found more than " + std::to_string(most) + " fields");
    }
    Take('\r');
    if (!rest_.empty() && !Take('\n'))
      return Fail("found text after a closing quote, expected a comma or the end of the line");
    ++line_;
    return fields;
  }
  Error Fail(std::string message, ErrorCode code = ErrorCode::kInvalid) const {
    return {code, Place(), std::move(message)};
  }
  std::string Place() const { return "line " + std::to_string(first_); }

 private:
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The text before the first of `ends`, or the rest; looks no further than the line may reach.
  Result<std::string_view> Until(std::string_view ends) {
    const std::string_view within = rest_.substr(0, left_);
    const std::size_t size = std::min(within.find_first_of(ends), within.size());
    if (size == left_) {
      return Fail(
          "found a line of more than " + std::to_string(kMaxLineBytes) + " bytes, expected fewer",
          ErrorCode::kTooLarge);
    }
    left_ -= size;
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  Result<std::string> Field() {
    if (!Take('"')) {
      QTX_ASSIGN_OR_RETURN(const std::string_view text, Until(",\r\n"));
      return std::string(text);
    }
    std::string field;
    for (bool first = true; first || Take('"'); first = false) {
      if (!first) field += '"';
      QTX_ASSIGN_OR_RETURN(const std::string_view text, Until("\""));
      if (!Take('"')) return Fail("found a quote that is not closed");
      field += text;
    }
    line_ += static_cast<std::int64_t>(std::ranges::count(field, '\n'));
    return field;
  }

  std::string_view rest_;
  std::int64_t line_ = 1;
  std::int64_t first_ = 1;  // line on which the row began
  std::size_t left_ = 0;    // bytes that the line may still have
};

}  // namespace

std::string CsvText(const std::vector<Record>& records) {
  std::string text;
  for (const Column& column : Columns())
    text += (text.empty() ? "" : ",") + std::string(column.key);
  text += "\r\n";
  for (const Record& record : records) {
    bool first = true;
    for (const Column& column : Columns()) {
      if (!first) text += ',';
      first = false;
      if (const auto cell = record.find(column.key); cell != record.end())
        text += Quoted(cell->second);
    }
    text += "\r\n";
  }
  return text;
}

Result<void> ParseCsv(std::string_view text, const RecordSink& take) {
  QTX_RETURN_IF_ERROR(CheckTextSize(text));
  Reader reader(text);
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> header, reader.Line(Columns().size()));
  for (const std::string& key : header) {
    if (std::ranges::find(Columns(), key, &Column::key) == Columns().end()) {
      return reader.Fail("found unknown column '" + key.substr(0, 80) + "', expected " +
                         ColumnNames());
    }
    if (std::ranges::count(header, key) > 1)
      return reader.Fail("found column '" + key + "' twice, expected it once");
  }
  while (!reader.done()) {
    QTX_ASSIGN_OR_RETURN(std::vector<std::string> fields, reader.Line(header.size()));
    if (fields.size() != header.size()) {
      return reader.Fail("found " + std::to_string(fields.size()) + " fields, expected " +
                         std::to_string(header.size()));
    }
    Record record;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].empty()) record[header[i]] = std::move(fields[i]);
    }
    if (const auto taken = take(record); !taken.has_value())
      return At(reader.Place(), taken.error());
  }
  return {};
}

}  // namespace qtx::convert::table
