// Presentation MathML of an expression. Source of the elements: MathML Core (W3C), section 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/formula/tree.h"

namespace qtx::spec {

using formula::Node;
using formula::Statement;

/// An expression as escaped MathML: one element, or several for one row.
std::string MathMl(const Node& node);

/// The left side of a statement.
std::string MathMlOfLeft(const Statement& statement);

/// An operand of an expression and the MathML that goes with it.
struct Part {
  std::string open;
  const Node* node = nullptr;
  bool brackets = false;  // around the operand, inside of open and close
  std::string close;
};

/// The operands of an expression in the order they are read, between which a line may be broken;
/// with a slash for a fraction and `exp` for a power of e. Empty if the expression cannot be split.
std::vector<Part> PartsOf(const Node& node);

/// The prefix of the parts: the sign of a sum with its limits. Usually empty.
std::string MathMlOfHead(const Node& node);

/// True for if(c, a, b).
bool IsChoice(const Node& node);

/// <tag>content</tag>
std::string Element(std::string_view tag, std::string_view content);

}  // namespace qtx::spec
