// QONNX's operators one by one: the type they become, the integers of constants, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"
#include "tests/files.h"
#include "tests/qonnx/maker.h"

namespace qtx::convert::qonnx_import_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<format::Model> Imported(const format::Model& model) {
  QTX_ASSIGN_OR_RETURN(Conversion conversion, FromOnnx(model));
  for (const format::Finding& finding : format::Check(conversion.model))
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  return std::move(conversion.model);
}

// "" where the model is imported.
std::string Refusal(const format::Model& model) {
  const auto imported = Imported(model);
  return imported.has_value() ? "" : TextOf(imported.error());
}

format::TensorType TypeOf(const Result<format::Model>& model, const std::string& name) {
  if (!model.has_value()) {
    ADD_FAILURE() << TextOf(model.error());
    return {};
  }
  const format::ValueInfo* info = model->graph.FindValue(name);
  EXPECT_NE(info, nullptr) << name;
  return info == nullptr || !info->type ? format::TensorType{} : *info->type;
}

// x -> Relu -> r -> Quant -> q -> Relu -> y
QonnxMaker Activation(float scale, float zero_point, float bits) {
  QonnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2, 2})};
  maker.model.graph.values = {OnnxMaker::Value("r", ElementType::kFloat, {1, 2, 2})};
  maker.Node("Relu", {"x"}, {"r"});
  maker.Quant("r", "q", scale, zero_point, bits);
  maker.Node("Relu", {"q"}, {"y"});
  return maker;
}

struct Width {
  float bits;
  bool is_signed, narrow;
  ElementType type;
  format::IntegerRange range;
};

// Ranges: qonnx, intquant.py, the examples of min_int and max_int, and the same for other widths.
TEST(FromQonnx, TakesTheSmallestStorageOfEachWidthAndNarrowsIt) {
  using enum ElementType;
  for (const Width& width : {
           Width{1, false, false, kUint2Q, {0, 1}},
           Width{2, true, true, kInt2Q, {-1, 1}},
           Width{2, false, false, kUint2Q, {0, 3}},
           Width{3, true, false, kInt4Q, {-4, 3}},
           Width{4, false, true, kUint4Q, {0, 14}},
           Width{7, false, false, kUint8Q, {0, 127}},
           Width{8, true, true, kInt8Q, {-127, 127}},
           Width{8, false, true, kUint8Q, {0, 254}},
           Width{12, true, false, kInt16Q, {-2048, 2047}},
           Width{16, false, false, kUint16Q, {0, 65535}},
           Width{24, false, false, kInt32Q, {0, 16777215}},
           Width{32, true, false, kInt32Q, {-2147483648, 2147483647}},
       }) {
    QonnxMaker maker = Activation(0.5F, 0, width.bits);
    maker.SetRange(width.is_signed, width.narrow);
    const auto type = TypeOf(Imported(maker.model), "q");
    EXPECT_EQ(type.elem_type, width.type) << width.bits;
    EXPECT_EQ(format::StoredRange(type.elem_type, *type.quantization), width.range) << width.bits;
    EXPECT_THAT(type.quantization->scale, ElementsAre(0.5F));
  }
}

TEST(FromQonnx, PutsTheTypeOnTheResultOfTheNodeBefore) {
  const auto model = Imported(Activation(0.25F, 3, 8).model);
  EXPECT_THAT(TypeOf(model, "q").quantization->offset, ElementsAre(3));
  EXPECT_THAT(OpTypes(*model), ElementsAre("Relu", "Relu"));
  EXPECT_THAT(model->graph.initializers, IsEmpty());
  EXPECT_EQ(model->OpsetVersion("qonnx.custom_op.general"), 0);
}

// An offset outside the width's own range needs a larger storage.
TEST(FromQonnx, FindsRoomForTheOffset) {
  const auto type = TypeOf(Imported(Activation(1, 20, 4).model), "q");
  EXPECT_EQ(type.elem_type, ElementType::kInt8Q);
  EXPECT_EQ(format::StoredRange(type.elem_type, *type.quantization), (format::IntegerRange{-8, 7}));
}

TEST(FromQonnx, GivesOneSignedBitTheBipolarType) {
  EXPECT_EQ(TypeOf(Imported(Activation(0.5F, 0, 1).model), "q").elem_type, ElementType::kBipolar1Q);
  EXPECT_FALSE(Imported(Activation(0.5F, 1, 1).model).has_value());
}

// Channels of 1 and 10 LSB: reals 3 3 | 25 25 are 3 3 | 2.5 2.5 in units, to even 2, so 20.
TEST(FromQonnx, ReadsAScalePerChannel) {
  QonnxMaker maker = Activation(1, 0, 8);
  maker.SetScale({1, 2, 1}, {1, 10});
  const auto model = Imported(maker.model);
  EXPECT_THAT(TypeOf(model, "q").quantization->axis, ElementsAre(1));
  EXPECT_THAT(QonnxMaker::Run(*model, {3, 3, 25, 25}), ElementsAre(3, 3, 20, 20));
}

TEST(FromQonnx, ReadsScalesAlongSeveralAxes) {
  QonnxMaker maker = Activation(1, 0, 8);
  maker.SetScale({1, 2, 2}, {1, 2, 4, 8});
  const auto model = Imported(maker.model);
  EXPECT_THAT(TypeOf(model, "q").quantization->axis, ElementsAre(1, 2));
  // 5 / 1, 5 / 2 = 2.5 to 2, 5 / 4 = 1.25 to 1, 5 / 8 to 1
  EXPECT_THAT(QonnxMaker::Run(*model, {5, 5, 5, 5}), ElementsAre(5, 4, 4, 8));
}

// QONNX documents that a scale which is no scalar has the value's rank.
TEST(FromQonnx, TakesTheRankOfAnUndeclaredValueFromItsScale) {
  QonnxMaker maker = Activation(1, 0, 8);
  maker.model.graph.values.clear();
  maker.SetScale({1, 2, 1}, {1, 10});
  const auto type = TypeOf(Imported(maker.model), "q");
  ASSERT_TRUE(type.shape.has_value());
  EXPECT_EQ(format::ToString(*type.shape), "[?,2,?]");
  maker.Initializer<float>("two", ElementType::kFloat, {2}, {1, 10});
  maker.Quantizer().inputs[1] = "two";
  EXPECT_THAT(Refusal(maker.model), HasSubstr("its rank is unknown"));
}

struct Rounded {
  const char* mode;
  std::vector<int> stored;
};

// Source: qonnx, docs/qonnx-custom-ops/intquant_v1.md, "Rounding modes"; the same numbers.
TEST(FromQonnx, RoundsConstantsByEveryMode) {
  for (const Rounded& rounded : {
           Rounded{"ROUND", {6, 2, 2, 1, 1, -1, -1, -2, -2, -6}},
           Rounded{"half_even", {6, 2, 2, 1, 1, -1, -1, -2, -2, -6}},
           Rounded{"CEIL", {6, 3, 2, 2, 1, -1, -1, -1, -2, -5}},
           Rounded{"FLOOR", {5, 2, 1, 1, 1, -1, -2, -2, -3, -6}},
           Rounded{"UP", {6, 3, 2, 2, 1, -1, -2, -2, -3, -6}},
           Rounded{"DOWN", {5, 2, 1, 1, 1, -1, -1, -1, -2, -5}},
           Rounded{"HALF_UP", {6, 3, 2, 1, 1, -1, -1, -2, -3, -6}},
           Rounded{"HALF_DOWN", {5, 2, 2, 1, 1, -1, -1, -2, -2, -5}},
       }) {
    QonnxMaker maker;
    maker.Weights({5.5F, 2.5F, 1.6F, 1.1F, 1, -1, -1.1F, -1.6F, -2.5F, -5.5F}, 1, 8, rounded.mode);
    const auto model = Imported(maker.model);
    ASSERT_TRUE(model.has_value()) << TextOf(model.error());
    const auto weights = format::LoadInitializer(*model, "w");
    ASSERT_TRUE(weights.has_value());
    const auto stored = format::UnpackInt32(*weights);
    EXPECT_EQ(std::vector<int>(stored.begin(), stored.end()), rounded.stored) << rounded.mode;
  }
}

TEST(FromQonnx, RefusesAnotherModeOnAComputedValueByNodeAndMode) {
  QonnxMaker maker = Activation(1, 0, 8);
  maker.SetRounding("FLOOR");
  const auto model = Imported(maker.model);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(TextOf(model.error()), HasSubstr("node 'q_node' (Quant): rounding_mode: 'FLOOR'"));
}

// 3 * 0.1F is 0x3.333334cp-4 exactly, which has more than 24 bits; 1 and 2 times are exact.
TEST(FromQonnx, CountsRealsThatQonnxRounds) {
  QonnxMaker maker;
  maker.Weights({0.1F, 0.2F, 0.3F}, 0.1F, 8, "ROUND");
  const auto conversion = FromOnnx(maker.model);
  ASSERT_TRUE(conversion.has_value());
  const auto entry = std::ranges::find(conversion->ledger, "values", &LedgerEntry::field);
  ASSERT_NE(entry, conversion->ledger.end());
  EXPECT_THAT(entry->why, HasSubstr("1 reals are exact products"));
}

TEST(FromQonnx, PacksBipolarWeightsWithZeroAsPlusOne) {
  QonnxMaker maker;
  maker.Weights({0.5F, -0.25F, 0, -7, 3}, 0.5F, 1, "ROUND");
  const auto model = Imported(maker.model);
  ASSERT_TRUE(model.has_value()) << TextOf(model.error());
  EXPECT_EQ(TypeOf(model, "w").elem_type, ElementType::kBipolar1Q);
  EXPECT_THAT(format::UnpackInt32(*format::LoadInitializer(*model, "w")),
              ElementsAre(1, -1, 1, -1, 1));
}

// E4M3FN: 448 is the greatest value, 17 lies between 16 and 18 and goes to the even code, 16.
TEST(FromQonnx, ReadsFloatQuantOfAFormatThereIs) {
  QonnxMaker maker = Activation(1, 0, 8);
  maker.MakeFloatQuant(4, 3, 7, 448);
  const auto model = Imported(maker.model);
  EXPECT_EQ(TypeOf(model, "q").elem_type, ElementType::kFloat8E4M3FNQ);
  EXPECT_THAT(QonnxMaker::Run(*model, {17, 1000, 0.5F, 19}), ElementsAre(16, 448, 0.5F, 20));
  QonnxMaker other = Activation(1, 0, 8);
  other.MakeFloatQuant(3, 2, 3, 28);
  EXPECT_THAT(Refusal(other.model), HasSubstr("no element type has 3 bits"));
}

TEST(FromQonnx, RefusesParametersThatNoTypeHas) {
  struct Wrong {
    float scale, zero_point, bits;
    const char* message;
  };
  for (const Wrong& wrong : {
           Wrong{0, 0, 8, "scale: found 0x0p+0, expected a finite value above 0"},
           Wrong{-1, 0, 8, "expected a finite value above 0"},
           Wrong{1, 0.5F, 8, "zero point: found 0x1p-1, expected an integer"},
           Wrong{1, 3e9F, 8, "zero point"},
           Wrong{1, 0, 7.5F, "bit width"},
           Wrong{1, 0, 0, "bit width: found 0, expected 1 to 32"},
           Wrong{1, 0, 33, "bit width"},
       }) {
    EXPECT_THAT(Refusal(Activation(wrong.scale, wrong.zero_point, wrong.bits).model),
                HasSubstr(wrong.message));
  }
}

TEST(FromQonnx, RefusesScalesThatDoNotFitTheValue) {
  for (const format::Dims& dims : {format::Dims{3, 1}, format::Dims{1, 1, 1, 3}}) {
    QonnxMaker maker = Activation(1, 0, 8);
    maker.SetScale(dims, {1, 2, 4});
    EXPECT_FALSE(Imported(maker.model).has_value());
  }
}

struct Shift {
  std::string mode;
  std::vector<float> reals;
};

// Integers -5 -4 -1 0 3 6 of half a unit, two bits less: -1.25 -1 -0.25 0 0.75 1.5 rounded, of the
// same half a unit. Source: qonnx, trunc_v1.
TEST(FromQonnx, ShiftsIntegersAsTruncOfVersion1) {
  for (const Shift& shift : {Shift{"FLOOR", {-1, -0.5F, -0.5F, 0, 0, 0.5F}},
                             Shift{"ceil", {-0.5F, -0.5F, 0, 0, 0.5F, 1}},
                             Shift{"ROUND", {-0.5F, -0.5F, 0, 0, 0.5F, 1}}}) {
    QonnxMaker maker;
    maker.Trunc({0.5F, 0, 8, 6}, shift.mode);
    const auto model = Imported(maker.model);
    ASSERT_TRUE(model.has_value()) << TextOf(model.error());
    EXPECT_EQ(QonnxMaker::Run(*model, {-2.5F, -2, -0.5F, 0, 1.5F, 3}), shift.reals) << shift.mode;
  }
}

// The same integers to units of 2 and three bits: -2 -1 -1 0 0 1 and so on; 100 is clamped to 3.
TEST(FromQonnx, ShiftsIntegersAsTruncOfVersion2) {
  for (const Shift& shift :
       {Shift{"FLOOR", {-4, -2, -2, 0, 0, 6}}, Shift{"CEIL", {-2, -2, 0, 0, 2, 6}},
        Shift{"ROUND", {-2, -2, 0, 0, 2, 6}}}) {
    QonnxMaker maker;
    maker.Trunc({0.5F, 0, 8, 2, 3}, shift.mode);
    const auto model = Imported(maker.model);
    ASSERT_TRUE(model.has_value()) << TextOf(model.error());
    EXPECT_EQ(QonnxMaker::Run(*model, {-2.5F, -2, -0.5F, 0, 1.5F, 100}), shift.reals) << shift.mode;
  }
  QonnxMaker odd;
  odd.Trunc({0.5F, 0, 8, 1.5F, 3}, "FLOOR");
  EXPECT_THAT(Refusal(odd.model), HasSubstr("output scale: found 0x1.8p+0"));
}

TEST(FromQonnx, RefusesOperatorsItCannotSayByName) {
  for (const char* op_type : {"MultiThreshold", "Im2Col", "XnorPopcountMatMul"}) {
    QonnxMaker maker = Activation(1, 0, 8);
    maker.model.graph.nodes[1].op_type = op_type;
    const auto model = Imported(maker.model);
    ASSERT_FALSE(model.has_value());
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(TextOf(model.error()), HasSubstr(op_type));
  }
}

// 1x1 kernel of one channel in, two out: y = (2x, 3x) for each position, channels last.
TEST(FromQonnx, PutsChannelsLastOperatorsBetweenTransposes) {
  QonnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 1, 2, 1})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 1, 2, 2})};
  maker.Initializer<float>("k", ElementType::kFloat, {2, 1, 1, 1}, {2, 3});
  format::Node& conv = maker.Node("Conv", {"x", "k"}, {"y"});
  conv.domain = "qonnx.custom_op.channels_last";
  conv.attributes = {format::Attribute::Ints("kernel_shape", {1, 1})};
  const auto model = Imported(maker.model);
  ASSERT_TRUE(model.has_value()) << TextOf(model.error());
  EXPECT_THAT(QonnxMaker::Run(*model, {1, 10}), ElementsAre(2, 3, 20, 30));
}

}  // namespace
}  // namespace qtx::convert::qonnx_import_test
