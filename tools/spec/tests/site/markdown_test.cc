#include "site/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtx::spec::markdown_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const Targets kNone;

// A text as a page, whose links out lead nowhere and whose blocks and margins are marked.
PageText Rendered(const std::string& markdown, bool is_glossary = false,
                  const Targets& terms = kNone) {
  const auto document = ParseDocument(markdown, "x.md");
  EXPECT_TRUE(document.has_value());
  if (!document.has_value()) return {};
  const Anchors anchors = AnchorsOf(*document);
  CrossReferences mentions(kNone, terms, "x");
  TextHooks hooks;
  hooks.page = "x.html";
  hooks.is_glossary = is_glossary;
  hooks.mentions = &mentions;
  hooks.link = [](const std::string& target) {
    return target.starts_with("https:") ? target : std::string();
  };
  hooks.block = [&document](std::size_t i) {
    EXPECT_LT(i, document->fences.size());
    return "<pre>" + std::to_string(i) + "</pre>\n";
  };
  hooks.beside = [&document](std::size_t i) {
    return "<aside>" + document->clauses[i].id + "</aside>";
  };
  return RenderText(*document, anchors, hooks);
}

std::string Html(const std::string& markdown) { return Rendered(markdown).html; }

TEST(Markdown, FramesAClauseWithWhatGoesOnAndWhatIsBeside) {
  const std::string html = Html(
      "**x.S1** so:\n\n    y = x\n\nover the reals.\n\nAnother matter.\n\n**x.S2** (tests) next\n");
  EXPECT_THAT(html, HasSubstr("<div class=\"clause\" id=\"x.S1\">"));
  const std::size_t formula = html.find("<pre>0</pre>");
  const std::size_t beside = html.find("<aside>x.S1</aside>");
  EXPECT_LT(formula, html.find("over the reals"));
  EXPECT_LT(html.find("over the reals"), beside);
  EXPECT_LT(beside, html.find("Another matter"));
  EXPECT_LT(html.find("Another matter"), html.find("id=\"x.S2\""));
  EXPECT_THAT(html, HasSubstr("<a class=\"id\" href=\"#x.S1\">x.S1</a>"));
}

TEST(Markdown, FramesClausesOfListsAndRows) {
  const std::string list = Html("- **x.S1** one\n- **x.S2** two\n");
  EXPECT_THAT(list, ContainsRegex("<li>[^<]*<div class=\"clause\" id=\"x.S2\">"));
  const std::string table = Html("| id | what |\n|---|---|\n| **x.S1** | a |\n| **x.S2** | b |\n");
  EXPECT_THAT(table, HasSubstr("<a class=\"id\" id=\"x.S2\" href=\"#x.S2\">"));
  EXPECT_LT(table.find("</table>"), table.find("<aside>x.S1</aside>"));
}

TEST(Markdown, GivesHeadingsAnchors) {
  EXPECT_THAT(Html("# A `b`\n"), ContainsRegex("<h1 id=\"a-b\">\n?A <code>b</code>"));
}

// A text may come with a proposal from anybody.
TEST(Markdown, ShowsRawHtmlAsText) {
  const std::string html =
      Html("a <b onclick=\"x()\">c</b>\n\n<script>alert(1)</script>\n\n<!-- c -->\n");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<b onclick")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(Markdown, LeavesNoLinkThatRunsOrLeadsNowhere) {
  for (const char* target : {"javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\\\nscript:x",
                             "data:text/html,x", "vbscript:x", "../README.md", "//example.com/x",
                             "file:///etc/passwd", "&#106;avascript:x"}) {
    EXPECT_THAT(Html("[t](" + std::string(target) + ")\n"), Not(HasSubstr("<a"))) << target;
  }
  EXPECT_THAT(Html("<javascript:alert(1)>\n"), Not(HasSubstr("<a")));
  EXPECT_THAT(Html("![alt](https://example.com/x.png)\n"), Not(HasSubstr("<img")));
  EXPECT_THAT(Html("[t](https://example.com/ \"a title\")\n"),
              HasSubstr("<a href=\"https://example.com/\">t</a>"));
}

TEST(Markdown, EscapesWhatItPutsIntoAttributes) {
  const std::string html = Html("# \" onfocus=\"x\n\n[t](https://x/\"onclick=\"y)\n");
  EXPECT_THAT(html, Not(HasSubstr("onfocus=\"")));
  EXPECT_THAT(html, Not(HasSubstr("onclick=\"")));
}

TEST(Markdown, TakesOddIdsWhereverTheyStand) {
  for (const char* text : {"# **x.S1** in a heading\n", "[**x.S1** in a link](https://x/)\n",
                           "> **x.S1** quoted\n", "*__x.S1__ a*\n", "1. > - **x.S1** nested\n",
                           "![**x.S1**](y)\n", "**x.S1**\n**x.S1** twice\n", "**`x.S1`** code\n"}) {
    const std::string html = Html(text);
    EXPECT_THAT(html, HasSubstr("x.S1")) << text;
  }
  const std::string twice = Html("**x.S1** a\n\n**x.S1** b\n");
  EXPECT_THAT(twice, HasSubstr("id=\"x.S1\""));
  EXPECT_THAT(twice, HasSubstr("id=\"x.S1-2\""));
}

TEST(Markdown, TakesBytesThatAreNoText) {
  EXPECT_THAT(Html("a \xff\xfe b\n"), HasSubstr("\uFFFD"));
  EXPECT_THAT(Html(std::string("a\0b\n", 4)), HasSubstr("b"));
  // Both parses of a text must find the same blocks in it: in this one they did not.
  EXPECT_THAT(Html("`\n](\xff| a | b |\n|---|---|\n**[a]S1a`~~~\n_a````\n| a | b |\n|---|---|\n"
                   "*https://a/<script>    -->| a | b |\n|---|---|\n    )https://a/##     x.S1_| a "
                   "| b |\n|---|---|\n<b>| a | b |\n|---|---|\nhttps://a/<script>\\\n"),
              Not(HasSubstr("<script")));
}

TEST(Markdown, SaysWhatASearchMayFind) {
  const PageText page = Rendered(
      "# T\n\nintro\nmore\n\n## S\n\n**x.S1** one `code`\n\n    y = x\n\nafter\n\nRest.\n");
  ASSERT_EQ(page.findable.size(), 3U);
  EXPECT_EQ(page.findable[0].anchor, "x.S1");
  EXPECT_TRUE(page.findable[0].is_clause);
  EXPECT_EQ(page.findable[0].text, "x.S1 one code y = x after");
  EXPECT_EQ(page.findable[1].text, "intro more");
  EXPECT_EQ(page.findable[2].title, "S");
  EXPECT_EQ(page.findable[2].text, "Rest.");
}

TEST(Markdown, DefinesTheTermsOfAGlossaryOnce) {
  const std::string text =
      "| term | meaning |\n|---|---|\n| a, b c | x |\n| a | y |\n| B C | z |\n";
  const std::string html = Rendered(text, true).html;
  EXPECT_THAT(html, HasSubstr("<span id=\"term.a\"></span><span id=\"term.b-c\"></span>"));
  EXPECT_EQ(html.find("id=\"term.b-c\""), html.rfind("id=\"term.b-c\""));
  EXPECT_THAT(html, Not(HasSubstr("term.term")));
}

TEST(Markdown, LinksTermsInTextAndCellsButNotInCodeBlocksOrHeadings) {
  const Targets terms = {{"scale", "g.html#term.scale"}};
  EXPECT_THAT(Rendered("# scale\n\n[scale](https://x/) the scale\n", false, terms).html,
              HasSubstr("the <a href=\"g.html#term.scale\">scale</a>"));
  EXPECT_THAT(Rendered("| a |\n|---|\n| `scale` |\n", false, terms).html,
              HasSubstr("<a href=\"g.html#term.scale\"><code>scale</code></a>"));
}

}  // namespace
}  // namespace qtx::spec::markdown_test
