// Operators of StableHLO, with results derived by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stablehlo/maker.h"

namespace qtx::convert::stablehlo_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 1.0 and 2.5 in units of 0.5 with zero point 3: 5 and 8. 0.25 / 0.5 = 0.5, to even 0, plus 3.
TEST(Stablehlo, QuantizesAndDequantizes) {
  const std::string quantized = R"(
    %c = stablehlo.constant dense<[1.0, 2.5, 0.25, 1000.0]> : tensor<4xf32>
    %r = stablehlo.uniform_quantize %c
      : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>)";
  EXPECT_THAT(Returned(quantized, "tensor<4x!quant.uniform<i8:f32, 0.5:3>>"),
              ElementsAre(5, 8, 3, 127));
  // The units of 200 - 128 = 72 are 0.25 each, 18 in all.
  EXPECT_THAT(Returned(R"(
    %q = "stablehlo.constant"() <{value = dense<[200, 128]> : tensor<2xui8>}>
      : () -> tensor<2x!quant.uniform<u8:f32, 0.25:128>>
    %r = stablehlo.uniform_dequantize %q
      : (tensor<2x!quant.uniform<u8:f32, 0.25:128>>) -> tensor<2xf32>)",
                       "tensor<2xf32>"),
              ElementsAre(18, 0));
}

// From units of 0.5 to units of 2: (9 - 1) * 0.5 = 4, 2 LSB, minus 5.
TEST(Stablehlo, RequantizesAndChecksStoredIntegers) {
  const auto outputs = RunProgram(Function(R"(
    %b = stablehlo.constant dense<[9, -7]> : tensor<2xi8>
    %q = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8:f32, 0.5:1>>
    %s = stablehlo.uniform_quantize %q : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>)
      -> tensor<2x!quant.uniform<i8<-6:127>:f32, 2.0:-5>>
    %i = stablehlo.bitcast_convert %s
      : (tensor<2x!quant.uniform<i8<-6:127>:f32, 2.0:-5>>) -> tensor<2xi8>
    check.expect_eq_const %i, dense<[-3, -6]> : tensor<2xi8>)"));
  // (-7 - 1) * 0.5 = -4, -2 LSB, -7: the storage bound is -6.
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_THAT(outputs[0], ElementsAre(-3, -6));
}

// Quantized x of 1, -2 and weights per output channel 2 3 in units of 0.5, and 1 1.
// Channel 0: 1 * 1 - 2 * 1.5 = -2; channel 1: 1 - 2 = -1; in units of 0.5: -4 and -2.
constexpr const char* kPerAxis = R"(
!x = !quant.uniform<i8:f32, 1.0>
!w = !quant.uniform<i8:f32:1, {0.5, 1.0}>
func.func @main() -> tensor<1x2x!quant.uniform<i32:f32, 0.5>> {
  %x = "stablehlo.constant"() <{value = dense<[[1, -2]]> : tensor<1x2xi8>}> : () -> tensor<1x2x!x>
  %w = "stablehlo.constant"() <{value = dense<[[2, 1], [3, 1]]> : tensor<2x2xi8>}>
    : () -> tensor<2x2x!w>
  %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]
    : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!quant.uniform<i32:f32, 0.5>>
  return %r : tensor<1x2x!quant.uniform<i32:f32, 0.5>>
}
)";

TEST(Stablehlo, MultipliesMatricesPerAxis) {
  const auto outputs = RunProgram(kPerAxis);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_THAT(outputs[0], ElementsAre(-4, -2));
}

// A row of weights in two blocks of two: 1 2 in units of 0.5, 3 4 in units of 2 about 1:
// 0.5 + 1 + 4 + 6 = 11.5.
TEST(Stablehlo, ReadsSubChannels) {
  EXPECT_THAT(Returned(R"(
    %w = "stablehlo.constant"() <{value = dense<[[1, 2, 3, 4]]> : tensor<1x4xi8>}>
      : () -> tensor<1x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5, 2.0:1}}>>
    %o = stablehlo.constant dense<1.0> : tensor<4xf32>
    %r = stablehlo.dot_general %w, %o, contracting_dims = [1] x [0]
      : (tensor<1x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5, 2.0:1}}>>, tensor<4xf32>)
      -> tensor<1xf32>)",
                       "tensor<1xf32>"),
              ElementsAre(11.5));
}

// [b, 0, f] x [0, i, o]: x = 1, 2, 3 with zeros between (1 0 2 0 3), kernel 1, 10, no padding:
// 1 + 0, 0 + 20, 2 + 0, 0 + 30.
TEST(Stablehlo, ConvolvesWithZerosBetween) {
  EXPECT_THAT(Returned(R"(
    %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
    %w = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
    %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x3x1xf32>, tensor<2x1x1xf32>) -> tensor<1x4x1xf32>)",
                       "tensor<1x4x1xf32>"),
              ElementsAre(1, 20, 2, 30));
}

// Rows 2 and -1, clamped to 0 .. 1: the last and the first.
TEST(Stablehlo, GathersWithClampedStarts) {
  EXPECT_THAT(Returned(R"(
    %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %i = stablehlo.constant dense<[[2], [-1]]> : tensor<2x1xi32>
    %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>)",
                       "tensor<2x2xf32>"),
              ElementsAre(3, 4, 1, 2));
}

// -2.5 -0.5 0.5 0.49999997 go to -3 -1 1 0, where adding a half first gives 1 for the last.
TEST(Stablehlo, RoundsAwayFromZero) {
  EXPECT_THAT(Returned(R"(
    %x = stablehlo.constant dense<[-2.5, -0.5, 0.5, 0.49999997]> : tensor<4xf32>
    %r = stablehlo.round_nearest_afz %x : tensor<4xf32>)",
                       "tensor<4xf32>"),
              ElementsAre(-3, -1, 1, 0));
}

// 7 + 1 = 8 is -8 modulo 16; the negation of 1 in ui8 is 255.
TEST(Stablehlo, WrapsIntegers) {
  EXPECT_THAT(Returned(R"(
    %x = stablehlo.constant dense<[7, -8]> : tensor<2xi4>
    %y = stablehlo.constant dense<[1, -1]> : tensor<2xi4>
    %r = stablehlo.add %x, %y : tensor<2xi4>)",
                       "tensor<2xi4>"),
              ElementsAre(-8, 7));
  EXPECT_THAT(Returned(R"(
    %x = stablehlo.constant dense<[1, 0]> : tensor<2xui8>
    %r = stablehlo.negate %x : tensor<2xui8>)",
                       "tensor<2xui8>"),
              ElementsAre(255, 0));
}

// Columns summed over rows of 1 2 / 3 4, from 10.
TEST(Stablehlo, ReducesInAllItsForms) {
  const std::string begin = R"(
    %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %c = stablehlo.constant dense<10> : tensor<i32>
    %r = )";
  const std::string types = " (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>";
  const std::string body = R"((%a: tensor<i32>, %b: tensor<i32>)X {
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32> })";
  const auto sum = ElementsAre(14, 16);
  EXPECT_THAT(Returned(begin +
                           "stablehlo.reduce(%x init: %c) applies stablehlo.add across "
                           "dimensions = [0] :" +
                           types,
                       "tensor<2xi32>"),
              sum);
  EXPECT_THAT(Returned(begin + "stablehlo.reduce(%x init: %c) across dimensions = [0] :" + types +
                           " reducer" + std::string(body).replace(body.find('X'), 1, ""),
                       "tensor<2xi32>"),
              sum);
  EXPECT_THAT(Returned(begin +
                           "\"stablehlo.reduce\"(%x, %c) <{dimensions = array<i64: 0>}> ({ "
                           "^bb0(%a: tensor<i32>, %b: tensor<i32>): "
                           "%s = stablehlo.add %a, %b : tensor<i32> "
                           "stablehlo.return %s : tensor<i32> }) :" +
                           types,
                       "tensor<2xi32>"),
              sum);
}

TEST(Stablehlo, RefusesByLineAndOperator) {
  const auto refusal = [](const std::string& line) { return RefusalOf(Function(line)); };
  EXPECT_THAT(refusal("  %0 = stablehlo.sort %a"), HasSubstr("p.mlir: line 2: operator "
                                                             "'stablehlo.sort' has no form"));
  EXPECT_THAT(refusal("%0 = stablehlo.add %a, %b : tensor<f32>"),
              HasSubstr("line 2: stablehlo.add: found no value '%a' before"));
  EXPECT_THAT(refusal("%0 = stablehlo.constant dense<1> : tensor<complex<f32>>"),
              HasSubstr("line 2: element type 'complex'"));
  EXPECT_THAT(refusal(R"(
    %b = stablehlo.constant dense<1.0> : tensor<f32>
    %q = stablehlo.uniform_quantize %b : (tensor<f32>) -> tensor<!quant.uniform<i8:f32, 1.0>>
    %i = stablehlo.bitcast_convert %q : (tensor<!quant.uniform<i8:f32, 1.0>>) -> tensor<i8>
    %r = stablehlo.add %i, %i : tensor<i8>)"),
              HasSubstr("line 6: stablehlo.add: computes with the stored integers"));
  EXPECT_THAT(
      refusal("%a = stablehlo.constant dense<1.0> : tensor<f32>\n"
              "%0 = stablehlo.negate %a : tensor<f16>"),
      HasSubstr("line 3: stablehlo.negate: found type FLOAT[] of '%a', expected FLOAT16[]"));
}

}  // namespace
}  // namespace qtx::convert::stablehlo_test
