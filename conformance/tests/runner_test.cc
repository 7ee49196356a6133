#include "qtx/conformance/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/conformance/case.h"

namespace qtx::conformance {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// Three Identity cases; the guest misbehaves at the one called "bad".
std::vector<Case> Cases() {
  std::string yaml;
  for (const char* id : {"first", "bad", "last"}) {
    yaml += std::string("---\n{id: ") + id +
            ", spec: identity.S1, why: w, op: {type: Identity},"
            " inputs: {x: {type: int8q, scale: 0x1p-3, data: [1, -2, 3]}},"
            " expect: {y: {type: int8q, scale: 0x1p-3, data: [1, -2, 3]}}}\n";
  }
  auto cases = ParseCases(yaml, "runner_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << cases.error().message;
  return *cases;
}

BackendSource Guest(const std::string& fault, std::chrono::milliseconds timeout = 20s) {
  return *ProcessSource(std::string(QTX_TEST_GUEST) + " " + fault, timeout);
}

BackendReport RunOne(const BackendSource& source, const RunOptions& options = {}) {
  const std::vector<Case> cases = Cases();
  const std::vector<BackendSource> sources = {source};
  const Report report = RunSuite("suite", cases, sources, options);
  EXPECT_EQ(report.backends.size(), 1U);
  return report.backends.at(0);
}

std::vector<Outcome> Outcomes(const BackendReport& row) {
  std::vector<Outcome> outcomes;
  for (const CaseResult& result : row.cases) outcomes.push_back(result.outcome);
  return outcomes;
}

TEST(RunSuite, PassesAGuestThatAnswersRight) {
  const BackendReport row = RunOne(Guest("good"));
  EXPECT_FALSE(row.error.has_value());
  EXPECT_EQ(row.description.name, "guest");
  EXPECT_EQ(row.arithmetic, "exact");
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kPass, Outcome::kPass));
  EXPECT_EQ(row.count(Outcome::kPass), 3);
}

struct FaultCase {
  const char* fault;
  Outcome outcome;
  const char* diagnosis;
};

class RunSuiteGoesOnAfter : public testing::TestWithParam<FaultCase> {};

TEST_P(RunSuiteGoesOnAfter, TheFault) {
  const FaultCase& param = GetParam();
  const BackendReport row =
      RunOne(Guest(param.fault, std::string(param.fault) == "hang" ? 500ms : 20000ms));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, param.outcome, Outcome::kPass));
  EXPECT_THAT(row.cases[1].diagnosis, HasSubstr(param.diagnosis));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RunSuiteGoesOnAfter,
    testing::Values(FaultCase{"crash", Outcome::kCrash, "SIGSEGV"},
                    FaultCase{"exit", Outcome::kCrash, "status 0"},
                    FaultCase{"hang", Outcome::kTimeout, "no answer in time"},
                    FaultCase{"garbage", Outcome::kProtocolError, ""},
                    FaultCase{"short", Outcome::kProtocolError, "bytes"},
                    FaultCase{"wrong", Outcome::kFail, "first at 0: got 0, expected 1"},
                    FaultCase{"none", Outcome::kFail, "gave 0 outputs, expected 1"},
                    FaultCase{"unsupported", Outcome::kUnsupported, "not today"},
                    FaultCase{"refuse", Outcome::kFail, "a lie"}),
    [](const auto& test) { return std::string(test.param.fault); });

// Source: backend_protocol.S20.
TEST(RunSuite, TellsOfACrashOnReleaseWithTheNextCase) {
  const BackendReport row = RunOne(Guest("release"));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kPass, Outcome::kCrash));
  EXPECT_THAT(row.cases[2].diagnosis, HasSubstr("on Release of the model before"));
}

TEST(RunSuite, GivesTheSameResultsOnManyThreads) {
  RunOptions options;
  options.jobs = 3;
  EXPECT_EQ(Outcomes(RunOne(Guest("crash"), options)), Outcomes(RunOne(Guest("crash"))));
}

TEST(RunSuite, ReportsABackendThatCannotBeStarted) {
  const BackendReport row = RunOne(*ProcessSource("/no/such/program"));
  ASSERT_TRUE(row.error.has_value());
  EXPECT_TRUE(row.cases.empty());
}

TEST(RunSuite, ReportsABackendThatDoesNotSpeakTheProtocol) {
  const BackendReport row = RunOne(*ProcessSource("echo hello"));
  ASSERT_TRUE(row.error.has_value());
  EXPECT_EQ(row.error->code, ErrorCode::kProtocol);
}

TEST(RunSuite, CountsCasesOfOtherArithmeticsAsNotApplicable) {
  RunOptions options;
  options.arithmetics = {"tflite"};
  const BackendReport row = RunOne(Guest("good"), options);
  EXPECT_TRUE(row.cases.empty());
  EXPECT_EQ(row.not_applicable, 3);
}

TEST(RunSuite, HoldsListedFailuresToTheList) {
  BackendSource source = Guest("wrong");
  source.expected_failures = {{"bad @exact", "known"}, {"las?", "outdated"}};
  const BackendReport row = RunOne(source);
  EXPECT_THAT(Outcomes(row),
              ElementsAre(Outcome::kPass, Outcome::kExpectedFail, Outcome::kUnexpectedPass));
  EXPECT_THAT(row.cases[1].diagnosis, HasSubstr("known"));
  Report report;
  report.backends = {row};
  EXPECT_FALSE(Conforms(report));
}

// Declining leaves open whether the rule is known: else a backend that declines all would pass.
// Source: backend_protocol.S16.
TEST(RunSuite, PassesNoDeclineWhereARefusalIsExpected) {
  auto cases = ParseCases(
      "{id: bad, spec: identity.C1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, scale: 1, data: [1]}},"
      " expect: {y: {type: int8q, scale: 1, shape: [1]}, error: identity.C1}}",
      "t");
  ASSERT_TRUE(cases.has_value());
  const std::vector<BackendSource> sources = {Guest("unsupported"), Guest("good"), Guest("crash")};
  const Report report = RunSuite("s", *cases, sources, {});
  ASSERT_EQ(report.backends.size(), 3U);
  EXPECT_EQ(report.backends[0].cases[0].outcome, Outcome::kUnsupported);
  EXPECT_EQ(report.backends[1].cases[0].outcome, Outcome::kFail);
  EXPECT_THAT(report.backends[1].cases[0].diagnosis, HasSubstr("accepted"));
  EXPECT_EQ(report.backends[2].cases[0].outcome, Outcome::kCrash);
}

TEST(ParseExpectedFailures, TakesAGlobAndAReason) {
  const auto list = ParseExpectedFailures("# comment\n\nadd/*[k=1] @exact  # no kernel\n", "f");
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().glob, "add/*[k=1] @exact");
  EXPECT_EQ(list->front().reason, "no kernel");
}

TEST(ParseExpectedFailures, RefusesALineWithoutReason) {
  const auto list = ParseExpectedFailures("a # why\nb\n", "f");
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().where, "f:2");
  EXPECT_FALSE(ParseExpectedFailures("a #  \n", "f").has_value());
}

}  // namespace
}  // namespace qtx::conformance
