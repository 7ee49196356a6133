// Wrong answers worked out by hand, each of which must be given its name.
#include "qtx/conformance/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "candidate.h"
#include "qtx/conformance/case.h"

namespace qtx::conformance {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Case ParseOne(const std::string& yaml) {
  const auto cases = ParseCases(yaml, "t");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << ": " << cases.error().message;
  return cases->at(0);
}

// Reals 0.5 1.5 -0.5 -1.5 2.5 onto scale 1, offset 3: half even 0 2 0 -2 2, plus 3.
Case Ties() {
  return ParseOne(
      "{id: t, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, scale: 0.5, data: [1, 3, -1, -3, 5]}},"
      " expect: {y: {type: int8q, scale: 1, offset: 3, data: [3, 5, 3, 1, 5]}}}");
}

// The names of the candidates that give `got` in the place of `exact`; faults on top of another
// arithmetic only if there is no other.
std::vector<std::string> Explain(const Case& c, const Outputs& got) {
  const auto question = BuildQuestion(c);
  EXPECT_TRUE(question.has_value()) << question.error().message;
  std::vector<std::string> names;
  for (const Candidate& candidate : Candidates("exact")) {
    const bool far = candidate.fault != nullptr && candidate.base->name != "exact";
    if (far && !names.empty()) break;
    if (Explains(candidate, *question, got)) names.push_back(Name(candidate, "exact"));
  }
  return names;
}

std::vector<std::string> ExplainStored(const Case& c, std::vector<std::int64_t> stored) {
  format::Tensor got = *c.outputs[0].data;
  format::PackIntegers(stored, got);
  return Explain(c, {got});
}

TEST(Explain, TheReferenceAgreesWithTheHandDerivedResult) {
  const auto outputs = RunReference(Ties(), "exact");
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_THAT(format::UnpackIntegers(outputs->at(0)), ElementsAre(3, 5, 3, 1, 5));
}

TEST(Explain, NamesTheTieRule) {
  EXPECT_THAT(ExplainStored(Ties(), {4, 5, 2, 1, 6}), ElementsAre("half_away"));
  EXPECT_THAT(ExplainStored(Ties(), {4, 5, 3, 2, 6}),
              ElementsAre("half_up", "fixed-point", "fixed-point-double", "fixed-point-16",
                          "pow2-half-up", "tvm-upward", "tvm-to-nearest"));
  EXPECT_THAT(ExplainStored(Ties(), {3, 4, 3, 2, 5}), ElementsAre("truncates"));
}

TEST(Explain, NamesTheOrderOfRoundingAndOffset) {
  // 3.5 4.5 2.5 1.5 5.5 to even.
  EXPECT_THAT(ExplainStored(Ties(), {4, 4, 2, 2, 6}),
              ElementsAre("offset_before_rounding", "glow", "onednn", "onednn-avx2"));
  EXPECT_THAT(ExplainStored(Ties(), {0, 2, 0, -2, 2}),
              ElementsAre("output_offset_ignored", "all_offsets_ignored"));
}

TEST(Explain, NamesAWrapInThePlaceOfAClamp) {
  const Case c = ParseOne(
      "{id: t, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, scale: 2, data: [100, -100, 1]}},"
      " expect: {y: {type: int8q, scale: 1, quant_max: 100, data: [100, -128, 2]}}}");
  EXPECT_THAT(ExplainStored(c, {-56, 56, 2}), ElementsAre("wraps"));
  EXPECT_THAT(ExplainStored(c, {127, -128, 2}), ElementsAre("quant_range_ignored"));
}

TEST(Explain, NamesParametersReadWrongly) {
  const Case c = ParseOne(
      "{id: t, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, shape: [2, 2], scale: [1, 2], offset: [1, 1], axis: 0,"
      "   data: [3, 5, 3, 5]}},"
      " expect: {y: {type: int8q, shape: [2, 2], scale: 1, data: [2, 4, 4, 8]}}}");
  EXPECT_THAT(ExplainStored(c, {2, 8, 2, 8}), Contains("per_axis_on_next_axis"));
  EXPECT_THAT(ExplainStored(c, {2, 4, 2, 4}), Contains("first_scale_for_all_channels"));
  EXPECT_THAT(ExplainStored(c, {3, 5, 6, 10}), Contains("first_offset_ignored"));
}

TEST(Explain, InventsNothing) { EXPECT_THAT(ExplainStored(Ties(), {99, 5, 3, 1, 5}), IsEmpty()); }

// Twice the scale makes a tie of every odd value. In binary32 the product value * scale is rounded
// first, which moves some quotients off the tie.
TEST(Explain, NamesAnotherArithmetic) {
  const Case c = ParseOne(
      "{id: t, spec: quantize_linear.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int16q, scale: 0x1.99999ap-4, generate: {kind: ramp}, shape: [65536]}},"
      " expect: {y: {type: int16q, scale: 0x1.99999ap-3}}}");
  const auto exact = RunReference(c, "exact");
  const auto float32 = RunReference(c, "float32");
  ASSERT_TRUE(exact.has_value() && float32.has_value());
  ASSERT_TRUE(Compare("y", float32->at(0), exact->at(0), std::nullopt).has_value());
  EXPECT_THAT(Explain(c, *float32), Contains("float32"));
}

// 100 * 2 = 200 and -200 leave int8: clamped to 127 and -128, or to one beside them. 128 wraps to
// -128, and -129 to 127.
TEST(Explain, NamesAClampOffByOne) {
  const Case c = ParseOne(
      "{id: t, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, scale: 2, data: [100, -100, 1]}},"
      " expect: {y: {type: int8q, scale: 1, data: [127, -128, 2]}}}");
  EXPECT_THAT(ExplainStored(c, {126, -128, 2}), ElementsAre("maximum_off_by_one"));
  EXPECT_THAT(ExplainStored(c, {127, -127, 2}), ElementsAre("narrow_range", "minimum_off_by_one"));
  EXPECT_THAT(ExplainStored(c, {-128, -128, 2}), ElementsAre("clamps_beyond_maximum"));
  // -100 read as unsigned is 156, which twice is beyond 127, too.
  EXPECT_THAT(ExplainStored(c, {127, 127, 2}),
              ElementsAre("clamps_below_minimum", "first_reinterpreted"));
}

// Groups of two channels each, x = 1: the sums are 1 2 3 4, times the scales 1 2 3 4 of w: 1 4
// 9 16. The scales of the first group give 1 4 3 8, those of the next 3 8 3 8.
TEST(Explain, NamesTheScalesOfAnotherGroup) {
  const Case c = ParseOne(
      "{id: t, spec: conv.S1, why: w, op: {type: Conv, attributes: {group: 2}},"
      " inputs: {x: {type: int8q, shape: [1, 2, 1], scale: 1, data: [1, 1]},"
      "   w: {type: int8q, shape: [4, 1, 1], scale: [1, 2, 3, 4], axis: 0, data: [1, 2, 3, 4]}},"
      " expect: {y: {type: int8q, shape: [1, 4, 1], scale: 1, data: [1, 4, 9, 16]}}}");
  EXPECT_THAT(ExplainStored(c, {1, 4, 3, 8}), Contains("scales_of_first_group"));
  EXPECT_THAT(ExplainStored(c, {3, 8, 3, 8}), Contains("scales_of_next_group"));
}

// x = 0, so that the bias 1 2 3 4 is the answer; of the first group 1 2 1 2, of the next 3 4 1 2.
TEST(Explain, NamesTheBiasesOfAnotherGroup) {
  const Case c = ParseOne(
      "{id: t, spec: conv.S1, why: w, op: {type: Conv, attributes: {group: 2}},"
      " inputs: {x: {type: int8q, shape: [1, 2, 1], scale: 1, data: [0, 0]},"
      "   w: {type: int8q, shape: [4, 1, 1], scale: 1, data: [1, 2, 3, 4]},"
      "   b: {type: int32q, shape: [4], scale: 1, data: [1, 2, 3, 4]}},"
      " expect: {y: {type: int8q, shape: [1, 4, 1], scale: 1, data: [1, 2, 3, 4]}}}");
  EXPECT_THAT(ExplainStored(c, {1, 2, 1, 2}), Contains("biases_of_first_group"));
  EXPECT_THAT(ExplainStored(c, {3, 4, 1, 2}), Contains("biases_of_next_group"));
}

// 255 * 129 = 32895 passes 32767 by 128. It wraps to -32641, whose mean over 129 is -253.03, below
// 0; clamped to 32767 the mean is 254.008.
TEST(Explain, NamesAnAverageOfNarrowSums) {
  const Case c = ParseOne(
      "{id: t, spec: average_pool.S1, why: w, op: {type: AveragePool,"
      "   attributes: {kernel_shape: [129]}},"
      " inputs: {x: {type: uint8q, shape: [1, 1, 129], scale: 1, generate: {kind: saturate}}},"
      " expect: {y: {type: uint8q, shape: [1, 1, 1], scale: 1, data: [255]}}}");
  Case full = c;
  full.inputs[0].generator.reset();
  full.inputs[0].data =
      *format::MakeTensor(format::ElementType::kUint8Q, {1, 1, 129}, c.inputs[0].type.quantization);
  format::PackIntegers(std::vector<std::int64_t>(129, 255), *full.inputs[0].data);
  EXPECT_THAT(ExplainStored(full, {0}), Contains("average_16_bits_wraps"));
  EXPECT_THAT(ExplainStored(full, {254}), Contains("average_16_bits_saturates"));
}

// Dilated by 2, 1 and 3 are added, else 1 and 2. With a stride of 2 a kernel of one reads 1 and 3,
// else 1 and 2.
TEST(Explain, NamesStepsThatAreIgnored) {
  const std::string inputs =
      " inputs: {x: {type: int8q, shape: [1, 1, 3], scale: 1, data: [1, 2, 3]},"
      "   w: {type: int8q, shape: [1, 1, ";
  const Case dilated = ParseOne(
      "{id: t, spec: conv.S1, why: w, op: {type: Conv, attributes: {dilations: [2]}}," + inputs +
      "2], scale: 1, data: [1, 1]}},"
      " expect: {y: {type: int8q, shape: [1, 1, 1], scale: 1, data: [4]}}}");
  EXPECT_THAT(ExplainStored(dilated, {3}), Contains("dilations_ignored"));
  const Case strided = ParseOne(
      "{id: t, spec: conv.S1, why: w, op: {type: Conv, attributes: {strides: [2]}}," + inputs +
      "1], scale: 1, data: [1]}},"
      " expect: {y: {type: int8q, shape: [1, 1, 2], scale: 1, data: [1, 3]}}}");
  EXPECT_THAT(ExplainStored(strided, {1, 2}), Contains("pointwise_ignores_stride"));
}

// As unsigned numbers -1 is 255, above 5.
TEST(Explain, NamesAMaximumOfTheOtherSignedness) {
  const Case c = ParseOne(
      "{id: t, spec: max_pool.S1, why: w, op: {type: MaxPool, attributes: {kernel_shape: [2]}},"
      " inputs: {x: {type: int8q, shape: [1, 1, 2], scale: 1, data: [-1, 5]}},"
      " expect: {y: {type: int8q, shape: [1, 1, 1], scale: 1, data: [5]}}}");
  EXPECT_THAT(ExplainStored(c, {-1}), Contains("max_pool_unsigned"));
}

// 1 and 2 have the mean 1.5, to even 2; 4 is alone in its window, of which one place lies beyond
// the input: 4 / 1, or 4 / 2 where it counts.
TEST(Explain, NamesAnAverageThatCountsWhatLiesBeyond) {
  const Case c = ParseOne(
      "{id: t, spec: average_pool.S1, why: w, op: {type: AveragePool, attributes:"
      "   {kernel_shape: [2], strides: [2], ceil_mode: 1, count_include_pad: 1}},"
      " inputs: {x: {type: uint8q, shape: [1, 1, 3], scale: 1, data: [1, 2, 4]}},"
      " expect: {y: {type: uint8q, shape: [1, 1, 2], scale: 1, data: [2, 4]}}}");
  EXPECT_THAT(ExplainStored(c, {2, 2}), Contains("average_counts_overhang"));
}

// (1 - 3) * (1 - 5) twice is 16; two more products of stored 0 add (0 - 3) * (0 - 5) = 15 each.
TEST(Explain, NamesADepthThatIsPaddedWithStoredZero) {
  const Case c = ParseOne(
      "{id: t, spec: mat_mul.S1, why: w, op: {type: MatMul},"
      " inputs: {a: {type: int8q, shape: [1, 2], scale: 1, offset: 3, data: [1, 1]},"
      "   b: {type: int8q, shape: [2, 1], scale: 1, offset: 5, data: [1, 1]}},"
      " expect: {y: {type: int8q, shape: [1, 1], scale: 1, data: [16]}}}");
  EXPECT_THAT(ExplainStored(c, {46}), Contains("depth_padded_to_4"));
}

// 1 / sqrt(1 + 3) is 2 quarters; without epsilon 1 / sqrt(1) is 4.
TEST(Explain, NamesAnEpsilonThatIsIgnored) {
  const Case c = ParseOne(
      "{id: t, spec: rms_normalization.S1, why: w,"
      " op: {type: RMSNormalization, opset: 23, attributes: {epsilon: 3.0}},"
      " inputs: {x: {type: int8q, shape: [1], scale: 1, data: [1]},"
      "   gain: {type: int8q, shape: [1], scale: 1, data: [1]}},"
      " expect: {y: {type: int8q, shape: [1], scale: 0.25, data: [2]}}}");
  EXPECT_THAT(ExplainStored(c, {4}), Contains("epsilon_ignored"));
}

// The largest is 127, so INT8 has a scale of 1: 127 0.75 -63.25 become 127 1 -63, which the weights
// 4 make 508 4 -252 (from 508 3 -253). Rounded to UINT8, the scale is (127 + 63.25) / 255 =
// 0.74607..., and the offset 63.25 / 0.74607 = 84.8, 85: 127 is 170.2, 170 and 126.83; 0.75
// is 1.005, 1 and 0.746; -63.25 is -84.8, -85 and -63.42: 507.3, 2.98 and -253.7.
TEST(Explain, NamesAnOperandThatIsRoundedToEightBits) {
  const Case c = ParseOne(
      "{id: t, spec: mat_mul.S1, why: w, op: {type: MatMul},"
      " inputs: {a: {type: float, shape: [3, 1], data: [127, 0.75, -63.25]},"
      "   b: {type: int8q, shape: [1, 1], scale: 1, data: [4]}},"
      " expect: {y: {type: int16q, shape: [3, 1], scale: 1, data: [508, 3, -253]}}}");
  EXPECT_THAT(ExplainStored(c, {508, 4, -252}), Contains("first_rounded_to_int8"));
  EXPECT_THAT(ExplainStored(c, {507, 3, -254}), Contains("first_rounded_to_8_bits"));
}

// Two rows of two: 127 0.75 has a scale of 1 and becomes 127 1; 12.7 0.25 has one of 0.1 and
// becomes 12.7 0.2 (0.25 / 0.1 is 2.5 or just below in binary32, both 2). With one scale for all
// the second row is 13 0. Weights 10 and 10: 1280 and 129; with one scale 1280 and 130.
TEST(Explain, TellsScalesOfRowsFromOneScale) {
  const Case c = ParseOne(
      "{id: t, spec: mat_mul.S1, why: w, op: {type: MatMul},"
      " inputs: {a: {type: float, shape: [2, 2], data: [127, 0.75, 12.7, 0.25]},"
      "   b: {type: int8q, shape: [2, 1], scale: 1, data: [10, 10]}},"
      " expect: {y: {type: int16q, shape: [2, 1], scale: 1, data: [1278, 129]}}}");
  EXPECT_THAT(ExplainStored(c, {1280, 129}), Contains("rows_rounded_to_int8"));
  EXPECT_THAT(ExplainStored(c, {1280, 129}), testing::Not(Contains("first_rounded_to_int8")));
  EXPECT_THAT(ExplainStored(c, {1280, 130}), Contains("first_rounded_to_int8"));
}

}  // namespace
}  // namespace qtx::conformance
