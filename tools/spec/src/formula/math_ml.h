// Presentation MathML of an expression. Source of the elements: MathML Core (W3C), section 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formula/tree.h"

namespace qtx::spec {

/// All of an expression as one element, or several for one row; escaped.
std::string MathMl(const Node& node);

/// What stands before the equals sign.
std::string MathMlOfLeft(const Statement& statement);

/// An operand of an expression and the MathML that goes with it.
struct Part {
  std::string open;
  const Node* node = nullptr;
  bool brackets = false;  // around the operand, inside of open and close
  std::string close;
};

/// The operands of an expression in the order they are read, between which a line may be broken;
/// with a slash for a fraction and `exp` for a power of e. None where only the whole can be shown.
std::vector<Part> PartsOf(const Node& node);

/// What stands before the parts: the sign of a sum above its limits. Empty for most.
std::string MathMlOfHead(const Node& node);

/// Whether it is if(c, a, b).
bool IsChoice(const Node& node);

/// <tag>content</tag>
std::string Element(std::string_view tag, std::string_view content);

}  // namespace qtx::spec
