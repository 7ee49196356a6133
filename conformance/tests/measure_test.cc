// Times that a backend in another process measures, asked for through the harness.
#include <gtest/gtest.h>

#include <string>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {
namespace {

// What the guest answers to three repetitions of a model whose graph has that name.
Result<std::vector<double>> Measure(const std::string& fault, const std::string& graph) {
  const BackendSource source = *ProcessSource(std::string(QTX_TEST_GUEST) + " " + fault);
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  format::Model model;
  model.ir_version = 8;
  model.graph.name = graph;
  QTX_ASSIGN_OR_RETURN(const auto prepared, backend->Prepare(model, "exact"));
  QTX_ASSIGN_OR_RETURN(const auto tensor, format::MakeTensor(format::ElementType::kInt8, {2}));
  const std::vector<format::Tensor> inputs = {tensor, tensor};
  return prepared->Measure(inputs, 3);
}

ErrorCode CodeOf(const Result<std::vector<double>>& result) {
  EXPECT_FALSE(result.has_value());
  return result.has_value() ? ErrorCode::kInvalid : result.error().code;
}

// Source: backend_protocol.S22.
TEST(Measure, IsWhatTheBackendTimedItself) {
  const auto seconds = Measure("good", "good");  // the guest says 0.25 s an input
  ASSERT_TRUE(seconds.has_value()) << seconds.error().message;
  EXPECT_EQ(*seconds, (std::vector<double>{0.5, 0.5, 0.5}));
}

TEST(Measure, SaysThatABackendDoesNotTimeItself) {
  EXPECT_EQ(CodeOf(Measure("untimed", "good")), ErrorCode::kUnsupported);
}

TEST(Measure, RefusesAnotherNumberOfTimes) {
  EXPECT_EQ(CodeOf(Measure("miscount", "bad")), ErrorCode::kProtocol);
}

TEST(Measure, OutlivesACrash) { EXPECT_EQ(CodeOf(Measure("crash", "bad")), ErrorCode::kIo); }

}  // namespace
}  // namespace qtx::conformance
