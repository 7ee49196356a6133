// A formula as parsed: statements over expressions, each node with its place in the text.
#pragma once

#include <string>
#include <vector>

namespace qtx::spec {

// Bounds on hostile text.
inline constexpr int kMaxFormulaBytes = 1 << 14;
inline constexpr int kMaxFormulaDepth = 64;
inline constexpr int kMaxFormulaNodes = 1 << 12;
inline constexpr int kMaxNumberCharacters = 64;
inline constexpr int kMaxNumberExponent = 4096;

struct Place {
  int line = 1;
  int column = 1;
};

struct Node {
  enum class Kind {
    kNumber,  // text: as written
    kName,    // text
    kIndex,   // text[children...]
    kCall,    // text(children...)
    kUnary,   // text ("-", "not") child
    kBinary,  // child text child
    kRange,   // sum, product, max, min: text(names[i] < children[i], ...: last child)
    kFold,    // fold(names[i] < children[i], ..., last name = last but one child: last child)
  };
  Kind kind = Kind::kNumber;
  std::string text;
  std::vector<std::string> names;
  std::vector<Node> children;
  Place place;
};

struct Statement {
  enum class Kind {
    kUse,       // use `parameters`: clauses whose functions this formula may call
    kValue,     // name = body
    kFunction,  // name(parameters) = body
    kElement,   // name[parameters] = body: an element of an output by its coordinates
  };
  Kind kind = Kind::kValue;
  std::string name;
  std::vector<std::string> parameters;
  Node body;
  std::string comment;  // what followed a # on its last line
  Place place;
};

}  // namespace qtx::spec
