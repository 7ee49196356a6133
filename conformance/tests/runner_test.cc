#include "qtx/conformance/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/journal.h"
#include "qtx/conformance/report.h"

namespace qtx::conformance::runner_test {
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
  return *ProcessSource(std::string(QTX_TEST_GUEST) + " " + fault, {.timeout = timeout});
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

// Of Identity, Relu and Identity the second gives no answer.
class NetworkWithoutAnswer : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(NetworkWithoutAnswer, IsPlacedAtItsNode) {
  const auto& [fault, says] = GetParam();
  const auto cases = ParseCases(
      "{id: net, spec: identity.S1, why: w, nodes: ["
      "{op: {type: Identity}, inputs: [x], outputs: [a]},"
      "{op: {type: Relu}, inputs: [a], outputs: [b]},"
      "{op: {type: Identity}, inputs: [b], outputs: [y]}],"
      " values: {a: {type: int8q, scale: 0.5, shape: [2]}, b: {type: int8q, scale: 0.5, shape: "
      "[2]}},"
      " inputs: {x: {type: int8q, scale: 0.5, data: [1, 2]}},"
      " expect: {y: {type: int8q, scale: 0.5, data: [1, 2]}}}",
      "runner_test");
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  const std::vector<BackendSource> sources = {Guest(fault, 4s)};
  const auto start = std::chrono::steady_clock::now();
  const BackendReport row = RunSuite("suite", *cases, sources, {}).backends.at(0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 14s);  // 4 s of it the case's
  EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr(says));
  ASSERT_EQ(row.findings.size(), 1U);
  EXPECT_THAT(row.findings[0].operators, testing::Contains("Relu"));
  ASSERT_EQ(row.findings[0].places.size(), 1U);
  EXPECT_THAT(row.findings[0].places[0].form, HasSubstr("Relu("));
}

INSTANTIATE_TEST_SUITE_P(Faults, NetworkWithoutAnswer,
                         testing::Values(std::pair("hang",
                                                   "first node that gives no answer alone: 1 '"),
                                         std::pair("crash", "first wrong node: 1 '")),
                         [](const auto& test) { return std::string(test.param.first); });

// A cubic Resize is valid, and the reference has none: nobody says what is right.
TEST(RunSuite, CountsWhatTheReferenceDeclinesAsDeclined) {
  const auto cases = ParseCases(
      "{id: resize/cubic, spec: resize.S1, why: w, op: {type: Resize, attributes: {mode: cubic}},"
      " inputs: {x: {type: int8q, scale: 0x1p-3, data: [1, -2, 3]}, roi: none,"
      " scales: {type: float, data: [1.0], initializer: true}},"
      " expect: {y: {type: int8q, scale: 0x1p-3}}}\n",
      "runner_test");
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  const std::vector<BackendSource> sources = {Guest("good")};
  const Report report = RunSuite("suite", *cases, sources, {});
  const CaseResult& result = report.backends.at(0).cases.at(0);
  EXPECT_EQ(result.outcome, Outcome::kUnsupported);
  EXPECT_THAT(result.diagnosis, HasSubstr("no expectation: "));
}

// The first process dies of the first case, and no second one starts.
TEST(RunSuite, JournalsNothingOfCasesThatFoundNoProcess) {
  const std::string flag = testing::TempDir() + "qtx_runner_flag_" + std::to_string(getpid());
  const std::string path = testing::TempDir() + "qtx_runner_journal_" + std::to_string(getpid());
  std::ofstream(flag) << "";
  const std::string guest = std::string(QTX_TEST_GUEST) + " crash";
  // It is described once, then serves once, then is gone.
  const auto source = ProcessSource("sh -c 'test $(wc -c <" + flag + ") -lt 2 || exit 9; echo >>" +
                                        flag + "; exec " + guest + "'",
                                    {.sandbox = Sandbox::kOff});
  ASSERT_TRUE(source.has_value());
  RunOptions options;
  {
    const auto journal = Journal::Open(path, "a");
    ASSERT_TRUE(journal.has_value());
    options.journal = journal->get();
    EXPECT_THAT(Outcomes(RunOne(*source, options)),
                ElementsAre(Outcome::kPass, Outcome::kCrash, Outcome::kCrash));
  }
  std::ofstream(flag) << "";  // it is back
  const auto journal = Journal::Open(path, "a");
  options.journal = journal->get();
  const BackendReport row = RunOne(*source, options);
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kCrash, Outcome::kPass));
  std::remove(flag.c_str());
  std::remove(path.c_str());
}

struct FaultCase {
  const char* fault;
  Outcome outcome;
  const char* diagnosis;
  std::chrono::milliseconds timeout = 20s;
};

class RunSuiteGoesOnAfter : public testing::TestWithParam<FaultCase> {};

// Source: backend_protocol.S20.
TEST_P(RunSuiteGoesOnAfter, TheFault) {
  const FaultCase& param = GetParam();
  const BackendReport row = RunOne(Guest(param.fault, param.timeout));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, param.outcome, Outcome::kPass));
  EXPECT_THAT(row.cases[1].diagnosis, HasSubstr(param.diagnosis));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RunSuiteGoesOnAfter,
    testing::Values(FaultCase{"crash", Outcome::kCrash, "SIGSEGV"},
                    FaultCase{"exit", Outcome::kCrash, "status 0"},
                    FaultCase{"hang", Outcome::kTimeout, "no answer within the time limit", 500ms},
                    // Prepare and Run take 300 ms each: neither alone is too slow.
                    FaultCase{"slow", Outcome::kTimeout, "no answer within the time limit", 450ms},
                    FaultCase{"release", Outcome::kCrash, "on Release"},
                    FaultCase{"garbage", Outcome::kProtocolError, "not a frame; "},
                    FaultCase{"print", Outcome::kProtocolError, "beginning 'hello\\n"},
                    FaultCase{"unasked", Outcome::kProtocolError, ""},
                    FaultCase{"oversized", Outcome::kProtocolError, "longer than"},
                    FaultCase{"truncated", Outcome::kProtocolError, "cut a frame short"},
                    FaultCase{"short", Outcome::kProtocolError, "bytes"},
                    FaultCase{"wrong", Outcome::kFail, "first at 0: got 0, expected 1"},
                    FaultCase{"none", Outcome::kFail, "gave 0 outputs, expected 1"},
                    FaultCase{"extra", Outcome::kFail, "gave 2 outputs, expected 1"},
                    FaultCase{"type", Outcome::kFail, "element type UINT8Q, expected INT8Q"},
                    FaultCase{"shape", Outcome::kFail, "dims [1,3], expected [3]"},
                    FaultCase{"unsupported", Outcome::kUnsupported, "not today"},
                    FaultCase{"refuse", Outcome::kFail, "a lie"}),
    [](const auto& test) { return std::string(test.param.fault); });

TEST(RunSuite, KeepsWhatTheProcessWroteWithTheCaseThatFailed) {
  const BackendReport row = RunOne(Guest("noise"));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kFail, Outcome::kPass));
  EXPECT_EQ(row.cases[0].error_output, "");
  const std::string words = "first words\nlast words\n";
  EXPECT_EQ(row.cases[1].error_output, words + words + words + words + words + words);  // of six runs
  EXPECT_EQ(row.cases[2].error_output, "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take terabytes
TEST(RunSuite, HoldsAProcessToItsMemoryLimit) {
  const std::string command = std::string(QTX_TEST_GUEST) + " memory";
  const BackendReport row =
      RunOne(*ProcessSource(command, {.timeout = 20s, .memory_limit = 512 << 20}));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kCrash, Outcome::kPass));
  EXPECT_THAT(row.cases[1].diagnosis, HasSubstr("looks like the memory limit of 512 MiB"));
}
#endif

// Backends in this process, which no limit holds: what they throw and what they hand back.
class Unsound : public backend::Backend {
 public:
  explicit Unsound(std::string fault) : fault_(std::move(fault)) {}
  class Model : public backend::PreparedModel {
   public:
    explicit Model(std::string fault) : fault_(std::move(fault)) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      if (fault_ == "throw") throw std::runtime_error("out of cheese");
      std::vector<format::Tensor> outputs(inputs.begin(), inputs.end());
      if (outputs.empty()) return outputs;
      format::Tensor& first = outputs[0];
      if (fault_ == "short" && !first.bytes.empty()) first.bytes.pop_back();
      if (fault_ == "negative") first.dims = {-3};
      if (fault_ == "scales" && first.quantization) first.quantization->scale.resize(2, 1.0F);
      return outputs;
    }

   private:
    std::string fault_;
  };
  Result<backend::Description> Describe() override {
    return backend::Description{"unsound", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model&,
                                                          std::string_view) override {
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<Model>(fault_));
  }

 private:
  std::string fault_;
};

// Source: backend_protocol.S21.
class Forgetful : public backend::Backend {
 public:
  // `element`: what an earlier run left in the last element is found there; else its whole answer.
  explicit Forgetful(bool element) : element_(element) {}
  class Model : public backend::PreparedModel {
   public:
    explicit Model(bool element) : element_(element) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      std::vector<format::Tensor> outputs(inputs.begin(), inputs.end());
      if (left_.empty()) {
        left_ = outputs;
      } else if (!element_) {
        outputs = left_;
      } else {
        std::swap(outputs[0].bytes.back(), left_[0].bytes.back());
      }
      return outputs;
    }

   private:
    bool element_;
    std::vector<format::Tensor> left_;
  };
  Result<backend::Description> Describe() override {
    return backend::Description{"forgetful", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model&,
                                                          std::string_view) override {
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<Model>(element_));
  }

 private:
  bool element_;
};

BackendSource ForgetfulSource(bool element) {
  BackendSource source;
  source.name = "forgetful";
  source.make = [element]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Forgetful>(element));
  };
  return source;
}

TEST(RunSuite, JudgesTheAnswerToOtherInputs) {
  const BackendReport row = RunOne(ForgetfulSource(false));
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  ASSERT_TRUE(row.cases.at(0).session.has_value());
  EXPECT_EQ(row.cases.at(0).session->draw, 1);
  EXPECT_TRUE(row.cases.at(0).unstable);  // a second model answers otherwise
  ASSERT_FALSE(row.findings.empty());
  EXPECT_EQ(row.findings[0].candidate, "unstable");
}

TEST(RunSuite, AsksAgainAfterOtherInputs) {
  const BackendReport row = RunOne(ForgetfulSource(true));
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  EXPECT_TRUE(row.cases.at(0).unstable);
  EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr("run 2 of handle 1, other inputs: output 'y'"));
  ASSERT_FALSE(row.findings.empty());
  EXPECT_EQ(row.findings[0].candidate, "unstable");
}

CaseResult FirstOf(const std::string& fault) {
  BackendSource source;
  source.name = "unsound";
  source.make = [fault]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Unsound>(fault));
  };
  return RunOne(source).cases.at(0);
}

TEST(RunSuite, TakesWhatABackendThrowsForACrash) {
  EXPECT_EQ(FirstOf("none").outcome, Outcome::kPass);
  EXPECT_EQ(FirstOf("throw").outcome, Outcome::kCrash);
  EXPECT_THAT(FirstOf("throw").diagnosis, HasSubstr("out of cheese"));
}

TEST(RunSuite, TakesAnUnsoundTensorForAProtocolErrorInProcessToo) {
  for (const char* fault : {"short", "negative", "scales"}) {
    EXPECT_EQ(FirstOf(fault).outcome, Outcome::kProtocolError) << fault;
  }
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
  source.expected_failures = {
      {"b*x", "of others"}, {"ba? @exact", "known"}, {"bad", "later"}, {"las?", "outdated"}};
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

// 20,000 lines and 5,000 cases: 10^8 comparisons would take 10 seconds.
TEST(StaleExpectations, AreFoundInALongListInLittleTime) {
  std::vector<ExpectedFailure> list = {{"none/*", "r", "f:1"}, {"many/1*", "r", "f:2"}};
  for (int i = 0; i < 20000; ++i) list.push_back({"many/" + std::to_string(i) + "?", "r", "f:3"});
  std::vector<Case> cases(5000, Cases()[0]);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].id = "many/" + std::to_string(i);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> stale = StaleExpectations(list, cases);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  // many/N? matches many/N0 to many/N9 where N is from 1 to 499.
  EXPECT_EQ(stale.size(), 1U + 20000U - 499U);
  EXPECT_EQ(stale[0], "f:1: none/*");
  EXPECT_EQ(stale[1], "f:3: many/0?");
}

Report OfCounts(std::int64_t passed, std::int64_t declined) {
  BackendReport row;
  row.description.name = "npu";
  row.cases.resize(static_cast<std::size_t>(passed + declined));
  row.counts[static_cast<std::size_t>(Outcome::kPass)] = passed;
  row.counts[static_cast<std::size_t>(Outcome::kUnsupported)] = declined;
  Report report;
  report.backends = {row};
  return report;
}

// Source: backend_protocol.S25.
TEST(Conforms, NoBackendThatDeclinesEverything) {
  EXPECT_TRUE(Conforms(OfCounts(1, 9)));
  EXPECT_FALSE(Conforms(OfCounts(0, 10)));
  Report shard = OfCounts(0, 10);  // the others may hold what it runs
  shard.shards = 2;
  EXPECT_TRUE(Conforms(shard));
}

TEST(Conforms, NoBackendThatRunsLessThanTheLeastCoverage) {
  Report report = OfCounts(5120, 882);  // 85.3 %
  report.min_coverage = 85;
  EXPECT_TRUE(Conforms(report));
  EXPECT_THAT(ToText(report).text(),
              HasSubstr("npu conforms: 5,120 of 6,002 cases run (85 %), 882 declined\n"));
  report.min_coverage = 86;
  EXPECT_FALSE(Conforms(report));
  EXPECT_THAT(ToText(report).text(), HasSubstr("npu does not conform: 5,120 of 6,002 cases run "
                                               "(85 %), 882 declined, expected at least 86 % run"));
}

// Ten of the twelve selected cases are for arithmetics that the backend has not.
TEST(ToText, SaysHowManySelectedCasesABackendHasNoArithmeticFor) {
  Report report = OfCounts(2, 0);
  report.backends[0].cases[0].id = "a";
  report.backends[0].cases[1].id = "b";
  report.selected = 12;
  EXPECT_THAT(ToText(report).text(),
              HasSubstr("2 of 2 cases run (100 %), 0 declined; 10 selected cases are for other "
                        "arithmetics than it has\n"));
  report.selected = 2;
  EXPECT_THAT(ToText(report).text(), HasSubstr("(100 %), 0 declined\n"));
}

// A child of the backend holds its standard output open, in a group of its own.
TEST(RunSuite, FindsADeadProcessAtOnceWhereAChildLives) {
  const auto start = std::chrono::steady_clock::now();
  const BackendReport row = RunOne(Guest("child"));
  EXPECT_THAT(Outcomes(row), ElementsAre(Outcome::kPass, Outcome::kCrash, Outcome::kPass));
  EXPECT_THAT(row.cases[1].diagnosis, HasSubstr("status 5"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(ParseExpectedFailures, TakesAGlobAndAReason) {
  const auto list = ParseExpectedFailures("# comment\n\nadd/*[k=1] @exact  # no kernel\n", "f");
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().glob, "add/*[k=1] @exact");
  EXPECT_EQ(list->front().reason, "no kernel");
}

TEST(StaleExpectations, AreLinesThatNoCaseOfTheSuiteMatches) {
  const std::vector<Case> cases = Cases();
  const auto list =
      ParseExpectedFailures("first # a\nla* # b\ngone # c\nbad @exact # d\nbad @tflite # e\n", "f");
  ASSERT_TRUE(list.has_value());
  EXPECT_THAT(StaleExpectations(*list, cases), ElementsAre("f:3: gone", "f:5: bad @tflite"));
}

TEST(StaleExpectations, FailARunOnlyWhereTheyAreToCount) {
  Report report;
  report.stale_expectations = {"f:3: gone"};
  EXPECT_TRUE(Conforms(report));
  report.strict_expectations = true;
  EXPECT_FALSE(Conforms(report));
}

TEST(ParseExpectedFailures, RefusesALineWithoutReason) {
  const auto list = ParseExpectedFailures("a # why\nb\n", "f");
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().where, "f:2");
  EXPECT_FALSE(ParseExpectedFailures("a #  \n", "f").has_value());
}

// Each is held to the name of every case, which took 170 s for 1 MiB of them.
TEST(ParseExpectedFailures, RefusesMoreGlobsThanItsLimit) {
  std::string text = "plain # a\n";
  for (int i = 0; i < kMaxGlobs; ++i) text += "*" + std::to_string(i) + " # b\n";
  EXPECT_TRUE(ParseExpectedFailures(text, "f").has_value());
  const auto list = ParseExpectedFailures(text + "x? # c\n", "f");
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().Text(), "f:1026: expected at most 1024 lines with * or ?");
}

TEST(ParseExpectedFailures, RefusesAGlobThatIsGivenTwice) {
  const auto list = ParseExpectedFailures("a # why\n\na # another\n", "f");
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().Text(), "f:3: found 'a' twice, expected it once (also on line 1)");
}

}  // namespace
}  // namespace qtx::conformance::runner_test
