#include "site/cross_references.h"

#include <gtest/gtest.h>

#include "site/anchors.h"

namespace qtx::spec {
namespace {

const Targets kClauses = {{"conv.S1", "ops/conv.html#conv.S1"},
                          {"exact.S10", "arithmetic/exact.html#exact.S10"}};
const Targets kTerms = {
    {"scale", "g#term.scale"}, {"real", "g#term.real"}, {"real operand", "g#term.real-operand"}};

// "a [b] c": what leads somewhere in brackets.
std::string Marked(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += piece.target.empty() ? piece.text : "[" + piece.text + "]";
  }
  return text;
}

TEST(CrossReferences, FindsClausesByTheirWholeIdAndWithinTheirChapterByNumber) {
  CrossReferences mentions(kClauses, kTerms, "conv");
  EXPECT_EQ(Marked(mentions.Find("S1, conv.S1. exact.S10 exact.S1 conv.S12 S2 XS1")),
            "[S1], [conv.S1]. [exact.S10] exact.S1 conv.S12 S2 XS1");
}

TEST(CrossReferences, LinksATermOnceAndTheLongestOfTwo) {
  CrossReferences mentions(kClauses, kTerms, "conv");
  EXPECT_EQ(Marked(mentions.Find("Scales, a scale")), "[Scales], a scale");
  EXPECT_EQ(Marked(mentions.Find("a real operand, a real")), "a [real operand], a [real]");
  EXPECT_EQ(Marked(mentions.Find("rescale x_scale")), "rescale x_scale");
}

TEST(CrossReferences, OfNothingGiveNothing) {
  CrossReferences mentions(kClauses, kTerms, "conv");
  EXPECT_TRUE(mentions.Find("").empty());
  EXPECT_EQ(mentions.Whole("a + b"), "");
}

TEST(Anchors, AreSlugsAsGitHubFormsThem) {
  EXPECT_EQ(Slug("Levels and tags"), "levels-and-tags");
  EXPECT_EQ(Slug("Arithmetic `tflite`"), "arithmetic-tflite");
  EXPECT_EQ(Slug("A_b-c (d)"), "a_b-c-d");
  EXPECT_EQ(Slug("!?"), "section");
}

TEST(Anchors, AreAllDifferent) {
  const auto document = ParseDocument(
      "# A\n\n## B\n\n**x.S1** a\n\n## B\n\n**x.S1** b\n\n# B-1\n\n"
      "```yaml\nid: x/one[t=1]\n```\n\n```yaml\nid: y/one\n```\n\n```\nid: z/one\n```\n",
      "x.md");
  ASSERT_TRUE(document.has_value());
  const Anchors anchors = AnchorsOf(*document);
  EXPECT_EQ(anchors.sections, (std::vector<std::string>{"a", "b", "b-1", "b-1-1"}));
  EXPECT_EQ(anchors.clauses, (std::vector<std::string>{"x.S1", "x.S1-2"}));
  EXPECT_EQ(anchors.fences, (std::vector<std::string>{"example.one", "example.one-2", ""}));
  EXPECT_EQ(anchors.all.size(), 8U);
}

}  // namespace
}  // namespace qtx::spec
