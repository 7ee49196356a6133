// What is not seen, by hand; tools/cli/tests/evil_names_test.py holds every character to Python's
// Unicode database.
#include "qtx/format/text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace qtx::format {
namespace {

TEST(Printable, ShowsWhatMovesTheCursorOrOtherText) {
  EXPECT_EQ(Printable("a ~\x1b[2J\n\r\t\x7f").text(), "a ~\\x1b[2J\\n\\r\\t\\x7f");
  EXPECT_EQ(Printable("\u009b \u202e \u2028 \ufeff \U000e0041").text(),
            "\\u009b \\u202e \\u2028 \\ufeff \\U000e0041");
  EXPECT_EQ(Printable("größe 大きさ ∑").text(), "größe 大きさ ∑");
}

// A lone lead byte, an overlong form, a surrogate, and a code point past the last.
TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\xC3").text(), "\\xc3");
  EXPECT_EQ(Printable("\xC0\xAF").text(), "\\xc0\\xaf");
  EXPECT_EQ(Printable("\xED\xA0\x80").text(), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xF4\x90\x80\x80").text(), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, LeavesOutTheMiddleAndSaysHowMuch) {
  EXPECT_EQ(Printable("abcdef", 6).text(), "abcdef");
  EXPECT_EQ(Printable("abcdefg", 6).text(), "ab...g");
  EXPECT_EQ(Printable("abcdefg", 2).text(), "..");
  EXPECT_EQ(Printable("ääääääää", 7).text(), "ää...ää");
  // 100 - 26 characters stay: 37 at each end.
  const std::string end(37, 'n');
  EXPECT_EQ(Printable(std::string(1000, 'n'), 100).text(), end + "...(926 more)..." + end);
}

TEST(Printable, IsPrintableAlready) {
  const Printable once(std::string(1000, '\n') + "\xFF");
  EXPECT_EQ(Printable(once.text()).text(), once.text());
}

TEST(EscapeXml, LeavesNothingThatMarkupCouldTakeOrXmlForbids) {
  EXPECT_EQ(EscapeXml("a<b>&\"'\n\t"), "a&lt;b&gt;&amp;&quot;&#39;\n\t");
  EXPECT_EQ(EscapeXml("\x01\x1b\uffff\xFF"), "\\x01\\x1b\\uffff\\xff");
}

TEST(JsonString, KeepsTextsAndIsSafeOnATerminalAndInAPage) {
  EXPECT_EQ(JsonString("\"\\\n\x1b\u202e\U000e0041ü</script>"),
            "\"\\\"\\\\\\n\\u001b\\u202e\\udb40\\udc41ü\\u003c/script>\"");
  EXPECT_EQ(JsonString("a\xFFz"), "\"a\ufffdz\"");
}

TEST(FileName, StaysInItsFolderAndTellsTextsApart) {
  EXPECT_EQ(FileName("layer_1.output", 7), "layer_1.output");
  std::set<std::string> names;
  const std::string nul("\0", 1);
  const std::string bad[] = {
      "",    ".",   "..",     "../x", "/x",   "\\x", "a:b",    "a;b",
      "a/b", "-x",  nul,      "\n",   "\xFF", "a#1", "\u202e", std::string(300, 'n'),
      "~/x", "a*b", "a b\x7f"};
  for (std::size_t i = 0; i < std::size(bad); ++i) {
    const std::string name = FileName(bad[i], i);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_of(std::string("/\\:;\n\xFF") + nul), name.npos) << name;
    EXPECT_FALSE(name.starts_with('.') || name.starts_with('-')) << name;
    EXPECT_LE(name.size(), 210U);
    EXPECT_NE(name, bad[i]);
  }
}

}  // namespace
}  // namespace qtx::format
