#include "qtx/format/json.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

#include "table/text.h"

namespace qtx::convert::table {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

rapidjson::SizeType Size(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}
void Key(std::string_view key, Writer& writer) { writer.Key(key.data(), Size(key)); }

// JSON has no number that begins with 0, except 0 itself.
bool IsNumber(std::string_view text) {
  return !text.empty() && (text == "0" || text[0] != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

void WriteItem(std::string_view text, Column::Form form, Writer& writer) {
  const bool number =
      form == Column::Form::kInteger || (form == Column::Form::kText && IsNumber(text));
  if (number) {
    writer.RawValue(text.data(), text.size(), rapidjson::kNumberType);
  } else {
    format::WriteText(writer, text);
  }
}

void WriteCell(const Column& column, std::string_view text, Writer& writer) {
  if (!column.list) {
    if (column.form == Column::Form::kText) {
      format::WriteText(writer, text);
    } else {
      WriteItem(text, column.form, writer);
    }
    return;
  }
  writer.StartArray();
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
    format::WriteText(writer, path[open.size()]);
    writer.StartObject();
  }
}

void WriteRecord(const Record& record, Writer& writer) {
  std::vector<std::string_view> open;
  writer.StartObject();
  for (const Column& column : Columns()) {
    const auto cell = record.find(column.key);
    if (cell == record.end()) continue;
    Enter(open, column.key, writer);
    format::WriteText(writer, column.key.substr(column.key.rfind('.') + 1));
    WriteCell(column, cell->second, writer);
  }
  Enter(open, "", writer);
  writer.EndObject();
}

std::optional<std::string> Scalar(const rapidjson::Value& value) {
  if (!value.IsString()) return std::nullopt;  // numbers are parsed as strings
  return std::string(value.GetString(), value.GetStringLength());
}

std::optional<std::string> Joined(const rapidjson::Value& value) {
  std::string text;
  for (const auto& item : value.GetArray()) {
    const auto scalar = Scalar(item);
    if (!scalar) return std::nullopt;
    text += (text.empty() ? "" : " ") + *scalar;
  }
  return text;
}

const rapidjson::Value* Member(const rapidjson::Value& object, std::string_view path) {
  const rapidjson::Value* at = &object;
  while (!path.empty()) {
    if (!at->IsObject()) return nullptr;
    const std::string key(path.substr(0, path.find('.')));
    const auto found = at->FindMember(key.c_str());
    if (found == at->MemberEnd()) return nullptr;
    at = &found->value;
    path.remove_prefix(std::min(key.size() + 1, path.size()));
  }
  return at;
}

Result<Record> RecordIn(const rapidjson::Value& value) {
  Record record;
  for (const Column& column : Columns()) {
    const rapidjson::Value* member = Member(value, column.key);
    if (member == nullptr) continue;
    auto cell = member->IsArray() && column.list ? Joined(*member) : Scalar(*member);
    if (!cell) {
      return Error{ErrorCode::kInvalid, "",
                   std::string(column.key) + " is no " + (column.list ? "list" : "scalar")};
    }
    if (!cell->empty()) record[std::string(column.key)] = *std::move(cell);
  }
  return record;
}

}  // namespace

std::string JsonText(const std::vector<Record>& records) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 1);
  writer.StartObject();
  format::WriteText(writer, "values");
  writer.StartArray();
  for (const Record& record : records) WriteRecord(record, writer);
  writer.EndArray();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Result<std::vector<Record>> ParseJson(std::string_view text) {
  rapidjson::Document document;
  // Iterative: nesting does not use the stack.
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                 rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    return Error{ErrorCode::kInvalid, "byte " + std::to_string(document.GetErrorOffset()),
                 rapidjson::GetParseError_En(document.GetParseError())};
  }
  const rapidjson::Value* values = Member(document, "values");
  if (values == nullptr || !values->IsArray())
    return Error{ErrorCode::kInvalid, "", "no array \"values\""};
  std::vector<Record> records;
  for (const auto& value : values->GetArray()) {
    auto record = RecordIn(value);
    if (!record.has_value())
      return At("values[" + std::to_string(records.size()) + "]", record.error());
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace qtx::convert::table
