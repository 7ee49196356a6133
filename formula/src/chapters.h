// The chapters of the specification that state formulas, as they were when the program was built.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "qtx/formula/text.h"

namespace qtx::formula {

struct EmbeddedChapter {
  std::string_view path;  // "ops/conv.md"
  std::string_view markdown;
};
extern const std::span<const EmbeddedChapter> kChapters;
std::vector<Chapter> EmbeddedChapters();

/// Adds the formulas of a chapter, in order. Errors: as Text::Parse.
Result<void> ParseChapter(const Chapter& chapter, std::vector<Formula>& formulas);

}  // namespace qtx::formula
