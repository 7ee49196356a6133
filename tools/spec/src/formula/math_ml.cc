// Presentation MathML of a formula. Source of the elements: MathML Core (W3C), section 3.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "formula/parser.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Element(std::string_view tag, std::string_view content) {
  return "<" + std::string(tag) + ">" + std::string(content) + "</" + std::string(tag) + ">";
}

std::string Operator(std::string_view sign) { return Element("mo", Escaped(sign)); }
std::string Words(std::string_view text) {
  // Renderers drop blanks at the ends of a text.
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = text.find_last_not_of(' ') + 1;
  std::string words;
  for (std::size_t i = 0; i < begin; ++i) words += "\u00A0";
  words += Escaped(text.substr(begin, std::max(begin, end) - begin));
  for (std::size_t i = std::max(begin, end); i < text.size(); ++i) words += "\u00A0";
  return Element("mtext", words);
}

std::string Row(std::string_view content) { return Element("mrow", content); }
std::string Bracketed(std::string_view content) {
  return Row(Operator("(") + std::string(content) + Operator(")"));
}

// x_scale is x with the index "scale"; half_even, in which no letter stands for a tensor, is a
// word.
std::string Name(std::string_view name, bool function) {
  const std::size_t bar = name.find('_');
  constexpr std::size_t kLetters = 2;
  if (function || bar == std::string_view::npos || bar > kLetters || bar + 1 == name.size()) {
    return Element("mi", Escaped(name));
  }
  return Element("msub", Element("mi", Escaped(name.substr(0, bar))) +
                             Element("mi", Escaped(name.substr(bar + 1))));
}

// How tightly an expression holds together: an operand that binds less needs brackets.
int Binding(const Node& node) {
  if (node.kind == Node::Kind::kRange) return 3;
  if (node.kind == Node::Kind::kUnary) return node.text == "not" ? 2 : 5;
  if (node.kind != Node::Kind::kBinary) return 9;
  struct Level {
    std::string_view sign;
    int binding;
  };
  constexpr std::array kLevels = {Level{"or", 0}, Level{"and", 1}, Level{"<<", 3}, Level{">>", 3},
                                  Level{"+", 4},  Level{"-", 4},   Level{"*", 5},  Level{"mod", 5},
                                  Level{"/", 9},  Level{"^", 8}};
  for (const Level& level : kLevels) {
    if (level.sign == node.text) return level.binding;
  }
  return 2;  // relations
}

std::string Math(const Node& node);

std::string Operand(const Node& node, int least) {
  return Binding(node) < least ? Bracketed(Math(node)) : Math(node);
}

std::string List(std::span<const Node> nodes) {
  std::string list;
  for (const Node& node : nodes) {
    if (!list.empty()) list += Operator(",");
    list += Math(node);
  }
  return list;
}

std::string Binary(const Node& node) {
  const Node &left = node.children[0], &right = node.children[1];
  if (node.text == "/") return Element("mfrac", Row(Math(left)) + Row(Math(right)));
  if (node.text == "^") {
    constexpr int kAtom = 9;
    const bool fraction = left.kind == Node::Kind::kBinary;
    return Element("msup",
                   (fraction ? Bracketed(Math(left)) : Operand(left, kAtom)) + Row(Math(right)));
  }
  struct Sign {
    std::string_view text;
    std::string_view shown;
  };
  constexpr std::array kShown = {Sign{"*", "\u00B7"},  Sign{"-", "\u2212"},  Sign{"<=", "\u2264"},
                                 Sign{">=", "\u2265"}, Sign{"!=", "\u2260"}, Sign{"<<", "\u226A"},
                                 Sign{">>", "\u226B"}};
  std::string sign = node.text == "and" || node.text == "or" || node.text == "mod"
                         ? Words(" " + node.text + " ")
                         : Operator(node.text);
  for (const Sign& row : kShown) {
    if (row.text == node.text) sign = Operator(row.shown);
  }
  // A shift binds loosest of the arithmetic, which few readers would guess: sums get brackets.
  const bool shift = node.text == "<<" || node.text == ">>";
  const int own = shift ? 5 : Binding(node);
  return Row(Operand(left, own) + sign + Operand(right, own + (shift ? 0 : 1)));
}

// if(c, a, b) as the usual brace; a choice within the last is another line of it.
std::string Cases(const Node& node) {
  std::string rows;
  const Node* rest = &node;
  for (; rest->kind == Node::Kind::kCall && rest->text == "if" && rest->children.size() == 3;
       rest = &rest->children[2]) {
    rows += Element("mtr", Element("mtd", Math(rest->children[1])) +
                               Element("mtd", Words("if ") + Math(rest->children[0])));
  }
  rows += Element("mtr", Element("mtd", Math(*rest)) + Element("mtd", Words("otherwise")));
  return Row(Operator("{") + Element("mtable", rows));
}

std::string Fenced(std::string_view open, const Node& inner, std::string_view close) {
  return Row(Operator(open) + Math(inner) + Operator(close));
}

std::string Call(const Node& node) {
  if (node.text == "if" && node.children.size() == 3) return Cases(node);
  if (node.children.size() == 1) {
    if (node.text == "abs") return Fenced("|", node.children[0], "|");
    if (node.text == "floor") return Fenced("\u230A", node.children[0], "\u230B");
    if (node.text == "ceiling") return Fenced("\u2308", node.children[0], "\u2309");
    if (node.text == "sqrt") return Element("msqrt", Math(node.children[0]));
    if (node.text == "exp") {
      return Element("msup", Element("mi", "e") + Row(Math(node.children[0])));
    }
  }
  return Row(Name(node.text, true) + Operator("\u2061") + Bracketed(List(node.children)));
}

std::string Limits(const Node& node, std::size_t count) {
  std::string limits;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) limits += Operator(",");
    limits += Row(Element("mn", "0") + Operator("\u2264") + Name(node.names[i], false) +
                  Operator("<") + Math(node.children[i]));
  }
  return Row(limits);
}

std::string Range(const Node& node) {
  const std::string sign = node.text == "sum"       ? Operator("\u2211")
                           : node.text == "product" ? Operator("\u220F")
                                                    : Element("mi", node.text);
  constexpr int kTerm = 5;
  return Row(Element("munder", sign + Limits(node, node.children.size() - 1)) +
             Operand(node.children.back(), kTerm));
}

// From the first value on, for each index in order, the name becomes the body.
std::string Fold(const Node& node) {
  const std::size_t indices = node.children.size() - 2;
  const std::string name = Name(node.names.back(), false);
  return Row(Element("munder", Element("mi", "fold") + Limits(node, indices)) +
             Bracketed(name + Operator("=") + Math(node.children[indices]) + Operator(";") + name +
                       Operator("\u2190") + Math(node.children.back())));
}

std::string Math(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNumber:
      return Element("mn", Escaped(node.text));
    case Node::Kind::kName:
      return node.text == "infinity" ? Element("mi", "\u221E") : Name(node.text, false);
    case Node::Kind::kIndex:
      return Element("msub", Name(node.text, false) + Row(List(node.children)));
    case Node::Kind::kCall:
      return Call(node);
    case Node::Kind::kUnary:
      return Row((node.text == "-" ? Operator("\u2212") : Words("not ")) +
                 Operand(node.children[0], Binding(node)));
    case Node::Kind::kBinary:
      return Binary(node);
    case Node::Kind::kRange:
      return Range(node);
    default:
      return Fold(node);
  }
}

std::string Left(const Statement& statement) {
  std::string names;
  for (const std::string& parameter : statement.parameters) {
    if (!names.empty()) names += Operator(",");
    names += Name(parameter, false);
  }
  switch (statement.kind) {
    case Statement::Kind::kFunction:
      return Row(Name(statement.name, true) + Operator("\u2061") + Bracketed(names));
    case Statement::Kind::kElement:
      return Element("msub", Name(statement.name, false) + Row(names));
    default:
      return Name(statement.name, false);
  }
}

std::string Line(const Statement& statement) {
  const std::string comment = statement.comment.empty() ? "" : Words("  " + statement.comment);
  if (statement.kind == Statement::Kind::kUse) {
    std::string clauses;
    for (const std::string& clause : statement.parameters) {
      clauses += (clauses.empty() ? "with " : ", ") + clause;
    }
    return Element("mtr",
                   Element("mtd", Words(clauses)) + Element("mtd", "") + Element("mtd", comment));
  }
  return Element("mtr", Element("mtd", Left(statement)) + Element("mtd", Operator("=")) +
                            Element("mtd", Row(Math(statement.body) + comment)));
}

}  // namespace

Result<std::string> FormulaToMathMl(std::string_view text) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Statement> statements,
                       ParseFormula(ExpressionsOf(text), ""));
  std::string rows;
  for (const Statement& statement : statements) rows += Line(statement);
  return "<math display=\"block\">" + Element("mtable", rows) + "</math>";
}

}  // namespace qtx::spec
