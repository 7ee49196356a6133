#include "qtx/spec/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "qtx/reference/interpreter.h"
#include "qtx/spec/chapters.h"
#include "temporary_folder.h"

namespace qtx::spec {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

using SpecText = conformance::TemporaryFolder;

std::vector<std::string> Ids(const std::vector<Clause>& clauses) {
  std::vector<std::string> ids;
  for (const Clause& clause : clauses) ids.push_back(clause.id);
  return ids;
}

TEST_F(SpecText, HasItsClausesAtTheBeginningOfParagraphsListItemsAndRows) {
  Write(
      "ops/add.md",
      "# Add\n\n**add.C1** A type MUST fit.\nAs **add.C2** says.\n- **add.S1** An item.\n\n"
      "| id | is |\n|---|---|\n| **add.S2** | a row |\n|  **add.S3** | a row |\n\n**add.S** no\n");
  Write("wire.md", "**wire.S1** (tests) Bytes.\n**wire.S2** continues the paragraph.\n");
  Write("proposals/0001-a/proposal.md", "**add.S9** is not yet of the text.\n");
  Write("notes.txt", "**notes.S1** is not of the text");
  const auto clauses = ReadClauses(folder());
  ASSERT_TRUE(clauses.has_value()) << clauses.error().message;
  EXPECT_THAT(Ids(*clauses), ElementsAre("add.C1", "add.S1", "add.S2", "add.S3", "wire.S1"));
  EXPECT_EQ((*clauses)[1].place, "ops/add.md:5");
  EXPECT_TRUE((*clauses)[4].held_by_test);
  EXPECT_EQ(std::ranges::count(*clauses, true, &Clause::held_by_test), 1);
}

TEST_F(SpecText, ThatIsMissingIsAnError) {
  EXPECT_EQ(ReadClauses(folder() + "/none").error().code, ErrorCode::kUnreadable);
}

conformance::Case CaseOf(const std::string& clause, const std::string& op_type,
                         std::vector<std::string> arithmetics) {
  conformance::Case c;
  c.spec = clause;
  c.op.emplace().type = op_type;
  c.arithmetics = std::move(arithmetics);
  return c;
}

TEST(Coverage, ListsTheRulesThatNoCaseCitesOrExpects) {
  const std::vector<Clause> clauses = {
      {"add.C1", "a:1"}, {"add.S1", "a:2"}, {"add.S2", "a:3"}, {"wire.S1", "w:1", true}};
  conformance::Case refused = CaseOf("add.S1", "Add", {"exact"});
  refused.error = "add.C1";
  const std::vector<conformance::Case> cases = {refused};
  const Coverage coverage = MeasureCoverage(cases, clauses);
  EXPECT_THAT(Ids(coverage.uncovered), ElementsAre("add.S2"));
  EXPECT_THAT(Ids(coverage.held_by_tests), ElementsAre("wire.S1"));
  EXPECT_EQ(coverage.clauses, 4);
  EXPECT_FALSE(coverage.complete());
}

TEST(Coverage, CountsACaseOnceForEachArithmetic) {
  const std::vector<conformance::Case> cases = {CaseOf("add.S1", "Add", {"exact", "float32"}),
                                                CaseOf("add.S1", "Add", {"exact"}),
                                                conformance::Case()};
  const Coverage coverage = MeasureCoverage(cases, {});
  EXPECT_EQ(coverage.counts.at("Add").at("exact"), 2);
  EXPECT_EQ(coverage.counts.at("Add").at("float32"), 1);
  EXPECT_EQ(coverage.counts.at("model").at("exact"), 1);
}

Result<void> Accept(const format::Application&) { return {}; }

// Add has one clause that its row does not check, and its row one that it does not state.
TEST_F(SpecText, IsComparedWithTheCatalogue) {
  Write("ops/add.md",
        "# Add\n\n**add.S1** A sum.\n\n**add.C1** Types.\n\n**add.C2** Broadcast.\n\n"
        "**add.C3** Shape.\n");
  Write("ops/sub.md", "# Sub\n\n**sub.C1** Types.\n");
  Write("format/graph.md", "# Graph\n\n**graph.C1** Names.\n");
  const auto chapters = ReadChapters(folder());
  ASSERT_TRUE(chapters.has_value());
  const std::vector<format::OpSchema> rows = {{.op_type = "Add",
                                               .checks = {{"add.C1", Accept}, {"add.C9", Accept}},
                                               .shape_clause = "add.C3"},
                                              {.op_type = "Mul"}};
  const CatalogueGaps gaps = CompareCatalogue(*chapters, folder(), rows);
  EXPECT_THAT(gaps.sections_without_row, ElementsAre("Sub"));
  EXPECT_THAT(gaps.rows_without_section, ElementsAre("Mul"));
  EXPECT_THAT(Ids(gaps.constraints_without_check), ElementsAre("add.C2"));
  EXPECT_EQ(gaps.constraints_without_check.front().place, "ops/add.md:7");
  ASSERT_THAT(gaps.checks_without_clause, SizeIs(1));
  EXPECT_EQ(gaps.checks_without_clause[0].place, "row Add");
  EXPECT_EQ(gaps.checks_without_clause[0].target, "add.C9");
  EXPECT_FALSE(gaps.empty());
}

TEST(Coverage, ListsOperatorsAndArithmeticsWithoutACase) {
  std::vector<conformance::Case> cases = {CaseOf("add.S1", "Add", {"exact", "tflite-double"})};
  const Coverage coverage = MeasureCoverage(cases, {});
  EXPECT_THAT(coverage.operators_without, SizeIs(reference::SupportedOperators().size() - 1));
  EXPECT_THAT(coverage.operators_without, Not(Contains("Add")));
  EXPECT_THAT(coverage.arithmetics_without, Contains("float32"));
  EXPECT_THAT(coverage.arithmetics_without, Contains("cmsis-nn"));  // tflite-double's other name
  EXPECT_THAT(coverage.arithmetics_without, Not(Contains("tflite-double")));
}

}  // namespace
}  // namespace qtx::spec
