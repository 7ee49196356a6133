// cast.S1 to .S4, quantize_linear.S1 to .S3, dequantize_linear.S1 and .S2, exact.S3 to .S8,
// tflite.S9.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpRun CastTo(const OutputType& type, const Tensor& x, const char* arithmetic = "exact") {
  return {"Cast",
          {Attribute::Int("to", static_cast<std::int64_t>(type.elem_type))},
          {&x},
          type,
          arithmetic};
}

// 5/2 = 2.5 -> 2, -2.5 -> -2, 3.5 -> 4; plus 3. TFLite rounds away: 3, -3, 4.
TEST(Cast, QuantizesByTheTieRuleOfTheArithmetic) {
  const Tensor x = Float({3}, {5.0F, -5.0F, 7.0F});
  const OutputType type = Int8Type(Q({2.0F}, {3}));
  EXPECT_THAT(Integers(CastTo(type, x)), ElementsAre(5, 1, 7));
  EXPECT_THAT(Integers(CastTo(type, x, "float32")), ElementsAre(5, 1, 7));
  EXPECT_THAT(Integers(CastTo(type, x, "tflite")), ElementsAre(6, 0, 7));
}

TEST(Cast, SendsNanToTheOffsetAndClampsInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Float({4}, {std::nanf(""), inf, -inf, 1e38F});
  Quantization q = Q({1.0F}, {5});
  q.quant_max = 100;
  q.quant_min = -50;
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers(CastTo(Int8Type(q), x, arithmetic)), ElementsAre(5, 100, -50, 100));
  }
}

// The quotient 0.5 + 2^-25 exceeds a tie by less than binary32 shows.
TEST(Cast, DividesExactlyOrInBinary32) {
  const Tensor x = Float({1}, {0x1.000002p-1F});  // (1/2)(1 + 2^-23)
  const float scale = 0x1.000002p+0F;             // 1 + 2^-23: quotient exactly 1/2
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({scale})), x)), ElementsAre(0));
  const Tensor y = Float({1}, {0x1.000004p-1F});  // quotient a little above 1/2
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({scale})), y)), ElementsAre(1));
}

// (-8 + 1) * 2, (7 + 1) * 2, 0.
TEST(Cast, SignExtendsNibbles) {
  const Tensor x = Stored(ElementType::kInt4Q, {3}, {-8, 7, -1}, Q({2.0F}, {-1}));
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({1.0F})), x)), ElementsAre(-14, 16, 0));
}

TEST(Cast, EqualsTheTextbookForEveryByteAndManyScales) {
  Random random(41);
  Values all;
  for (std::int64_t v = -128; v <= 127; ++v) all.push_back(v);
  for (int round = 0; round < 50; ++round) {
    const Tensor x = Int8({256}, all, random.PerTensor());
    for (const ElementType to : {ElementType::kInt8Q, ElementType::kUint8Q, ElementType::kInt16Q,
                                 ElementType::kUint4Q, ElementType::kInt2Q, ElementType::kInt32Q}) {
      const OutputType type = Type(to, Q({random.Scale()}, {1}));
      EXPECT_EQ(Integers(CastTo(type, x)), TextbookStored(TextbookReals(x), type, {256}));
    }
  }
}

TEST(Cast, UsesTheBlockOfEachElement) {
  // Blocks of 2 along an axis of 5: the last one is short.
  const Tensor x = Int8({5}, {1, 1, 1, 1, 1}, Q({1.0F, 2.0F, 4.0F}, {0, 0, -1}, {0}, {2}));
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({1.0F})), x)), ElementsAre(1, 1, 2, 2, 8));
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({1.0F, 2.0F, 4.0F}, {0, 0, -1}, {0}, {2})), x)),
              ElementsAre(1, 1, 1, 1, 1));
}

// E4M3FN: 1.0625 lies between 1 and 1.125 (codes 0x38, 0x39), a tie, to the even code; 500 exceeds
// the largest, 448 = 0x7E.
TEST(Cast, RoundsScaledFloatsToTheirGrid) {
  const Tensor x = Float({4}, {2.125F, 2.375F, 1000.0F, -2.0F});
  const OutputType type = Type(ElementType::kFloat8E4M3FNQ, Q({2.0F}));
  const auto result = CastTo(type, x).Run();
  ASSERT_TRUE(result.has_value());
  const auto codes = result->As<std::uint8_t>();
  EXPECT_THAT(std::vector<int>(codes.begin(), codes.end()), ElementsAre(0x38, 0x3A, 0x7E, 0xB8));
  EXPECT_THAT(Floats(CastTo(FloatType(), *result)), ElementsAre(2.0F, 2.5F, 896.0F, -2.0F));
}

TEST(Cast, StoresOneBitAsMinusOneOrOne) {
  const Tensor x = Float({5}, {-3.0F, 0.25F, 0.0F, -0.25F, 9.0F});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers(CastTo(Type(ElementType::kBipolar1Q, Q({1.0F})), x, arithmetic)),
                ElementsAre(-1, 1, 1, -1, 1));
  }
}

// 2^24 + 1 times 1: a tie of binary32, to even; times 3: 50331651, also between two.
TEST(Cast, DequantizesToTheNearestFloat) {
  const Tensor x = Stored(ElementType::kInt32Q, {2}, {16777217, 16777219}, Q({3.0F}));
  EXPECT_THAT(Floats(CastTo(FloatType(), x)), ElementsAre(50331652.0F, 50331656.0F));
}

// tflite.S9: M = 1/4 twice rounded: 1 -> 1/2 -> 1 -> 1/2 away 1.
TEST(Cast, RequantizesInFixedPointInTflite) {
  const Tensor x = Int8({3}, {1, 2, -2}, Q({1.0F}));
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({4.0F})), x, "tflite")), ElementsAre(1, 1, -1));
  EXPECT_THAT(Integers(CastTo(Int8Type(Q({4.0F})), x)), ElementsAre(0, 0, 0));
}

TEST(Cast, RefusesATypeThatIsNotTheOutputs) {
  const Tensor x = Float({1}, {1.0F});
  EXPECT_THAT(ErrorOf({"Cast", {Attribute::Int("to", 1002)}, {&x}, Int8Type(Q({1.0F}))}),
              HasSubstr("attribute 'to': found UINT8Q, expected the declared type, INT8Q"));
}

// cast.C4: there is no infinity and no NaN to give instead, as FLOAT8E5M2 has.
TEST(Cast, RefusesNotToSaturateAScaledSmallFloat) {
  const Tensor x = Float({1}, {1.0F});
  const auto saturates = [&x](ElementType to, std::int64_t saturate) {
    const auto q = format::IsQuantized(to) ? std::optional(Q({1.0F})) : std::nullopt;
    return ErrorOf({.op = "Cast",
                    .attributes = {Attribute::Int("to", static_cast<std::int64_t>(to)),
                                   Attribute::Int("saturate", saturate)},
                    .inputs = {&x},
                    .output = {to, q},
                    .opset = 19}) == "";
  };
  for (const ElementType type : {ElementType::kFloat8E5M2Q, ElementType::kFloat4E2M1Q}) {
    EXPECT_FALSE(saturates(type, 0));
    EXPECT_TRUE(saturates(type, 1));
  }
  EXPECT_TRUE(saturates(ElementType::kFloat8E5M2, 0));
  EXPECT_TRUE(saturates(ElementType::kInt8Q, 0));
}

TEST(QuantizeLinear, RoundsThenAddsThenSaturates) {
  const Tensor x = Float({4}, {5.0F, 7.0F, -9.0F, 512.0F});
  const Tensor scale = Float({}, {2.0F});
  const Tensor zero = Stored(ElementType::kUint8, {}, {1});
  const OutputType type{ElementType::kUint8, std::nullopt};
  EXPECT_THAT(Integers({"QuantizeLinear", {}, {&x, &scale, &zero}, type}),
              ElementsAre(3, 5, 0, 255));
  EXPECT_THAT(Integers({"QuantizeLinear", {}, {&x, &scale}, type}), ElementsAre(2, 4, 0, 255));
}

TEST(QuantizeLinear, TakesTheParameterAlongItsAxis) {
  const Tensor x = Float({2, 2}, {4.0F, 4.0F, 4.0F, 4.0F});
  const Tensor scale = Float({2}, {1.0F, 2.0F});
  const OutputType type{ElementType::kUint8, std::nullopt};
  EXPECT_THAT(Integers({"QuantizeLinear", {}, {&x, &scale}, type}), ElementsAre(4, 2, 4, 2));
  EXPECT_THAT(Integers({"QuantizeLinear", {Attribute::Int("axis", 0)}, {&x, &scale}, type}),
              ElementsAre(4, 4, 2, 2));
  const Tensor bad = Float({2}, {1.0F, -2.0F});
  EXPECT_THAT(ErrorOf({"QuantizeLinear", {}, {&x, &bad}, type}), HasSubstr("[quantize_linear.C2]"));
  const Tensor zero = Float({2}, {1.0F, 0.0F});  // 4 / 0 is an infinity
  EXPECT_THAT(Integers({"QuantizeLinear", {}, {&x, &zero}, type}), ElementsAre(4, 255, 4, 255));
  const Tensor long_scale = Float({3}, {1.0F, 1.0F, 1.0F});
  EXPECT_THAT(ErrorOf({"QuantizeLinear", {}, {&x, &long_scale}, type}),
              HasSubstr("found shape [3], expected [2]"));
}

TEST(DequantizeLinear, DoesNotWrapTheDifference) {
  const Tensor x = Stored(ElementType::kInt8, {2}, {-128, 127});
  const Tensor scale = Float({}, {0.5F});
  const Tensor zero = Stored(ElementType::kInt8, {}, {127});
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Floats({"DequantizeLinear", {}, {&x, &scale, &zero}, FloatType(), arithmetic}),
                ElementsAre(-127.5F, 0.0F));
  }
}

TEST(DequantizeLinear, TakesBlocksAlongItsAxis) {
  const Tensor x = Stored(ElementType::kInt4, {1, 4}, {1, 2, 3, 4});
  const Tensor scale = Float({1, 2}, {1.0F, 10.0F});
  EXPECT_THAT(Floats({"DequantizeLinear",
                      {Attribute::Int("axis", 1), Attribute::Int("block_size", 2)},
                      {&x, &scale},
                      FloatType()}),
              ElementsAre(1.0F, 2.0F, 30.0F, 40.0F));
}

}  // namespace
}  // namespace qtx::reference::testing
