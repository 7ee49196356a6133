// What looks wrong in a model, each rule by a model that breaks it and one that just does not.
#include "qtx/inspect/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtx::inspect {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A graph of one Identity whose input `x` has `type`.
format::Model Of(format::TensorType type) {
  format::Model model;
  model.graph.inputs.resize(1);
  model.graph.inputs[0].name = "x";
  model.graph.inputs[0].type = std::move(type);
  return model;
}

// INT8Q[4], scale 1 / 128 and offset 0: -1 to 0.9921875, seen from `min` to `max`.
format::TensorType Int8(double min, double max) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = format::ToShape(format::Dims{4});
  type.quantization.emplace();
  type.quantization->scale = {0x1p-7F};
  type.statistics.emplace();
  type.statistics->min = {min};
  type.statistics->max = {max};
  return type;
}

std::vector<std::string> KindsIn(const format::Model& model) {
  const auto values = Examine(model);
  if (!values.has_value()) return {values.error().where + ": " + values.error().message};
  std::vector<std::string> kinds;
  for (const Finding& finding : Findings(*values)) kinds.emplace_back(finding.kind);
  return kinds;
}

TEST(Findings, AreNoneWhereTheRangeFits) { EXPECT_THAT(KindsIn(Of(Int8(-1, 0.99))), IsEmpty()); }

// The type spans 1.9921875. A quarter of that, 0.498: 0.25 + 0.249 > it, 0.25 + 0.248 is too
// little.
TEST(Findings, NameAScaleFarFromTheStatistics) {
  EXPECT_THAT(KindsIn(Of(Int8(-0.25, 0.249))), ElementsAre("unused_range"));
  EXPECT_THAT(KindsIn(Of(Int8(-0.25, 0.248))), ElementsAre("scale"));
  EXPECT_THAT(KindsIn(Of(Int8(-4, 3.9))), IsEmpty());
  EXPECT_THAT(KindsIn(Of(Int8(-4, 4))), ElementsAre("scale"));
}

// What is positive everywhere leaves the negative half of a symmetric range alone: a bit.
TEST(Findings, NameARangeThatIsNotUsed) {
  EXPECT_THAT(KindsIn(Of(Int8(0, 1))), ElementsAre("unused_range"));
  EXPECT_THAT(KindsIn(Of(Int8(-0.1, 1))), IsEmpty());
}

// quant_min 1 leaves the offset 0, that is zero, outside.
TEST(Findings, NameAZeroThatIsNotRepresentable) {
  format::TensorType type = Int8(0.0078125, 0.99);
  type.quantization->quant_min = 1;
  EXPECT_THAT(KindsIn(Of(type)), ElementsAre("zero"));
}

// Bins of 0.5: the last two, from 1 on, are beyond 0.992. Of 1000 values, 10 are a hundredth.
TEST(Findings, NameMoreThanAHundredthBeyondTheRange) {
  format::TensorType type = Int8(-1, 1.9);
  type.statistics->count = 1000;
  type.statistics->histogram =
      format::Histogram{.lower = -1, .upper = 2, .counts = {400, 300, 200, 90, 5, 5}};
  EXPECT_THAT(KindsIn(Of(type)), IsEmpty());
  type.statistics->histogram->counts = {400, 300, 200, 89, 6, 5};
  EXPECT_THAT(KindsIn(Of(type)), ElementsAre("saturates"));
  // What lies below -1.5, and the range begins at -1, is lost; what lies above 0.5 perhaps.
  type.statistics->histogram =
      format::Histogram{.lower = -1.5, .upper = 0.5, .counts = {989}, .below = 11};
  EXPECT_THAT(KindsIn(Of(type)), ElementsAre("saturates"));
  type.statistics->histogram =
      format::Histogram{.lower = -1, .upper = 0.5, .counts = {989}, .above = 11};
  EXPECT_THAT(KindsIn(Of(type)), IsEmpty());
}

// The range ends at 127 / 128, the LSB is 1 / 128: from 254 / 256 to 255 / 256 reals are rounded to
// the end, which costs them no more than others. The second bin is what saturates.
TEST(Findings, DoNotCountWhatIsLessThanHalfAnLsbBeyond) {
  format::TensorType type = Int8(-1, 0.999);
  type.statistics->count = 1000;
  type.statistics->histogram =
      format::Histogram{.lower = 254.0 / 256, .upper = 1, .counts = {990, 10}};
  EXPECT_THAT(KindsIn(Of(type)), IsEmpty());
  type.statistics->histogram->counts = {989, 11};
  EXPECT_THAT(KindsIn(Of(type)), ElementsAre("saturates"));
}

// y = x * w, w [2, 6] by columns: 1 1 1 1 100 0 in the first row, the same negative in the second.
format::Model Product(format::Quantization q) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = format::ToShape(format::Dims{2, 6});
  type.quantization = std::move(q);
  auto tensor = format::MakeTensor(ElementType::kInt8, {2, 6});
  format::PackInt32(std::vector<std::int32_t>{1, 1, 1, 1, 100, 0, -1, -1, -1, -1, -100, 0},
                    *tensor);
  format::Model model;
  model.graph.nodes = {{.op_type = "MatMul", .inputs = {"x", "w"}, .outputs = {"y"}}};
  model.graph.values.resize(1);
  model.graph.values[0].name = "w";
  model.graph.values[0].type = type;
  model.graph.initializers.push_back(format::ToTensorData("w", *tensor));
  return model;
}

// One scale gives the four columns one of 100 steps; scales of their own say nothing of the others.
TEST(Findings, NameOutlyingAndEmptyChannelsOfWeightsThatShareAScale) {
  const auto values = Examine(Product({.scale = {0.01F}}));
  ASSERT_TRUE(values.has_value());
  const auto findings = Findings(*values);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, "outlier_channels");
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 6 channels (4): the first reaches 100 times"));
  EXPECT_EQ(findings[1].kind, "empty_channels");
  EXPECT_THAT(findings[1].message, HasSubstr("1 of 6 channels (5)"));
  const std::vector<float> own = {1.0F / 127, 1.0F / 127, 1.0F / 127, 1.0F / 127, 0.01F, 1};
  for (const std::string& kind : KindsIn(Product({.scale = own, .axis = {1}}))) {
    EXPECT_NE(kind, "outlier_channels");
    EXPECT_NE(kind, "empty_channels");
  }
}

// The scale of a bias follows from others: its first value at an end is a wrong one.
TEST(Findings, NameABiasAtTheEndsOfItsStorage) {
  const auto kinds = [](std::int32_t last) {
    format::TensorType type;
    type.elem_type = ElementType::kInt32Q;
    type.shape = format::ToShape(format::Dims{4});
    type.quantization = format::Quantization{.scale = {1e-9F}};
    auto tensor = format::MakeTensor(ElementType::kInt32, {4});
    format::PackInt32(std::vector<std::int32_t>{5, -7, 2147483646, last}, *tensor);
    format::Model model;
    model.graph.values.resize(1);
    model.graph.values[0].name = "b";
    model.graph.values[0].type = type;
    model.graph.initializers.push_back(format::ToTensorData("b", *tensor));
    return KindsIn(model);
  };
  EXPECT_THAT(kinds(-2147483647), IsEmpty());
  EXPECT_THAT(kinds(std::numeric_limits<std::int32_t>::min()), ElementsAre("saturates"));
  EXPECT_THAT(kinds(2147483647), ElementsAre("saturates"));
}

TEST(Findings, NameWhatIsNotFinite) {
  format::TensorType type = Int8(-1, 0.99);
  type.statistics->nan_count = 2;
  const auto values = Examine(Of(type));
  ASSERT_TRUE(values.has_value());
  const auto findings = Findings(*values);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("2 NaN"));
}

// Each channel reaches 0.99 of -1 to 127/128, but for the last, which is dead: told once, not as an
// unused range as well.
TEST(Findings, TellOnceOfAChannelThatIsZeroEverywhere) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = format::ToShape(format::Dims{5, 2});
  type.quantization = format::Quantization{.scale = std::vector<float>(5, 1.0F / 128), .axis = {0}};
  type.statistics.emplace();
  type.statistics->axis = {0};
  type.statistics->min = {-0.99, -0.99, -0.99, -0.99, 0};
  type.statistics->max = {0.99, 0.99, 0.99, 0.99, 0};
  EXPECT_THAT(KindsIn(Of(type)), ElementsAre("empty_channels"));
}

// Channels reach 1 1 1 9 and 0: the fourth is more than eight times the median, the fifth is dead.
TEST(Findings, NameOutlyingAndEmptyChannels) {
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  type.shape = format::ToShape(format::Dims{5, 2});
  type.statistics.emplace();
  type.statistics->axis = {0};
  type.statistics->min = {-1, -1, 0, -9, 0};
  type.statistics->max = {0.5, 1, 1, 0, 0};
  const auto values = Examine(Of(type));
  ASSERT_TRUE(values.has_value());
  const auto findings = Findings(*values);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, "outlier_channels");
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 5 channels (3)"));
  EXPECT_EQ(findings[1].kind, "empty_channels");
  EXPECT_THAT(findings[1].message, HasSubstr("1 of 5 channels (4)"));
}

// Weights [2, 4] of INT8Q, scales 0.5 and 2 along axis 0, offsets 0 and 1.
format::Model Weights(std::vector<std::int32_t> stored) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = format::ToShape(format::Dims{2, 4});
  type.quantization.emplace();
  type.quantization->scale = {0.5F, 2};
  type.quantization->offset = {0, 1};
  type.quantization->axis = {0};
  auto tensor = format::MakeTensor(ElementType::kInt8, {2, 4});
  format::PackInt32(stored, *tensor);
  format::Model model;
  model.graph.values.resize(1);
  model.graph.values[0].name = "w";
  model.graph.values[0].type = type;
  model.graph.initializers.push_back(format::ToTensorData("w", *tensor));
  return model;
}

// Reals -1 0 1 1.5 and -4 -2 0 252; what 127 means: 63.5 and 252.
TEST(Examine, GivesWhatConstantsHoldPerParameter) {
  const auto values = Examine(Weights({-2, 0, 2, 3, -1, 0, 1, 127}));
  ASSERT_TRUE(values.has_value());
  const Value& w = (*values)[0];
  EXPECT_EQ(w.role, Value::Role::kConstant);
  EXPECT_THAT(w.lowest, ElementsAre(-1, -4));
  EXPECT_THAT(w.highest, ElementsAre(1.5, 252));
  EXPECT_THAT(w.range_lower, ElementsAre(-64, -258));
  EXPECT_THAT(w.range_upper, ElementsAre(63.5, 252));
  EXPECT_EQ(w.saturated, 0);  // one 127 is what the scale was chosen by
  // 256 / 128 bins of 2 from -4: -4 | -2 -1 | 0 0 1 1.5 | .. 252
  EXPECT_EQ(w.histogram->counts[0], 1U);
  EXPECT_EQ(w.histogram->counts[1], 2U);
  EXPECT_EQ(w.histogram->counts[2], 4U);
  EXPECT_EQ(w.histogram->counts[127], 1U);
}

// The same with scales 2 * 0.25 and 8 * 0.25, and bases 3 and -0.5.
TEST(Examine, MultipliesLevelsOutAndAddsTheBase) {
  format::Model model = Weights({-2, 0, 2, 3, -1, 0, 1, 127});
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.scale.clear();
  q.scale_levels.resize(2);
  q.scale_levels[0].value = {2, 8};
  q.scale_levels[1].value = {0.25F};
  q.scale_levels[1].block_shape = {2};
  q.base_levels.resize(1);
  q.base_levels[0].value = {3, -0.5F};
  const auto values = Examine(model);
  ASSERT_TRUE(values.has_value());
  EXPECT_THAT((*values)[0].lowest, ElementsAre(2, -4.5));
  EXPECT_THAT((*values)[0].highest, ElementsAre(4.5, 251.5));
  EXPECT_THAT((*values)[0].range_lower, ElementsAre(-61, -258.5));
  EXPECT_THAT((*values)[0].range_upper, ElementsAre(66.5, 251.5));
}

// Two more than the first 127 of the first row, one more than the first of the second.
TEST(Examine, CountsWhatIsMoreThanOnceAtAnEnd) {
  const auto values = Examine(Weights({127, 127, 127, -128, 127, 127, 0, 0}));
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ((*values)[0].saturated, 3.0 / 8);
}

TEST(Examine, JoinsBinsUntilThereAreFewEnough) {
  format::TensorType type = Int8(-1, 1);
  type.statistics->histogram = format::Histogram{.lower = 0, .upper = 300};
  type.statistics->histogram->counts.assign(300, 1);
  const auto values = Examine(Of(type));
  ASSERT_TRUE(values.has_value());
  const format::Histogram& h = *(*values)[0].histogram;
  EXPECT_EQ(h.counts.size(), 100U);
  EXPECT_EQ(h.counts[99], 3U);
  EXPECT_EQ(h.upper, 300);
}

TEST(Listing, HasValuesOfBodiesByTheirPath) {
  format::Model model = Weights({1, 2, 3, 4, 5, 6, 7, 8});
  const std::string weights = model.graph.initializers[0].name;
  format::Attribute branch;
  branch.name = "then_branch";
  branch.type = format::AttributeType::kGraph;
  branch.graphs = {model.graph};
  model.graph.nodes = {{.name = "choice", .op_type = "If", .outputs = {"y"}}};
  model.graph.nodes[0].attributes = {branch};
  const auto listing = Listing(model);
  ASSERT_TRUE(listing.has_value());
  const auto values = Examine(*listing);
  ASSERT_TRUE(values.has_value());
  const auto at = std::ranges::find(*values, "choice.then_branch/" + weights, &Value::name);
  ASSERT_NE(at, values->end());
  EXPECT_EQ(at->role, Value::Role::kConstant);
  EXPECT_TRUE(std::ranges::count(*values, weights, &Value::name) == 1);
}

// An If whose branch is the Relu of an outer value; nothing is declared but the input.
format::Model Branch() {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  type.shape = format::ToShape(format::Dims{4});
  model.graph.inputs = {{.name = "c"}, {.name = "x", .type = type}};
  model.graph.inputs[0].type.emplace().elem_type = ElementType::kBool;
  model.graph.inputs[0].type->shape.emplace();
  model.graph.nodes = {{.name = "first", .op_type = "Relu", .inputs = {"x"}, .outputs = {"t"}},
                       {.name = "choice", .op_type = "If", .inputs = {"c"}, .outputs = {"y"}}};
  for (const char* name : {"then_branch", "else_branch"}) {
    format::Attribute branch;
    branch.name = name;
    branch.type = format::AttributeType::kGraph;
    branch.graphs.resize(1);
    branch.graphs[0].nodes = {{.op_type = "Relu", .inputs = {"t"}, .outputs = {"r"}}};
    branch.graphs[0].outputs = {{.name = "r", .type = type}};
    model.graph.nodes[1].attributes.push_back(branch);
  }
  return model;
}

TEST(Inferred, AreValuesThatTheFileLeavesOpen) {
  const format::Model model = Branch();
  const auto listing = Listing(model);
  ASSERT_TRUE(listing.has_value());
  const auto inferred = Inferred(model, *listing);
  ASSERT_TRUE(inferred.has_value());
  std::vector<std::string> names;
  for (const format::ValueInfo& value : *inferred) {
    names.push_back(value.name);
    EXPECT_EQ(value.type, model.graph.inputs[1].type) << value.name;  // as a Relu keeps it
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("t", "y"));
}

// The nodes of the listing: Relu first, those of the two branches, If.
TEST(Bodies, SayTheirNodesAndWhatTheyGive) {
  const std::vector<Body> bodies = Bodies(Branch());
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0].path, "choice.then_branch/");
  EXPECT_EQ(bodies[1].path, "choice.else_branch/");
  EXPECT_THAT(bodies[1].outputs, ElementsAre("choice.else_branch/r"));
  EXPECT_EQ(bodies[0].begin, 1U);
  EXPECT_EQ(bodies[0].end, 2U);
  EXPECT_EQ(bodies[1].end, 3U);
  EXPECT_EQ(bodies[1].node, 3U);
}

// One value of each sort: range and statistics, range alone, statistics alone, a type alone,
// nothing.
TEST(WhatWasJudged, CountsValuesByRangeAndData) {
  format::Model model = Of(Int8(-1, 0.99));
  model.graph.inputs.resize(4);
  for (std::size_t i = 1; i < 4; ++i) {
    model.graph.inputs[i].name = "x" + std::to_string(i);
    model.graph.inputs[i].type = model.graph.inputs[0].type;
  }
  model.graph.inputs[1].type->statistics.reset();
  model.graph.inputs[2].type->elem_type = ElementType::kFloat;
  model.graph.inputs[2].type->quantization.reset();
  model.graph.inputs[3].type = format::TensorType{.elem_type = ElementType::kInt64};
  model.graph.nodes = {{.op_type = "Relu", .inputs = {"x"}, .outputs = {"y", ""}}};
  const auto values = Examine(model);
  ASSERT_TRUE(values.has_value());
  const Judged judged = WhatWasJudged(model, *values);
  EXPECT_EQ(judged.range_and_data, 1U);
  EXPECT_EQ(judged.saturation, 0U);  // no histogram
  EXPECT_EQ(judged.range_alone, 1U);
  EXPECT_EQ(judged.data_alone, 1U);
  EXPECT_EQ(judged.neither, 2U);
  EXPECT_EQ(ToString(judged),
            "1 of 5 values by range and data (0 of them for saturation), 1 by range alone, without "
            "statistics, 1 by data alone, without an integer range, 2 not at all, with neither");
  EXPECT_EQ(ToString(Judged{.range_and_data = 2, .saturation = 2}),
            "2 of 2 values by range and data");
}

// A name cannot end the data, and bytes that are no UTF-8 do not break it.
TEST(ToHtml, KeepsNamesOutOfTheMarkup) {
  format::Model model = Of(Int8(-1, 1));
  model.graph.inputs[0].name = "</script><script>alert(1)</script>\xff";
  const auto html = ToHtml(model, "<b>net</b>");
  ASSERT_TRUE(html.has_value());
  EXPECT_THAT(*html, testing::Not(HasSubstr("<script>alert")));
  EXPECT_THAT(*html, HasSubstr("<title>&lt;b&gt;net&lt;/b&gt;</title>"));
}

}  // namespace
}  // namespace qtx::inspect
