#include "site/code_map.h"

#include <gtest/gtest.h>

namespace qtx::spec {
namespace {

// "Name:line" of each that cites a clause.
std::vector<std::string> Citing(const std::string& id, const std::string& code,
                                const std::string& file = "reference/src/a.cc") {
  CodeMap map;
  ReadCode(code, file, map);
  std::vector<std::string> places;
  for (const CodePlace& place : map[id])
    places.push_back(place.name + ":" + std::to_string(place.line));
  return places;
}

using Places = std::vector<std::string>;

TEST(CitedClauses, ExpandsRanges) {
  EXPECT_EQ(CitedClauses("Source: a.S1 to a.S3, b.C2 to .C3; c_d.S9."),
            (Places{"a.S1", "a.S2", "a.S3", "b.C2", "b.C3", "c_d.S9"}));
  EXPECT_EQ(CitedClauses("a.S1 to b.S3"), (Places{"a.S1", "b.S3"}));
  EXPECT_EQ(CitedClauses("a.S5 to a.C7"), (Places{"a.S5", "a.C7"}));
  EXPECT_EQ(CitedClauses("a.Size A.S1 .S1 a.S1x a.S99999999999"), Places{});
  EXPECT_EQ(CitedClauses("a.S1 to a.S2000000000").size(), 64U);
}

TEST(CodeMap, NamesTheFunctionThatACommentStandsBefore) {
  EXPECT_EQ(Citing("a.S1",
                   "namespace x {\n\n// Source: a.S1 to\n// a.S2.\nResult<std::vector<int>> Conv(\n"
                   "    const Call& call) {\n  return 1;\n}\n\n}  // namespace x\n"),
            Places{"Conv:3"});
  EXPECT_EQ(Citing("a.S1", "/// a.S1\nvoid Output::Make(int a);\n"), Places{"Output::Make:1"});
  EXPECT_EQ(Citing("a.S1", "// a.S1\nconstexpr Rule kRules[] = {\n    {1},\n};\n"),
            Places{"kRules:1"});
}

TEST(CodeMap, NamesTheFunctionThatEnclosesACitation) {
  EXPECT_EQ(
      Citing("a.S1", "int F(int x) {\n  // See a.S1.\n  return x;\n}\nint G() { return 0; }\n"),
      Places{"F:2"});
  EXPECT_EQ(Citing("a.C1", "void Check() {\n  Add(\"a.C1\", 2);\n  Add(\"a.C1\", 3);\n}\n"),
            Places{"Check:2"});
  EXPECT_EQ(Citing("a.S1", "int F();  // a.S1\nint G();\n"), Places{"F:1"});
}

TEST(CodeMap, NamesMembersWithTheirClass) {
  EXPECT_EQ(Citing("a.S1", "class A {\n public:\n  /// a.S1\n  int Get() const;\n};\n"),
            Places{"A::Get:3"});
}

TEST(CodeMap, NamesTestsAndFiles) {
  EXPECT_EQ(Citing("a.S1", "// a.S1 in short.\n#include <x>\n\n// a.S1\nTEST(Conv, Pads) {\n}\n"),
            (Places{":1", "Conv.Pads:4"}));
}

TEST(CodeMap, KnowsTestsByTheirFolder) {
  CodeMap map;
  ReadCode("// a.S1\nint F();\n", "reference/tests/a_test.cc", map);
  EXPECT_TRUE(map["a.S1"].front().is_test);
}

// Code is what others wrote, and need not end where it should.
TEST(CodeMap, TakesCodeThatBreaksOff) {
  EXPECT_EQ(Citing("a.S1", "// a.S1"), Places{":1"});
  EXPECT_EQ(Citing("a.S1", "// a.S1\nint F(\n"), Places{"F:1"});
  EXPECT_EQ(Citing("a.S1", "// a.S1\nTEST("), Places{":1"});
}

}  // namespace
}  // namespace qtx::spec
