#include "qtx/scoreboard/scoreboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace qtx::scoreboard {
namespace {

namespace fs = std::filesystem;
using conformance::CaseResult;
using conformance::Outcome;
using conformance::Report;
using testing::HasSubstr;
using testing::Not;

CaseResult Case(const std::string& id, const std::string& op, Outcome outcome,
                const std::string& diagnosis = "") {
  CaseResult result;
  result.id = id;
  result.op = op;
  result.arithmetic = "float32";
  result.outcome = outcome;
  result.diagnosis = diagnosis;
  return result;
}

Report Of(const std::string& name, const std::string& version, const std::string& date,
          std::vector<CaseResult> cases) {
  Report report;
  report.suite = "suite";
  report.provenance.date = date;
  report.provenance.processor = "a processor";
  conformance::BackendReport row;
  row.source = "cmd:python3 " + name + ".py";
  row.description = {name, version, {"float32"}, "AVX2"};
  row.arithmetic = "float32";
  row.cases = std::move(cases);
  report.backends.push_back(std::move(row));
  return report;
}

std::map<std::string, std::string> Made(const std::vector<Report>& reports,
                                        const std::vector<Deviation>& deviations = {}) {
  const auto files = MakeScoreboard(reports, deviations);
  EXPECT_TRUE(files.has_value());
  std::map<std::string, std::string> pages;
  for (const site::File& file : *files) pages[file.path] = file.bytes;
  return pages;
}

TEST(Scoreboard, ShowsTheLatestOfEachNameAndAllOnItsPage) {
  auto pages = Made({Of("a", "1", "2026-11-01", {Case("add/x", "Add", Outcome::kFail)}),
                     Of("a", "2", "2026-11-02", {Case("add/x", "Add", Outcome::kPass)}),
                     Of("b", "1", "2026-11-02", {Case("conv/x", "Conv", Outcome::kUnsupported)})});
  EXPECT_THAT(pages["index.html"], HasSubstr("Systems (here 2) "));
  EXPECT_THAT(
      pages["index.html"],
      HasSubstr("href=\"systems/a-2.html#op-Add\" title=\"1 pass, 0 fail, 0 declined\">✓ 1</a>"));
  EXPECT_THAT(pages["index.html"], Not(HasSubstr("systems/a-1.html#op-Add")));
  EXPECT_THAT(
      pages["index.html"],
      HasSubstr(
          "href=\"systems/b-1.html#op-Conv\" title=\"0 pass, 0 fail, 1 declined\">declined</a>"));
  EXPECT_THAT(pages["systems/a-2.html"], HasSubstr("<a href=\"../systems/a-1.html\">a 1</a>"));
  EXPECT_THAT(pages["systems/a-1.html"], HasSubstr("0 of 1 cases that it ran pass"));
}

TEST(Scoreboard, OfOneSystemALaterReportTakesThePlaceOfAnEarlierOne) {
  auto pages = Made({Of("a", "1", "2026-11-02", {Case("add/x", "Add", Outcome::kPass)}),
                     Of("a", "1", "2026-11-01", {Case("add/x", "Add", Outcome::kFail)})});
  EXPECT_THAT(pages["index.html"], HasSubstr("✓ 1</a>"));
}

TEST(Scoreboard, NamesTheDeviationThatExplainsAFailure) {
  Deviation deviation;
  deviation.name = "pairs";
  deviation.title = "Pairs saturate";
  deviation.systems = {"a*"};
  deviation.cases = {"mat_mul/*", "add/x @exact"};
  deviation.markdown = "It *says*: <script>alert(1)</script>";
  deviation.script = "print(1 < 2)";
  auto pages = Made({Of("a", "1", "2026-11-01",
                        {Case("mat_mul/x", "MatMul", Outcome::kExpectedFail),
                         Case("add/x", "Add", Outcome::kFail, "off by one")})},
                    {deviation});
  EXPECT_THAT(pages["systems/a-1.html"],
              HasSubstr("<a href=\"../differs.html#pairs\">Pairs saturate</a>"));
  EXPECT_THAT(pages["systems/a-1.html"], HasSubstr("off by one"));
  EXPECT_THAT(pages["differs.html"], HasSubstr("a 1: 1 cases"));
  EXPECT_THAT(pages["differs.html"], HasSubstr("<em>says</em>"));
  EXPECT_THAT(pages["differs.html"], Not(HasSubstr("<script")));
  EXPECT_THAT(pages["differs.html"], HasSubstr("print(1 &lt; 2)"));
  EXPECT_THAT(pages["latitude.html"], Not(HasSubstr("Pairs")));
}

TEST(Scoreboard, TakesTheWordOfTheDiagnosis) {
  Deviation deviation;
  deviation.name = "pairs";
  deviation.title = "Pairs saturate";
  deviation.systems = {"a"};
  deviation.candidates = {"*pairs_saturate"};
  CaseResult explained = Case("conv/x", "Conv", Outcome::kFail);
  explained.explained_by = {"exact + pairs_saturate"};
  auto pages =
      Made({Of("a", "1", "2026-11-01", {explained, Case("conv/y", "Conv", Outcome::kFail)})},
           {deviation});
  EXPECT_THAT(pages["differs.html"], HasSubstr("a 1: 1 cases"));
}

TEST(Scoreboard, NamesOfReportsAreText) {
  auto pages = Made({Of("<b>@title@", "1/../..", "2026-11-01",
                        {Case("add/<i>", "Add\"", Outcome::kFail, "</td>")})});
  for (const auto& [path, html] : pages) {
    EXPECT_THAT(path, Not(HasSubstr("/.."))) << path;
    EXPECT_THAT(html, Not(HasSubstr("<b>"))) << path;
    EXPECT_THAT(html, Not(HasSubstr("<i>"))) << path;
  }
  EXPECT_THAT(pages["index.html"], HasSubstr("&lt;b&gt;@title@"));
}

TEST(Scoreboard, RefusesAReportThatSaysNotWhenItWasMade) {
  EXPECT_FALSE(MakeScoreboard(std::vector<Report>{Of("a", "1", "", {})}, {}).has_value());
}

class Deviations : public testing::Test {
 protected:
  Deviations() : folder_(fs::path(testing::TempDir()) / "qtx_deviations") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Deviations() override { fs::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Result<std::vector<Deviation>> Read() const { return ReadDeviations(folder_.string()); }
  fs::path folder_;
};

TEST_F(Deviations, AreReadByName) {
  Write("b.md", "# B\n\nsystems: x y*\ncases: add/*\nkind: latitude\n\nText.\n");
  Write("a.md", "# A\nsystems: x\ncases: add/* mul/*\nissue: https://example.org/1\n\nText.\n");
  Write("a.py", "print(1)\n");
  Write("README.md", "what this is");
  const auto read = Read();
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].script, "print(1)\n");
  EXPECT_EQ((*read)[0].issue, "https://example.org/1");
  EXPECT_THAT((*read)[0].cases, testing::ElementsAre("add/*", "mul/*"));
  EXPECT_EQ((*read)[1].markdown, "Text.\n");
  EXPECT_TRUE((*read)[1].is_latitude);
}

TEST_F(Deviations, AreRefusedWithTheLine) {
  const std::map<std::string, std::string> wrong = {
      {"no title\n", ":1"},
      {"# A\nsystem: x\n\n", ":2"},
      {"# A\nsystems: x\nsystems: y\n\n", ":3"},
      {"# A\nsystems: x\nkind: fault\n\n", ":3"},
      {"# A\nissue: javascript:1\n\n", ":2"},
      {"# A\ncases: x\n\nsystems: in the text\n", ":3"},
  };
  for (const auto& [text, place] : wrong) {
    Write("a.md", text);
    const auto read = Read();
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().where, (folder_ / "a.md").string() + place) << text;
  }
}

}  // namespace
}  // namespace qtx::scoreboard
