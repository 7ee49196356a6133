#include "qtx/spec/create.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "qtx/format/file.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/formula.h"
#include "qtx/spec/proposal.h"
#include "temporary_folder.h"

namespace qtx::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A text of its own with the templates of the real one.
class NewText : public conformance::TemporaryFolder {
 protected:
  NewText() {
    std::filesystem::create_directories(folder() + "/spec/ops");
    std::filesystem::copy(QTX_SOURCE_DIR "/spec/templates", folder() + "/spec/templates");
  }
  std::string spec() const { return folder() + "/spec"; }
  std::string suite() const { return folder() + "/cases"; }
};

TEST_F(NewText, ProposalsAreNumberedAndNeverOverwritten) {
  const auto first = NewProposal("wider-blocks", spec(), "2026-01-31");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_THAT(first->files,
              ElementsAre(spec() + "/proposals/0001-wider-blocks/proposal.md",
                          spec() + "/proposals/0001-wider-blocks/examples/wider_blocks.yaml"));
  const auto second = NewProposal("other", spec(), "2026-01-31");
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(second->files[0], HasSubstr("0002-other"));
  EXPECT_THAT(NewProposal("other", spec(), "2026-01-31").error().message, HasSubstr("already"));
  const auto document = ReadDocument(first->files[0]);
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->sections.front().title, "0001: Wider blocks");
  std::vector<std::string> titles;
  for (const Section& section : document->sections) {
    if (section.level == 2) titles.push_back(section.title);
  }
  EXPECT_THAT(titles,
              ElementsAre("Problem", "Change to the text", "Change to the proto", "Semantics",
                          "Alternatives", "Compatibility", "Cost for backends", "Decision"));
  EXPECT_EQ(document->markdown.find('@'), std::string::npos);
}

// It changes nothing yet: what it states is what the text has, and its claim and example hold.
TEST_F(NewText, OverlaysRunAsTheyAreWritten) {
  const auto created = NewOverlay("wider-blocks", spec(), "2026-01-31");
  ASSERT_TRUE(created.has_value()) << created.error().message;
  const std::string own = spec() + "/proposals/0001-wider-blocks/";
  EXPECT_THAT(created->files, ElementsAre(own + "proposal.md", own + "overlay/arithmetic/exact.md",
                                          own + "examples/wider_blocks.yaml"));
  const auto proposal = ReadProposal(own, QTX_SOURCE_DIR "/spec");
  ASSERT_TRUE(proposal.has_value()) << proposal.error().Text();
  EXPECT_EQ(proposal->FeatureName(), "overlay");
  const auto chapters = FindChapters(own);  // a clause of an overlay is none of the specification
  ASSERT_TRUE(chapters.has_value());
  EXPECT_THAT(*chapters, ElementsAre("proposal.md"));
  EXPECT_THAT(NewProposal("wider-blocks", spec(), "2026-01-31").error().message,
              HasSubstr("already"));
}

// The operator is not there yet, and that is what the checks say: the text itself is well formed.
TEST_F(NewText, OperatorsFailOnlyForWhatIsToBeWritten) {
  const auto created = NewOperator("Bernoulli", spec(), suite());
  ASSERT_TRUE(created.has_value()) << created.error().message;
  const auto document = ReadDocument(spec() + "/ops/bernoulli.md");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->clauses.size(), 3U);
  const auto examples = ExamplesOf(*document);
  ASSERT_TRUE(examples.has_value()) << examples.error().where << examples.error().message;
  const auto formulas = ReadFormulas(*document);
  ASSERT_TRUE(formulas.has_value()) << formulas.error().where << formulas.error().message;
  const auto run = RunFormula(formulas->front(), *TextAround(*document));
  ASSERT_FALSE(run.has_value());
  EXPECT_THAT(run.error().where, HasSubstr("bernoulli.md:"));
  EXPECT_EQ(run.error().clause, "graph.C7");  // it has no row in the catalogue yet
  EXPECT_THAT(NewOperator("Bernoulli", spec(), suite()).error().message, HasSubstr("already"));
}

// From ONNX's documentation of CumSum-14: x and axis (INT32 or INT64), exclusive and reverse 0.
TEST_F(NewText, OperatorsHaveWhatOnnxSaysOfThem) {
  const auto created = NewOperator("CumSum", spec(), suite());
  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_THAT(created->next, testing::Contains(HasSubstr("proto/src/catalogue")));
  const auto document = ReadDocument(spec() + "/ops/cum_sum.md");
  ASSERT_TRUE(document.has_value());
  EXPECT_THAT(document->markdown,
              HasSubstr("| 0 | x | TODO | real |\n| 1 | axis | TODO | INT32 or INT64 |\n\n"
                        "Attributes: `exclusive` (INT, default 0),\n`reverse` (INT, default 0).\n\n"
                        "## Outputs\n\n| # | name | shape | type |\n|---|---|---|---|\n"
                        "| 0 | y | TODO | real |\n"));
  EXPECT_THAT(document->markdown, HasSubstr("Source: ONNX CumSum-14."));
  EXPECT_EQ(document->markdown.find('@'), std::string::npos);
  EXPECT_TRUE(ExamplesOf(*document).has_value());
}

TEST_F(NewText, OperatorsThatOnnxDoesNotHaveHaveXAndY) {
  ASSERT_TRUE(NewOperator("Fancy", spec(), suite()).has_value());
  const auto document = ReadDocument(spec() + "/ops/fancy.md");
  ASSERT_TRUE(document.has_value());
  EXPECT_THAT(document->markdown, HasSubstr("| 0 | x | TODO | real |\n\n## Outputs"));
}

// Filled in for an operator that there is, the template's formula and example hold. The catalogue
// calls Identity's tensors x and y.
TEST_F(NewText, OperatorsThatThereAreHold) {
  ASSERT_TRUE(NewOperator("Identity", spec(), suite()).has_value());
  std::string markdown = ReadDocument(spec() + "/ops/identity.md")->markdown;
  markdown.replace(markdown.find("output = input"), 14, "y = x");
  const auto document = ParseDocument(markdown, "ops/identity.md");
  const auto formulas = ReadFormulas(*document);
  ASSERT_TRUE(formulas.has_value()) << formulas.error().message;
  const auto runs = RunFormula(formulas->front(), *TextAround(*document));
  ASSERT_TRUE(runs.has_value()) << runs.error().where << ": " << runs.error().message;
  EXPECT_EQ(runs->front().difference, "");
}

TEST_F(NewText, CasesLieWithThoseOfTheirStem) {
  ASSERT_TRUE(NewOperator("Identity", spec(), suite()).has_value());
  const auto created = NewCase("identity/copies", spec(), suite());
  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_EQ(created->files.front(), suite() + "/ops/identity/copies.yaml");
  const auto loaded = conformance::LoadSuite(suite());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().where << loaded.error().message;
  EXPECT_EQ(loaded->cases.front().id, "identity/copies");
  EXPECT_EQ(loaded->cases.front().op->type, "Identity");
  EXPECT_THAT(NewCase("identity/copies", spec(), suite()).error().message, HasSubstr("already"));
}

// tools/python/tests/backend_kit_test.py runs what it writes.
TEST_F(NewText, BackendsAreProgramsOfTheKit) {
  const auto created = NewBackend("my-npu2", spec(), folder() + "/backends");
  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_THAT(created->files, ElementsAre(folder() + "/backends/my-npu2/backend.py"));
  const auto text = format::ReadFile(created->files[0], 1 << 16);
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("class MyNpu2(Backend):"));
  EXPECT_THAT(*text, HasSubstr("name = \"my-npu2\""));
  EXPECT_EQ(text->find('@'), std::string::npos);
  EXPECT_THAT(NewBackend("my-npu2", spec(), folder() + "/backends").error().message,
              HasSubstr("already"));
}

TEST_F(NewText, RefusesNamesThatAreNone) {
  for (const char* name : {"", "Wider", "a--b", "-a", "a-", "../x", "a/b", "a b", "1st"}) {
    EXPECT_EQ(NewProposal(name, spec(), "").error().code, ErrorCode::kUsage) << name;
    EXPECT_EQ(NewBackend(name, spec(), folder()).error().code, ErrorCode::kUsage) << name;
  }
  for (const char* name : {"", "relu", "Bit/Shift", "Bit Shift", "../X"}) {
    EXPECT_EQ(NewOperator(name, spec(), suite()).error().code, ErrorCode::kUsage) << name;
  }
  for (const char* name : {"", "add", "add/", "/x", "add/../x", "nothing/x", "add/x/y"}) {
    EXPECT_EQ(NewCase(name, spec(), suite()).error().code, ErrorCode::kUsage) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(spec() + "/proposals"));
}

}  // namespace
}  // namespace qtx::spec
