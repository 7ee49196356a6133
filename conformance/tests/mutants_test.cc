#include "qtx/conformance/mutants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtx::conformance::mutants_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCases = R"(
id: identity/vision
spec: identity.S1
why: for the test
level: vision
op: {type: Identity}
inputs: {x: {type: int8q, scale: [1.0], data: [3]}}
expect: {y: {type: int8q, scale: [1.0], data: [3]}}
derivation: it is the same
---
id: relu/core
spec: relu.S1
why: for the test
op: {type: Relu}
inputs: {x: {type: int8q, scale: [1.0], data: [-1, 2]}}
expect: {y: {type: int8q, scale: [1.0], data: [0, 2]}}
derivation: the bound is 0
)";

// What tools/mutants writes into copies of sources, here by hand.
enum Number : unsigned {
  kAny = 1,
  kReluOnly,
  kIdentityOnly,
  kHarmless,
  kNowhere,
  kEnds,
  kHangs,
  kDeclines
};
std::array<MutantState, 9> states{};

bool IsOn(unsigned number) {
  if (states[number] == MutantState::kNoted) states[number] = MutantState::kOff;
  return states[number] == MutantState::kOn;
}

// The reference, with a place for each mutant but kNowhere.
class Mutated : public backend::Backend {
 public:
  Result<backend::Description> Describe() override {
    return backend::Description{"mutated", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(auto prepared, reference_->Prepare(model, arithmetic));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<Model>(std::move(prepared), model.graph.nodes[0].op_type == "Relu"));
  }

 private:
  class Model : public backend::PreparedModel {
   public:
    Model(std::unique_ptr<backend::PreparedModel> right, bool is_relu)
        : right_(std::move(right)), is_relu_(is_relu) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      QTX_ASSIGN_OR_RETURN(auto outputs, right_->Run(inputs));
      std::int8_t& first = outputs[0].As<std::int8_t>()[0];
      if (IsOn(kAny)) ++first;
      if (IsOn(is_relu_ ? kReluOnly : kIdentityOnly)) ++first;
      if (IsOn(kHarmless)) first = static_cast<std::int8_t>(first + 0);
      if (IsOn(kEnds)) std::abort();
      if (IsOn(kDeclines)) return Error{ErrorCode::kUnsupported, "node", "for the test"};
      volatile bool hangs = IsOn(kHangs);
      while (hangs) {
      }
      return outputs;
    }

   private:
    std::unique_ptr<backend::PreparedModel> right_;
    bool is_relu_;
  };

  std::unique_ptr<backend::Backend> reference_ = *ReferenceSource().make();
};

Mutant At(unsigned number, const char* equivalent = "") {
  return {number, 10, "a.cc", "relation", "a < b", "a <= b", equivalent};
}

MutantReport Measure(const std::vector<Mutant>& mutants) {
  const auto cases = *ParseCases(kCases, "test.yaml");
  const BackendSource source{
      "mutated",
      [] { return Result<std::unique_ptr<backend::Backend>>(std::make_unique<Mutated>()); }};
  return *MeasureMutants("suite", cases, {&source, 1}, {mutants, states}, mutants, {.jobs = 2});
}

TEST(Mutants, AreJudgedByTheCasesThatReachThem) {
  const MutantReport report = Measure(
      {At(kAny), At(kReluOnly), At(kIdentityOnly), At(kHarmless), At(kNowhere), At(kNowhere)});
  ASSERT_EQ(report.mutants.size(), 6U);
  EXPECT_THAT(report.blamed, IsEmpty());
  const MutantResult& any = report.mutants[0];
  const MutantResult& identity = report.mutants[2];
  EXPECT_EQ(any.fate, Fate::kWrong);
  EXPECT_EQ(any.reached, 2);
  EXPECT_EQ(any.killed_by, "mutated @exact: relu/core");  // of two, that of level core first
  EXPECT_TRUE(report.mutants[1].killed_by_core);
  EXPECT_EQ(identity.killed_by, "mutated @exact: identity/vision");
  EXPECT_FALSE(identity.killed_by_core);
  EXPECT_EQ(identity.reached, 1);
  EXPECT_EQ(report.mutants[3].fate, Fate::kSurvived);
  EXPECT_EQ(report.mutants[4].fate, Fate::kUnreached);
  EXPECT_EQ(report.Power(), 0.5);
  EXPECT_THAT(ToText(report).text(), HasSubstr("a.cc:10 relation: a < b -> a <= b [reached by 2]"));
}

TEST(Mutants, ThatEndOrHangAProcessAreKilled) {
  const MutantReport report = Measure({At(kEnds), At(kHangs)});
  EXPECT_EQ(report.mutants.at(0).fate, Fate::kCrashed);
  EXPECT_EQ(report.mutants.at(1).fate, Fate::kHung);
  EXPECT_TRUE(HasPower(report));
}

TEST(Mutants, ThatOnlyDeclineAreNotKilled) {
  const MutantReport report = Measure({At(kAny), At(kDeclines)});
  EXPECT_EQ(report.mutants.at(1).fate, Fate::kDeclined);
  EXPECT_EQ(report.mutants.at(1).killed_by, "");
  EXPECT_EQ(report.Power(), 0.5);
  EXPECT_THAT(ToText(report).text(), HasSubstr("[declined]"));
}

TEST(Mutants, TooFewAreKilledWhereChanceDoesNotExplainIt) {
  MutantReport report;
  report.mutants.assign(18, {.mutant = At(kAny), .fate = Fate::kSurvived});
  // Of 18 with 0.6 each, 3 or fewer come with 0.00021, 4 or fewer with 0.0013 (the sums of
  // 18! / k! / (18 - k)! 0.6^k 0.4^(18 - k)).
  for (std::size_t i = 0; i < 3; ++i) report.mutants[i].fate = Fate::kWrong;
  EXPECT_FALSE(HasPower(report));
  report.mutants[3].fate = Fate::kCrashed;
  EXPECT_TRUE(HasPower(report));
  EXPECT_TRUE(HasPower(MutantReport{}));
}

TEST(Mutants, ListedAsEquivalentDoNotCountUnlessACaseNoticesThem) {
  EXPECT_TRUE(HasPower(Measure({At(kAny), At(kHarmless, "it adds 0")})));
  EXPECT_EQ(Measure({At(kAny), At(kHarmless, "it adds 0")}).Power(), 1);
  const MutantReport refuted = Measure({At(kAny, "wrongly"), At(kReluOnly)});
  EXPECT_FALSE(HasPower(refuted));
  EXPECT_THAT(ToText(refuted).text(),
              HasSubstr("listed as equivalent, but mutated @exact: relu/core"));
}

}  // namespace
}  // namespace qtx::conformance::mutants_test
