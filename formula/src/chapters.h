// The chapters of the specification that state formulas, as they were when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace qtx::formula {

struct EmbeddedChapter {
  std::string_view path;  // "ops/conv.md"
  std::string_view markdown;
};
extern const std::span<const EmbeddedChapter> kChapters;

}  // namespace qtx::formula
