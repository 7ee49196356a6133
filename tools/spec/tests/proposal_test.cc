#include "qtx/spec/proposal.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "qtx/spec/coverage.h"
#include "sample_proposal.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(SampleProposal, IsReadWhole) {
  const auto proposal = Load();
  ASSERT_TRUE(proposal.has_value()) << proposal.error().where << proposal.error().message;
  EXPECT_EQ(proposal->number, 3);
  EXPECT_EQ(proposal->slug, "offset-before-rounding");
  EXPECT_EQ(proposal->title, "A title");
  EXPECT_EQ(proposal->status, Status::kRejected);
  EXPECT_EQ(proposal->feature->name, "offset-before-rounding");
  EXPECT_EQ(proposal->date, "2026-11-22");
  ASSERT_EQ(proposal->examples.size(), 1U);
  EXPECT_TRUE(proposal->After().features.Has(proposal->feature->feature));
  EXPECT_FALSE(proposal->Before().features.Has(proposal->feature->feature));
  EXPECT_EQ(ErrorText(), "no error");
}

TEST_F(SampleProposal, WithoutASectionIsRefused) {
  Change("proposal.md", "\n## Alternatives\n\nText.\n", "");
  EXPECT_EQ(ErrorText(),
            "proposal.md:26: found a section 'Compatibility', expected 'Alternatives'");
}

TEST_F(SampleProposal, WithoutTheLastSectionIsRefused) {
  Change("proposal.md", "\n## Decision\n\nText.\n", "");
  EXPECT_EQ(ErrorText(), "proposal.md: found no section 'Decision'");
}

TEST_F(SampleProposal, WithSectionsOutOfOrderIsRefused) {
  Change("proposal.md", "## Problem\n\nText.\n\n## Change to the text\n",
         "## Change to the text\n\nText.\n\n## Problem\n");
  EXPECT_EQ(ErrorText(),
            "proposal.md:10: found a section 'Change to the text', expected 'Problem'");
}

TEST_F(SampleProposal, WithASectionTooManyIsRefused) {
  Write("proposal.md", SampleText() + "\n## Thanks\n\nText.\n");
  EXPECT_THAT(ErrorText(), HasSubstr("found a section 'Thanks', expected none after 'Decision'"));
}

TEST_F(SampleProposal, WithAnEmptySectionIsRefused) {
  Change("proposal.md", "## Semantics\n\nText.\n", "## Semantics\n\n");
  EXPECT_THAT(ErrorText(), HasSubstr("the section 'Semantics' is empty"));
}

TEST_F(SampleProposal, WithAnotherNumberInItsTitleIsRefused) {
  Change("proposal.md", "# 0003: ", "# 0004: ");
  EXPECT_EQ(ErrorText(), "proposal.md:1: found '0004: A title', expected # 0003: Title");
}

TEST_F(SampleProposal, OfNoStatusIsRefused) {
  Change("proposal.md", "rejected", "refused");
  EXPECT_EQ(
      ErrorText(),
      "proposal.md:5: status: found 'refused', expected draft, accepted, rejected or promoted");
}

TEST_F(SampleProposal, ThatCallsItselfPromotedIsRefused) {
  Change("proposal.md", "rejected", "promoted");
  EXPECT_THAT(ErrorText(), HasSubstr("for its feature is not part of the spec"));
}

TEST_F(SampleProposal, OfNoFeatureIsRefused) {
  Change("proposal.md", "offset-before-rounding", "offset-before-noon");
  EXPECT_THAT(ErrorText(), HasSubstr("proposal.md:6: feature: found 'offset-before-noon', expected "
                                     "one of hierarchical-scales, "));
}

TEST_F(SampleProposal, OfAnothersFeatureIsRefused) {
  Change("proposal.md", "offset-before-rounding", "must-understand");
  EXPECT_EQ(ErrorText(),
            "proposal.md:6: feature: found that of proposal 2, expected one of proposal 3");
}

TEST_F(SampleProposal, OfAnotherVersionIsRefused) {
  Change("proposal.md", "| version | 1 |", "| version | 7 |");
  EXPECT_EQ(ErrorText(), "proposal.md:7: version: found '7', expected 1, that of its feature");
}

TEST_F(SampleProposal, WithoutARowIsRefused) {
  Change("proposal.md", "| date | 2026-11-22 |\n", "");
  EXPECT_EQ(ErrorText(), "proposal.md: found no row 'date' in the table below the title");
}

TEST_F(SampleProposal, OfNoDayIsRefused) {
  for (const std::string date : {"2026-13-22", "2026-02-29", "2026-11-00", "22.11.2026"}) {
    Change("proposal.md", "2026-11-22", date);
    EXPECT_EQ(ErrorText(), "proposal.md:8: date: found '" + date + "', expected YYYY-MM-DD");
  }
}

// The line that is added is the fourth of the diff, whose fence is two below the title.
TEST_F(SampleProposal, WithADiffThatIsNoSchemaIsRefused) {
  const auto change_to = [this](const std::string& line) {
    std::string text = SampleText();
    const std::string title = "## Change to the proto\n\n";
    text.replace(
        text.find(title), title.size(),
        title + "```diff\n message Quantization {\n   ...\n   optional int32 storage_type = 11;\n" +
            line + "\n }\n```\n");
    Write("proposal.md", text);
  };
  const int line =
      1 + static_cast<int>(std::ranges::count(
              SampleText().substr(0, SampleText().find("## Change to the proto")), '\n'));
  const std::string place = "proposal.md:" + std::to_string(line + 6) + ": ";
  change_to("+  optional int32 hue = 77;");
  EXPECT_EQ(ErrorText(), "no error");
  change_to("+  optional int32 hue = x;");
  EXPECT_EQ(ErrorText(), place + "the diff is not a schema: Expected field number.");
  change_to("+  optional int32 hue = 19000;");
  EXPECT_EQ(ErrorText(), place +
                             "found hue = 19000 of Quantization, expected a number of 1 to "
                             "536870911 outside 19000 to 19999");
  change_to("+  optional int32 hue = 77; optional int32 hue = 77;");
  EXPECT_THAT(ErrorText(), HasSubstr("found hue = 77 of Quantization beside hue = 77"));
  change_to("+  optional int32 hue = 11;");
  EXPECT_EQ(ErrorText(),
            place + "found hue = 11 of Quantization beside storage_type = 11 of Quantization");
}

// The sample's folder stands beside no chapter; here it has one, and another proposal.
TEST_F(SampleProposal, WithANumberInUseIsRefused) {
  const auto change_to = [this](const std::string& line) {
    std::string text = SampleText();
    const std::string title = "## Change to the proto\n\n";
    Write("proposal.md",
          text.replace(text.find(title), title.size(),
                       title + "```diff\n message Quantization {\n" + line + "\n }\n```\n"));
  };
  const fs::path spec = fs::path(Proposals()).parent_path() / "format";
  fs::create_directories(spec);
  std::ofstream(spec / "quantization.md")
      << "| field | name |\n|---|---|\n| 12 | `scale_levels` | x |\n";
  change_to("+  optional int32 hue = 12;");
  EXPECT_THAT(ErrorText(), HasSubstr("found hue = 12 of Quantization, but "));
  EXPECT_THAT(ErrorText(), HasSubstr("quantization.md has scale_levels = 12"));
  change_to("+  optional int32 scale_levels = 13;");
  EXPECT_THAT(ErrorText(), HasSubstr("quantization.md has scale_levels = 12"));
  change_to("   optional int32 hue = 12;");
  EXPECT_EQ(ErrorText(), "no error");
}

TEST_F(SampleProposal, WithoutATextIsRefused) {
  fs::remove(Path("proposal.md"));
  EXPECT_THAT(ErrorText(), HasSubstr("proposal.md: "));
}

TEST_F(SampleProposal, WithoutExamplesIsRefused) {
  fs::remove(Path("examples/one.yaml"));
  EXPECT_EQ(ErrorText(), "examples: found no example, expected at least one case in a file .yaml");
}

TEST_F(SampleProposal, WithAnExampleThatDoesNotParseIsRefused) {
  Change("examples/one.yaml", "op: {type: Cast", "op: {kind: Cast");
  EXPECT_THAT(ErrorText(), HasSubstr("examples/one.yaml:4: offset_before_rounding/tie.op"));
}

TEST_F(SampleProposal, WithAnExampleOfNoBeforeIsRefused) {
  Change("examples/one.yaml", "before:", "# before:");
  EXPECT_THAT(ErrorText(), HasSubstr("missing key 'before'"));
}

TEST_F(SampleProposal, WithAnExampleThatCitesNobodyIsRefused) {
  Change("examples/one.yaml", "spec: exact.S1", "spec: exact.S91");
  EXPECT_EQ(ErrorText(),
            "examples/one.yaml:1: cites exact.S91, which neither the spec nor the proposal states");
  Change("examples/one.yaml", "spec: exact.S1", "spec: exact.S90");
  EXPECT_EQ(ErrorText(), "no error");
}

TEST_F(SampleProposal, WithAnExampleRefusedByNobodyIsRefused) {
  Change("examples/one.yaml", "{y: {type: int8q, scale: [1.0], offset: [3], data: [5]}}",
         "{error: exact.C91}");
  EXPECT_THAT(ErrorText(), HasSubstr("cites exact.C91"));
}

TEST_F(SampleProposal, WithAnExampleOfAnotherNameIsRefused) {
  Change("examples/one.yaml", "id: offset_before_rounding/tie", "id: rounding/tie");
  EXPECT_EQ(ErrorText(),
            "examples/one.yaml:1: found id 'rounding/tie', expected one that begins with "
            "offset_before_rounding/");
}

TEST_F(SampleProposal, WithTwoExamplesOfOneNameIsRefused) {
  Write("examples/two.yaml", kSampleExample);
  EXPECT_THAT(ErrorText(), HasSubstr("another example has the id 'offset_before_rounding/tie'"));
}

TEST_F(SampleProposal, WithAnExampleThatSaysNoResultIsRefused) {
  Change("examples/one.yaml", ", data: [6]", "");
  EXPECT_THAT(ErrorText(), HasSubstr("output 'y' has no data"));
}

TEST_F(SampleProposal, IsToldWhichExampleDiffersAndUnderWhichSpec) {
  Change("examples/one.yaml", "data: [6]", "data: [5]");
  EXPECT_EQ(ErrorText(),
            "examples/one.yaml:1: offset_before_rounding/tie @exact with the feature: found y "
            "int8q[1] 6, expected y int8q[1] 5");
  Change("examples/one.yaml", "data: [5]", "data: [6]");
  EXPECT_EQ(ErrorText(),
            "examples/one.yaml:1: offset_before_rounding/tie @exact before: found y int8q[1] 5, "
            "expected y int8q[1] 6");
}

// The refusal is by exact.S1 on neither side: the example says another clause than comes.
TEST_F(SampleProposal, IsHeldToTheClauseThatRefuses) {
  Write("examples/one.yaml", R"(id: offset_before_rounding/refused
spec: quantization.C2
why: both refuse
op: {type: Identity}
inputs: {x: {type: int8q, scale: [0.0], data: [1]}}
before: {error: quantization.C2}
expect: {error: quantization.C2}
)");
  EXPECT_EQ(ErrorText(), "no error");
  Write("examples/one.yaml", R"(id: offset_before_rounding/refused
spec: quantization.C2
why: both refuse, but not so
op: {type: Identity}
inputs: {x: {type: int8q, scale: [0.0], data: [1]}}
before: {error: quantization.C2}
expect: {error: float32.S1}
)");
  EXPECT_THAT(ErrorText(),
              HasSubstr("found refused by quantization.C2, expected refused by float32.S1"));
}

TEST_F(SampleProposal, IsFoundByNumberAndByFolder) {
  EXPECT_EQ(*FindProposal(Proposals(), "3"), Folder());
  EXPECT_EQ(*FindProposal(Proposals(), "0003"), Folder());
  EXPECT_EQ(*FindProposal("nowhere", Folder()), Folder());
  const auto missing = FindProposal(Proposals(), "17");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "found no proposal of number 17");
  EXPECT_FALSE(FindProposal(Proposals(), "no such folder").has_value());
  EXPECT_FALSE(FindProposal(Proposals(), "-3").has_value());
}

TEST_F(SampleProposal, OfANumberThatAnotherHasIsAmbiguous) {
  fs::create_directories(fs::path(Proposals()) / "0003-another");
  const auto found = FindProposal(Proposals(), "3");
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("0003-another and of "));
}

TEST(Proposal, WhoseFolderIsMissingIsRefused) {
  const auto proposal = LoadProposal("/no/such/0003-folder", {});
  ASSERT_FALSE(proposal.has_value());
  EXPECT_EQ(proposal.error().where, "/no/such/0003-folder");
}

// Those of this project, each with all of its examples.
TEST(Proposals, ReadAndGiveWhatTheySay) {
  const std::string spec = std::string(QTX_SOURCE_DIR) + "/spec";
  const auto clauses = ReadClauses(spec);
  ASSERT_TRUE(clauses.has_value());
  std::vector<std::string> ids;
  for (const Clause& clause : *clauses) ids.push_back(clause.id);
  int found = 0;
  for (const auto& entry : fs::directory_iterator(spec + "/proposals")) {
    if (!entry.is_directory()) continue;
    const auto proposal = LoadProposal(entry.path().string(), ids);
    ASSERT_TRUE(proposal.has_value()) << proposal.error().where << ": " << proposal.error().message;
    const auto checked = CheckExamples(*proposal);
    EXPECT_TRUE(checked.has_value()) << checked.error().where << ": " << checked.error().message;
    ++found;
  }
  EXPECT_GE(found, 2);
}

}  // namespace
}  // namespace qtx::spec
