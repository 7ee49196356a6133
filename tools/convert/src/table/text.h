// Records as CSV (RFC 4180) and as JSON. Readers take one record at a time, so that a large table
// costs the memory of one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "table/record.h"

namespace qtx::convert::table {

/// Takes one record of a table. An error ends the reading; the reader adds the line.
using RecordSink = std::function<Result<void>(const Record&)>;

/// A line of column names, then one line per record; lines end in CR LF.
std::string CsvText(const std::vector<Record>& records);
/// Errors: kInvalid with the line, for an open quote, a wrong number of fields, an unknown or
/// repeated column; kTooLarge past kMaxTextBytes and kMaxLineBytes; those of `take`.
Result<void> ParseCsv(std::string_view text, const RecordSink& take);

/// {"values": [{"name": ...}, ...]}: integers are numbers, reals strings.
std::string JsonText(const std::vector<Record>& records);
/// Reads what JsonText and `qtx inspect --json` write.
/// Errors: kInvalid with the line and the key, for an unknown or repeated key and for another type;
/// kTooLarge past kMaxTextBytes and kJsonBounds.depth; those of `take`.
Result<void> ParseJson(std::string_view text, const RecordSink& take);

}  // namespace qtx::convert::table
