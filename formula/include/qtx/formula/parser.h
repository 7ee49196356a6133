// Parses the text of a formula into its tree.
//
//   statement  = "use" clause {"," clause} | "for" operator {"," operator} | "in" name
//              | "otherwise" name | "as" operator "=" name {"," name} | "when" expression |
//              "require" [name ":"] expression | "shape" "(" name ")" "=" expression | left "="
//              expression
//   operator   = name ["(" names ")"];  left = name | name "(" names ")" | name "[" names "]"
//   names      = name ["..."] {"," name ["..."]}
//   expression = all {"or" all};  all = truth {"and" truth};  truth = {"not"} relation
//   relation   = shift [("=" | "!=" | "<" | "<=" | ">" | ">=") shift]
//   shift      = total {("<<" | ">>") total};  total = term {("+" | "-") term}
//   term       = factor {("*" | "/" | "mod") factor};  factor = {"-"} power
//   power      = indexed ["^" factor];  indexed = value {"[" items "]"}
//   value      = number | text | name | name "(" items ")" | "[" items "]" | "(" expression ")"
//              | ("sum" | "product" | "max" | "min" | "list" | "all" | "any" | "count")
//                "(" range {"," range} ":" expression ")"
//              | "fold" "(" range {"," range} "," name "=" expression ":" expression ")"
//   range      = name ["..."] "<" total;  items = [item {"," item}];  item = expression ["..."]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/formula/tree.h"

namespace qtx::formula {

/// `first_line` is the line of the file at which the text begins.
/// Errors: kInvalid or kTooLarge at "where:line:column", what was found and what expected.
Result<std::vector<Statement>> ParseFormula(std::string_view text, const std::string& where,
                                            int first_line = 1);

/// "where:line:column".
std::string PlaceIn(const std::string& where, Place place);

/// The text above the first line of dashes.
std::string_view ExpressionsOf(std::string_view block);

}  // namespace qtx::formula
