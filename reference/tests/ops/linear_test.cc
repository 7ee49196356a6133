// quantize_linear.S1 to .S6, dequantize_linear.S1 to .S6, dynamic_quantize_linear.S1 to .S4.
#include <cmath>

#include "stock_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

// Few bits times a power of two around `exponent`, so that ties occur at every scale.
Tensor FewBits(Random& random, const Dims& dims, int exponent) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < *format::ElementCount(std::span<const std::int64_t>(dims)); ++i) {
    values.push_back(std::ldexp(static_cast<float>(random.In(-600, 600)), exponent - 1));
  }
  return Float(dims, values);
}

TEST(QuantizeLinear, EqualsTheTextbookForEveryTypeAndScale) {
  Random random(91);
  for (const ElementType storage :
       {ElementType::kUint8, ElementType::kInt8, ElementType::kUint16, ElementType::kInt16,
        ElementType::kUint4, ElementType::kInt4, ElementType::kUint2, ElementType::kInt2}) {
    const format::IntegerRange range = format::StorageRange(storage);
    for (const int exponent : {-148, -126, -3, 0, 5, 117}) {
      for (const std::int64_t zero : {range.min, range.max, std::int64_t{1}}) {
        const Tensor x = FewBits(random, {100}, exponent);
        const StockTensor y(storage, {}, {0},
                            Q({std::ldexp(1.0F, exponent)}, {static_cast<std::int32_t>(zero)}));
        EXPECT_EQ(Integers({"QuantizeLinear", {}, {&x, &y.scale, &y.zero}, PlainType(storage)}),
                  TextbookStored(TextbookReals(x), y.type, {100}));
      }
    }
  }
}

TEST(QuantizeLinear, EqualsTheTextbookAlongAxesAndShortBlocks) {
  Random random(92);
  const Tensor x = FewBits(random, {3, 7, 2}, 0);
  for (std::int64_t block = 0; block < 9; ++block) {
    const std::int64_t count = block == 0 ? 7 : (7 + block - 1) / block;
    const Dims dims = block == 0 ? Dims{7} : Dims{3, count, 2};
    Quantization q = block == 0 ? Q({}, {}, {1}) : Q({}, {}, {0, 1, 2}, {1, block, 1});
    Values zeros;
    for (std::int64_t i = 0; i < (block == 0 ? 7 : 6 * count); ++i) {
      q.scale.push_back(random.Scale());
      q.offset.push_back(static_cast<std::int32_t>(random.In(-128, 127)));
      zeros.push_back(q.offset.back());
    }
    const Tensor scale = Float(dims, q.scale);
    const Tensor zero = Stored(ElementType::kInt8, dims, zeros);
    const std::vector<Attribute> attributes = {Attribute::Int("axis", -2),
                                               Attribute::Int("block_size", block)};
    const Values stored = Integers(
        {"QuantizeLinear", attributes, {&x, &scale, &zero}, PlainType(ElementType::kInt8)});
    ASSERT_EQ(stored, TextbookStored(TextbookReals(x), Int8Type(q), x.dims)) << block;
    const Tensor y = Stored(ElementType::kInt8, x.dims, stored);
    const auto reals = TextbookReals(Int8(x.dims, stored, q));
    const auto back = Floats({"DequantizeLinear", attributes, {&y, &scale, &zero}, FloatType()});
    for (std::size_t i = 0; i < reals.size(); ++i) {  // few bits: exact in binary32
      EXPECT_EQ(mpq_class(static_cast<double>(back[i])), reals[i]);
    }
  }
}

TEST(QuantizeLinear, RefusesABlockSizeThatDoesNotFit) {
  const Tensor x = Float({4}, {1, 2, 3, 4});
  const Tensor scale = Float({2}, {1, 1});
  const OutputType type = PlainType(ElementType::kUint8);
  for (const std::int64_t block : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{1} << 62}) {
    EXPECT_NE(ErrorOf({"QuantizeLinear",
                       {Attribute::Int("axis", 0), Attribute::Int("block_size", block)},
                       {&x, &scale},
                       type}),
              "");
  }
}

// Every code of INT16 by a scale of 24 bits, and INT32 at its ends, against rationals.
TEST(DequantizeLinear, GivesTheNearestFloatOfTheExactProduct) {
  const float scale = 0x1.921fb6p-9F;
  Values all;
  for (std::int64_t v = -32768; v < 32768; ++v) all.push_back(v);
  const StockTensor x(ElementType::kInt16, {65536}, all, Q({scale}, {-32768}));
  const auto floats = Floats({"DequantizeLinear", {}, {&x.stored, &x.scale, &x.zero}, FloatType()});
  for (std::size_t i = 0; i < all.size(); ++i) {
    // 17 bits times 24 are exact in binary64, and the conversion rounds once.
    const auto product = static_cast<double>(all[i] + 32768) * static_cast<double>(scale);
    ASSERT_EQ(floats[i], static_cast<float>(product));
  }
}

struct Dynamic {
  Values y, zero;
  float scale;
};

Result<Dynamic> RunDynamic(const Tensor& x, const char* arithmetic) {
  format::Node node;
  node.inputs = {"x"};
  node.outputs = {"y", "scale", "zero"};
  const std::array<OutputType, 3> types = {PlainType(ElementType::kUint8), FloatType(),
                                           PlainType(ElementType::kUint8)};
  const std::array<const Tensor*, 1> inputs = {&x};
  Counters counters;
  const Call call{.node = node,
                  .arithmetic = **FindArithmetic(arithmetic),
                  .inputs = inputs,
                  .outputs = types,
                  .counters = &counters};
  QTX_ASSIGN_OR_RETURN(const auto results,
                       RunOperator(*FindOperator("", "DynamicQuantizeLinear"), call));
  return Dynamic{format::UnpackIntegers(results[0]), format::UnpackIntegers(results[2]),
                 results[1].As<float>()[0]};
}

TEST(DynamicQuantizeLinear, EqualsTheTextbook) {
  Random random(93);
  for (int round = 0; round < 200; ++round) {
    const Tensor x = FewBits(random, {50}, static_cast<int>(random.In(-130, 100)));
    mpq_class min = 0, max = 0;
    for (const mpq_class& real : TextbookReals(x)) {
      min = std::min(min, real);
      max = std::max(max, real);
    }
    const Dynamic result = *RunDynamic(x, "exact");
    // The scale: no other binary32 is nearer.
    const mpq_class exact = (max - min) / 255;
    const mpq_class error = abs(mpq_class(static_cast<double>(result.scale)) - exact);
    for (const float toward : {0.0F, 0x1.fffffep+127F}) {
      const float other = std::nextafter(result.scale, toward);
      EXPECT_LE(error, abs(mpq_class(static_cast<double>(other)) - exact));
    }
    const auto scale = static_cast<double>(result.scale);
    const std::int64_t zero = TextbookQuantize(-min, scale, 0, 0, 255);
    EXPECT_EQ(result.zero, Values{zero});
    EXPECT_EQ(result.y, TextbookStored(TextbookReals(x),
                                       Type(ElementType::kUint8Q,
                                            Q({result.scale}, {static_cast<std::int32_t>(zero)})),
                                       x.dims));
  }
}

// The reference implementation of ONNX in the order of its words.
TEST(DynamicQuantizeLinear, IsASequenceOfBinary32Operations) {
  Random random(94);
  for (int round = 0; round < 200; ++round) {
    const Tensor x = FewBits(random, {50}, static_cast<int>(random.In(-20, 20)));
    const auto values = x.As<float>();
    const float min = std::min(0.0F, *std::ranges::min_element(values));
    const float max = std::max(0.0F, *std::ranges::max_element(values));
    const float scale = (max - min) / 255.0F;
    const float zero = std::nearbyint(std::clamp(0.0F - min / scale, 0.0F, 255.0F));
    Values y;
    for (const float value : values) {
      y.push_back(static_cast<std::int64_t>(
          std::clamp(std::nearbyint(value / scale) + zero, 0.0F, 255.0F)));
    }
    const Dynamic result = *RunDynamic(x, "float32");
    EXPECT_EQ(result.scale, scale);
    EXPECT_EQ(result.zero, Values{static_cast<std::int64_t>(zero)});
    EXPECT_EQ(result.y, y);
  }
}

// 3 * 2^127 / 255 is rounded up (0x1.81818181p+120): the ends are 127.4999 of it, 127 + 127 and 0.
TEST(DynamicQuantizeLinear, RefusesARangeThatBinary32DoesNotReach) {
  const Tensor x = Float({2}, {0x1.8p+127F, -0x1.8p+127F});
  EXPECT_THAT(RunDynamic(x, "exact")->y, ElementsAre(254, 0));
  EXPECT_EQ(RunDynamic(x, "float32").error().Text(),
            "input[0] 'x': spans more than binary32 reaches [dynamic_quantize_linear.C2]");
}

}  // namespace
}  // namespace qtx::reference::testing
