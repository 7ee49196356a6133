// Breakable lines of a formula: browsers do not break lines within MathML, so a long expression
// becomes a row of small `math` elements.
#include <algorithm>
#include <string>
#include <string_view>

#include "formula/math_ml.h"
#include "qtx/format/text.h"
#include "qtx/formula/parser.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

using format::EscapeXml;

// As high as its branches.
constexpr std::string_view kBrace =
    "<svg viewBox=\"0 0 10 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    "<path d=\"M10 0Q5 0 5 8V42Q5 50 0 50Q5 50 5 58V92Q5 100 10 100\"></path></svg>";

// About the number of letters in a line on a phone.
constexpr double kMostOfPiece = 24;
constexpr std::size_t kMostOfOpening = 12;  // bytes of "clamp(", "+ f("
constexpr double kSmall = 0.7;              // size of an index to that of its line

double Width(const Node& node);

// The widest of the branches of a choice, with the words "if" and "otherwise".
double WidthOfChoice(const Node& node) {
  constexpr double kIf = 4, kOtherwise = 9;
  const double line = Width(node.children[1]) + kIf + Width(node.children[0]);
  const Node& rest = node.children[2];
  return std::max(line, IsChoice(rest) ? WidthOfChoice(rest) : Width(rest) + kOtherwise);
}

// Approximate width in letters.
double Width(const Node& node) {
  if (IsChoice(node)) return WidthOfChoice(node);
  const bool atom = node.children.empty();  // a name, number or text
  double width = atom || node.kind == Node::Kind::kCall || node.kind == Node::Kind::kIndex
                     ? static_cast<double>(node.text.size())
                     : 0;
  double widest = 0;
  for (const Node& child : node.children) {
    const double of_child = Width(child);
    widest = std::max(widest, of_child);
    width += (node.kind == Node::Kind::kIndex ? kSmall : 1) * of_child + 1;
  }
  if (node.kind != Node::Kind::kBinary) return width + 1;
  if (node.text == "/") return widest + 1;
  return node.text == "^" ? width - 1 : width + 1;
}

// The number of letters in MathML.
std::size_t Letters(std::string_view math) {
  std::size_t letters = 0;
  bool tag = false;
  for (const char c : math) {
    if (c == '<') tag = true;
    if (!tag) ++letters;
    if (c == '>') tag = false;
  }
  return letters;
}

// The brackets of what may be broken are not as high as what stands beside them in one piece.
std::string Still(std::string math) {
  constexpr std::string_view kOpen = "<mo>", kStill = "<mo stretchy=\"false\">";
  for (std::size_t at = math.find(kOpen); at != std::string::npos; at = math.find(kOpen, at)) {
    math.replace(at, kOpen.size(), kStill);
  }
  return math;
}

// The pieces of an expression. What goes with an operand stays on its line.
class Line {
 public:
  void Add(const Node& node, const std::string& open, const std::string& close) {
    if (Letters(open) > kMostOfOpening) {
      Piece(open);
      return Add(node, "", close);
    }
    if (Width(node) <= kMostOfPiece) return Piece(open + MathMl(node) + close);
    if (IsChoice(node)) {
      Piece(open);
      Choose(node);
      return Piece(close);
    }
    const std::vector<Part> parts = PartsOf(node);
    if (parts.empty()) return Piece(open + MathMl(node) + close);
    const std::string head = MathMlOfHead(node);
    if (!head.empty()) Piece(open + head);
    for (const Part& part : parts) {
      const bool first = &part == &parts.front(), last = &part == &parts.back();
      const std::string before = Still(part.open + (part.brackets ? "<mo>(</mo>" : ""));
      const std::string after = Still((part.brackets ? "<mo>)</mo>" : "") + part.close);
      Add(*part.node, (first && head.empty() ? open : "") + before, after + (last ? close : ""));
    }
  }

  void Piece(const std::string& math) {
    if (!math.empty()) html_ += Element("math", math);
  }

  const std::string& html() const { return html_; }

 private:
  // if(c, a, b): the branches below each other; a choice within the last is another of them.
  void Choose(const Node& node) {
    html_ += "<span class=\"choice\">" + std::string(kBrace);
    const Node* rest = &node;
    for (; IsChoice(*rest); rest = &rest->children[2]) {
      Branch(rest->children[1]);
      html_ += "<span class=\"when\">if\u00A0";
      Add(rest->children[0], "", "");
      html_ += "</span></span>";
    }
    Branch(*rest);
    html_ += "<span class=\"when\">otherwise</span></span></span>";
  }

  void Branch(const Node& value) {
    html_ += "<span class=\"branch\"><span>";
    Add(value, "", "");
    html_ += "</span>";
  }

  std::string html_;
};

// What a line without an expression says: "with conv.S4", "for Conv(x, w), MatMul(x, w)", "as
// Relu(x, x_scale, x_zero_point) gives y, y_scale, y_zero_point".
std::string WordsOf(const Statement& statement) {
  using Kind = Statement::Kind;
  std::string words = statement.kind == Kind::kUse   ? "with"
                      : statement.kind == Kind::kFor ? "for"
                      : statement.kind == Kind::kIn  ? "in"
                      : statement.kind == Kind::kAs  ? "as"
                                                     : "otherwise as in";
  std::string_view separator = " ";
  const auto add = [&](const std::string& name) {
    words.append(separator).append(name);
    separator = ", ";
  };
  if (statement.kind != Kind::kAs) {
    for (const std::string& clause : statement.parameters) add(clause);
  }
  for (const formula::Signature& signature : statement.signatures) {
    std::string inputs;
    for (const std::string& input : signature.inputs)
      inputs += (inputs.empty() ? "" : ", ") + input;
    add(signature.op_type + (inputs.empty() ? "" : "(" + inputs + ")"));
  }
  if (!statement.name.empty()) add(statement.name);
  if (statement.kind != Kind::kAs) return words;
  separator = " gives ";
  for (const std::string& output : statement.parameters) add(output);
  return words;
}

std::string LineHtml(const Statement& statement) {
  using Kind = Statement::Kind;
  std::string html = "<div class=\"line\">";
  const auto words = [](const std::string& text) {
    return "<span class=\"use\">" + EscapeXml(text) + "</span>";
  };
  if (!HasBody(statement)) {
    html += words(WordsOf(statement));
  } else {
    Line line;
    if (statement.kind == Kind::kWhen || statement.kind == Kind::kRequire) {
      const bool when = statement.kind == Kind::kWhen;
      html +=
          words(when ? "when" : "requires" + (statement.name.empty() ? "" : " " + statement.name)) +
          " ";
    } else {
      line.Piece(MathMlOfLeft(statement) + Element("mo", "="));
    }
    line.Add(statement.body, "", "");
    html += line.html();
  }
  if (!statement.comment.empty()) {
    html += " <span class=\"comment\">" + EscapeXml(statement.comment) + "</span>";
  }
  return html + "</div>\n";
}

}  // namespace

Result<std::string> FormulaToHtml(std::string_view text) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Statement> statements,
                       formula::ParseFormula(formula::ExpressionsOf(text), ""));
  std::string html;
  for (const Statement& statement : statements) html += LineHtml(statement);
  return html;
}

}  // namespace qtx::spec
