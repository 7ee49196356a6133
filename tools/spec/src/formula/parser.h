// Parses the text of a formula into its tree.
//
//   statement  = "use" clause {"," clause} | left "=" expression
//   left       = name | name "(" names ")" | name "[" names "]"
//   expression = all {"or" all};  all = truth {"and" truth};  truth = {"not"} relation
//   relation   = shift [("=" | "!=" | "<" | "<=" | ">" | ">=") shift]
//   shift      = total {("<<" | ">>") total};  total = term {("+" | "-") term}
//   term       = factor {("*" | "/" | "mod") factor};  factor = {"-"} power
//   power      = value ["^" factor]
//   value      = number | name | name "[" list "]" | name "(" list ")" | "(" expression ")"
//              | ("sum" | "product" | "max" | "min") "(" range {"," range} ":" expression ")"
//              | "fold" "(" range {"," range} "," name "=" expression ":" expression ")"
//   range      = name "<" total
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formula/tree.h"
#include "qtx/format/result.h"

namespace qtx::spec {

/// `first_line` is the line of the file at which the text begins.
/// Errors: kInvalid or kTooLarge at "where:line:column", what was found and what expected.
Result<std::vector<Statement>> ParseFormula(std::string_view text, const std::string& where,
                                            int first_line = 1);

/// The text above the first line of dashes.
std::string_view ExpressionsOf(std::string_view block);

}  // namespace qtx::spec
