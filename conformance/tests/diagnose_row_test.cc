// Rows of wrong answers, and what the diagnosis makes of them as a whole. The backends compute with
// the reference in another arithmetic, or distort its answers here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fault_backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/identify.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance::diagnose_row_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two operators whose results tie, products whose pairs pass 16 bits, and a dilated convolution.
constexpr const char* kCases = R"(
{id: ties, spec: identity.S1, why: w, op: {type: Identity},
 inputs: {x: {type: int8q, scale: 0.5, data: [1, 3, -1, -3, 5]}},
 expect: {y: {type: int8q, scale: 1, offset: 3, data: [3, 5, 3, 1, 5]}}}
---
{id: ties_added, spec: add.S1, why: w, op: {type: Add},
 inputs: {a: {type: int8q, scale: 0.5, data: [1, 3, -3]}, b: {type: int8q, scale: 0.5, data: [0, 2, 2]}},
 expect: {y: {type: int8q, scale: 1, data: [0, 2, 0]}}}
---
{id: product, spec: mat_mul.S1, why: w, op: {type: MatMul},
 inputs: {a: {type: uint8q, shape: [1, 2], scale: 1, data: [255, 255]},
          b: {type: int8q, shape: [2, 1], scale: 1, data: [127, 127], initializer: true}},
 expect: {y: {type: int16q, shape: [1, 1], scale: 4, data: [16192]}}}
---
{id: dilated, spec: conv.S1, why: w, op: {type: Conv, attributes: {dilations: [2]}},
 inputs: {x: {type: int8q, shape: [1, 1, 3], scale: 1, data: [1, 2, 3]},
          w: {type: int8q, shape: [1, 1, 2], scale: 1, data: [1, 1], initializer: true}},
 expect: {y: {type: int8q, shape: [1, 1, 1], scale: 1, data: [4]}}}
---
{id: dilated_more, spec: conv.S1, why: w, op: {type: Conv, attributes: {dilations: [3]}},
 inputs: {x: {type: int8q, shape: [1, 1, 4], scale: 1, data: [1, 2, 3, 9]},
          w: {type: int8q, shape: [1, 1, 2], scale: 1, data: [1, 1], initializer: true}},
 expect: {y: {type: int8q, shape: [1, 1, 1], scale: 1, data: [10]}}}
---
{id: close, spec: conv.S1, why: w, op: {type: Conv},
 inputs: {x: {type: int8q, shape: [1, 1, 3], scale: 1, data: [1, 2, 3]},
          w: {type: int8q, shape: [1, 1, 2], scale: 1, data: [1, 1], initializer: true}},
 expect: {y: {type: int8q, shape: [1, 1, 2], scale: 1, data: [3, 5]}}}
)";

// Changes the outputs of one run, which are counted from 1 for each prepared model.
using Distort =
    std::function<void(const format::Model&, std::vector<format::Tensor>& outputs, int run)>;

// Claims `exact`, computes in `arithmetic`, and changes what comes of it.
class Distorted : public backend::Backend {
 public:
  Distorted(std::string arithmetic, Distort distort)
      : reference_(*ReferenceSource().make()),
        arithmetic_(std::move(arithmetic)),
        distort_(std::move(distort)) {}
  Result<backend::Description> Describe() override {
    return backend::Description{"distorted", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view) override {
    QTX_ASSIGN_OR_RETURN(auto prepared, reference_->Prepare(model, arithmetic_));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<Model>(model, std::move(prepared), distort_));
  }

 private:
  class Model : public backend::PreparedModel {
   public:
    Model(format::Model model, std::unique_ptr<backend::PreparedModel> prepared, Distort distort)
        : model_(std::move(model)), prepared_(std::move(prepared)), distort_(std::move(distort)) {}
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      QTX_ASSIGN_OR_RETURN(std::vector<format::Tensor> outputs, prepared_->Run(inputs));
      if (distort_) distort_(model_, outputs, ++runs_);
      return outputs;
    }

   private:
    format::Model model_;
    std::unique_ptr<backend::PreparedModel> prepared_;
    Distort distort_;
    int runs_ = 0;
  };

  std::unique_ptr<backend::Backend> reference_;
  std::string arithmetic_;
  Distort distort_;
};

BackendSource Source(const std::string& arithmetic, const Distort& distort = {}) {
  BackendSource source;
  source.name = "distorted";
  source.make = [=]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Distorted>(arithmetic, distort));
  };
  return source;
}

std::vector<Case> Cases() {
  auto cases = ParseCases(kCases, "t");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << ": " << cases.error().message;
  return *std::move(cases);
}

std::vector<Finding> FindingsOf(const BackendSource& source) {
  const std::vector<Case> cases = Cases();
  const Report report = RunSuite("suite", cases, std::vector{source}, {});
  EXPECT_EQ(report.backends.size(), 1U);
  return report.backends[0].findings;
}

// Adds one to the stored bytes of every output of `op_type` where `where` holds.
Distort AddOne(const std::string& op_type, std::function<bool(const format::Node&)> where = {}) {
  return [=](const format::Model& model, std::vector<format::Tensor>& outputs, int) {
    const format::Node& node = model.graph.nodes[0];
    if (node.op_type != op_type || (where && !where(node))) return;
    outputs[0].bytes[0] = static_cast<std::byte>(static_cast<int>(outputs[0].bytes[0]) + 1);
  };
}

TEST(Diagnose, FindsNothingWhereNothingIsWrong) {
  EXPECT_THAT(FindingsOf(Source("exact")), IsEmpty());
}

TEST(Diagnose, NamesTheArithmeticThatExplainsEveryAnswer) {
  // Halves go up in TVM's Relay: 4 5 3 2 6, then 1 3 0, then 64770 / 4 = 16192.5 to 16193.
  const auto findings = FindingsOf(Source("tvm-upward"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "tvm-upward");
  EXPECT_THAT(findings[0].operators, ElementsAre("Add", "Identity", "MatMul"));
  EXPECT_EQ(findings[0].explained, 3);
  EXPECT_EQ(findings[0].failing, 3);
}

TEST(Diagnose, NamesASaturatingMultiplyAdd) {
  const auto findings = FindingsOf(FaultBackend({{"MatMul", "pairs_saturate"}}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "pairs_saturate");
  EXPECT_THAT(findings[0].says, HasSubstr("saturating 16-bit multiply-add"));
  EXPECT_GT(findings[0].confirmed, 0);
}

// 255 * 127 twice is 64770; 32767 / 4 = 8191.75, so stored 8192: what pairs_saturate gives. But
// this backend gives 8192 for all inputs, which pairs_saturate does not predict.
TEST(Diagnose, NamesNoFaultThatOneAnswerSuggestsAndFreshOnesRefute) {
  const auto findings = FindingsOf(Source("exact", [](const auto& model, auto& outputs, int) {
    if (model.graph.nodes[0].op_type == "MatMul") {
      const auto count = static_cast<std::size_t>(format::ElementCount(outputs[0]));
      format::PackIntegers(std::vector<std::int64_t>(count, 8192), outputs[0]);
    }
  }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
  EXPECT_EQ(findings[0].says, "cause unknown");
  EXPECT_EQ(findings[0].explained, 0);
}

TEST(Diagnose, TellsWhereAnswersAreWrongWhenItCannotTellWhy) {
  const auto findings = FindingsOf(Source("exact", AddOne("Conv", [](const format::Node& node) {
                                            return node.IntsOr("dilations", {1})[0] != 1;
                                          })));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "dilation");
  EXPECT_EQ(findings[0].explained, 0);
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].says, HasSubstr("only with dilations [2]"));
}

// A condition that holds for the wrong cases and for no right one is not named where changed
// questions refute it: here the attribute is enough, whatever it says.
TEST(Diagnose, NamesNoConditionThatChangedQuestionsRefute) {
  const auto findings = FindingsOf(Source("exact", AddOne("Conv", [](const format::Node& node) {
                                            return node.Find("dilations") != nullptr;
                                          })));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
}

TEST(Diagnose, InventsNoReason) {
  const auto findings = FindingsOf(Source("exact", AddOne("Identity")));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
  EXPECT_EQ(findings[0].says, "cause unknown");
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].says, HasSubstr("whatever the values"));
}

// Element 4 is wrong wherever there is one.
TEST(Diagnose, TellsTheElementAndTheSizeThatItTakes) {
  const auto findings = FindingsOf(Source("exact", [](const auto& model, auto& outputs, int) {
    if (model.graph.nodes[0].op_type != "Identity" || outputs[0].bytes.size() < 5) return;
    outputs[0].bytes[4] ^= std::byte{1};
  }));
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].places.size(), 1U);
  const WrongPlace& place = findings[0].places[0];
  EXPECT_EQ(place.op, "Identity");
  EXPECT_THAT(place.form, HasSubstr("INT8Q [5]"));
  EXPECT_THAT(place.says, HasSubstr("only in element 4 of 0 to 4"));
  EXPECT_THAT(place.says, HasSubstr("right with 4, wrong from 5 on"));
}

TEST(Diagnose, TellsTheRun) {
  const auto findings = FindingsOf(Source("exact", [](const auto& model, auto& outputs, int run) {
    if (run > 1 && model.graph.nodes[0].op_type == "Add") outputs[0].bytes[0] ^= std::byte{1};
  }));
  ASSERT_FALSE(findings.empty());
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].says,
              HasSubstr("right on the first run of a prepared model, wrong on run 2"));
}

TEST(Diagnose, KeepsTwoFaultsOfDifferentOperatorsApart) {
  const auto findings = FindingsOf(
      FaultBackend({{"Identity", "half_up"}, {"Add", "half_up"}, {"MatMul", "pairs_saturate"}}));
  std::vector<std::string> candidates;
  for (const Finding& finding : findings) candidates.push_back(finding.candidate);
  EXPECT_THAT(candidates, testing::UnorderedElementsAre("half_up", "pairs_saturate"));
}

// As an epilogue that is fused wrongly: each node is right alone. What is asked about is the two
// nodes, not the network.
TEST(Diagnose, AsksAboutNodesThatAreWrongTogether) {
  const std::vector<std::string> filters = {"models/toycar_normal_exact"};
  const auto suite = LoadSuite(QTX_SOURCE_DIR "/conformance/cases", {}, filters);
  ASSERT_TRUE(suite.has_value()) << suite.error().Text();
  std::vector<Case> cases = suite->cases;
  std::erase_if(cases, [&](const Case& c) { return c.id != filters[0]; });
  std::size_t fewest = 100;  // nodes of a model that is answered wrongly
  const auto source = Source("exact", [&fewest](const auto& model, auto& outputs, int) {
    if (model.graph.nodes.size() < 2) return;
    fewest = std::min(fewest, model.graph.nodes.size());
    outputs[0].bytes[0] ^= std::byte{1};
  });
  const Report report = RunSuite("suite", cases, std::vector{source}, {});
  ASSERT_EQ(report.backends[0].cases.size(), 1U);
  EXPECT_THAT(report.backends[0].cases[0].diagnosis, HasSubstr("wrong together: nodes"));
  EXPECT_EQ(fewest, 2U);
  const std::vector<Finding>& findings = report.backends[0].findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].form, testing::StartsWith("Gemm, Gemm(input_1: INT8Q [1,1]"));
}

TEST(Diagnose, CallsOtherDimsByTheirName) {
  const auto findings = FindingsOf(Source("exact", [](const auto& model, auto& outputs, int) {
    if (model.graph.nodes[0].op_type == "MatMul") outputs[0].dims = {1, 1, 1};
  }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "output_shape");
}

TEST(Identify, NamesTheArithmeticOfEachOperator) {
  const auto identified = Identify(Cases(), Source("float32"));
  ASSERT_TRUE(identified.has_value());
  for (const Identity& one : identified->operators) {
    EXPECT_THAT(one.arithmetics, testing::Contains("float32")) << one.op;
    EXPECT_EQ(one.agreeing, one.cases) << one.op;
  }
}

TEST(Identify, TellsTheFaultWhereNoArithmeticFits) {
  const auto identified = Identify(Cases(), FaultBackend({{"Identity", "half_away"}}));
  ASSERT_TRUE(identified.has_value());
  bool found = false;
  for (const Identity& one : identified->operators) {
    if (one.op != "Identity") continue;
    found = true;
    EXPECT_THAT(one.arithmetics, IsEmpty());
    EXPECT_THAT(one.fault, HasSubstr("rounds halves away from zero"));
    EXPECT_THAT(one.exceptions, ElementsAre("ties"));
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace qtx::conformance::diagnose_row_test
