// Records as CSV (RFC 4180) and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table/record.h"

namespace qtx::convert::table {

/// A line of column names, then one line per record; lines end in CR LF.
std::string CsvText(const std::vector<Record>& records);
/// Errors: kInvalid with the line, for an open quote, a wrong number of fields, an unknown column.
Result<std::vector<Record>> ParseCsv(std::string_view text);

/// {"values": [{"name": ...}, ...]}: integers are numbers, reals strings.
std::string JsonText(const std::vector<Record>& records);
/// Reads what JsonText and `qtx inspect --json` write; ignores other keys.
/// Errors: kInvalid.
Result<std::vector<Record>> ParseJson(std::string_view text);

}  // namespace qtx::convert::table
