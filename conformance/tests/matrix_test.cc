#include "matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "yaml.h"

namespace qtx::conformance::matrix_test {
namespace {

using testing::HasSubstr;

Result<std::vector<Yaml>> Expand(const std::string& text) {
  QTX_ASSIGN_OR_RETURN(const auto documents, ParseYaml(text, "f.yaml"));
  return ExpandMatrix(documents.front(), "f.yaml");
}

std::string ErrorText(const std::string& text) {
  const auto expanded = Expand(text);
  return expanded ? "no error" : expanded.error().where + ": " + expanded.error().message;
}

TEST(Matrix, LeavesADocumentWithoutOneAlone) {
  const auto expanded = Expand("id: a\nx: ${y}\n");
  ASSERT_TRUE(expanded.has_value());
  EXPECT_EQ(expanded->front().Find("x")->text, "${y}");
}

TEST(Matrix, VariesTheLastKeyFastestAndNamesEachCase) {
  const auto expanded = Expand(
      "id: a\nx: v${K}w${t}\ny: ${l}\nmatrix: {t: [int8q, uint8q], K: [1, 3], l: [[1, 2]]}\n");
  ASSERT_TRUE(expanded.has_value()) << expanded.error().message;
  ASSERT_EQ(expanded->size(), 4U);
  EXPECT_EQ((*expanded)[0].Find("id")->text, "a[t=int8q,K=1,l=[1,2]]");
  EXPECT_EQ((*expanded)[1].Find("id")->text, "a[t=int8q,K=3,l=[1,2]]");
  EXPECT_EQ((*expanded)[2].Find("x")->text, "v1wuint8q");
  EXPECT_EQ((*expanded)[3].Find("y")->items[1].text, "2");
  EXPECT_EQ((*expanded)[0].Find("matrix"), nullptr);
}

std::vector<std::string> Ids(const std::string& text) {
  const auto expanded = Expand(text);
  EXPECT_TRUE(expanded.has_value()) << ErrorText(text);
  std::vector<std::string> ids;
  for (const Yaml& one : expanded ? *expanded : std::vector<Yaml>()) {
    ids.push_back(one.Find("id")->text);
  }
  return ids;
}

TEST(Matrix, LeavesOutWhatIsExcluded) {
  EXPECT_THAT(Ids("id: a\nx: ${K}${l.g}\nmatrix: {K: [1, 3], l: [{g: 2}, {g: 4}]}\n"
                  "exclude: [{K: [1], l.g: [4]}, {K: [3], l: [{g: 2}]}]\n"),
              testing::ElementsAre("a[K=1,l={g:2}]", "a[K=3,l={g:4}]"));
}

TEST(Matrix, ReplacesAnEntryOfAValue) {
  const auto expanded = Expand("id: a\nx: v${l.g}\nmatrix: {l: [{g: 2}]}\n");
  ASSERT_TRUE(expanded.has_value());
  EXPECT_EQ(expanded->front().Find("x")->text, "v2");
}

// Four pairs of two keys of 2 values; three keys need no more cases: 000 011 101 110.
TEST(Matrix, CoversPairsWithAStrength) {
  const std::string text = "id: a\nx: ${A}${B}${C}\nmatrix: {A: [0, 1], B: [0, 1], C: [0, 1]}\n";
  EXPECT_EQ(Ids(text).size(), 8U);
  EXPECT_EQ(Ids(text + "strength: 3\n").size(), 8U);
  EXPECT_LE(Ids(text + "strength: 2\n").size(), 5U);
}

TEST(Matrix, RefusesMalformedStrengthsAndExclusions) {
  const std::string text = "id: a\nx: ${K}${J}\nmatrix: {K: [1, 3], J: [{g: 2}]}\n";
  EXPECT_THAT(ErrorText(text + "strength: 1\n"), HasSubstr("expected 2 or 3"));
  EXPECT_THAT(ErrorText(text + "strength: 3\n"), HasSubstr("expected 2 or 3"));
  EXPECT_THAT(ErrorText(text + "exclude: {K: [1]}\n"), HasSubstr("a list of maps"));
  EXPECT_THAT(ErrorText(text + "exclude: [1]\n"), HasSubstr("a map of lists"));
  EXPECT_THAT(ErrorText(text + "exclude: [{L: [1]}]\n"), HasSubstr("not a key of the matrix"));
  EXPECT_THAT(ErrorText(text + "exclude: [{K: [2]}]\n"), HasSubstr("2 is not a value"));
  EXPECT_THAT(ErrorText(text + "exclude: [{J.h: [2]}]\n"), HasSubstr("2 is not a value"));
  EXPECT_THAT(ErrorText(text + "exclude: [{K: [1, 3]}]\n"), HasSubstr("is excluded"));
}

TEST(Matrix, RefusesWhatIsNoMatrix) {
  EXPECT_THAT(ErrorText("id: a\nmatrix: [1]\n"), HasSubstr("f.yaml:2: matrix"));
  EXPECT_THAT(ErrorText("id: a\nmatrix: {}\n"), HasSubstr("map of lists"));
  EXPECT_THAT(ErrorText("id: a\nmatrix: {K: 3}\n"), HasSubstr("at least one value"));
  EXPECT_THAT(ErrorText("id: a\nmatrix: {K: []}\n"), HasSubstr("at least one value"));
}

TEST(Matrix, RefusesKeysThatDoNotMeet) {
  EXPECT_THAT(ErrorText("id: a\nx: ${J}\nmatrix: {K: [3]}\n"), HasSubstr("${J} is not a key"));
  EXPECT_THAT(ErrorText("id: a\nmatrix: {K: [3]}\n"), HasSubstr("nothing in the document uses"));
  EXPECT_THAT(ErrorText("id: a\nx: ${K\nmatrix: {K: [3]}\n"), HasSubstr("without '}'"));
  EXPECT_THAT(ErrorText("id: a\nx: v${K}\nmatrix: {K: [[3]]}\n"),
              HasSubstr("must replace the whole scalar"));
}

TEST(Matrix, RefusesMoreThanTenThousandCases) {
  std::string list = "[0";
  for (int i = 1; i < 101; ++i) list += "," + std::to_string(i);
  list += "]";
  const std::string text = "id: a\nx: ${A}${B}\nmatrix: {A: " + list + ", B: " + list + "}\n";
  EXPECT_THAT(ErrorText(text), HasSubstr("more than 10000 cases"));
}

TEST(Matrix, RefusesSubstitutionsThatMultiply) {
  // 2,000 scalars, each replaced by a list of 100,000 values.
  std::string uses = "[";
  for (int i = 0; i < 2000; ++i) uses += "'${K}',";
  std::string list = "[";
  for (int i = 0; i < 100000; ++i) list += "1,";
  const std::string text = "id: a\nx: " + uses + "]\nmatrix: {K: [" + list + "]]}\n";
  EXPECT_THAT(ErrorText(text), HasSubstr("too much text"));
}

}  // namespace
}  // namespace qtx::conformance::matrix_test
