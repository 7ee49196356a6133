// Every formula of the text, evaluated against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "qtx/spec/chapters.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

const std::string kSpec = QTX_SOURCE_DIR "/spec";

TEST(FormulasOfTheText, AreWhatTheReferenceComputes) {
  const auto chapters = ReadChapters(kSpec);
  ASSERT_TRUE(chapters.has_value()) << chapters.error().message;
  std::int64_t formulas = 0, elements = 0, exhaustive = 0;
  for (const Document& chapter : *chapters) {
    const auto found = ReadFormulas(chapter);
    ASSERT_TRUE(found.has_value()) << found.error().where << ": " << found.error().message;
    for (const Formula& formula : *found) {
      ++formulas;
      const auto runs = RunFormula(formula);
      ASSERT_TRUE(runs.has_value()) << runs.error().where << ": " << runs.error().message;
      for (const FormulaRun& run : *runs) {
        EXPECT_EQ(run.difference, "") << run.where << ": " << run.id;
        elements += run.elements;
        exhaustive += run.exhaustive ? run.elements : 0;
      }
    }
  }
  std::cout << formulas << " formulas, " << elements << " elements, of these " << exhaustive
            << " exhaustively\n";
  EXPECT_GT(formulas, 0);
}

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
      EXPECT_TRUE(FormulaToMathMl(formula.text).has_value());
    }
  }
}

}  // namespace
}  // namespace qtx::spec
