// A formula as parsed: statements over expressions, each node with its place in the text.
#pragma once

#include <string>
#include <vector>

namespace qtx::formula {

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

/// What follows the name of an index or argument that stands for a list.
inline constexpr const char* kListMark = "...";

struct Node {
  enum class Kind {
    kNumber,  // text: as written
    kName,    // text
    kText,    // text, without its quotation marks
    kList,    // [children...]
    kRest,    // child... within the brackets of a list, an index or a call
    kIndex,   // first child[other children...]
    kCall,    // text(children...)
    kUnary,   // text ("-", "not") child
    kBinary,  // child text child
    kRange,   // sum, list, all, ...: text(names[i] < children[i], ...: last child)
    kFold,    // fold(names[i] < children[i], ..., last name = last but one child: last child)
  };
  Kind kind = Kind::kNumber;
  std::string text;
  std::vector<std::string> names;  // "k", or "k..." for a list
  std::vector<Node> children;
  Place place;
};

/// An operator for which a formula holds, and what the formula calls its inputs.
struct Signature {
  std::string op_type;
  std::vector<std::string> inputs;
};

struct Statement {
  enum class Kind {
    kUse,        // use `parameters`: clauses whose functions this formula may call
    kFor,        // for `signatures`
    kIn,         // in `name`: an arithmetic
    kOtherwise,  // otherwise `name`: an arithmetic
    kAs,         // as `signatures[0]` = `parameters`: a node of quantized tensors
    kWhen,       // when body
    kRequire,    // require body; `name`: the clause's "C4", or empty
    kShape,      // shape(name) = body
    kValue,      // name = body
    kFunction,   // name(parameters) = body
    kElement,    // name[parameters] = body: an element of an output by its coordinates
  };
  Kind kind = Kind::kValue;
  std::string name;
  std::vector<std::string> parameters;  // "p...": the list of the other coordinates
  std::vector<Signature> signatures;
  Node body;
  std::string comment;  // what followed a # on its last line
  Place place;
};

/// Whether the statement has an expression.
inline bool HasBody(const Statement& statement) { return statement.kind >= Statement::Kind::kWhen; }

}  // namespace qtx::formula
