#include <algorithm>

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
  int line() const { return line_; }

  Result<std::vector<std::string>> Line() {
    std::vector<std::string> fields;
    first_ = line_;
    for (bool more = true; more;) {
      QTX_ASSIGN_OR_RETURN(std::string field, Field());
      fields.push_back(std::move(field));
      more = Take(',');
    }
    Take('\r');
    if (!rest_.empty() && !Take('\n')) return Fail("text after a closing quote");
    ++line_;
    return fields;
  }
  Error Fail(const std::string& message) const {
    return {ErrorCode::kInvalid, "line " + std::to_string(first_), message};
  }

 private:
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Result<std::string> Field() {
    if (!Take('"')) {
      const std::size_t size = std::min(rest_.find_first_of(",\r\n"), rest_.size());
      std::string field(rest_.substr(0, size));
      rest_.remove_prefix(size);
      return field;
    }
    std::string field;
    do {
      const std::size_t size = rest_.find('"');
      if (size == rest_.npos) return Fail("a quote that is not closed");
      if (!field.empty() || after_quote_) field += '"';
      field += rest_.substr(0, size);
      after_quote_ = true;
      rest_.remove_prefix(size + 1);
    } while (Take('"'));
    after_quote_ = false;
    line_ += static_cast<int>(std::ranges::count(field, '\n'));
    return field;
  }

  std::string_view rest_;
  int line_ = 1;
  int first_ = 1;  // line on which the row began
  bool after_quote_ = false;
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

Result<std::vector<Record>> ParseCsv(std::string_view text) {
  Reader reader(text);
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> header, reader.Line());
  for (const std::string& key : header) {
    if (std::ranges::find(Columns(), key, &Column::key) == Columns().end())
      return reader.Fail("unknown column '" + key.substr(0, 80) + "'");
    if (std::ranges::count(header, key) > 1) return reader.Fail("column '" + key + "' twice");
  }
  std::vector<Record> records;
  while (!reader.done()) {
    QTX_ASSIGN_OR_RETURN(std::vector<std::string> fields, reader.Line());
    if (fields.size() != header.size()) {
      return reader.Fail("found " + std::to_string(fields.size()) + " fields, expected " +
                         std::to_string(header.size()));
    }
    Record& record = records.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].empty()) record[header[i]] = std::move(fields[i]);
    }
  }
  return records;
}

}  // namespace qtx::convert::table
