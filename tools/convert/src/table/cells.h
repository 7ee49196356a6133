// One value of a model as named cells of text: what CSV has as columns and JSON as keys, dots
// standing for nesting. Lists have blanks between their elements, reals are hexadecimal.
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

using Cells = std::map<std::string, std::string, std::less<>>;  // absent: nothing to say

/// REQUIRES: info.type; parameters inline.
Cells CellsOf(const format::ValueInfo& info);

struct Row {
  std::string name;
  format::ElementType elem_type = format::ElementType::kUndefined;
  std::optional<format::Quantization> quantization;
  std::optional<format::Statistics> statistics;
};
/// Inverse of CellsOf but for the shape.  Errors: kInvalid naming the column.
Result<Row> RowOf(const Cells& cells);

}  // namespace qtx::convert::table
