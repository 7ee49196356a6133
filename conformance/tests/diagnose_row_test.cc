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
#include "place.h"
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

// Identity from int16q to int8q of a hundredth of a step; 1.49 and 1.51 are near the tie of 1
// and 2.
constexpr const char* kNearTies = R"(
id: near_ties
spec: identity.S1
why: w
op: {type: Identity}
inputs: {x: {type: int16q, scale: 0.0078125, data: [190, 194, 318, 322, 446, 450, 574, 578, 128]}}
expect: {y: {type: int8q, scale: 1, offset: 3, data: [4, 5, 5, 6, 6, 7, 7, 8, 4]}}
)";

constexpr const char* kRamp = R"(
id: ramp
spec: identity.S1
why: w
op: {type: Identity}
inputs: {x: {type: int8q, scale: 1, data: [90, -90, 60, -3, 7, 42, 33, -55]}}
expect: {y: {type: int8q, scale: 1}}
)";

std::vector<Finding> FindingsOn(const std::string& yaml, const BackendSource& source) {
  const auto cases = ParseCases(yaml, "t");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << ": " << cases.error().message;
  const Report report = RunSuite("suite", *cases, std::vector{source}, {});
  EXPECT_EQ(report.backends.size(), 1U);
  return report.backends[0].findings;
}

// A backend that is off by 0.02 of a step: to the wrong side of 1.484375 = 190 / 128 and the like.
TEST(Diagnose, TellsAnApproximation) {
  const auto findings = FindingsOn(kNearTies, Source("exact", [](const auto&, auto& outputs, int) {
                                     if (outputs[0].bytes.size() != 9) return;
                                     for (std::size_t i = 0; i < 8; ++i) {
                                       const int stored = static_cast<int>(outputs[0].bytes[i]);
                                       outputs[0].bytes[i] =
                                           static_cast<std::byte>(stored + (i % 2 == 0 ? 1 : -1));
                                     }
                                   }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "inexact");
  EXPECT_THAT(findings[0].says,
              HasSubstr("rounds quotients that are off by up to 0.016 of a step"));
}

// 16 bits, each off by one where no quotient is near a tie: no approximation, which would be off by
// more for greater values.
TEST(Diagnose, CallsNoSteadyStepAnApproximation) {
  const auto findings = FindingsOn(
      "{id: steps, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, scale: 1, data: [90, -90, 60, -3, 7, 42, 33, -55]}},"
      " expect: {y: {type: int16q, scale: 0.25}}}",
      Source("exact", [](const auto&, auto& outputs, int) {
        for (std::int16_t& stored : outputs[0].template As<std::int16_t>()) stored ^= 1;
      }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
}

// 1.5 to 6.5, and two quotients that are no ties.
TEST(Diagnose, TellsThatOnlyTiesAreWrong) {
  const auto findings = FindingsOn(
      "{id: ties, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int16q, scale: 0.0078125, data: [192, 320, 448, 576, 704, 832, 100, "
      "50]}},"
      " expect: {y: {type: int8q, scale: 1, data: [2, 2, 4, 4, 6, 6, 1, 0]}}}",
      Source("exact", [](const auto&, auto& outputs, int) {
        for (std::size_t i = 0; i < std::min<std::size_t>(outputs[0].bytes.size(), 6); ++i) {
          outputs[0].bytes[i] ^= std::byte{16};
        }
      }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "ties");
  EXPECT_THAT(findings[0].says, HasSubstr("is wrong only where the exact quotient is within 0 of"));
}

constexpr const char* kReals = R"(
id: reals
spec: identity.S1
why: w
op: {type: Identity}
inputs: {x: {type: TYPE, data: [1.5, -3.0, 100.0, 0.25]}}
expect: {y: {type: TYPE}}
)";

std::vector<Finding> FindingsOnReals(const std::string& type, const Distort& distort) {
  std::string yaml = kReals;
  for (auto at = yaml.find("TYPE"); at != std::string::npos; at = yaml.find("TYPE")) {
    yaml.replace(at, 4, type);
  }
  return FindingsOn(yaml, Source("exact", distort));
}

// Changes a byte of the first output, if it has that one: a question may be about no elements.
void Flip(std::vector<format::Tensor>& outputs, std::size_t at, std::byte bits) {
  auto& bytes = outputs[0].bytes;
  if (at < bytes.size()) bytes[at] ^= bits;
}

// The lowest byte of a binary32 is its last places; of other types, and where changed questions
// show more, nothing is said of them.
TEST(Diagnose, TellsLastPlacesOfBinary32Alone) {
  const auto last = [](const auto&, auto& outputs, int) { Flip(outputs, 0, std::byte{3}); };
  const auto few = [](const auto&, auto& outputs, int) { Flip(outputs, 1, std::byte{3}); };
  const auto far_alone = [](const auto&, auto& outputs, int) {
    Flip(outputs, outputs[0].bytes.size() == 4 ? 3 : 0, std::byte{1});
  };
  const auto candidate = [](const std::string& type, const Distort& distort) {
    const auto findings = FindingsOnReals(type, distort);
    return findings.empty() ? "none" : findings[0].candidate;
  };
  EXPECT_EQ(candidate("float", last), "last_places");
  EXPECT_EQ(candidate("float", few), "few_places");
  EXPECT_EQ(candidate("float", far_alone), "");
  EXPECT_EQ(candidate("bfloat16", last), "");
}

// Wrong with 1, 3, 8 and 17 elements: an accident of what lies beyond, not a size.
TEST(Diagnose, SaysNothingOfSizesThatAreWrongByTurns) {
  const auto findings = FindingsOn(kRamp, Source("exact", [](const auto&, auto& outputs, int) {
                                     const std::size_t size = outputs[0].bytes.size();
                                     if (size == 1 || size == 3 || size == 8 || size == 17)
                                       outputs[0].bytes[0] ^= std::byte{1};
                                   }));
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].says, testing::Not(HasSubstr("axis 0 of x")));
}

TEST(Diagnose, ShowsParametersInTheForm) {
  TestModel test;
  test.nodes.push_back({.op_type = "Identity", .inputs = {"x"}, .outputs = {"y"}});
  format::Quantization q{.scale = {0.5F}, .offset = {3}};
  auto x = format::MakeTensor(format::ElementType::kInt8Q, {2}, q);
  ASSERT_TRUE(x.has_value());
  format::PackIntegers(std::vector<std::int64_t>{1, -2}, *x);
  test.data.push_back({"x", *x, false});
  format::ValueInfo output{.name = "y"};
  output.type.emplace();
  output.type->elem_type = format::ElementType::kInt16Q;
  output.type->quantization = format::Quantization{.scale = {2, 3}};
  test.outputs.push_back(output);
  Verdict verdict;
  verdict.detail = "differs";
  EXPECT_EQ(PlaceOf(test, verdict, {}).form,
            "Identity(x: INT8Q scale 0.5 offset 3 [2] {1, -2}) -> INT16Q scale ...: differs");
}

// Wrong by a step where no tie is near.
TEST(Diagnose, CallsNothingElseAnApproximation) {
  const auto findings = FindingsOn(kNearTies, Source("exact", [](const auto&, auto& outputs, int) {
                                     for (std::byte& stored : outputs[0].bytes)
                                       stored ^= std::byte{1};
                                   }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "");
}

TEST(Diagnose, TellsTheValueFromWhichOnItIsWrong) {
  const auto findings = FindingsOn(kRamp, Source("exact", [](const auto&, auto& outputs, int) {
                                     for (std::byte& stored : outputs[0].bytes) {
                                       if (static_cast<signed char>(stored) > 40)
                                         stored ^= std::byte{9};
                                     }
                                   }));
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].form, HasSubstr("x: INT8Q [1] {41}"));
  EXPECT_THAT(findings[0].places[0].says, HasSubstr("x[0]: wrong from 41 on, right with 40"));
}

TEST(Diagnose, TellsThePositionThatTheSmallestFormLost) {
  const auto findings = FindingsOn(kRamp, Source("exact", [](const auto&, auto& outputs, int) {
                                     outputs[0].bytes[0] ^= std::byte{1};
                                   }));
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].form, HasSubstr("INT8Q [1]"));
  EXPECT_THAT(findings[0].places[0].says,
              HasSubstr("before it was reduced only in element 0 of 0 to 7"));
}

TEST(Diagnose, TellsWhatIsNotWritten) {
  const auto all_of = [](const auto&, auto& outputs, int) {
    std::ranges::fill(outputs[0].bytes, std::byte{0});
  };
  const auto first_of = [](const auto&, auto& outputs, int) { outputs[0].bytes[0] = std::byte{0}; };
  const auto last_of = [](const auto&, auto& outputs, int) {
    outputs[0].bytes.back() = std::byte{0};
  };
  const auto candidate = [](const Distort& distort) {
    const auto findings = FindingsOn(kRamp, Source("exact", distort));
    return findings.empty() ? "" : findings[0].candidate;
  };
  EXPECT_EQ(candidate(all_of), "output_unwritten");
  EXPECT_EQ(candidate(first_of), "first_element_unwritten");
  EXPECT_EQ(candidate(last_of), "last_element_unwritten");
}

// An error that is no decline, and one that only models without a declared shape of the output get.
class Refuser : public backend::Backend {
 public:
  explicit Refuser(bool bare) : right_(*ReferenceSource().make()), bare_(bare) {}
  Result<backend::Description> Describe() override {
    return backend::Description{"refuser", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    const format::ValueInfo& output = model.graph.outputs[0];
    if (!bare_ || !output.type->shape) return Error{ErrorCode::kInvalid, "node", "no such axis"};
    return right_->Prepare(model, arithmetic);
  }

 private:
  std::unique_ptr<backend::Backend> right_;
  bool bare_;
};

BackendSource Refusing(bool bare) {
  BackendSource source;
  source.name = "refuser";
  source.make = [bare]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Refuser>(bare));
  };
  return source;
}

TEST(Diagnose, TellsWhatIsRefused) {
  const auto findings = FindingsOn(kRamp, Refusing(/*bare=*/false));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].candidate, "refused");
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].form, HasSubstr("no such axis"));
}

TEST(Diagnose, TellsWhatHangsOnADeclaredShape) {
  const auto findings = FindingsOn(kRamp, Refusing(/*bare=*/true));
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_THAT(findings[0].places[0].says,
              HasSubstr("only where the output's shape is not declared"));
}

// A case with nodes of which there is one is a case of its operator.
TEST(Diagnose, TakesOneNodeForAnOperator) {
  const auto findings = FindingsOn(
      "{id: one, spec: identity.S1, why: w,"
      " nodes: [{op: {type: Identity}, inputs: [x], outputs: [y]}],"
      " inputs: {x: {type: int8q, scale: 1, data: [1, 3]}},"
      " expect: {y: {type: int8q, scale: 1}}}",
      Source("exact", [](const auto&, auto& outputs, int) {
        outputs[0].dims = {1, 2};
      }));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].operators, ElementsAre("Identity"));
  ASSERT_EQ(findings[0].places.size(), 1U);
  EXPECT_EQ(findings[0].places[0].op, "Identity");
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
