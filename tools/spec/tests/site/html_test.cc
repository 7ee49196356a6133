#include "site/html.h"

#include <gtest/gtest.h>

#include "site/page.h"

namespace qtx::spec {
namespace {

TEST(Relative, LeavesOnlyTheFoldersThatDiffer) {
  EXPECT_EQ(Relative("ops/conv.html", "glossary.html#term.scale"), "../glossary.html#term.scale");
  EXPECT_EQ(Relative("ops/conv.html", "ops/add.html"), "add.html");
  EXPECT_EQ(Relative("ops/conv.html", "ops/conv.html#conv.S1"), "#conv.S1");
  EXPECT_EQ(Relative("index.html", "ops/conv.html"), "ops/conv.html");
  EXPECT_EQ(Relative("results/ops/conv.html", "ops/conv.html"), "../../ops/conv.html");
  // A common beginning of a name is no common folder.
  EXPECT_EQ(Relative("ops/conv.html", "ops2/conv.html"), "../ops2/conv.html");
}

TEST(Cut, KeepsCharactersWhole) {
  EXPECT_EQ(Cut("abc", 3), "abc");
  EXPECT_EQ(Cut("abcd", 3), "abc...");
  // Two bytes each: the third byte begins the second character and may not stand alone.
  EXPECT_EQ(Cut("\u00e4\u00e4\u00e4", 3), "\u00e4...");
}

TEST(HighlightYaml, MarksKeysQuotesAndComments) {
  EXPECT_EQ(HighlightYaml("id: a/b # c\n"),
            "<span class=\"key\">id</span>: a/b <span class=\"comment\"># c</span>\n");
  EXPECT_EQ(HighlightYaml("x: {type: \"a: b\"}"),
            "<span class=\"key\">x</span>: {<span class=\"key\">type</span>: "
            "<span class=\"quoted\">&quot;a: b&quot;</span>}");
  EXPECT_EQ(HighlightYaml("why: it's a:b"), "<span class=\"key\">why</span>: it&#39;s a:b");
}

TEST(HighlightYaml, LosesNothingOfATextThatIsNoYaml) {
  EXPECT_EQ(HighlightYaml("\"</pre><script>"),
            "<span class=\"quoted\">&quot;&lt;/pre&gt;&lt;script&gt;</span>");
  EXPECT_EQ(HighlightYaml("'a\nb'"), "<span class=\"quoted\">&#39;a</span>\nb&#39;");
  EXPECT_EQ(HighlightYaml(""), "");
}

TEST(Fill, ReplacesNamesOnceAndLeavesOthers) {
  EXPECT_EQ(Fill("@a@ @b@ x@y @", {{"a", "@b@"}, {"b", "2"}}), "@b@ 2 x@y @");
}

}  // namespace
}  // namespace qtx::spec
