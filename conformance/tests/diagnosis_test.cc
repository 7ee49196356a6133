// Wrong answers worked out by hand, each of which must be given its name.
#include "qtx/conformance/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fault.h"
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

// What Explain makes of `stored` as the answer to `c`.
std::vector<std::string> ExplainStored(const Case& c, std::vector<std::int64_t> stored) {
  format::Tensor got = *c.outputs[0].data;
  format::PackIntegers(stored, got);
  return Explain(c, "exact", {got});
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

TEST(Explain, DoubtsACaseThatTheReferenceContradictsToo) {
  EXPECT_THAT(ExplainStored(Ties(), {3, 5, 3, 1, 5}), ElementsAre("reference"));
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
  EXPECT_THAT(Explain(c, "exact", *float32), Contains("float32"));
}

}  // namespace
}  // namespace qtx::conformance
