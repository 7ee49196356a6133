// Proposal 0002: a type that lists a field which this reader does not know is refused.
#include <gtest/gtest.h>

#include <limits>

#include "qtx/format/check.h"

namespace qtx::format {
namespace {

Features With() { return Features::Current().With(Feature::kMustUnderstand); }

// x goes to y as it is; the list is that of x.
Model Listing(std::vector<std::int32_t> numbers) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = ToShape(Dims{2});
  type.quantization.emplace();
  type.quantization->scale = {0.5F};
  model.graph.outputs = {{.name = "y", .type = type}};
  type.quantization->must_understand = std::move(numbers);
  model.graph.inputs = {{.name = "x", .type = type}};
  model.graph.nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"y"}}};
  return model;
}

std::string Rules(const Model& model, Features features) {
  std::string rules;
  for (const Finding& finding : Check(model, "f.onnx", features)) rules += finding.rule + " ";
  return rules;
}

TEST(MustUnderstand, RefusesAFieldThatTheMessageLacks) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t number : {19, 99, 1001, 0, -1, -kLargest - 1, 1 << 29, kLargest}) {
    EXPECT_EQ(Rules(Listing({1, number, 2}), With()), "quantization.C20 ") << number;
  }
  const auto findings = Check(Listing({99}), "f.onnx", With());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where, "f.onnx: graph.input[0] 'x': quantization.must_understand");
  EXPECT_EQ(findings[0].message, "found 99, expected numbers of fields that this reader knows");
}

// Numbers 1 to 11 of proto/qtx/quantization.proto, of every wire type there is, and the list's own.
TEST(MustUnderstand, AcceptsEveryFieldThatTheMessageHas) {
  EXPECT_EQ(Rules(Listing({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14}), With()), "");
}

// Proposal 0001's fields are parsed by this reader whether or not they mean anything to it.
TEST(MustUnderstand, TakesAProposalsFieldsForKnownWhereItIsInForce) {
  const Features without = With().Without(Feature::kHierarchicalScales);
  for (const std::int32_t number : {12, 13}) {
    EXPECT_EQ(Rules(Listing({number}), without), "quantization.C20 ") << number;
    EXPECT_EQ(Rules(Listing({number}), without.With(Feature::kHierarchicalScales)), "") << number;
  }
}

TEST(MustUnderstand, TakesACodeBookForKnownWhereItsProposalIsInForce) {
  const Features without = With().Without(Feature::kCodeBooks);
  for (const std::int32_t number : {15, 16}) {
    EXPECT_EQ(Rules(Listing({number}), without), "quantization.C20 ") << number;
    EXPECT_EQ(Rules(Listing({number}), With()), "") << number;
  }
}

TEST(MustUnderstand, IsIgnoredWhereTheFeatureIsOff) {
  const Features without = Features::Current().Without(Feature::kMustUnderstand);
  EXPECT_EQ(Rules(Listing({99, -1}), without), "");
}

// What else is wrong with a type may rest on a misreading.
TEST(MustUnderstand, IsTheOnlyFindingOfItsType) {
  Model model = Listing({99});
  model.graph.inputs[0].type->quantization->scale = {-1.0F};
  EXPECT_EQ(Rules(model, With()), "quantization.C20 ");
}

TEST(MustUnderstand, HoldsForAnnotationsToo) {
  Model model = Listing({99});
  model.graph.inputs[0].type->elem_type = ElementType::kFloat;
  model.graph.inputs[0].type->quantization->storage_type = ElementType::kInt8;
  model.graph.outputs[0].type->elem_type = ElementType::kFloat;
  model.graph.outputs[0].type->quantization.reset();
  EXPECT_EQ(Rules(model, With()), "quantization.C20 ");
}

}  // namespace
}  // namespace qtx::format
