// Proposals with an overlay: what the text alone says of them.
#include "qtx/spec/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "qtx/spec/proposal.h"
#include "qtx/spec/review.h"

namespace qtx::spec::overlay_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Quotients 2.5, 3.5 and 2: to even 2 4 2, away from zero 3 4 2.
constexpr const char* kSuite = R"(
id: cast/odd
spec: cast.S1
why: ties
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [2.5, 3.5, 2.0]}}
expect: {y: {type: int8q, scale: [1.0], offset: [3], data: [5, 7, 5]}}
---
id: add/plain
spec: exact.S10
why: integers that are not quantized are never rounded
op: {type: Add}
inputs: {a: {type: int8, data: [1]}, b: {type: int8, data: [2]}}
expect: {y: {type: int8, data: [3]}}
)";

class OverlayProposal : public testing::Test {
 protected:
  OverlayProposal()
      : root_(fs::temp_directory_path() / ("qtx_overlay_test_" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "0009-mine/overlay/arithmetic");
    fs::create_directories(root_ / "0009-mine/examples");
    Write("proposal.md", Table("draft", "overlay") + "\n## Problem\n\nText.\n");
    Write("examples/one.yaml",
          "id: mine/one\nspec: exact.S1\nwhy: a tie\nop: {type: Cast, attributes: {to: int8q}}\n"
          "inputs: {x: {type: float, data: [2.5]}}\n"
          "expect: {y: {type: int8q, scale: [1.0], data: [3]}}\n");
    Rounding("clamp(half_away(v / scale) + offset)");
  }
  ~OverlayProposal() override { fs::remove_all(root_); }

  static std::string Table(const std::string& status, const std::string& feature) {
    return "# 0009: Mine\n\n| | |\n|---|---|\n| status | " + status + " |\n| feature | " + feature +
           " |\n| version | 2 |\n| date | 2026-11-24 |\n";
  }
  std::string Folder() const { return (root_ / "0009-mine").string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / "0009-mine" / name, std::ios::binary) << text;
  }
  void Rounding(const std::string& expression, const std::string& claims = "") const {
    Write("overlay/arithmetic/exact.md",
          "**exact.S1** Rounded.\n\n```formula\nrounded(v) = " + expression + "\n```\n" + claims);
  }
  // At most 16 reals, from -2 to 7/4.
  static std::string Claim(const std::string& claim) {
    return "\n```claim\nuse exact.S1\n" + claim +
           "\n---\ninputs: {a: {type: int4q, scale: [0.25]}}\n"
           "expect: {y: {type: int8q, scale: [1.0]}}\n```\n";
  }
  Result<Review> Make() const {
    QTX_ASSIGN_OR_RETURN(Proposal proposal,
                         LoadProposal(Folder(), std::vector<std::string>{"exact.S1"}));
    QTX_ASSIGN_OR_RETURN(const std::vector<conformance::Case> cases,
                         conformance::ParseCases(kSuite, "suite.yaml"));
    ReviewOptions options;
    options.cases = cases;
    options.jobs = 2;
    return MakeReview(std::move(proposal), options);
  }
  std::string ErrorText() const {
    const auto review = Make();
    if (review) return "no error";
    std::string text = review.error().where + ": " + review.error().message;
    for (std::size_t at; (at = text.find(Folder() + "/")) != std::string::npos;) {
      text.erase(at, Folder().size() + 1);
    }
    return text;
  }

  fs::path root_;
};

TEST_F(OverlayProposal, ShowsTheCasesThatItChangesByTheTextAlone) {
  const auto review = Make();
  ASSERT_TRUE(review.has_value()) << ErrorText();
  EXPECT_TRUE(ExamplesHold(*review));
  // The sum of plain integers does not depend on exact.S1 by a formula of its clause, but the text
  // says of every node that it is computed in exact.
  ASSERT_EQ(review->cases.flips.size(), 1U);
  const Flip& flip = review->cases.flips[0];
  EXPECT_EQ(flip.id, "cast/odd");
  EXPECT_EQ(flip.before, "y int8q[3] 5 7 5");
  EXPECT_EQ(flip.after, "y int8q[3] 6 7 5");
  EXPECT_EQ(flip.difference->differing, 1);
}

// 1/2 and -1/2 are the only ties of these reals whose even neighbour is nearer to zero; 3/2 goes to
// 2 by both rules.
TEST_F(OverlayProposal, FindsTheSmallestCounterexampleToAClaim) {
  Rounding("clamp(half_away(v / scale) + offset)",
           Claim("as_before = rounded(a) = clamp(half_even(a / scale) + offset)\n"
                 "odd = rounded(-a) = -rounded(a)"));
  const auto review = Make();
  ASSERT_TRUE(review.has_value()) << ErrorText();
  ASSERT_EQ(review->claims.size(), 2U);
  EXPECT_EQ(review->claims[0].elements, 16);
  EXPECT_TRUE(review->claims[0].exhaustive);
  EXPECT_EQ(review->claims[0].failing, 2);
  EXPECT_EQ(review->claims[0].counterexample, "at [6], a = -2 (real -1/2)");
  EXPECT_EQ(review->claims[1].failing, 0);
  EXPECT_FALSE(ClaimsHold(*review));
  EXPECT_THAT(ToText(*review).text(), HasSubstr("FAILS as_before (exact.S1) for 2 of all 16"));
}

TEST_F(OverlayProposal, SaysInOneLineWhereAFormulaHasNoMeaning) {
  Rounding("half_odd(v / scale)");
  EXPECT_THAT(ErrorText(),
              HasSubstr("overlay/arithmetic/exact.md:4:14: found function 'half_odd'"));
  Rounding("length(list(k < 2^30: k))");
  EXPECT_THAT(ErrorText(), HasSubstr("overlay/arithmetic/exact.md:4:"));
  Rounding("sum(k < 2^30: k)");
  EXPECT_THAT(ErrorText(), HasSubstr("steps"));
  Rounding("0", Claim("half = a / 2"));
  EXPECT_THAT(ErrorText(), HasSubstr("found a number, expected a condition"));
}

TEST_F(OverlayProposal, RefusesAClaimThatIsNone) {
  Rounding("floor(v)", "\n```claim\na = 1 = 1\n```\n");
  EXPECT_EQ(ErrorText(),
            "overlay/arithmetic/exact.md:7: found a claim alone, expected a line --- and its "
            "inputs and output");
  Rounding("floor(v)", Claim("y[i] = 1"));
  EXPECT_EQ(ErrorText(),
            "overlay/arithmetic/exact.md:9: expected use CLAUSE, a function, or NAME = CONDITION");
}

TEST_F(OverlayProposal, HasTheFeatureOverlayAndOnlyADraftLacksSections) {
  Write("proposal.md", Table("draft", "must-understand"));
  EXPECT_THAT(ErrorText(), HasSubstr("'overlay' where there is a folder overlay/"));
  Write("proposal.md", Table("accepted", "overlay") + "\n## Problem\n\nText.\n");
  EXPECT_THAT(ErrorText(), HasSubstr("found no section 'Change to the text'"));
}

// 0004 to 0006: a rounding, an element type and an operator.
TEST(Overlays, OfThisProjectKeepTheirClaims) {
  int claims = 0;
  for (const auto& entry :
       fs::directory_iterator(std::string(QTX_SOURCE_DIR) + "/spec/proposals")) {
    if (!entry.is_directory() || !HasOverlay(entry.path().string())) continue;
    const auto overlay = ReadOverlay(entry.path().string());
    ASSERT_TRUE(overlay.has_value()) << overlay.error().where << ": " << overlay.error().message;
    for (std::size_t i = 0; i < overlay->claims.size(); ++i) {
      for (const conformance::Case& c : overlay->claims[i].cases) {
        const auto result = RunClaim(*overlay, i, c);
        ASSERT_TRUE(result.has_value()) << result.error().where << ": " << result.error().message;
        EXPECT_EQ(result->failing, 0) << overlay->claims[i].name << ": " << result->counterexample;
        ++claims;
      }
    }
  }
  EXPECT_GE(claims, 8);
}

}  // namespace
}  // namespace qtx::spec::overlay_test
