#include "qtx/spec/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "qtx/conformance/suite.h"
#include "qtx/spec/chapters.h"
#include "site/page.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Site : public testing::Test {
 protected:
  Site() : folder_(fs::path(testing::TempDir()) / ("qtx_site_" + Name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "spec");
  }
  ~Site() override { fs::remove_all(folder_); }

  static std::string Name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }

  std::map<std::string, std::string> Made(SiteInput input = {}) const {
    input.spec = At("spec");
    const auto files = MakeSite(input);
    EXPECT_TRUE(files.has_value()) << (files.has_value() ? "" : files.error().message);
    std::map<std::string, std::string> pages;
    if (files.has_value()) {
      for (const site::File& file : *files) pages[file.path] = file.bytes;
    }
    return pages;
  }

  fs::path folder_;
};

TEST_F(Site, TurnsLinksBetweenChaptersIntoLinksBetweenPages) {
  Write("spec/README.md",
        "# T\n\n[a](ops/a.md#b-c) [folder](ops/) [o](./ops) [g](glossary.md#none)\n");
  Write("spec/glossary.md", "# G\n");
  Write("spec/ops/a.md", "# A\n\n## B c\n\n[up](../README.md) [self](#b-c) [lost](#lost)\n");
  auto pages = Made();
  EXPECT_THAT(pages["index.html"], HasSubstr("<a href=\"ops/a.html#b-c\">a</a>"));
  EXPECT_THAT(pages["index.html"], HasSubstr("<a href=\"ops/index.html\">folder</a>"));
  EXPECT_THAT(pages["index.html"], HasSubstr("<a href=\"ops/index.html\">o</a>"));
  EXPECT_THAT(pages["index.html"], HasSubstr("<a href=\"glossary.html\">g</a>"));
  EXPECT_THAT(pages["ops/a.html"], HasSubstr("<a href=\"../index.html\">up</a>"));
  EXPECT_THAT(pages["ops/a.html"], HasSubstr("<a href=\"#b-c\">self</a>"));
  EXPECT_THAT(pages["ops/a.html"], HasSubstr(" lost"));
  EXPECT_THAT(pages["ops/a.html"], Not(HasSubstr("#lost")));
}

TEST_F(Site, LeavesLinksOutOfTheTextAsText) {
  Write("spec/README.md",
        "# T\n\n[readme](../README.md) [code](../a/b.cc) [root](/etc/passwd) [js](javascript:x) "
        "[net](https://example.com/)\n");
  const std::string page = Made()["index.html"];
  for (const char* gone : {"README.md", "b.cc", "passwd", "javascript"}) {
    EXPECT_THAT(page, Not(HasSubstr(gone)));
  }
  EXPECT_THAT(page, HasSubstr("<a href=\"https://example.com/\">net</a>"));
}

TEST_F(Site, StatesNoCasesBesideTheClausesOfAProposal) {
  Write("spec/README.md", "# T\n");
  Write("spec/ops/a.md", "# A\n\n**a.S1** old\n");
  Write("spec/proposals/0001-x/proposal.md", "# P\n\n**a.S1** new, as a.S1\n");
  Write("spec/proposals/0001-x/examples/one.yaml", "id: x/<one>\n");
  Write("spec/templates/t.md", "# T\n");
  SiteInput input;
  input.source = At("code");
  Write("code/reference/a.cc", "// a.S1\nint F();\n");
  auto pages = Made(input);
  EXPECT_THAT(pages["ops/a.html"], HasSubstr("<code>F</code>"));
  EXPECT_THAT(pages["proposals/0001-x/proposal.html"], Not(HasSubstr("<aside")));
  // What the proposal speaks of is the spec's.
  EXPECT_THAT(pages["proposals/0001-x/proposal.html"],
              HasSubstr("as <a href=\"../../ops/a.html#a.S1\">a.S1</a>"));
  EXPECT_THAT(pages["proposals/0001-x/proposal.html"], HasSubstr("x/&lt;one&gt;"));
  EXPECT_TRUE(pages.contains("proposals/0001-x/index.html"));
  EXPECT_FALSE(pages.contains("templates/t.html"));
}

TEST_F(Site, RefusesTwoChaptersForOnePageAndATextWithoutAny) {
  EXPECT_THAT(MakeSite({.spec = At("spec")}).error().message, HasSubstr("no chapter"));
  Write("spec/ops/README.md", "# A\n");
  Write("spec/ops/index.md", "# B\n");
  const auto site = MakeSite({.spec = At("spec")});
  ASSERT_FALSE(site.has_value());
  EXPECT_EQ(site.error().where, "ops/index.md");
  EXPECT_THAT(site.error().message, HasSubstr("ops/README.md"));
}

// Cases, results and code of a suite of one case; results as a backend might answer.
TEST_F(Site, ShowsCasesResultsAndCodeBesideTheirClause) {
  Write("spec/README.md", "# T\n");
  Write("spec/ops/add.md",
        "# Add\n\n**add.S1** y = a + b\n\n```yaml\nid: add/example_one\nspec: add.S1\nwhy: shown\n"
        "op: {type: Add}\ninputs: {a: {type: int8q, scale: [1.0], data: [1]}, b: {type: int8q, "
        "scale: [1.0], data: [1]}}\nexpect: {y: {type: int8q, scale: [1.0], data: [2]}}\n"
        "derivation: 1 + 1\n```\n");
  Write("cases/add.yaml",
        "id: add/two[x]\nspec: add.S1\nwhy: <b>bold</b>\nop: {type: Add}\ninputs: {a: {type: "
        "int8q, scale: [1.0], data: [1]}, b: {type: int8q, scale: [1.0], data: [2]}}\nexpect: {y: "
        "{type: int8q, scale: [1.0], data: [3]}}\nderivation: 1 + 2\narithmetics: [exact, "
        "float32]\n");
  Write("code/reference/src/ops/add.cc",
        "// Source: add.S1.\nResult<Tensor> Add(const Call& call) {\n}\n");
  const auto suite = conformance::LoadSuite(At("cases"));
  const auto examples = LoadExamples(At("spec"));
  ASSERT_TRUE(suite.has_value() && examples.has_value());
  conformance::Report report;
  for (const auto& [name, outcome] : {std::pair{"good", conformance::Outcome::kPass},
                                      std::pair{"bad", conformance::Outcome::kFail}}) {
    conformance::BackendReport row;
    row.description.name = name;
    row.arithmetic = "exact";
    conformance::CaseResult result;
    result.id = suite->cases.front().id;
    result.arithmetic = "exact";
    result.outcome = outcome;
    result.diagnosis = outcome == conformance::Outcome::kFail ? "off by <1>" : "";
    row.cases = {result};
    result.id = "another/case";
    row.cases.push_back(result);
    report.backends.push_back(row);
  }
  SiteInput input;
  input.source = At("code");
  input.suite = suite->folder;
  input.cases = suite->cases;
  input.examples = examples->cases;
  input.results = &report;
  auto pages = Made(input);
  const std::string& page = pages["ops/add.html"];
  EXPECT_THAT(page, HasSubstr("<p>2 cases × arithmetics: 1 run</p>"));
  EXPECT_THAT(page, HasSubstr("good <span class=\"mark good\" title=\"1 pass\">"));
  EXPECT_THAT(page, HasSubstr("bad <span class=\"mark bad\" title=\"1 fail\">"));
  EXPECT_THAT(page, HasSubstr("2 cases, ✗ 1 of 2 backends fails"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;bold&lt;/b&gt;"));
  EXPECT_THAT(page, HasSubstr("<code>Add</code>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#example.example_one\">The example</a>"));
  EXPECT_THAT(page, HasSubstr("href=\"../results/ops/add.html#add.S1\""));
  EXPECT_THAT(pages["results/ops/add.html"], HasSubstr("off by &lt;1&gt;"));
  EXPECT_THAT(pages["results/ops/add.html"], Not(HasSubstr("another/case")));
}

TEST_F(Site, IsTheSameEachTime) {
  Write("spec/README.md", "# T\n\n[a](a.md)\n");
  Write("spec/a.md", "# A\n\n**a.S1** x\n");
  EXPECT_EQ(Made(), Made());
}

}  // namespace
}  // namespace qtx::spec
