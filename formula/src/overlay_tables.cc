#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "markdown.h"
#include "overlay.h"

namespace qtx::formula {
namespace {

using format::AttributeType;
using format::ElementType;

Error Refuse(const Chapter& chapter, int line, std::string message) {
  return Error{ErrorCode::kInvalid, chapter.path + ":" + std::to_string(line), std::move(message)};
}

template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsName(std::string_view text) {
  constexpr std::size_t kMaxName = 64;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || text.size() > kMaxName || !letter(text.front())) return false;
  return std::ranges::all_of(
      text, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// Of a quantized type: "NF4Q".
bool IsTypeName(std::string_view text) {
  const bool capitals = std::ranges::none_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  return IsName(text) && capitals && text.ends_with('Q');
}

constexpr std::size_t kMaxRows = 64;  // of a table of inputs, outputs or attributes

// Rows with at least `cells` cells.
Result<std::vector<TableRow>> Rows(const Chapter& chapter, std::string_view title,
                                   std::size_t cells, bool required) {
  std::vector<TableRow> rows = TableBelow(chapter.markdown, title);
  if (rows.empty() && required) {
    return Refuse(chapter, 1, "found no table below '## " + std::string(title) + "'");
  }
  if (rows.size() > kMaxRows) {
    return Refuse(chapter, rows[kMaxRows].line, "expected at most 64 rows");
  }
  for (const TableRow& row : rows) {
    if (row.cells.size() >= cells) continue;
    return Refuse(chapter, row.line,
                  "found a row of " + std::to_string(row.cells.size()) + " cells, expected " +
                      std::to_string(cells));
  }
  return rows;
}

class OperatorReader {
 public:
  explicit OperatorReader(const Chapter& chapter) : chapter_(chapter) {}

  Result<AddedOperator> Read() {
    const std::string title = TitleOf(chapter_.markdown);
    if (!IsName(title)) {
      return Refuse(chapter_, 1,
                    "found the title '" + title + "', expected the name of an operator");
    }
    added_.schema.op_type = Keep(title);
    QTX_ASSIGN_OR_RETURN(added_.schema.inputs, Values("Inputs"));
    QTX_ASSIGN_OR_RETURN(added_.schema.outputs, Values("Outputs"));
    QTX_ASSIGN_OR_RETURN(const std::vector<TableRow> rows, Rows(chapter_, "Attributes", 3, false));
    for (const TableRow& row : rows) QTX_RETURN_IF_ERROR(AddAttribute(row));
    return std::move(added_);
  }

 private:
  std::string_view Keep(std::string_view name) {
    return *added_.names.emplace_back(std::make_unique<const std::string>(name));
  }

  Result<std::string_view> Name(const TableRow& row, std::string_view name) {
    if (!IsName(name)) {
      return Refuse(chapter_, row.line, "found '" + std::string(name) + "', expected a name");
    }
    if (!taken_.insert(std::string(name)).second) {
      return Refuse(chapter_, row.line, "found the name '" + std::string(name) + "' twice");
    }
    return Keep(name);
  }

  // | # | name | shape | type |; the name may have ", optional" or ", one or more" after it.
  Result<std::vector<format::ValueRule>> Values(std::string_view title) {
    QTX_ASSIGN_OR_RETURN(const std::vector<TableRow> rows, Rows(chapter_, title, 4, true));
    std::vector<format::ValueRule> values;
    for (const TableRow& row : rows) {
      const std::string_view cell = row.cells[1];
      const std::size_t comma = std::min(cell.find(','), cell.size());
      const std::string_view after = cell.substr(comma);
      format::ValueRule& value = values.emplace_back();
      QTX_ASSIGN_OR_RETURN(value.name, Name(row, cell.substr(0, comma)));
      value.optional = after == ", optional";
      value.variadic = after == ", one or more";
      const bool last = &row == &rows.back();
      if ((after.empty() || value.optional || value.variadic) && (last || !value.variadic))
        continue;
      return Refuse(chapter_, row.line,
                    "found '" + std::string(cell) +
                        "', expected a name, 'name, optional' or, last, 'name, one or more'");
    }
    return values;
  }

  // | name | type | default |; one without a default is required.
  Result<void> AddAttribute(const TableRow& row) {
    struct TypeRow {
      std::string_view name;
      AttributeType type;
    };
    constexpr std::array kTypes = {
        TypeRow{"int", AttributeType::kInt}, TypeRow{"float", AttributeType::kFloat},
        TypeRow{"string", AttributeType::kString}, TypeRow{"ints", AttributeType::kInts},
        TypeRow{"floats", AttributeType::kFloats}};
    format::AttributeRule& rule = added_.schema.attributes.emplace_back();
    QTX_ASSIGN_OR_RETURN(rule.name, Name(row, row.cells[0]));
    const auto type = std::ranges::find(kTypes, row.cells[1], &TypeRow::name);
    if (type == kTypes.end()) {
      return Refuse(chapter_, row.line,
                    "found '" + row.cells[1] + "', expected int, float, string, ints or floats");
    }
    rule.type = type->type;
    const std::string& text = row.cells[2];
    rule.required = text.empty();
    if (text.empty()) return {};
    const auto integer = NumberOf<std::int64_t>(text);
    const auto real = NumberOf<float>(text);
    if (rule.type == AttributeType::kInt && integer) {
      rule.otherwise = *integer;
    } else if (rule.type == AttributeType::kFloat && real) {
      rule.otherwise = *real;
    } else if (rule.type == AttributeType::kString) {
      rule.otherwise = Keep(text);
    } else {
      return Refuse(chapter_, row.line,
                    "found the default '" + text + "', expected one of type " + row.cells[1]);
    }
    return {};
  }

  const Chapter& chapter_;
  AddedOperator added_;
  std::set<std::string> taken_;
};

constexpr std::string_view kElementType = "# Element type `";

struct Carrier {
  std::int64_t bits;
  ElementType type;
};
constexpr std::array kCarriers = {Carrier{2, ElementType::kUint2Q},
                                  Carrier{4, ElementType::kUint4Q},
                                  Carrier{8, ElementType::kUint8Q}};

struct Field {
  std::int64_t value = 0;
  int line = 0;
};

// The number beside `key` in the table below the title.
Result<Field> FieldOf(const Chapter& chapter, std::string_view key) {
  for (const TableRow& row : TableBelow(chapter.markdown, "")) {
    if (row.cells.size() < 2 || row.cells[0] != key) continue;
    const auto number = NumberOf<std::int64_t>(row.cells[1]);
    if (number) return Field{*number, row.line};
    return Refuse(chapter, row.line, "found '" + row.cells[1] + "', expected an integer");
  }
  return Refuse(chapter, 1, "found no row '" + std::string(key) + "' in the table below the title");
}

}  // namespace

Result<AddedOperator> ReadOperator(const Chapter& chapter) {
  return OperatorReader(chapter).Read();
}

bool IsElementType(const Chapter& chapter) {
  return chapter.markdown.starts_with(kElementType) ||
         chapter.markdown.find("\n" + std::string(kElementType)) != std::string::npos;
}

Result<ElementTable> ReadElementTable(const Chapter& chapter) {
  ElementTable table;
  table.name = TitleOf(chapter.markdown);
  if (!IsTypeName(table.name) || format::ElementTypeFromName(table.name)) {
    return Refuse(chapter, 1,
                  "found the type '" + table.name +
                      "', expected a name of no other type, in capitals, that ends with Q");
  }
  QTX_ASSIGN_OR_RETURN(const Field code_field, FieldOf(chapter, "code"));
  table.code = code_field.value;
  if (table.code < 1 || table.code > INT32_MAX || format::ElementTypeFromCode(table.code)) {
    return Refuse(chapter, code_field.line,
                  "found code " + std::to_string(table.code) +
                      ", expected one of 1 to 2^31 - 1 that no other type has");
  }
  QTX_ASSIGN_OR_RETURN(const Field bits_field, FieldOf(chapter, "bits"));
  const std::int64_t bits = bits_field.value;
  const auto carrier = std::ranges::find(kCarriers, bits, &Carrier::bits);
  if (carrier == kCarriers.end()) {
    return Refuse(chapter, bits_field.line,
                  "found " + std::to_string(bits) + " bits, expected 2, 4 or 8");
  }
  table.carrier = carrier->type;
  for (const TableRow& row : TableBelow(chapter.markdown, "Values")) {
    const std::string code = std::to_string(table.values.size());
    if (row.cells.size() < 2 || row.cells[0] != code) {
      return Refuse(chapter, row.line, "expected the row of code " + code + ": code and value");
    }
    const auto value = NumberOf<double>(row.cells[1]);
    if (!value) return Refuse(chapter, row.line, "found '" + row.cells[1] + "', expected a number");
    table.values.push_back(*value);
  }
  if (std::ssize(table.values) == std::int64_t{1} << bits) return table;
  return Refuse(chapter, 1,
                "found " + std::to_string(table.values.size()) +
                    " rows below '## Values', expected " + std::to_string(std::int64_t{1} << bits));
}

}  // namespace qtx::formula
