// Every formula of the text is of a clause, and drawn; `qtx spec run` evaluates them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "qtx/spec/chapters.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

const std::string kSpec = QTX_SOURCE_DIR "/spec";

// A formula that stands as an indented block is one that nobody runs.
TEST(FormulasOfTheText, LeaveNoIndentedPseudocode) {
  const auto chapters = ReadChapters(kSpec);
  ASSERT_TRUE(chapters.has_value()) << chapters.error().message;
  for (const Document& chapter : *chapters) {
    for (const Fence& fence : chapter.fences) {
      const std::string place = chapter.where + ":" + std::to_string(fence.line);
      EXPECT_FALSE(fence.info.empty()) << place << ": an indented block or a fence without a name";
    }
    const auto found = ReadFormulas(chapter);
    if (!found.has_value()) continue;
    for (const Formula& formula : *found) {
      EXPECT_TRUE(std::ranges::any_of(
          chapter.clauses, [&](const StatedClause& clause) { return clause.id == formula.spec; }))
          << chapter.where << ":" << formula.line << ": formula of " << formula.spec;
      EXPECT_TRUE(FormulaToHtml(formula.text).has_value());
    }
  }
}

}  // namespace
}  // namespace qtx::spec
