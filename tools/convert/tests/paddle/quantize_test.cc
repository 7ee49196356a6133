// Quantized programs of Paddle: scale = max_abs / 127, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/paddle/maker.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::quantize_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const format::TensorType& TypeOf(const Conversion& conversion, const std::string& value) {
  static const format::TensorType kNone;
  const format::ValueInfo* info = conversion.model.graph.FindValue(value);
  EXPECT_NE(info, nullptr) << value;
  return info == nullptr || !info->type ? kNone : *info->type;
}

// feed x, y fetched.
PaddleMaker Begin(std::vector<std::int64_t> dims) {
  PaddleMaker maker;
  maker.Var("x", dims);
  maker.Feed("x");
  return maker;
}

// x -> quantize_linear -> dequantize_linear -> relu -> y; max_abs 63.5 = 127 / 2.
PaddleMaker Linear(int bits = 8, int round_type = 0, float max_abs = 63.5F) {
  PaddleMaker maker = Begin({1, 2});
  maker.Param<float>("s", {1}, {max_abs});
  maker.Param<float>("z", {1}, {0});
  for (const char* name : {"q", "d", "y"}) maker.Var(name, {1, 2});
  for (const bool quantize : {true, false}) {
    maker.Op(quantize ? "quantize_linear" : "dequantize_linear",
             {{"X", {quantize ? "x" : "q"}}, {"Scale", {"s"}}, {"ZeroPoint", {"z"}}},
             {{"Y", {quantize ? "q" : "d"}}});
    maker.Int("quant_axis", -1).Int("bit_length", bits).Int("round_type", round_type);
  }
  maker.Op("relu", {{"X", {"d"}}}, {{"Out", {"y"}}});
  maker.Fetch("y");
  return maker;
}

TEST(PaddleLinear, IsATypeOfScaleMaxAbsOver127) {
  const auto conversion = Linear().Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Cast", "Relu"));
  const format::TensorType& type = TypeOf(*conversion, "d");
  EXPECT_EQ(type.elem_type, ElementType::kInt8Q);
  EXPECT_THAT(type.quantization->scale, ElementsAre(0.5F));
  EXPECT_THAT(type.quantization->offset, IsEmpty());
  EXPECT_EQ(type.quantization->scheme, format::Scheme::kSymmetric);
  // Ties to even clamp to -128, the storage's own end.
  EXPECT_FALSE(type.quantization->quant_min.has_value());
  EXPECT_THAT(type.statistics->max, ElementsAre(63.5));
  EXPECT_THAT(conversion->model.graph.initializers, IsEmpty());
}

TEST(PaddleLinear, NarrowsTheRangeWhereItClampsToMaxAbs) {
  const auto conversion = Linear(8, 1).Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_EQ(TypeOf(*conversion, "d").quantization->quant_min, -127);
  EXPECT_FALSE(TypeOf(*conversion, "d").quantization->quant_max.has_value());
  const auto about_rounding = [](const LedgerEntry& entry) { return entry.field == "rounding"; };
  EXPECT_TRUE(std::ranges::any_of(conversion->ledger, about_rounding));
}

// 7 bits: 63 / 63 = 1, stored -64 to 63 in an INT8. 16 bits: 32767 / 32767.
TEST(PaddleLinear, OfOtherWidthsHasTheirRangeInTheNextStorage) {
  const auto seven = Linear(7, 0, 63).Convert();
  ASSERT_TRUE(seven.has_value()) << ErrorOf(seven);
  EXPECT_EQ(TypeOf(*seven, "d").elem_type, ElementType::kInt8Q);
  EXPECT_THAT(TypeOf(*seven, "d").quantization->scale, ElementsAre(1.0F));
  EXPECT_EQ(TypeOf(*seven, "d").quantization->quant_min, -64);
  EXPECT_EQ(TypeOf(*seven, "d").quantization->quant_max, 63);
  const auto sixteen = Linear(16, 0, 32767).Convert();
  ASSERT_TRUE(sixteen.has_value()) << ErrorOf(sixteen);
  EXPECT_EQ(TypeOf(*sixteen, "d").elem_type, ElementType::kInt16Q);
  EXPECT_THAT(ErrorOf(Linear(17).Convert()), HasSubstr("bit_length 17"));
  EXPECT_THAT(ErrorOf(Linear(1).Convert()), HasSubstr("bit_length 1"));
}

TEST(PaddleLinear, RefusesAnOffsetAndAScaleThatIsNone) {
  PaddleMaker maker = Linear();
  maker.params["z"].back() = '\x3f';  // no zero
  EXPECT_THAT(ErrorOf(maker.Convert()), HasSubstr("a ZeroPoint that is not 0"));
  EXPECT_THAT(ErrorOf(Linear(8, 0, 0).Convert()), HasSubstr("expected a finite value above 0"));
  EXPECT_THAT(ErrorOf(Linear(8, 0, -1).Convert()), HasSubstr("expected a finite value above 0"));
}

// Weights of two output channels: scales 12.7 / 127 and 254 / 127, stored as INT8 or in floats.
TEST(PaddleLinear, TakesWeightsWithAScaleForEachChannel) {
  for (const bool floats : {false, true}) {
    PaddleMaker maker = Begin({1, 1, 1, 1});
    if (floats) {
      maker.Param<float>("w", {2, 1, 1, 1}, {-127, 3});
    } else {
      maker.Param<std::int8_t>("w", {2, 1, 1, 1}, {-127, 3}, PaddleMaker::kInt8);
    }
    maker.Param<float>("s", {2}, {12.7F, 254.0F});
    maker.Var("d", {2, 1, 1, 1});
    maker.Var("y", {1, 2, 1, 1});
    maker.Op("dequantize_linear", {{"X", {"w"}}, {"Scale", {"s"}}}, {{"Y", {"d"}}});
    maker.Int("quant_axis", 0).Int("bit_length", 8);
    maker.Op("conv2d", {{"Input", {"x"}}, {"Filter", {"d"}}}, {{"Output", {"y"}}});
    maker.Fetch("y");
    const auto conversion = maker.Convert();
    ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
    EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Conv"));
    const auto& q = *TypeOf(*conversion, "d").quantization;
    EXPECT_THAT(q.scale, ElementsAre(12.7F / 127.0F, 2.0F));
    EXPECT_THAT(q.axis, ElementsAre(0));
    EXPECT_THAT(TypeOf(*conversion, "d").statistics->axis, ElementsAre(0));
    const auto weights = format::LoadInitializer(conversion->model, "d");
    ASSERT_TRUE(weights.has_value()) << ErrorOf(weights);
    EXPECT_THAT(format::UnpackIntegers(*weights), ElementsAre(-127, 3));
  }
}

TEST(PaddleLinear, RefusesWeightsThatAreNoIntegers) {
  PaddleMaker maker = Begin({1});
  maker.Param<float>("w", {1}, {2.5F});
  maker.Param<float>("s", {1}, {1});
  maker.Var("y", {1});
  maker.Op("dequantize_linear", {{"X", {"w"}}, {"Scale", {"s"}}}, {{"Y", {"y"}}});
  maker.Int("quant_axis", -1);
  maker.Fetch("y");
  EXPECT_THAT(ErrorOf(maker.Convert()), HasSubstr("a constant of integers has 0x1.4p+1"));
}

TEST(PaddleMovingAverage, IsATypeToo) {
  PaddleMaker maker = Begin({1, 2});
  maker.Param<float>("s", {1}, {254});
  maker.Var("q", {1, 2});
  maker.Var("y", {1, 2});
  maker.Op("fake_quantize_dequantize_moving_average_abs_max", {{"X", {"x"}}, {"InScale", {"s"}}},
           {{"Out", {"q"}}, {"OutScale", {"s"}}});
  maker.Int("bit_length", 8).Bool("is_test", true).Int("round_type", 0);
  maker.Op("relu", {{"X", {"q"}}}, {{"Out", {"y"}}}).Float("out_threshold", 3.5F);
  maker.Fetch("y");
  const auto conversion = maker.Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(TypeOf(*conversion, "q").quantization->scale, ElementsAre(2.0F));
  // What training saw of an output that is not quantized is kept as statistics.
  EXPECT_EQ(TypeOf(*conversion, "y").elem_type, ElementType::kFloat);
  EXPECT_THAT(TypeOf(*conversion, "y").statistics->max, ElementsAre(3.5));
  EXPECT_THAT(TypeOf(*conversion, "y").statistics->min, ElementsAre(-3.5));
}

// max_abs 2 and 8 by the data. Half away: 1 / 2 * 127 = 63.5 -> 64, -2 -> -127; 8 -> 127.
TEST(PaddleChannelWise, QuantizesAConstantByItsOwnMaxima) {
  for (const int round_type : {0, 1}) {
    PaddleMaker maker = Begin({1, 2});
    maker.Param<float>("w", {2, 2}, {1, 8, -2, 0.5F});
    maker.Var("d", {2, 2});
    maker.Var("y", {1, 2});
    maker.Op("fake_channel_wise_quantize_dequantize_abs_max", {{"X", {"w"}}}, {{"Out", {"d"}}});
    maker.Int("quant_axis", 1).Int("round_type", round_type);
    maker.Op("matmul_v2", {{"X", {"x"}}, {"Y", {"d"}}}, {{"Out", {"y"}}});
    maker.Fetch("y");
    const auto conversion = maker.Convert();
    ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
    EXPECT_THAT(TypeOf(*conversion, "d").quantization->scale,
                ElementsAre(2.0F / 127.0F, 8.0F / 127.0F));
    EXPECT_THAT(TypeOf(*conversion, "d").quantization->axis, ElementsAre(1));
    // 0.5 / 8 * 127 = 7.94 -> 8. 63.5 is a tie, and 64 the even neighbour.
    EXPECT_THAT(format::UnpackIntegers(*format::LoadInitializer(conversion->model, "d")),
                ElementsAre(64, 127, -127, 8));
  }
}

TEST(PaddleAbsMax, RefusesToMeasureWhenRun) {
  PaddleMaker maker = Begin({1});
  maker.Var("y", {1});
  maker.Op("fake_quantize_abs_max", {{"X", {"x"}}}, {{"Out", {"y"}}});
  maker.Fetch("y");
  EXPECT_THAT(ErrorOf(maker.Convert()), HasSubstr("known only at run time"));
}

// x -> fake_quantize (max_abs 63.5) -> [reshape] -> mul by integers -> fake_dequantize -> y.
// The weights' own max_abs is 25.4: max_range = 127 * 127 / 25.4 = 635, their scale 0.2.
PaddleMaker Legacy(const char* between, float scale = 63.5F) {
  PaddleMaker maker = Begin({1, 2});
  maker.Param<float>("s", {1}, {63.5F});
  maker.Param<float>("s2", {1}, {scale});
  maker.Param<float>("w", {2, 2}, {-127, 1, 2, 127});
  for (const char* name : {"q", "r", "m", "y"}) maker.Var(name, {1, 2});
  maker.Op("fake_quantize_moving_average_abs_max", {{"X", {"x"}}, {"InScale", {"s"}}},
           {{"Out", {"q"}}});
  maker.Int("bit_length", 8).Bool("is_test", true);
  maker.Op(between, {{"X", {"q"}}}, {{"Out", {"r"}}}).Ints("shape", {1, 2});
  maker.Op("mul", {{"X", {"r"}}, {"Y", {"w"}}}, {{"Out", {"m"}}});
  maker.Op("fake_dequantize_max_abs", {{"X", {"m"}}, {"Scale", {"s2"}}}, {{"Out", {"y"}}});
  maker.Float("max_range", 635);
  maker.Fetch("y");
  return maker;
}

TEST(PaddleLegacy, PairsAreTypesOfInputAndWeights) {
  const auto conversion = Legacy("reshape2").Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Cast", "Reshape", "MatMul"));
  const format::Node& product = conversion->model.graph.nodes[2];
  for (const std::string& input :
       {conversion->model.graph.nodes[0].outputs[0], product.inputs[0]}) {
    const format::TensorType& type = TypeOf(*conversion, input);
    EXPECT_EQ(type.elem_type, ElementType::kInt8Q) << input;
    EXPECT_THAT(type.quantization->scale, ElementsAre(0.5F)) << input;
    EXPECT_EQ(type.quantization->quant_min, -127) << input;
  }
  EXPECT_THAT(TypeOf(*conversion, product.inputs[1]).quantization->scale,
              ElementsAre(static_cast<float>(127.0 / 635.0)));
  EXPECT_THAT(
      format::UnpackIntegers(*format::LoadInitializer(conversion->model, product.inputs[1])),
      ElementsAre(-127, 1, 2, 127));
}

TEST(PaddleLegacy, RefusesWhatIsNotLinearInTheIntegers) {
  EXPECT_THAT(ErrorOf(Legacy("sigmoid").Convert()),
              HasSubstr("op sigmoid of 'r': reads integers of the old quantized form"));
}

// Two output channels with max_abs 12.7 and 254 beside the input's 63.5.
TEST(PaddleLegacy, HasAScaleForEachChannelOfTheWeights) {
  PaddleMaker maker = Begin({1, 1, 1, 1});
  maker.Param<float>("s", {1}, {63.5F});
  maker.Param<float>("c", {2}, {12.7F, 254.0F});
  maker.Param<float>("w", {2, 1, 1, 1}, {-127, 3});
  maker.Var("q", {1, 1, 1, 1});
  for (const char* name : {"m", "y"}) maker.Var(name, {1, 2, 1, 1});
  maker.Op("fake_quantize_range_abs_max", {{"X", {"x"}}, {"InScale", {"s"}}}, {{"Out", {"q"}}});
  maker.Int("bit_length", 8).Bool("is_test", true);
  maker.Op("conv2d", {{"Input", {"q"}}, {"Filter", {"w"}}}, {{"Output", {"m"}}});
  maker.Op("fake_channel_wise_dequantize_max_abs", {{"X", {"m"}}, {"Scales", {"c", "s"}}},
           {{"Out", {"y"}}});
  maker.Ints("quant_bits", {8, 8});
  maker.Fetch("y");
  const auto conversion = maker.Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Cast", "Conv"));
  const auto& q = *TypeOf(*conversion, conversion->model.graph.nodes[1].inputs[1]).quantization;
  EXPECT_THAT(q.scale, ElementsAre(12.7F / 127.0F, 2.0F));
  EXPECT_THAT(q.axis, ElementsAre(0));
}

// Before freezing the weights are still floats: 25.4 the largest of them, quantized on the spot.
TEST(PaddleLegacy, QuantizesFloatWeightsOnTheWay) {
  PaddleMaker maker = Begin({1, 2});
  maker.Param<float>("s", {1}, {63.5F});
  maker.Param<float>("w", {2, 1}, {-25.4F, 0.2F});
  for (const char* name : {"q", "p"}) maker.Var(name, {1, 2});
  for (const char* name : {"m", "y"}) maker.Var(name, {1, 1});
  maker.Op("fake_quantize_moving_average_abs_max", {{"X", {"x"}}, {"InScale", {"s"}}},
           {{"Out", {"q"}}});
  maker.Bool("is_test", true);
  maker.Op("fake_quantize_abs_max", {{"X", {"w"}}}, {{"Out", {"p"}}}).Int("bit_length", 8);
  maker.Op("mul", {{"X", {"q"}}, {"Y", {"p"}}}, {{"Out", {"m"}}});
  maker.Op("fake_dequantize_max_abs", {{"X", {"m"}}, {"Scale", {"s"}}}, {{"Out", {"y"}}});
  maker.Float("max_range", 635);
  maker.Fetch("y");
  const auto conversion = maker.Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Cast", "MatMul"));
  EXPECT_THAT(format::UnpackIntegers(*format::LoadInitializer(conversion->model, "p")),
              ElementsAre(-127, 1));
  maker.op = maker.block().mutable_ops(4);
  maker.op->mutable_attrs(0)->set_f(700);
  EXPECT_THAT(ErrorOf(maker.Convert()), HasSubstr("differs from that of the quantizer of X"));
}

}  // namespace
}  // namespace qtx::convert::quantize_test
