#include "qtx/format/einsum.h"

#include <algorithm>

namespace qtx::format {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Error NoEquation(const std::string& found, const std::string& expected) {
  return Error{ErrorCode::kInvalid, "", "found " + found + ", expected " + expected};
}

Result<std::string> ReadTerm(std::string_view text) {
  std::string term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("...")) {
      if (term.find('.') != std::string::npos) {
        return NoEquation("term '" + std::string(text) + "'", "at most one '...'");
      }
      term += '.';
      i += 2;
    } else if (IsLetter(text[i])) {
      term += text[i];
    } else {
      return NoEquation("term '" + std::string(text) + "'", "letters and '...'");
    }
  }
  return term;
}

}  // namespace

Result<EinsumEquation> ReadEinsumEquation(std::string_view equation) {
  std::string text(equation);
  std::erase(text, ' ');
  EinsumEquation result;
  std::string_view left = text;
  if (const std::size_t arrow = text.find("->"); arrow != std::string::npos) {
    QTX_ASSIGN_OR_RETURN(result.output, ReadTerm(left.substr(arrow + 2)));
    left = left.substr(0, arrow);
  }
  for (;;) {
    const std::size_t comma = left.find(',');
    QTX_ASSIGN_OR_RETURN(result.inputs.emplace_back(), ReadTerm(left.substr(0, comma)));
    if (comma == std::string_view::npos) return result;
    left.remove_prefix(comma + 1);
  }
}

std::string EinsumOutput(const EinsumEquation& equation) {
  if (equation.output) return *equation.output;
  std::string letters;
  for (const std::string& term : equation.inputs) letters += term;
  std::ranges::sort(letters);
  std::string once = letters.starts_with('.') ? "." : "";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool repeated = (i > 0 && letters[i - 1] == letters[i]) ||
                          (i + 1 < letters.size() && letters[i + 1] == letters[i]);
    if (!repeated && letters[i] != '.') once += letters[i];
  }
  return once;
}

EinsumLabels EinsumLabelsOf(std::string_view term, std::int64_t ellipsis_axes) {
  EinsumLabels labels;
  for (const char c : term) {
    if (c != '.') {
      labels.push_back(c);
      continue;
    }
    for (std::int32_t i = 0; i < ellipsis_axes; ++i) labels.push_back(kEinsumEllipsis + i);
  }
  return labels;
}

}  // namespace qtx::format
