#include "qtx/formula/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace qtx::formula {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& text, int first_line = 1) {
  const auto parsed = ParseFormula(text, "a.md", first_line);
  return parsed.has_value() ? "no error" : parsed.error().where + ": " + parsed.error().message;
}

// The tree as it groups, every operation in brackets.
std::string Grouped(const Node& node) {
  std::string text = node.text;
  if (node.kind == Node::Kind::kBinary) {
    return "(" + Grouped(node.children[0]) + " " + text + " " + Grouped(node.children[1]) + ")";
  }
  if (node.kind == Node::Kind::kUnary) return "(" + text + " " + Grouped(node.children[0]) + ")";
  for (const Node& child : node.children) text += "{" + Grouped(child) + "}";
  return text;
}

std::string Grouped(const std::string& expression) {
  const auto parsed = ParseFormula("y = " + expression, "a.md");
  return parsed.has_value() ? Grouped(parsed->front().body) : parsed.error().message;
}

TEST(ParseFormula, GroupsAsArithmeticDoes) {
  EXPECT_EQ(Grouped("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(Grouped("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(Grouped("a / b / c mod d"), "(((a / b) / c) mod d)");
  EXPECT_EQ(Grouped("-a ^ b"), "(- (a ^ b))");
  EXPECT_EQ(Grouped("a ^ -b ^ c"), "(a ^ (- (b ^ c)))");
  EXPECT_EQ(Grouped("a * m + 2 >> 3 + e"), "(((a * m) + 2) >> (3 + e))");
  EXPECT_EQ(Grouped("if(not a < b and c = d or e > f, 1, 2)"),
            "if{(((not (a < b)) and (c = d)) or (e > f))}{1}{2}");
  EXPECT_EQ(Grouped("sum(k < n, l < k + 1: x[k, l])"), "sum{n}{(k + 1)}{{x}{k}{l}}");
  EXPECT_EQ(Grouped("max(a, b)"), "max{a}{b}");
  EXPECT_EQ(Grouped("fold(k < n, s = 0: s + k)"), "fold{n}{0}{(s + k)}");
}

TEST(ParseFormula, ALineGoesOnInsideBracketsAndWhereTheNextBeginsWithABlank) {
  const auto parsed =
      ParseFormula("a = (1 +\n2)\nb = a\n  + 1  # why\n\n# alone\nc' = b\n", "a.md");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 3U);
  EXPECT_EQ((*parsed)[1].comment, "why");
  EXPECT_EQ((*parsed)[2].name, "c'");
  EXPECT_EQ((*parsed)[2].place.line, 7);
}

TEST(ParseFormula, ReadsUseFunctionsAndElements) {
  const auto parsed = ParseFormula("use tflite.S1, tflite.S3\nf(a, b) = a\ny[i, j] = f(i, j)", "");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_THAT((*parsed)[0].parameters, testing::ElementsAre("tflite.S1", "tflite.S3"));
  EXPECT_EQ((*parsed)[1].kind, Statement::Kind::kFunction);
  EXPECT_EQ((*parsed)[2].kind, Statement::Kind::kElement);
}

TEST(ParseFormula, SaysWhereAndWhatItExpected) {
  EXPECT_EQ(ErrorOf("y = 1 +\nz = 2", 7), "a.md:7:8: found the end of the line, expected a value");
  EXPECT_EQ(ErrorOf("y = (1 + 2", 7), "a.md:7:11: found the end of the line, expected ')'");
  EXPECT_EQ(ErrorOf("y = a b"), "a.md:1:7: found 'b', expected an operator or a new line");
  EXPECT_EQ(ErrorOf("y == 2"), "a.md:1:4: found '=', expected a value");
  EXPECT_EQ(ErrorOf("2 = y"), "a.md:1:1: found '2', expected the name that the line defines");
  EXPECT_EQ(ErrorOf("y = a ? b : c"),
            "a.md:1:7: found '?', expected a name, a number or an operator");
  EXPECT_EQ(ErrorOf("y = \xE2\x88\x91 x"),
            "a.md:1:5: found byte 0xE2, expected a name, a number or an operator");
  EXPECT_EQ(ErrorOf(""), "a.md:1:1: found the end of the line, expected a formula");
  EXPECT_THAT(ErrorOf("y = sum(k < 3, k)"), HasSubstr("found ')', expected '<'"));
  EXPECT_THAT(ErrorOf("y = fold(k < 3: k)"), HasSubstr("found ':'"));
  EXPECT_THAT(ErrorOf("y = x[]"), HasSubstr("expected a value"));
}

TEST(ParseFormula, BoundsWhatIsHostile) {
  const std::string deep(100'000, '(');
  EXPECT_THAT(ErrorOf("y = " + deep), HasSubstr("bytes, expected at most"));
  EXPECT_THAT(ErrorOf("y = " + deep.substr(0, 1000)), HasSubstr("levels of brackets"));
  EXPECT_THAT(ErrorOf("y = " + std::string(1000, '-') + "1"), HasSubstr("levels"));
  std::string powers = "y = 2", nots = "y = if(";
  for (int i = 0; i < 1000; ++i) powers += "^2", nots += "not ";
  EXPECT_THAT(ErrorOf(powers), HasSubstr("levels"));
  EXPECT_THAT(ErrorOf(nots + "a, 1, 2)"), HasSubstr("levels"));
  std::string terms = "y = 1";
  for (int i = 0; i < 5000; ++i) terms += "+1";
  EXPECT_THAT(ErrorOf(terms), HasSubstr("expected at most 4096 terms"));
  EXPECT_THAT(ErrorOf("y = " + std::string(65, '9')), HasSubstr("65 characters"));
}

TEST(ExpressionsOf, EndAtTheFirstLineOfDashes) {
  EXPECT_EQ(ExpressionsOf("y = x\n---\nspec: a.S1\n---\n"), "y = x\n");
  EXPECT_EQ(ExpressionsOf("y = x\n"), "y = x\n");
  EXPECT_EQ(ExpressionsOf("---\nspec: a.S1\n"), "");
  EXPECT_EQ(ExpressionsOf(""), "");
}

}  // namespace
}  // namespace qtx::formula
