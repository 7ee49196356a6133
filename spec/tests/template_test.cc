// Every chapter of an operator, and of an arithmetic, has the form that readers know from the
// others: sections in one order, tables of one kind, an example, clauses numbered without holes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "qtx/spec/chapters.h"

namespace qtx::spec {
namespace {

using testing::ElementsAre;

const std::string kSpec = QTX_SOURCE_DIR "/spec";

std::vector<Document> ChaptersIn(const std::string& folder) {
  auto chapters = ReadChapters(kSpec + "/" + folder);
  EXPECT_TRUE(chapters.has_value());
  return chapters.has_value() ? *std::move(chapters) : std::vector<Document>{};
}

std::vector<std::string> TitlesOf(const Document& chapter) {
  std::vector<std::string> titles;
  for (const Section& section : chapter.sections) {
    if (section.level == 2) titles.push_back(section.title);
  }
  return titles;
}

// The header row of a section's first table.
std::string HeaderOf(const Document& chapter, const std::string& title) {
  const Section* section = chapter.Find(title);
  if (section == nullptr) return "";
  const std::string_view text = chapter.Text(*section);
  const std::size_t bar = text.find("\n| ");
  if (bar == std::string_view::npos) return "";
  return std::string(text.substr(bar + 1, text.find('\n', bar + 1) - bar - 1));
}

// S1, S2, ... and C1, C2, ..., in any order, each once and none left out. A withdrawn clause keeps
// its number and says so.
void ExpectNoHoles(const Document& chapter) {
  std::map<std::string, std::set<int>> numbers;  // by "conv.S"
  for (const StatedClause& clause : chapter.clauses) {
    const std::size_t digits = clause.id.find('.') + 2;
    numbers[clause.id.substr(0, digits)].insert(std::stoi(clause.id.substr(digits)));
  }
  for (const auto& [kind, found] : numbers) {
    EXPECT_EQ(*found.rbegin(), static_cast<int>(found.size()))
        << chapter.where << ": " << kind << " has holes";
    EXPECT_EQ(*found.begin(), 1) << chapter.where << ": " << kind;
  }
}

void ExpectExampleAndSource(const Document& chapter) {
  EXPECT_TRUE(
      std::ranges::any_of(chapter.fences, [](const Fence& fence) { return fence.info == "yaml"; }))
      << chapter.where << ": no example";
  EXPECT_NE(chapter.markdown.find("\nSource: "), std::string::npos)
      << chapter.where << ": no line that names the source";
}

TEST(TemplateOfOperators, IsKeptByEveryChapter) {
  for (const Document& chapter : ChaptersIn("ops")) {
    EXPECT_THAT(TitlesOf(chapter),
                ElementsAre("Semantics", "Inputs", "Outputs", "Constraints", "Examples"))
        << chapter.where;
    const bool no_input = chapter.where.ends_with("/constant.md");
    if (!no_input) {
      EXPECT_EQ(HeaderOf(chapter, "Inputs"), "| # | name | shape | type |") << chapter.where;
    }
    EXPECT_EQ(HeaderOf(chapter, "Outputs"), "| # | name | shape | type |") << chapter.where;
    ExpectNoHoles(chapter);
    ExpectExampleAndSource(chapter);
  }
}

TEST(TemplateOfArithmetics, IsKeptByEveryChapter) {
  for (const Document& chapter : ChaptersIn("arithmetic")) {
    EXPECT_THAT(TitlesOf(chapter), ElementsAre("Semantics", "Recipe", "Examples")) << chapter.where;
    EXPECT_TRUE(HeaderOf(chapter, "Recipe").starts_with("| coordinate | ")) << chapter.where;
    ExpectNoHoles(chapter);
    ExpectExampleAndSource(chapter);
  }
}

// Clauses of semantics stand under Semantics, constraints under Constraints: where a reader looks.
TEST(TemplateOfOperators, HasEachClauseInItsSection) {
  for (const Document& chapter : ChaptersIn("ops")) {
    for (const StatedClause& clause : chapter.clauses) {
      const bool constraint = clause.id[clause.id.find('.') + 1] == 'C';
      const Section* section = chapter.Find(constraint ? "Constraints" : "Semantics");
      ASSERT_NE(section, nullptr) << chapter.where;
      EXPECT_TRUE(clause.line > section->line && clause.line < section->end)
          << chapter.where << ":" << clause.line << ": " << clause.id;
    }
  }
}

}  // namespace
}  // namespace qtx::spec
