// What a proposal flips, over a suite of a few cases whose answers are worked out by hand.
#include "qtx/spec/review.h"

#include <gmock/gmock.h>
#include <rapidjson/document.h>

#include <utility>

#include "qtx/conformance/runner.h"
#include "sample_proposal.h"

namespace qtx::spec {
namespace {

using conformance::BackendSource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Quotients 2.5, 3.5 and 2 with offset 3: rounded first 5 7 5, added first 6 6 5. With offset 4,
// and in float32, nothing changes. The fourth is refused either way, by a rule of its type.
constexpr const char* kSuite = R"(
id: cast/odd
spec: cast.S1
why: ties with an odd offset
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [2.5, 3.5, 2.0]}}
expect: {y: {type: int8q, scale: [1.0], offset: [3], data: [5, 7, 5]}}
arithmetics: [exact, float32]
---
id: cast/even
spec: cast.S1
why: ties with an even offset
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [2.5, 3.5, 2.0]}}
expect: {y: {type: int8q, scale: [1.0], offset: [4]}}
---
id: add/left_to_the_reference
spec: add.S1
why: one tie with an odd offset, and no result written down
op: {type: Add}
inputs: {a: {type: int8q, scale: [1.0], data: [1, 2]}, b: {type: int8q, scale: [1.0], data: [2, 2]}}
expect: {y: {type: int8q, scale: [2.0], offset: [1]}}
---
id: cast/refused
spec: quantization.C2
why: a scale of 0
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [1.0]}}
expect: {y: {type: int8q, scale: [0.0]}, error: quantization.C2}
)";

// Says the stored values it is told, whatever is asked of it, and has one arithmetic.
class Parrot : public backend::Backend {
 public:
  explicit Parrot(std::vector<std::int8_t> says) : says_(std::move(says)) {}
  Result<backend::Description> Describe() override {
    backend::Description description;
    description.name = "parrot";
    description.arithmetics = {"exact"};
    return description;
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view) override {
    const auto& type = *model.graph.outputs[0].type;
    const std::size_t size = model.graph.nodes[0].op_type == "Add" ? 2 : says_.size();
    if (model.graph.nodes[0].op_type == "Add" && says_.size() == 2) {
      return Error{ErrorCode::kUnsupported, "node", "the parrot does not add"};
    }
    format::Tensor tensor =
        *format::MakeTensor(type.elem_type, {static_cast<std::int64_t>(size)}, type.quantization);
    for (std::size_t i = 0; i < size; ++i) tensor.bytes[i] = static_cast<std::byte>(says_[i]);
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<Answer>(std::move(tensor)));
  }

 private:
  struct Answer : backend::PreparedModel {
    explicit Answer(format::Tensor given) : tensor(std::move(given)) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor>) override {
      return std::vector<format::Tensor>{tensor};
    }
    format::Tensor tensor;
  };
  std::vector<std::int8_t> says_;
};

BackendSource Saying(std::vector<std::int8_t> values) {
  BackendSource source;
  source.name = "parrot";
  source.make = [values]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Parrot>(values));
  };
  return source;
}

class ReviewTest : public SampleProposal {
 protected:
  Review Make(const std::vector<BackendSource>& backends = {}) const {
    const auto cases = conformance::ParseCases(kSuite, "s.yaml");
    EXPECT_TRUE(cases.has_value()) << cases.error().where << cases.error().message;
    ReviewOptions options;
    options.cases = *cases;
    options.backends = backends;
    options.jobs = 2;
    auto review = MakeReview(*Load(), options);
    EXPECT_TRUE(review.has_value());
    return *std::move(review);
  }
};

TEST_F(ReviewTest, FindsTheCasesThatFlipAndWhere) {
  const Review review = Make();
  EXPECT_EQ(review.cases.cases, 4);
  EXPECT_EQ(review.cases.results, 5);
  EXPECT_EQ(review.cases.flipped_cases, 2);
  ASSERT_EQ(review.cases.flips.size(), 2U);
  const Flip& odd = review.cases.flips[0];
  EXPECT_EQ(odd.id, "cast/odd");
  EXPECT_EQ(odd.arithmetic, "exact");
  EXPECT_EQ(odd.kind, FlipKind::kValue);
  EXPECT_TRUE(odd.stated);
  EXPECT_EQ(odd.before, "y int8q[3] 5 7 5");
  EXPECT_EQ(odd.after, "y int8q[3] 6 6 5");
  ASSERT_TRUE(odd.difference.has_value());
  EXPECT_EQ(odd.difference->differing, 2);
  EXPECT_EQ(odd.difference->first[0].index, 0);
  EXPECT_EQ(odd.difference->first[0].expected, "5");
  EXPECT_EQ(odd.difference->first[0].got, "6");
  // 3 / 2 is a tie: 2 + 1 before, 2.5 to 2 after; 4 / 2 is none.
  EXPECT_EQ(review.cases.flips[1].id, "add/left_to_the_reference");
  EXPECT_FALSE(review.cases.flips[1].stated);
  EXPECT_EQ(review.cases.flips[1].before, "y int8q[2] 3 3");
  EXPECT_EQ(review.cases.flips[1].after, "y int8q[2] 2 3");
}

TEST_F(ReviewTest, SaysWhichBackendsWouldStopConforming) {
  const Review review = Make({Saying({5, 7, 5}), Saying({6, 6, 5}), Saying({0, 0})});
  ASSERT_EQ(review.backends.size(), 3U);
  const BackendEffect& old = review.backends[0];
  EXPECT_EQ(old.asked, 2);
  EXPECT_THAT(old.newly_fails, ElementsAre("cast/odd @exact"));
  EXPECT_EQ(old.fails_both, 1);  // it says 5 7 of the sum
  EXPECT_THAT(review.backends[1].newly_passes, ElementsAre("cast/odd @exact"));
  EXPECT_TRUE(review.backends[1].newly_fails.empty());
  EXPECT_EQ(review.backends[2].unsupported, 1);
  EXPECT_EQ(review.backends[2].fails_both, 1);
}

TEST_F(ReviewTest, ReportsABackendThatCannotBeMade) {
  BackendSource broken;
  broken.name = "gone";
  broken.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return Error{ErrorCode::kIo, "gone", "does not start \x1b[31m"};
  };
  const Review review = Make({broken});
  ASSERT_TRUE(review.backends[0].error.has_value());
  EXPECT_THAT(ToText(review).text(), HasSubstr("gone: does not start \\x1b[31m\n"));
}

TEST_F(ReviewTest, HoldsTheExamplesToBothSides) {
  EXPECT_TRUE(ExamplesHold(Make()));
  Change("examples/one.yaml", "data: [6]", "data: [7]");
  const Review review = Make();
  EXPECT_FALSE(ExamplesHold(review));
  EXPECT_TRUE(review.examples[0].before.ok);
  EXPECT_FALSE(review.examples[0].after.ok);
  EXPECT_EQ(review.examples[0].after.obtained, "y int8q[1] 6");
  EXPECT_EQ(review.examples[0].after.expected, "y int8q[1] 7");
  EXPECT_THAT(ToText(review).text(), HasSubstr("1 of 1 results of examples differ"));
}

// Proposal 0002 refuses what ran, by a clause.
TEST(ReviewOfAnotherFeature, FindsWhatIsRefused) {
  const auto cases = conformance::ParseCases(R"(
id: identity/list
spec: identity.S1
why: lists a field that nobody knows
op: {type: Identity}
inputs: {x: {type: int8q, scale: [1.0], must_understand: [99], data: [1]}}
expect: {y: {type: int8q, scale: [1.0], data: [1]}}
)",
                                             "s.yaml");
  ASSERT_TRUE(cases.has_value());
  Proposal proposal;
  proposal.feature = *format::FindFeature("must-understand");
  proposal.text = *ParseDocument("# 0002: T\n", "p.md");
  ReviewOptions options;
  options.cases = *cases;
  const auto review = MakeReview(std::move(proposal), options);
  ASSERT_TRUE(review.has_value());
  ASSERT_EQ(review->cases.flips.size(), 1U);
  EXPECT_EQ(review->cases.flips[0].kind, FlipKind::kRefused);
  EXPECT_EQ(review->cases.flips[0].before, "y int8q[1] 1");
  EXPECT_EQ(review->cases.flips[0].after, "refused by quantization.C20");
}

TEST_F(ReviewTest, FitsATerminalOf100Columns) {
  Write("proposal.md", SampleText() + "\n" + std::string(60, 'a') + " " + std::string(60, 'b') +
                           "\n\n| " + std::string(70, 'c') + " | " + std::string(40, 'd') + " |\n");
  const std::string text = ToText(Make({Saying({5, 7, 5})}));
  EXPECT_THAT(text, HasSubstr("This proposal flips 2 of 4 cases (2 of 5 results)."));
  EXPECT_THAT(text, HasSubstr("y: 2 of 3 elements, first [0] 5 -> 6"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
    at = end + 1;
  }
}

// The keys that spec/proposals/README.md lists.
TEST_F(ReviewTest, WritesItsKeys) {
  rapidjson::Document json;
  json.Parse(ToJson(Make({Saying({5, 7, 5})})).c_str());
  ASSERT_FALSE(json.HasParseError());
  for (const char* key :
       {"number", "slug", "title", "status", "feature", "version", "promoted", "date"}) {
    EXPECT_TRUE(json["proposal"].HasMember(key)) << key;
  }
  EXPECT_TRUE(json["examples_hold"].GetBool());
  EXPECT_STREQ(json["examples"][0]["before"]["obtained"].GetString(), "y int8q[1] 5");
  EXPECT_STREQ(json["examples"][0]["after"]["expected"].GetString(), "y int8q[1] 6");
  EXPECT_EQ(json["cases"]["cases"].GetInt(), 4);
  EXPECT_EQ(json["cases"]["flipped_cases"].GetInt(), 2);
  EXPECT_EQ(json["cases"]["flipped_results"].GetInt(), 2);
  const auto& flip = json["cases"]["flips"][0];
  EXPECT_STREQ(flip["id"].GetString(), "cast/odd");
  EXPECT_STREQ(flip["kind"].GetString(), "value");
  EXPECT_EQ(flip["differing"].GetInt(), 2);
  EXPECT_STREQ(flip["first"][0]["before"].GetString(), "5");
  EXPECT_STREQ(flip["first"][0]["after"].GetString(), "6");
  EXPECT_STREQ(json["backends"][0]["newly_fails"][0].GetString(), "cast/odd @exact");
  EXPECT_EQ(json["models"].Size(), 0U);
}

// Text of a proposal, of cases and of backends is anybody's.
TEST_F(ReviewTest, KeepsWhatIsHostileOutOfThePage) {
  Change("proposal.md", "# 0003: A title", "# 0003: A </title><script>alert(1)</script>");
  Change("examples/one.yaml", "tells the two", "</script><script>alert(2)</script> tells the two");
  const std::string page = ToHtml(Make());
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("@text@")));
  EXPECT_THAT(page, Not(HasSubstr("@data@")));
}

}  // namespace
}  // namespace qtx::spec
