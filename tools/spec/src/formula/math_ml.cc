#include "formula/math_ml.h"

#include <algorithm>
#include <array>
#include <span>

#include "qtx/format/text.h"

namespace qtx::spec {
namespace {

using format::EscapeXml;

// Function application: nobody sees it, so EscapeXml would show its number.
constexpr std::string_view kApplication = "\u2061";

std::string Operator(std::string_view sign) { return Element("mo", EscapeXml(sign)); }
std::string Words(std::string_view text) {
  // Renderers drop blanks at the ends of a text.
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = text.find_last_not_of(' ') + 1;
  std::string words;
  for (std::size_t i = 0; i < begin; ++i) words += "\u00A0";
  words += EscapeXml(text.substr(begin, std::max(begin, end) - begin));
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
    return Element("mi", EscapeXml(name));
  }
  return Element("msub", Element("mi", EscapeXml(name.substr(0, bar))) +
                             Element("mi", EscapeXml(name.substr(bar + 1))));
}

// Precedence of an expression: an operand of lower precedence needs brackets.
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

std::string Argument(const Node& node, int least) {
  return Binding(node) < least ? Bracketed(MathMl(node)) : MathMl(node);
}

std::string ListOf(std::span<const Node> nodes) {
  std::string list;
  for (const Node& node : nodes) {
    if (!list.empty()) list += Operator(",");
    list += MathMl(node);
  }
  return list;
}

constexpr int kAtom = 9;

std::string Power(const Node& node) {
  const Node& base = node.children[0];
  const bool fraction = base.kind == Node::Kind::kBinary;
  return Element("msup", (fraction ? Bracketed(MathMl(base)) : Argument(base, kAtom)) +
                             Row(MathMl(node.children[1])));
}

// Between its operands also where it begins a line.
std::string Infix(std::string_view sign) {
  return "<mo form=\"infix\">" + EscapeXml(sign) + "</mo>";
}

std::string SignOf(const Node& node) {
  struct Sign {
    std::string_view text;
    std::string_view shown;
  };
  constexpr std::array kShownSigns = {
      Sign{"*", "\u00B7"},  Sign{"-", "\u2212"},  Sign{"<=", "\u2264"}, Sign{">=", "\u2265"},
      Sign{"!=", "\u2260"}, Sign{"<<", "\u226A"}, Sign{">>", "\u226B"}};
  if (node.text == "and" || node.text == "or" || node.text == "mod") {
    return Words(" " + node.text + " ");
  }
  const auto row = std::ranges::find(kShownSigns, node.text, &Sign::text);
  return Infix(row == kShownSigns.end() ? std::string_view(node.text) : row->shown);
}

std::vector<Part> BinaryParts(const Node& node) {
  const Node &left = node.children[0], &right = node.children[1];
  // A shift binds loosest of the arithmetic, which few readers would guess: sums get brackets.
  const bool shift = node.text == "<<" || node.text == ">>";
  const int own = shift || node.text == "/" ? 5 : Binding(node);
  return {{"", &left, Binding(left) < own, ""},
          {SignOf(node), &right,
           Binding(right) < own + (shift ? 0 : 1) || (node.text == "/" && right.text == "/"), ""}};
}

// if(c, a, b) as the usual brace; a choice within the last is another line of it.
std::string Cases(const Node& node) {
  std::string rows;
  const Node* rest = &node;
  for (; IsChoice(*rest); rest = &rest->children[2]) {
    rows += Element("mtr", Element("mtd", MathMl(rest->children[1])) +
                               Element("mtd", Words("if ") + MathMl(rest->children[0])));
  }
  rows += Element("mtr", Element("mtd", MathMl(*rest)) + Element("mtd", Words("otherwise")));
  return Row(Operator("{") + Element("mtable", rows));
}

struct Fence {
  std::string_view name;
  std::string_view open;
  std::string_view close;
};
constexpr std::array kFences = {Fence{"abs", "|", "|"}, Fence{"floor", "\u230A", "\u230B"},
                                Fence{"ceiling", "\u2308", "\u2309"}};

std::vector<Part> CallParts(const Node& node) {
  std::string open = Name(node.text, true) + Element("mo", kApplication) + Operator("(");
  std::string_view close = ")";
  const auto fence = std::ranges::find(kFences, node.text, &Fence::name);
  if (fence != kFences.end() && node.children.size() == 1) {
    open = Operator(fence->open);
    close = fence->close;
  }
  std::vector<Part> parts;
  for (const Node& argument : node.children) {
    const bool last = &argument == &node.children.back();
    parts.push_back(
        {parts.empty() ? open : "", &argument, false, last ? Operator(close) : Infix(",")});
  }
  return parts;
}

// The name of an index, or of a list of them: "p...".
std::string Index(std::string_view name) {
  if (!name.ends_with(formula::kListMark)) return Name(name, false);
  return Row(Name(name.substr(0, name.size() - 3), false) + Operator("\u2026"));
}

// One below the other.
std::string Limits(const Node& node, std::size_t count) {
  std::string rows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string limit = Element("mn", "0") + Operator("\u2264") + Index(node.names[i]) +
                              Operator("<") + MathMl(node.children[i]);
    if (count == 1) return Row(limit);
    rows += Element("mtr", Element("mtd", limit));
  }
  return Element("mtable", rows);
}

std::vector<Part> RangeParts(const Node& node) {
  constexpr int kTerm = 5;
  const Node& term = node.children.back();
  return {{"", &term, Binding(term) < kTerm, ""}};
}

// From the first value on, for each index in order, the name becomes the body.
std::vector<Part> FoldParts(const Node& node) {
  const std::string name = Name(node.names.back(), false);
  return {{Operator("(") + name + Infix("="), &node.children.end()[-2], false, Operator(";")},
          {name + Infix("\u2190"), &node.children.back(), false, Operator(")")}};
}

// What a call has of its own; empty for what is shown as written.
std::string Call(const Node& node) {
  if (IsChoice(node)) return Cases(node);
  if (node.children.empty()) return Row(Name(node.text, true) + Bracketed(""));
  if (node.children.size() > 1) return "";
  const Node& of = node.children[0];
  if (node.text == "sqrt") return Element("msqrt", MathMl(of));
  if (node.text == "exp") return Element("msup", Element("mi", "e") + Row(MathMl(of)));
  return "";
}

std::string Joined(std::span<const Part> parts) {
  std::string joined;
  for (const Part& part : parts) {
    const std::string math = MathMl(*part.node);
    joined += part.open + (part.brackets ? Bracketed(math) : math) + part.close;
  }
  return Row(joined);
}

}  // namespace

std::string Element(std::string_view tag, std::string_view content) {
  return "<" + std::string(tag) + ">" + std::string(content) + "</" + std::string(tag) + ">";
}

bool IsChoice(const Node& node) {
  return node.kind == Node::Kind::kCall && node.text == "if" && node.children.size() == 3;
}

std::vector<Part> PartsOf(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kCall:
      return IsChoice(node) ? std::vector<Part>() : CallParts(node);
    case Node::Kind::kUnary: {
      const Node& of = node.children[0];
      return {{node.text == "-" ? Operator("\u2212") : Words("not "), &of,
               Binding(of) < Binding(node), ""}};
    }
    case Node::Kind::kBinary:
      return node.text == "^" ? std::vector<Part>() : BinaryParts(node);
    case Node::Kind::kRange:
      return RangeParts(node);
    case Node::Kind::kFold:
      return FoldParts(node);
    default:
      return {};
  }
}

std::string MathMlOfHead(const Node& node) {
  const bool fold = node.kind == Node::Kind::kFold;
  if (!fold && node.kind != Node::Kind::kRange) return "";
  const std::string sign = fold                     ? Element("mi", "fold")
                           : node.text == "sum"     ? Operator("\u2211")
                           : node.text == "product" ? Operator("\u220F")
                                                    : Element("mi", node.text);
  return Element("munder", sign + Limits(node, node.children.size() - (fold ? 2 : 1)));
}

std::string MathMl(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNumber:
      return Element("mn", EscapeXml(node.text));
    case Node::Kind::kName:
      return node.text == "infinity" ? Element("mi", "\u221E") : Name(node.text, false);
    case Node::Kind::kText:
      return Words("\u201C" + node.text + "\u201D");
    case Node::Kind::kList:
      return Row(Operator("[") + ListOf(node.children) + Operator("]"));
    case Node::Kind::kRest:
      return Row(MathMl(node.children[0]) + Operator("\u2026"));
    case Node::Kind::kIndex:
      return Element("msub", Argument(node.children[0], kAtom) +
                                 Row(ListOf(std::span(node.children).subspan(1))));
    case Node::Kind::kRange:
    case Node::Kind::kFold:
      return Row(MathMlOfHead(node) + Joined(PartsOf(node)));
    case Node::Kind::kBinary:
      if (node.text == "/") {
        return Element("mfrac", Row(MathMl(node.children[0])) + Row(MathMl(node.children[1])));
      }
      return node.text == "^" ? Power(node) : Joined(PartsOf(node));
    default: {
      const std::string call = node.kind == Node::Kind::kCall ? Call(node) : "";
      return call.empty() ? Joined(PartsOf(node)) : call;
    }
  }
}

std::string MathMlOfLeft(const Statement& statement) {
  std::string names;
  for (const std::string& parameter : statement.parameters) {
    if (!names.empty()) names += Operator(",");
    names += Index(parameter);
  }
  switch (statement.kind) {
    case Statement::Kind::kShape:
    case Statement::Kind::kFunction: {
      const bool shape = statement.kind == Statement::Kind::kShape;
      const std::string_view name = shape ? "shape" : std::string_view(statement.name);
      if (shape) names = Name(statement.name, false);
      return Row(Name(name, true) + Element("mo", kApplication) + Bracketed(names));
    }
    case Statement::Kind::kElement:
      return Element("msub", Name(statement.name, false) + Row(names));
    default:
      return Name(statement.name, false);
  }
}

}  // namespace qtx::spec
