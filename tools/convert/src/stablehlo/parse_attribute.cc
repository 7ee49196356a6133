// Attributes of MLIR.
#include "errors.h"
#include "stablehlo/parser.h"

namespace qtx::convert {
namespace {

MlirAttribute Named(MlirAttribute::Kind kind, std::string_view text = "") {
  MlirAttribute attribute;
  attribute.kind = kind;
  attribute.text = text;
  return attribute;
}

}  // namespace

// `typed`: a number may be followed by ':' and its type.
Result<MlirAttribute> MlirParser::Attribute(bool typed, int depth) {
  using enum MlirAttribute::Kind;
  QTX_RETURN_IF_ERROR(Spend(attributes_left_, 1, "attributes"));
  if (depth > kMaxMlirDepth) return text_.Fail("attributes at most 32 deep");
  const char c = text_.Peek();
  if (c == '[' || c == '<') {
    text_.Advance();
    QTX_ASSIGN_OR_RETURN(MlirAttribute list, List(c == '[' ? "]" : ">", depth));
    return c == '[' ? Joined(std::move(list), depth) : list;
  }
  if (c == '{') {
    text_.Advance();
    MlirAttribute dict = Named(kDict);
    QTX_RETURN_IF_ERROR(Entries(dict, "}", depth));
    return dict;
  }
  if (c == '"') {
    QTX_ASSIGN_OR_RETURN(const std::string_view text, text_.String());
    if (typed && text_.Take(":")) QTX_RETURN_IF_ERROR(TypeText());
    return Named(kString, text);
  }
  if (c == '@') {
    text_.Advance();
    if (text_.Raw() != '"') return Named(kSymbol, text_.Name());
    QTX_ASSIGN_OR_RETURN(const std::string_view text, text_.String());
    return Named(kSymbol, text);
  }
  if (c == '#') return HashAttribute(depth);
  if (c == '-' || (c >= '0' && c <= '9')) return NumberAttribute(typed);
  return WordAttribute();
}

Result<MlirAttribute> MlirParser::NumberAttribute(bool typed) {
  using enum MlirAttribute::Kind;
  QTX_ASSIGN_OR_RETURN(const MlirNumber number, text_.Number());
  const bool whole = number.form == MlirNumber::Form::kInteger;
  MlirAttribute attribute = Named(whole ? kInteger : kFloat);
  attribute.integer = number.integer;
  attribute.real = number.real;
  if (typed && text_.Take(":")) QTX_RETURN_IF_ERROR(TypeText());
  return attribute;
}

// #dialect.name<...>, #dialect<name ...>, or an alias.
Result<MlirAttribute> MlirParser::HashAttribute(int depth) {
  text_.Advance();
  const std::string name(text_.Name());
  if (text_.Take("<")) return List(">", depth);
  QTX_ASSIGN_OR_RETURN(const std::size_t definition, AliasOf("#" + name));
  const std::size_t behind = text_.at();
  text_.Seek(definition);
  auto attribute = Attribute(true, depth + 1);
  if (attribute.has_value()) text_.Seek(behind);
  return attribute;
}

Result<MlirAttribute> MlirParser::WordAttribute() {
  using enum MlirAttribute::Kind;
  if (text_.Peek() == '!') {
    QTX_RETURN_IF_ERROR(TypeText());
    return Named(kWord, "type");
  }
  const std::size_t before = text_.at();
  const std::string_view word = text_.Word();
  if (word.empty()) return text_.Fail("an attribute");
  if (word == "true" || word == "false") {
    MlirAttribute attribute = Named(kBool);
    attribute.integer = word == "true" ? 1 : 0;
    return attribute;
  }
  if (word == "dense" && text_.Peek() == '<') return Dense();
  if (word == "array" && text_.Peek() == '<') return Array();
  if (word == "dense_resource" || word == "sparse")
    return Unsupported(text_.Place(before), "elements as " + std::string(word) + "<...>");
  if (text_.Peek() == '<') QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  if (word == "loc" && text_.Peek() == '(') QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  return Named(kWord, word);
}

// dense<...> : type, whose elements are read where they are needed.
Result<MlirAttribute> MlirParser::Dense() {
  MlirAttribute dense = Named(MlirAttribute::Kind::kDense);
  text_.Peek();
  dense.begin = text_.at() + 1;
  QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  dense.end = text_.at() - 1;
  QTX_RETURN_IF_ERROR(text_.Expect(":"));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type());
  dense.type.push_back(std::move(type));
  return dense;
}

// array<i64: 1, 2>
Result<MlirAttribute> MlirParser::Array() {
  QTX_RETURN_IF_ERROR(text_.Expect("<"));
  if (text_.Word().empty()) return text_.Fail("a type");
  if (!text_.Take(":")) {
    QTX_RETURN_IF_ERROR(text_.Expect(">"));
    return Named(MlirAttribute::Kind::kList);
  }
  return List(">", 0);
}

// Elements up to `close`; a dictionary where they have names. In [0:2, 1:4:2] each is a list.
Result<MlirAttribute> MlirParser::List(std::string_view close, int depth) {
  MlirAttribute list = Named(MlirAttribute::Kind::kList);
  while (!text_.Take(close)) {
    QTX_ASSIGN_OR_RETURN(MlirAttribute element, Attribute(false, depth + 1));
    if (element.kind == MlirAttribute::Kind::kWord && text_.Take("=")) {
      list.kind = MlirAttribute::Kind::kDict;
      list.keys.resize(list.list.size());
      list.keys.push_back(element.text);
      QTX_ASSIGN_OR_RETURN(element, Attribute(false, depth + 1));
    }
    if (element.kind == MlirAttribute::Kind::kInteger && text_.Take(":")) {
      const char c = text_.Peek();
      if (c != '-' && (c < '0' || c > '9')) {
        QTX_RETURN_IF_ERROR(TypeText());
      } else {
        MlirAttribute range = Named(MlirAttribute::Kind::kList);
        range.list.push_back(std::move(element));
        do {
          QTX_ASSIGN_OR_RETURN(MlirAttribute bound, NumberAttribute(false));
          range.list.push_back(std::move(bound));
        } while (text_.Take(":"));
        element = std::move(range);
      }
    } else if (element.kind == MlirAttribute::Kind::kFloat && text_.Take(":")) {
      QTX_RETURN_IF_ERROR(TypeText());
    }
    list.list.push_back(std::move(element));
    text_.Take(",");
  }
  if (!list.keys.empty()) list.keys.resize(list.list.size());
  return list;
}

// [..] x [..] and [..]x[..]->[..] are one list of two or three.
Result<MlirAttribute> MlirParser::Joined(MlirAttribute list, int depth) {
  const std::size_t before = text_.at();
  if (!text_.Take("x")) return list;
  if (text_.Peek() != '[') {
    text_.Seek(before);
    return list;
  }
  MlirAttribute joined = Named(MlirAttribute::Kind::kList);
  joined.list.push_back(std::move(list));
  do {
    QTX_RETURN_IF_ERROR(text_.Expect("["));
    QTX_ASSIGN_OR_RETURN(MlirAttribute next, List("]", depth));
    joined.list.push_back(std::move(next));
  } while (text_.Take("->"));
  return joined;
}

// name = attribute, name
Result<void> MlirParser::Entries(MlirAttribute& dict, std::string_view close, int depth) {
  while (!text_.Take(close)) {
    std::string key;
    if (text_.Peek() == '"') {
      QTX_ASSIGN_OR_RETURN(const std::string_view quoted, text_.String());
      key = quoted;
    } else {
      key = text_.Word();
    }
    if (key.empty()) return text_.Fail("the name of an attribute");
    MlirAttribute value = Named(MlirAttribute::Kind::kWord, "unit");
    if (text_.Take("=")) {
      QTX_ASSIGN_OR_RETURN(value, Attribute(true, depth + 1));
    }
    dict.keys.push_back(std::move(key));
    dict.list.push_back(std::move(value));
    if (!text_.Take(",") && text_.Peek() != close[0])
      return text_.Fail("',' or '" + std::string(close) + "'");
  }
  return {};
}

}  // namespace qtx::convert
