// Lowering: what QDQ cannot say is refused by name, what it can comes back field for field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::lower_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// x -> Relu -> y, both of `type`, and a weight that nothing reads.
format::Model Extended(ElementType type) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", type, {2, 4})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", type, {2, 4})};
  maker.Node("Relu", {"x"}, {"y"});
  return maker.model;
}

format::Model Lowered(const format::Model& model, std::int64_t opset = 0) {
  const auto lowered = ToQdq(model, {.opset = opset});
  EXPECT_TRUE(lowered.has_value())
      << (lowered.has_value() ? "" : lowered.error().where + ": " + lowered.error().message);
  return lowered.has_value() ? lowered->model : format::Model{};
}

void ExpectComesBack(const format::Model& model) {
  const auto lifted = FromOnnx(Lowered(model));
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == model);
}

// Source: lowering.S1.
TEST(ToQdq, PutsAPairBehindEveryValue) {
  const format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  EXPECT_THAT(OpTypes(lowered), ElementsAre("QuantizeLinear", "DequantizeLinear", "Relu",
                                            "QuantizeLinear", "DequantizeLinear"));
  EXPECT_THAT(lowered.graph.nodes[2].inputs, ElementsAre("x/quantized"));
  EXPECT_THAT(lowered.graph.nodes[2].outputs, ElementsAre("y/real"));
  EXPECT_EQ(lowered.graph.outputs[0].type->elem_type, ElementType::kFloat);
  EXPECT_EQ(lowered.graph.outputs[0].type->quantization->storage_type, ElementType::kInt8);
  EXPECT_EQ(lowered.OpsetVersion("qtx"), 0);
}

// Source: lowering.S3.
TEST(ToQdq, RaisesTheOpsetOnlyForTypesThatNeedIt) {
  EXPECT_EQ(Lowered(Extended(ElementType::kInt8Q)).OpsetVersion(""), 17);
  EXPECT_EQ(Lowered(Extended(ElementType::kFloat8E4M3FNQ)).OpsetVersion(""), 19);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt16Q)).OpsetVersion(""), 21);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt2Q)).OpsetVersion(""), 25);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt8Q), 13).OpsetVersion(""), 13);
}

// Source: lowering.S5.
TEST(ToQdq, RecordsTheImportsOfTheExtendedForm) {
  const format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  const auto imports = std::ranges::find(lowered.metadata, "qtx.imports",
                                         [](const auto& entry) { return entry.first; });
  ASSERT_NE(imports, lowered.metadata.end());
  EXPECT_EQ(imports->second, "17:=17,qtx=1");
}

// Source: lowering.S6.
TEST(ToQdq, ComesBackForEveryTypeOnnxHas) {
  using enum ElementType;
  for (const ElementType type :
       {kUint8Q, kInt8Q, kUint16Q, kInt16Q, kFloat8E4M3FNQ, kFloat8E4M3FNUZQ, kFloat8E5M2Q,
        kFloat8E5M2FNUZQ, kUint4Q, kInt4Q, kFloat4E2M1Q, kUint2Q, kInt2Q}) {
    SCOPED_TRACE(std::string(format::Name(type)));
    ExpectComesBack(Extended(type));
  }
}

TEST(ToQdq, ComesBackWithStatisticsOriginsAndEveryParameter) {
  format::Model model = Extended(ElementType::kInt8Q);
  format::TensorType& type = *model.graph.outputs[0].type;
  type.quantization =
      format::Quantization{.scale = {1, 2, 3, 4}, .offset = {1, 0, -1, 2}, .axis = {1}};
  type.quantization->scheme = format::Scheme::kAsymmetric;
  type.statistics.emplace();
  type.statistics->min = {-1};
  type.statistics->max = {2};
  type.statistics->source = "calibration";
  model.graph.nodes[0].origin =
      format::Origin{.group = "7", .framework = "tflite", .op_type = "RELU"};
  model.metadata = {{"author", "someone"}};
  ExpectComesBack(model);
}

TEST(ToQdq, ComesBackWithCastsAndBlockedWeights) {
  format::Model model = Extended(ElementType::kInt8Q);
  OnnxMaker maker;
  maker.model = model;
  maker.Node("Cast", {"y"}, {"z"}).attributes = {
      format::Attribute::Int("to", static_cast<int>(ElementType::kInt16Q))};
  maker.model.graph.outputs.push_back(OnnxMaker::Quantized("z", ElementType::kInt16Q, {2, 4}));
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  maker.model.graph.values.push_back(
      OnnxMaker::Quantized("w", ElementType::kInt8Q, {2, 4}, {1, 2}, {1}));
  maker.model.graph.values.back().type->quantization->block_shape = {2};
  maker.Node("Add", {"z", "w"}, {"sum"});
  maker.model.graph.outputs.push_back(OnnxMaker::Quantized("sum", ElementType::kUint8Q, {2, 4}));
  ExpectComesBack(maker.model);
  const format::Model lowered = Lowered(maker.model);
  EXPECT_THAT(lowered.graph.FindInitializer("w/scale")->dims, ElementsAre(2, 2));
}

// Source: lowering.S2.
TEST(ToQdq, ClipsToANarrowedRange) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.outputs[0].type->quantization->quant_max = 12;
  const format::Model lowered = Lowered(model);
  EXPECT_THAT(OpTypes(lowered), ElementsAre("QuantizeLinear", "DequantizeLinear", "Relu", "Clip",
                                            "QuantizeLinear", "DequantizeLinear"));
  const auto bound = format::Decode(*lowered.graph.FindInitializer("y/max"));
  EXPECT_EQ(bound->As<float>()[0], 6.0F);
  ExpectComesBack(model);
}

// Source: lowering.S8.
TEST(ToQdq, RefusesByNameWhatQdqCannotSay) {
  const auto bipolar = ToQdq(Extended(ElementType::kBipolar1Q));
  ASSERT_FALSE(bipolar.has_value());
  EXPECT_EQ(bipolar.error().where, "value 'x'");
  EXPECT_THAT(bipolar.error().message, HasSubstr("BIPOLAR1Q"));
  const auto int32 = ToQdq(Extended(ElementType::kInt32Q));
  ASSERT_FALSE(int32.has_value());
  EXPECT_THAT(int32.error().message, HasSubstr("no INT32"));
  format::Model axes = Extended(ElementType::kInt8Q);
  axes.graph.inputs[0] =
      OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1});
  EXPECT_THAT(ToQdq(axes).error().message, HasSubstr("several axes"));
  const auto old = ToQdq(Extended(ElementType::kInt16Q), {.opset = 17});
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().message, "INT16Q needs opset 21, found 17");
}

// Source: quantization.C3. An assertion on the zero points ended the program here.
TEST(ToQdq, RefusesTwoScalesWithoutAnAxisWhereTheShapeIsUnknown) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.inputs[0].type->shape.reset();
  model.graph.inputs[0].type->quantization->scale = {1, 2};
  const auto lowered = ToQdq(model);
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().message, "found 2 scales and 0 offsets, expected 1");
}

TEST(ToQdq, RefusesToRaiseAnOpsetThatMayChangeAnOperator) {
  format::Model model = Extended(ElementType::kInt16Q);
  model.graph.nodes[0].op_type = "ReduceMean";
  const auto lowered = ToQdq(model);
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().where, "node 'y_node' (ReduceMean)");
}

TEST(ToQdq, KeepsItsNamesApartFromTheModels) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.nodes[0].outputs = {"x/stored"};
  model.graph.outputs[0].name = "x/stored";
  ExpectComesBack(model);
}

// A tool that drops unknown fields leaves stock QDQ and the seal in metadata_props.
TEST(FromQdq, SaysHowManyAnnotationsWereLost) {
  format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  lowered.graph.outputs[0].type->quantization.reset();
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_THAT(lifted->ledger,
              testing::Contains(testing::Field(&LedgerEntry::why,
                                               HasSubstr("2 annotated values written, 1 left"))));
  EXPECT_THAT(OpTypes(lifted->model), ElementsAre("Relu", "Cast"));
  EXPECT_TRUE(format::Check(lifted->model).empty());
}

// Source: lowering.S7.
TEST(FromQdq, BelievesTheNodesOverAnAnnotationThatDisagrees) {
  format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  lowered.graph.outputs[0].type->quantization->scale = {8};
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_THAT(lifted->model.graph.outputs[0].type->quantization->scale, ElementsAre(0.5F));
}

}  // namespace
}  // namespace qtx::convert::lower_test
