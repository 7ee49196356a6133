// Where expectations come from, and expectations that other sources contradict.
#include "oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "case_digest.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "wrong_backend.h"

namespace qtx::conformance::oracle_test {
namespace {

using testing::HasSubstr;

Case Parsed(const std::string& yaml) {
  auto cases = ParseCases(yaml, "oracle_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().Text();
  return cases->at(0);
}

// 1 + 10, 2 + 20, ... of integers with scale 1: `data` as the expectation, empty: left open.
Case Add(const std::string& data, const std::string& more = "") {
  return Parsed(
      "{id: add/a, spec: add.S1, why: w, op: {type: Add}, inputs: {"
      "a: {type: int8q, scale: [1.0], data: [1, 2]}, b: {type: int8q, scale: [1.0], data: [10, "
      "20]}},"
      " expect: {y: {type: int8q, scale: [1.0]" +
      (data.empty() ? "" : ", data: " + data) + "}}" + (data.empty() ? "" : ", derivation: d") +
      more + "}");
}

// The same of 1 to 4 and 10 to 40 as data of a third party, whose operators round as binary32.
Case FloatGolden(const std::string& data) {
  Case c = Parsed(
      "{id: add/golden, spec: add.S1, why: w, op: {type: Add}, derivation: d,"
      " arithmetics: [exact, float32], inputs: {a: {type: float, data: [1, 2, 3, 4]},"
      " b: {type: float, data: [10, 20, 30, 40]}}, expect: {y: {type: float, data: " +
      data + "}}, tags: [published]}");
  c.or_exact = true;
  c.close = Closeness{.relative = 1e-3, .absolute = 1e-7, .because = "ONNX's runner"};
  return c;
}

// Gives the right answers, and is not the reference.
BackendSource Right() {
  return WrongBackend("NoOperator", [](WrongRun&) {});
}

BackendReport Row(const Case& c, const BackendSource& source, const TextAnswers* answers = nullptr,
                  const std::string& arithmetic = "exact") {
  RunOptions options{.arithmetics = {arithmetic}};
  options.text_answers = answers;
  const std::vector<Case> cases = {c};
  return RunSuite("", cases, std::vector{source}, options).backends.at(0);
}

CaseResult Judged(const Case& c, const BackendSource& source, const TextAnswers* answers = nullptr,
                  const std::string& arithmetic = "exact") {
  return Row(c, source, answers, arithmetic).cases.at(0);
}

// The text's answer to `c` is what `like`, the same case, expects.
TextAnswers Answers(const Case& c, const Case& like) {
  TextAnswers answers;
  answers.Put(c.id, "exact", *QuestionOf(c, *BuildModel(c)),
              AnswerOf(std::vector{*like.outputs[0].data}));
  return answers;
}

TEST(Expectation, OfTheReferenceIsNoPassOfTheReference) {
  const Case open = Add("");
  const BackendReport row = Row(open, ReferenceSource());
  EXPECT_EQ(row.cases[0].outcome, Outcome::kSelf);
  EXPECT_EQ(row.count(Outcome::kPass), 0);
  EXPECT_EQ(row.count(Outcome::kSelf), 1);
  EXPECT_TRUE(Conforms(row));
  const CaseResult other = Judged(open, Right());
  EXPECT_EQ(other.outcome, Outcome::kPass);
  EXPECT_EQ(other.expectation, ExpectationSource::kReference);
}

TEST(Expectation, ComesFromTheHandFromOthersOrFromAClause) {
  EXPECT_EQ(Judged(Add("[11, 22]"), ReferenceSource()).expectation, ExpectationSource::kHand);
  const CaseResult published = Judged(Add("[11, 22]", ", tags: [published]"), ReferenceSource());
  EXPECT_EQ(published.outcome, Outcome::kPass);
  EXPECT_EQ(published.expectation, ExpectationSource::kThirdParty);
  const CaseResult refused =
      Judged(Parsed("{id: add/shapes, spec: add.C2, why: 2 against 3, op: {type: Add}, inputs: {"
                    "a: {type: int8q, scale: [1.0], data: [1, 1]},"
                    "b: {type: int8q, scale: [1.0], data: [1, 1, 1]}},"
                    "expect: {y: {type: int8q, scale: [1.0]}, error: add.C2}}"),
             ReferenceSource());
  EXPECT_EQ(refused.outcome, Outcome::kPass);
  EXPECT_EQ(refused.expectation, ExpectationSource::kHand);
}

TEST(TextAnswer, ThatConfirmsTheReferenceMakesItsAnswerAPass) {
  const Case open = Add("");
  const TextAnswers answers = Answers(open, Add("[11, 22]"));
  for (const BackendSource& source : {ReferenceSource(), Right()}) {
    const CaseResult result = Judged(open, source, &answers);
    EXPECT_EQ(result.outcome, Outcome::kPass);
    EXPECT_EQ(result.expectation, ExpectationSource::kText);
    EXPECT_EQ(result.text, TextVerdict::kConfirmed);
  }
}

// The text's answer is that of 11 and 23: whoever is right, nobody may pass.
TEST(TextAnswer, ThatContradictsIsABadExpectationOfEveryBackend) {
  const BackendSource wrong = WrongBackend("Add", [](WrongRun& run) { run.stored[1] = 23; });
  BackendSource listed = ReferenceSource();
  listed.expected_failures = {{"add/a", "known", "f:1"}};
  for (const Case& c : {Add(""), Add("[11, 22]")}) {
    const TextAnswers answers = Answers(c, Add("[11, 23]"));
    for (const BackendSource& source : {ReferenceSource(), Right(), wrong, listed}) {
      const BackendReport row = Row(c, source, &answers);
      EXPECT_EQ(row.cases[0].outcome, Outcome::kBadExpectation);
      EXPECT_THAT(row.cases[0].diagnosis, HasSubstr("the text's own computation"));
      EXPECT_FALSE(Conforms(row));
    }
  }
}

TEST(TextAnswer, ToOtherInputsIsStale) {
  Case open = Add("");
  const TextAnswers answers = Answers(open, Add("[11, 23]"));
  open.inputs[0].data = open.inputs[1].data;  // 10 + 10
  const CaseResult result = Judged(open, ReferenceSource(), &answers);
  EXPECT_EQ(result.outcome, Outcome::kSelf);
  EXPECT_EQ(result.text, TextVerdict::kStale);
}

// An expectation with a tolerance leaves a choice, so the reference's answer stands for it.
TEST(TextAnswer, ToACaseWithToleranceIsHeldToTheReference) {
  const Case near = FloatGolden("[11, 22, 33, 44.001]");
  const Case exact = FloatGolden("[11, 22, 33, 44]");
  const TextAnswers answers = Answers(near, exact);
  EXPECT_EQ(Judged(near, ReferenceSource(), &answers).text, TextVerdict::kConfirmed);
}

TEST(TextAnswer, ThatRefusesIsHeldToTheClause) {
  const Case c = Parsed(
      "{id: add/shapes, spec: add.C2, why: w, op: {type: Add}, inputs: {"
      "a: {type: int8q, scale: [1.0], data: [1, 1]}, b: {type: int8q, scale: [1.0], data: [1, 1, "
      "1]}},"
      "expect: {y: {type: int8q, scale: [1.0]}, error: add.C2}}");
  TextAnswers answers;
  answers.Put(c.id, "exact", *QuestionOf(c, *BuildModel(c)), "add.C2");
  EXPECT_EQ(Judged(c, ReferenceSource(), &answers).text, TextVerdict::kConfirmed);
  answers.Put(c.id, "exact", *QuestionOf(c, *BuildModel(c)), "add.C1");
  EXPECT_EQ(Judged(c, ReferenceSource(), &answers).outcome, Outcome::kBadExpectation);
}

TEST(Golden, FarFromExactIsBadForEveryBackend) {
  const Case garbage = FloatGolden("[-999, 7, 1e30, 0]");
  for (const BackendSource& source : {ReferenceSource(), Right()}) {
    const BackendReport row = Row(garbage, source);
    EXPECT_EQ(row.cases[0].outcome, Outcome::kBadGolden);
    EXPECT_THAT(row.cases[0].diagnosis, HasSubstr("differs in 4 of 4 elements"));
    EXPECT_FALSE(Conforms(row));
  }
  EXPECT_EQ(Judged(garbage, ReferenceSource(), nullptr, "float32").outcome, Outcome::kBadGolden);
}

// 0.01 of 33 is within 1e-3 of it.
TEST(Golden, NearExactPassesWithinTheBoundAndSaysSo) {
  for (const char* arithmetic : {"exact", "float32"}) {
    const CaseResult near =
        Judged(FloatGolden("[11, 22, 33.01, 44]"), ReferenceSource(), nullptr, arithmetic);
    EXPECT_EQ(near.outcome, Outcome::kPass);
    EXPECT_TRUE(near.within_bound);
    const CaseResult equal =
        Judged(FloatGolden("[11, 22, 33, 44]"), ReferenceSource(), nullptr, arithmetic);
    EXPECT_EQ(equal.outcome, Outcome::kPass);
    EXPECT_FALSE(equal.within_bound);
  }
}

// Nothing rounds in a model without floats: 11 is 11.
TEST(Golden, OfIntegersWithoutFloatsIsEqualToExact) {
  Case c = Add("[12, 22]");
  c.or_exact = true;
  EXPECT_EQ(Judged(c, ReferenceSource()).outcome, Outcome::kBadGolden);
}

// BFLOAT16 has 2^-7 between neighbours above 1: 1 + 1.5 * 2^-8 rounds to 1 + 2^-7, and is cut to 1.
// ONNX 1.12 cut; 1 - 2^-8 is two away.
TEST(Golden, OfNarrowFloatsMayBeOneAwayFromExact) {
  const auto cast = [](const std::string& data) {
    Case c = Parsed(
        "{id: cast/a, spec: cast.S1, why: w, op: {type: Cast, attributes: {to: bfloat16}},"
        " derivation: d, inputs: {x: {type: float, data: [0x1.018p0]}},"
        " expect: {y: {type: bfloat16, data: [" +
        data + "]}}}");
    c.or_exact = true;
    c.close = Closeness{.relative = 1e-3, .absolute = 1e-7, .because = "ONNX's runner"};
    return Judged(c, ReferenceSource());
  };
  EXPECT_FALSE(cast("0x1.02p0").within_bound);
  EXPECT_EQ(cast("1.0").outcome, Outcome::kPass);
  EXPECT_TRUE(cast("1.0").within_bound);
  EXPECT_EQ(cast("0x1.fep-1").outcome, Outcome::kBadGolden);
}

// 0.5 of scale 1 is a tie, to even 0; a binary32 quotient a little above rounds to 1.
TEST(Golden, OfRoundedIntegersMayBeOneAwayFromExact) {
  const auto quantize = [](const std::string& type, int stored) {
    Case c = Parsed(
        "{id: quantize_linear/a, spec: quantize_linear.S1, why: w, op: {type: QuantizeLinear},"
        " derivation: d, inputs: {x: {type: float, data: [0.5]},"
        " y_scale: {type: float, shape: [], data: [1]}, y_zero_point: {type: " +
        type + ", shape: [], data: [0]}}, expect: {y: {type: " + type + ", shape: [1], data: [" +
        std::to_string(stored) + "]}}}");
    c.or_exact = true;
    return Judged(c, ReferenceSource());
  };
  EXPECT_EQ(quantize("int8", 0).outcome, Outcome::kPass);
  EXPECT_FALSE(quantize("int8", 0).within_bound);
  EXPECT_EQ(quantize("int8", 1).outcome, Outcome::kPass);
  EXPECT_TRUE(quantize("int8", 1).within_bound);
  EXPECT_EQ(quantize("int8", 2).outcome, Outcome::kBadGolden);
}

}  // namespace
}  // namespace qtx::conformance::oracle_test
