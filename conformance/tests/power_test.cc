#include "qtx/conformance/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace qtx::conformance::power_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCases = R"(
id: relu/core
spec: relu.S1
why: for the test
op: {type: Relu}
inputs: {x: {type: int8q, scale: [1.0], data: [-1, 2]}}
expect: {y: {type: int8q, scale: [1.0], data: [0, 2]}}
derivation: the bound is 0
tags: [adds_one]
---
id: identity/vision
spec: identity.S1
why: for the test
level: vision
op: {type: Identity}
inputs: {x: {type: int8q, scale: [1.0], data: [3]}}
expect: {y: {type: int8q, scale: [1.0], data: [3]}}
derivation: it is the same
)";

// The reference, with one LSB added to what `op` gives; it declines `declines`.
class Distorted : public backend::Backend {
 public:
  Distorted(std::string op, std::string declines)
      : reference_(*ReferenceSource().make()), op_(std::move(op)), declines_(std::move(declines)) {}

  Result<backend::Description> Describe() override {
    return backend::Description{"distorted", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    const std::string& type = model.graph.nodes[0].op_type;
    if (type == declines_) return Error{ErrorCode::kUnsupported, type, "not here"};
    QTX_ASSIGN_OR_RETURN(auto prepared, reference_->Prepare(model, arithmetic));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<Model>(std::move(prepared), type == op_));
  }

 private:
  class Model : public backend::PreparedModel {
   public:
    Model(std::unique_ptr<backend::PreparedModel> right, bool adds)
        : right_(std::move(right)), adds_(adds) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      QTX_ASSIGN_OR_RETURN(auto outputs, right_->Run(inputs));
      if (adds_) outputs[0].As<std::int8_t>()[0] += 1;
      return outputs;
    }

   private:
    std::unique_ptr<backend::PreparedModel> right_;
    bool adds_;
  };
  std::unique_ptr<backend::Backend> reference_;
  std::string op_, declines_;
};

BackendSource Source(const std::string& op, const std::string& declines = "") {
  return {op, [=]() -> Result<std::unique_ptr<backend::Backend>> {
            return std::unique_ptr<backend::Backend>(std::make_unique<Distorted>(op, declines));
          }};
}

PowerReport Measure(std::vector<FaultyBackend> faulty, std::vector<BackendSource> correct) {
  return MeasurePower("suite", *ParseCases(kCases, "test"), faulty, correct, {});
}

TEST(MeasurePower, TellsWhichCasesCatchAFault) {
  const PowerReport report = Measure({{"adds_one", "adds one", "here#1", Source("Relu")}}, {});
  ASSERT_EQ(report.faults.size(), 1U);
  const FaultPower& fault = report.faults[0];
  EXPECT_EQ(fault.name, "adds_one");
  EXPECT_EQ(fault.source, "here#1");
  EXPECT_THAT(fault.caught_by, ElementsAre("relu/core"));
  EXPECT_TRUE(fault.caught_by_core);
  EXPECT_TRUE(fault.caught_by_tagged);
  EXPECT_TRUE(HasPower(report));
}

TEST(MeasurePower, AsksForACaseThatIsForTheFault) {
  const PowerReport report = Measure({{"other_name", "", "", Source("Relu")}}, {});
  EXPECT_EQ(report.caught(), 1);
  EXPECT_FALSE(report.faults[0].caught_by_tagged);
  EXPECT_FALSE(HasPower(report));
}

TEST(MeasurePower, AsksForTheCoreToCatchIt) {
  const PowerReport report = Measure({{"adds_one", "", "", Source("Identity")}}, {});
  EXPECT_THAT(report.faults[0].caught_by, ElementsAre("identity/vision"));
  EXPECT_FALSE(report.faults[0].caught_by_core);
  EXPECT_FALSE(HasPower(report));
}

TEST(MeasurePower, DoesNotTakeADeclinedCaseForACaughtFault) {
  const PowerReport report = Measure({{"adds_one", "", "", Source("Relu", "Relu")}}, {});
  EXPECT_EQ(report.caught(), 0);
  EXPECT_FALSE(HasPower(report));
}

TEST(MeasurePower, BlamesNoCorrectBackend) {
  const std::vector<FaultyBackend> faulty = {{"adds_one", "", "", Source("Relu")}};
  EXPECT_TRUE(Measure(faulty, {ReferenceSource(), Source("", "Identity")}).blamed.empty());
  const PowerReport report = Measure(faulty, {Source("Identity")});
  ASSERT_EQ(report.blamed.size(), 1U);
  EXPECT_THAT(report.blamed[0], HasSubstr("identity/vision"));
  EXPECT_FALSE(HasPower(report));
}

TEST(PowerReport, IsATableAndJson) {
  const PowerReport report = Measure({{"adds_one", "adds one", "here#1", Source("Relu")}}, {});
  const std::string text = ToText(report);
  EXPECT_THAT(text, HasSubstr("adds_one"));
  EXPECT_THAT(text, HasSubstr("faults caught: 1 of 1 (100 %)"));
  const std::string json = ToJson(report, &report);
  for (const char* part : {"\"name\": \"adds_one\"", "\"source\": \"here#1\"", "\"caught_by\": [",
                           "\"caught_by_core\": true",
                           "\"diagnosis\": ", "\"diagnosed\": ", "\"onnx_node_tests\": {"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

}  // namespace
}  // namespace qtx::conformance::power_test
