// The lexer of formulas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/formula/tree.h"

namespace qtx::formula {

struct Token {
  enum class Kind { kName, kNumber, kText, kSign, kComment, kNewline, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
  Place place;
};

/// A line that begins with a blank, or lies inside brackets, continues the one before: there is no
/// kNewline between them.  Errors: kInvalid at "where:line:column"; kTooLarge.
Result<std::vector<Token>> SplitFormula(std::string_view text, const std::string& where,
                                        int first_line = 1);

}  // namespace qtx::formula
