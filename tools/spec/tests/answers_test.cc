#include "qtx/spec/answers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "temporary_folder.h"

namespace qtx::spec {
namespace {

using conformance::CaseResult;
using conformance::ExpectationSource;
using conformance::TextVerdict;

using Answers = conformance::TemporaryFolder;

conformance::Report ReportOf(std::vector<CaseResult> cases) {
  conformance::Report report;
  report.backends.emplace_back().cases = std::move(cases);
  return report;
}

CaseResult Judged(const std::string& op, ExpectationSource source, TextVerdict text) {
  CaseResult result;
  result.op = op;
  result.expectation = source;
  result.text = text;
  return result;
}

TEST_F(Answers, OfTheReferenceCountForNothing) {
  const auto operators = CountAnswers(
      ReportOf({Judged("Add", ExpectationSource::kReference, TextVerdict::kAbsent),
                Judged("Add", ExpectationSource::kReference, TextVerdict::kStale),
                Judged("Sub", ExpectationSource::kHand, TextVerdict::kContradicted),
                Judged("Mul", ExpectationSource::kReference, TextVerdict::kConfirmed)}),
      "");
  ASSERT_TRUE(operators.has_value());
  EXPECT_EQ(operators->at("Add").reference, 2);
  EXPECT_EQ(operators->at("Add").sources(), 0);
  EXPECT_EQ(operators->at("Sub").sources(), 1);
  EXPECT_EQ(operators->at("Mul").sources(), 1);
  EXPECT_EQ(operators->at("Relu").sources(), 0);  // without a case
}

TEST_F(Answers, OfPythonAndGoldenDataAreListed) {
  for (const char* file :
       {"backends/python", "reference/tests/golden", "tools/convert/tests/golden"}) {
    EXPECT_EQ(CountAnswers(ReportOf({}), folder()).error().code, ErrorCode::kUnreadable) << file;
    Write(std::string(file) + "/operators.txt",
          file == std::string("backends/python") ? "Add\nSub\n" : "Add\n");
  }
  const auto operators = CountAnswers(ReportOf({}), folder());
  ASSERT_TRUE(operators.has_value());
  EXPECT_TRUE(operators->at("Add").python);
  EXPECT_EQ(operators->at("Add").sources(), 2);
  EXPECT_EQ(operators->at("Sub").sources(), 1);
}

// They judge a node, not a value.
TEST_F(Answers, OfTheCatalogueAreNoSource) {
  const auto operators = CountAnswers(ReportOf({}), "");
  ASSERT_TRUE(operators.has_value());
  EXPECT_GT(operators->at("Conv").checks, 0);
  EXPECT_EQ(operators->at("Conv").sources(), 0);
}

}  // namespace
}  // namespace qtx::spec
