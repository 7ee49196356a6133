// ONNX's own test data, from libonnx-testdata, run as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

constexpr const char* kNodeTests = "/usr/share/libonnx-testdata/data/node";

// Their outputs are not ours: the reference agrees with ONNX on every quantized operator.
TEST(OnnxTestData, OfTheQuantizedOperatorsPassOnTheReference) {
  const auto all = LoadTestData(kNodeTests);
  ASSERT_TRUE(all.has_value()) << all.error().where << ": " << all.error().message;
  EXPECT_GT(all->cases.size(), 900U);
  Selection quantized;
  quantized.filters = {"*quantizelinear*", "*qlinear*", "*integer*"};
  const std::vector<Case> cases = Select(all->cases, quantized);
  EXPECT_EQ(cases.size(), 17U);
  const std::vector<BackendSource> sources = {ReferenceSource()};
  const Report report = RunSuite(kNodeTests, cases, sources, {});
  EXPECT_TRUE(Conforms(report)) << ToText(report).text();
  ASSERT_EQ(report.backends.size(), 2U);
  for (const BackendReport& row : report.backends) {
    EXPECT_EQ(row.count(Outcome::kPass), 17) << row.arithmetic;
  }
}

// The product of the scale differs in the last bit: the data hold what binary32 gives.
TEST(OnnxTestData, InExactTheExactResultIsRightToo) {
  const auto suite = LoadTestData(std::string(kNodeTests) + "/test_dynamicquantizelinear");
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  Case strict = suite->cases[0];
  strict.or_exact = false;
  const std::vector<BackendSource> sources = {ReferenceSource()};
  EXPECT_TRUE(Conforms(RunSuite("", suite->cases, sources, {})));
  EXPECT_FALSE(Conforms(RunSuite("", {{strict}}, sources, {.arithmetics = {"exact"}})));
}

// Data that are no rounding away from the exact result are wrong, whoever gives that result.
TEST(OnnxTestData, InExactTheExactResultIsWrongBesideOtherData) {
  auto suite = LoadTestData(std::string(kNodeTests) + "/test_dynamicquantizelinear");
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  Case& c = suite->cases[0];
  c.outputs[0].file.clear();
  c.outputs[0].data = format::MakeTensor(format::ElementType::kUint8, {6})
                          .value();  // the data are 153 255 0 26 221 179
  const std::vector<BackendSource> sources = {ReferenceSource()};
  EXPECT_FALSE(Conforms(RunSuite("", suite->cases, sources, {.arithmetics = {"exact"}})));
}

// Of ONNX's node tests that `filters` choose, on the reference.
std::vector<CaseResult> ResultsOf(const std::vector<std::string>& filters) {
  const auto all = LoadTestData(kNodeTests);
  EXPECT_TRUE(all.has_value()) << all.error().message;
  Selection selection;
  selection.filters = filters;
  const std::vector<BackendSource> sources = {ReferenceSource()};
  return RunSuite(kNodeTests, Select(all->cases, selection), sources, {.arithmetics = {"float32"}})
      .backends[0]
      .cases;
}

// Values of ONNX's own, bit for bit.
TEST(OnnxTestData, OfBodiesPasses) {
  const auto results = ResultsOf({"test_loop11", "test_if", "test_scan9_sum"});
  ASSERT_EQ(results.size(), 3U);
  for (const CaseResult& result : results)
    EXPECT_EQ(result.outcome, Outcome::kPass) << result.id << ": " << result.diagnosis;
}

// Sequences, strings and operators that QTX has not are no fault of a backend.
TEST(OnnxTestData, OfTypesThatQtxHasNotAreUnsupported) {
  const auto results =
      ResultsOf({"test_sequence_*", "test_cast_STRING_to_FLOAT", "test_loop1?_seq*"});
  ASSERT_GT(results.size(), 5U);
  for (const CaseResult& result : results)
    EXPECT_EQ(result.outcome, Outcome::kUnsupported) << result.id << ": " << result.diagnosis;
}

}  // namespace
}  // namespace qtx::conformance
