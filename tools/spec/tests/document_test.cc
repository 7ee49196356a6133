#include "qtx/spec/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtx::spec {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

Document Parsed(const std::string& text) {
  auto document = ParseDocument(text, "x.md");
  EXPECT_TRUE(document.has_value());
  return document.has_value() ? *std::move(document) : Document{};
}

TEST(Document, GivesEachSectionItsLines) {
  const Document document = Parsed("# A\n\none\n\n## B `c`\n\ntwo\n\n## D\nthree\n# E\n");
  ASSERT_EQ(document.sections.size(), 4U);
  EXPECT_EQ(document.sections[1].title, "B c");
  EXPECT_EQ(document.Text(document.sections[1]), "\ntwo\n\n");
  EXPECT_EQ(document.Text(*document.Find("D")), "three\n");
  EXPECT_EQ(document.sections[0].end, 11);
  EXPECT_EQ(document.Text(*document.Find("E")), "");
}

TEST(Document, FindsClausesInParagraphsItemsAndRowsButNotInsideText) {
  const Document document = Parsed(
      "**a.S1** text **b.S2**\n\n- **c_d.C10** (tests) item\n\n| id | what |\n|---|---|\n"
      "| **e.S3** | row |\n| x | **f.S4** |\n\nsee **g.S5**\n\n**Two roles.** no id\n");
  std::vector<std::string> ids;
  for (const StatedClause& clause : document.clauses) ids.push_back(clause.id);
  EXPECT_THAT(ids, ElementsAre("a.S1", "c_d.C10", "e.S3"));
  EXPECT_TRUE(document.clauses[1].held_by_test);
  EXPECT_FALSE(document.clauses[0].held_by_test);
  EXPECT_EQ(document.clauses[2].line, 7);
}

TEST(Document, GivesFencesAndLinksWithTheirLines) {
  const Document document = Parsed("a [b](c.md#d)\n\n```yaml\nid: x\n```\n\n~~~\n```yaml\n~~~\n");
  ASSERT_EQ(document.fences.size(), 2U);
  EXPECT_EQ(document.fences[0].info, "yaml");
  EXPECT_EQ(document.fences[0].text, "id: x\n");
  EXPECT_EQ(document.fences[0].line, 3);
  EXPECT_THAT(document.links, ElementsAre(Field(&Link::target, "c.md#d")));
}

TEST(Document, RefusesAFenceWithoutAnEnd) {
  const auto document = ParseDocument("a\n\n```yaml\nid: x\n", "x.md");
  ASSERT_FALSE(document.has_value());
  EXPECT_EQ(document.error().where, "x.md:3");
  EXPECT_THAT(document.error().message, HasSubstr("without an end"));
}

}  // namespace
}  // namespace qtx::spec
