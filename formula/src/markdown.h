// The parts of a chapter's Markdown that formulas need: lines, the title, clauses and tables.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace qtx::formula {

/// Lines, with the number of each.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool Next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line = text_.substr(at_, end - at_);
    begin_ = at_;
    at_ = end + 1;
    ++number_;
    return true;
  }
  int number() const { return number_; }
  std::size_t begin() const { return begin_; }  // of the line
  std::size_t end() const { return std::min(at_, text_.size()); }

 private:
  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  int number_ = 0;
};

/// "Conv" of "# Conv", "exact" of "# Arithmetic `exact`"; "" without a title.
std::string TitleOf(std::string_view markdown);

/// "conv.S1" of a line that begins with **conv.S1**; "" for other lines.
std::string StatedIn(std::string_view line);

struct TableRow {
  int line = 0;
  std::vector<std::string> cells;  // without blanks and backticks around them
};
/// The rows of the first table below the heading `## title`, or below the chapter's title for "",
/// without the first row and the line of dashes.
std::vector<TableRow> TableBelow(std::string_view markdown, std::string_view title);

}  // namespace qtx::formula
