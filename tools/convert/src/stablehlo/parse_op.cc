// Operators of MLIR: the long form, in quotes, and StableHLO's short ones, which are read as a
// sequence of operands, words and `name = attribute`.
#include <algorithm>
#include <array>

#include "errors.h"
#include "stablehlo/ops.h"
#include "stablehlo/parser.h"

namespace qtx::convert {
namespace {

constexpr std::int64_t kMaxResults = 1024;

MlirAttribute OfKind(MlirAttribute::Kind kind, std::string text) {
  MlirAttribute attribute;
  attribute.kind = kind;
  attribute.text = std::move(text);
  return attribute;
}

}  // namespace

Result<std::string> MlirParser::Operand() {
  QTX_RETURN_IF_ERROR(text_.Expect("%"));
  std::string name(text_.Name());
  if (name.empty()) return text_.Fail("the name of a value");
  if (text_.Raw() != '#') return name;
  text_.Advance();
  QTX_ASSIGN_OR_RETURN(const std::int64_t index, text_.Integer());
  return name + "#" + std::to_string(index);
}

// %a = , %0:2 = , or nothing.
Result<void> MlirParser::Results(MlirOp& op) {
  if (text_.Peek() != '%') return {};
  do {
    QTX_ASSIGN_OR_RETURN(const std::string name, Operand());
    std::int64_t count = 1;
    if (text_.Take(":")) {
      QTX_ASSIGN_OR_RETURN(count, text_.Integer());
      if (count < 1 || count > kMaxResults) return text_.Fail("1 to 1024 results");
      for (std::int64_t i = 0; i < count; ++i) op.results.push_back(name + "#" + std::to_string(i));
    } else {
      op.results.push_back(name);
    }
  } while (text_.Take(","));
  return text_.Expect("=");
}

Result<MlirOp> MlirParser::Op(int depth) {
  QTX_RETURN_IF_ERROR(Spend(ops_left_, 1, "operators"));
  if (depth > kMaxMlirDepth) return text_.Fail("regions at most 32 deep");
  MlirOp op;
  QTX_RETURN_IF_ERROR(Results(op));
  const bool long_form = text_.Peek() == '"';
  op.at = text_.at();
  if (long_form) {
    QTX_ASSIGN_OR_RETURN(const std::string_view name, text_.String());
    op.name = name;
  } else {
    op.name = text_.Word();
  }
  if (op.name.empty()) return text_.Fail("an operator");
  // What has no form here may have a syntax of its own.
  if (!IsStablehloSyntax(op.name)) return Unsupported(text_.Place(op.at), NoFormOf(op.name));
  QTX_RETURN_IF_ERROR(long_form ? LongForm(op, depth) : ShortForm(op));
  QTX_RETURN_IF_ERROR(Reducer(op, depth));
  QTX_ASSIGN_OR_RETURN(op.label, Location());
  if (op.result_types.size() == 1 && op.results.size() > 1)
    op.result_types.resize(op.results.size(), op.result_types[0]);
  if (op.result_types.size() < op.results.size()) {
    return Invalid(text_.Place(op.at), op.name + " has " + std::to_string(op.results.size()) +
                                           " results, found types of " +
                                           std::to_string(op.result_types.size()));
  }
  return op;
}

// "dialect.op"(%a) <{properties}> ({regions}) {attributes} : (types) -> types
Result<void> MlirParser::LongForm(MlirOp& op, int depth) {
  QTX_RETURN_IF_ERROR(text_.Expect("("));
  while (!text_.Take(")")) {
    QTX_ASSIGN_OR_RETURN(std::string operand, Operand());
    op.operands.push_back(std::move(operand));
    if (!text_.Take(",") && text_.Peek() != ')') return text_.Fail("',' or ')'");
  }
  if (text_.Peek() == '<') QTX_RETURN_IF_ERROR(Properties(op));
  if (text_.Peek() == '(') QTX_RETURN_IF_ERROR(Regions(op, depth));
  if (text_.Peek() == '{') QTX_RETURN_IF_ERROR(Properties(op));
  QTX_RETURN_IF_ERROR(text_.Expect(":"));
  if (text_.Peek() != '(') return text_.Fail("'(' of a function type");
  return Types(op);
}

// <{...}> or {...}
Result<void> MlirParser::Properties(MlirOp& op) {
  const bool angle = text_.Take("<");
  QTX_RETURN_IF_ERROR(text_.Expect("{"));
  MlirAttribute dict = OfKind(MlirAttribute::Kind::kDict, "");
  QTX_RETURN_IF_ERROR(Entries(dict, "}", 0));
  for (std::size_t i = 0; i < dict.keys.size(); ++i)
    op.attributes[dict.keys[i]] = std::move(dict.list[i]);
  return angle ? text_.Expect(">") : Result<void>();
}

Result<void> MlirParser::Regions(MlirOp& op, int depth) {
  QTX_RETURN_IF_ERROR(text_.Expect("("));
  do {
    QTX_ASSIGN_OR_RETURN(MlirRegion region, Region(depth + 1));
    op.regions.push_back(std::move(region));
  } while (text_.Take(","));
  return text_.Expect(")");
}

// { ^bb0(%a: type, ...): operators }
Result<MlirRegion> MlirParser::Region(int depth) {
  MlirRegion region;
  QTX_RETURN_IF_ERROR(text_.Expect("{"));
  if (text_.Take("^")) {
    text_.Name();
    if (text_.Peek() == '(') QTX_RETURN_IF_ERROR(RegionArguments(region));
    QTX_RETURN_IF_ERROR(text_.Expect(":"));
  }
  QTX_RETURN_IF_ERROR(RegionOps(region, depth));
  return region;
}

Result<void> MlirParser::RegionArguments(MlirRegion& region) {
  QTX_RETURN_IF_ERROR(text_.Expect("("));
  while (!text_.Take(")")) {
    QTX_ASSIGN_OR_RETURN(std::string argument, Operand());
    QTX_RETURN_IF_ERROR(text_.Expect(":"));
    QTX_RETURN_IF_ERROR(Type());
    QTX_RETURN_IF_ERROR(SkipLocation());
    region.arguments.push_back(std::move(argument));
    if (!text_.Take(",") && text_.Peek() != ')') return text_.Fail("',' or ')'");
  }
  return {};
}

Result<void> MlirParser::RegionOps(MlirRegion& region, int depth) {
  while (!text_.Take("}")) {
    QTX_ASSIGN_OR_RETURN(MlirOp op, Op(depth));
    region.ops.push_back(std::move(op));
  }
  return {};
}

// reducer(%a: type, %b: type) {operators}, behind the short form of a reduction.
Result<void> MlirParser::Reducer(MlirOp& op, int depth) {
  if (op.name != "stablehlo.reduce" || text_.PeekWord() != "reducer") return {};
  text_.Word();
  MlirRegion region;
  while (text_.Peek() == '(') QTX_RETURN_IF_ERROR(RegionArguments(region));
  QTX_RETURN_IF_ERROR(text_.Expect("{"));
  QTX_RETURN_IF_ERROR(RegionOps(region, depth + 1));
  op.regions.push_back(std::move(region));
  return {};
}

Result<void> MlirParser::ShortForm(MlirOp& op) {
  for (;;) {
    const char c = text_.Peek();
    if (c == '}' || c == '\0') return {};
    if (text_.Take(":")) return Types(op);
    QTX_ASSIGN_OR_RETURN(const bool more, ShortItem(op));
    if (!more) return {};
  }
}

// False where the operator ends, behind a constant's type.
Result<bool> MlirParser::ShortItem(MlirOp& op) {
  const char c = text_.Peek();
  if (c == ',' || c == '(' || c == ')') {
    text_.Advance();
  } else if (c == '%') {
    QTX_ASSIGN_OR_RETURN(std::string operand, Operand());
    op.operands.push_back(std::move(operand));
  } else if (c == '[') {
    QTX_ASSIGN_OR_RETURN(op.attributes["ranges"], Attribute(false));
  } else if (c == '{' || c == '<') {
    QTX_RETURN_IF_ERROR(Properties(op));
  } else if (c == '@') {
    QTX_ASSIGN_OR_RETURN(op.attributes["callee"], Attribute(false));
  } else if (text_.PeekWord() == "dense") {
    QTX_ASSIGN_OR_RETURN(MlirAttribute value, Attribute(true));
    op.result_types = value.type;
    op.attributes["value"] = std::move(value);
    return false;
  } else if (!text_.PeekWord().empty()) {
    QTX_RETURN_IF_ERROR(ShortWord(op));
  } else {
    return text_.Fail("an operand, an attribute or ':' and types of " + op.name);
  }
  return true;
}

Result<void> MlirParser::ShortWord(MlirOp& op) {
  const std::string word(text_.Word());
  if (text_.Take("=")) {
    QTX_ASSIGN_OR_RETURN(op.attributes[word], Attribute(false));
    return {};
  }
  op.words.push_back(word);
  return word == "init" ? text_.Expect(":") : Result<void>();
}

// (types) -> types, or types of which the last is that of the results.
Result<void> MlirParser::Types(MlirOp& op) {
  const auto types = [&](std::string_view close) -> Result<std::vector<format::TensorType>> {
    std::vector<format::TensorType> list;
    if (!close.empty() && text_.Take(close)) return list;
    do {
      QTX_ASSIGN_OR_RETURN(format::TensorType type, Type());
      list.push_back(std::move(type));
    } while (text_.Take(","));
    if (!close.empty()) QTX_RETURN_IF_ERROR(text_.Expect(close));
    return list;
  };
  if (!text_.Take("(")) {
    QTX_ASSIGN_OR_RETURN(op.result_types, types(""));
    if (op.result_types.size() == 1)
      op.operand_types.assign(op.operands.size(), op.result_types[0]);
    op.result_types = {op.result_types.back()};
    return {};
  }
  QTX_ASSIGN_OR_RETURN(op.operand_types, types(")"));
  if (op.operand_types.size() != op.operands.size()) {
    return Invalid(text_.Place(op.at), op.name + " has " + std::to_string(op.operands.size()) +
                                           " operands, found types of " +
                                           std::to_string(op.operand_types.size()));
  }
  QTX_RETURN_IF_ERROR(text_.Expect("->"));
  if (text_.Take("(")) {
    QTX_ASSIGN_OR_RETURN(op.result_types, types(")"));
    return {};
  }
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type());
  op.result_types = {std::move(type)};
  return {};
}

// loc("name"), or loc("name"(...)): the name; "" for any other location, or none.
Result<std::string> MlirParser::Location() {
  const std::size_t before = text_.at();
  QTX_RETURN_IF_ERROR(SkipLocation());
  const std::size_t behind = text_.at();
  text_.Seek(before);
  std::string name;
  if (text_.Take("loc") && text_.Take("(") && text_.Peek() == '"') {
    QTX_ASSIGN_OR_RETURN(const std::string_view quoted, text_.String());
    if (text_.Peek() != ':') name = Unescaped(quoted);  // "file":1:2
  }
  text_.Seek(behind);
  return name;
}

Result<void> MlirParser::SkipLocation() {
  if (text_.PeekWord() != "loc") return {};
  text_.Word();
  if (text_.Peek() != '(') return text_.Fail("'(' of a location");
  return text_.SkipBalanced();
}

}  // namespace qtx::convert
