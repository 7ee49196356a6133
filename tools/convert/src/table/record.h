// A record: one value of a model as named texts, CSV's columns and JSON's keys (dots stand for
// nesting). Lists have blanks between their elements, reals are hexadecimal.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert::table {

struct Column {
  std::string_view key;
  enum class Form { kText, kReal, kInteger } form = Form::kText;
  bool list = false;
};

/// The keys are those of `qtx inspect --json`.
std::span<const Column> Columns();
/// The keys, for errors: "name, elem_type, ... or statistics.moments".
std::string ColumnNames();

using Record =
    std::map<std::string, std::string, std::less<>>;  // no key where the model says nothing

/// REQUIRES: info.type; parameters inline.
Record RecordOf(const format::ValueInfo& info);

/// What a table may say of a value.
struct ParsedRecord {
  std::string name;
  format::ElementType elem_type = format::ElementType::kUndefined;
  std::optional<format::Shape> shape;
  std::optional<format::Quantization> quantization;
  std::optional<format::Statistics> statistics;
};
/// The inverse of RecordOf.
/// Errors: kInvalid, naming the column, for text that is none of its form, and for a column whose
/// parameters or statistics need another one that is empty.
Result<ParsedRecord> ParseRecord(const Record& record);

}  // namespace qtx::convert::table
