// The general paths: types, shapes and parameters that have no kernel, each with an expectation
// derived by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support.h"

namespace qtx::backend::engine::general_test {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

constexpr ElementType kInt8Q = ElementType::kInt8Q;
constexpr ElementType kInt4Q = ElementType::kInt4Q;
using Stored = std::vector<std::int32_t>;

Tensor Compute(const std::string& op, const std::vector<Argument>& arguments, const Tensor& output,
               std::vector<Attribute> attributes = {}) {
  auto y = ComputeOneNode(PortableKernels(), op, arguments, output, std::move(attributes));
  if (y.has_value()) return *y;
  ADD_FAILURE() << y.error().where << ": " << y.error().message;
  return output;
}
Stored StoredOf(const std::string& op, const std::vector<Argument>& arguments, const Tensor& output,
                std::vector<Attribute> attributes = {}) {
  return format::UnpackInt32(Compute(op, arguments, output, std::move(attributes)));
}
std::vector<float> FloatsOf(const std::string& op, const std::vector<Argument>& arguments,
                            const Tensor& output, std::vector<Attribute> attributes = {}) {
  const Tensor y = Compute(op, arguments, output, std::move(attributes));
  return {y.As<float>().begin(), y.As<float>().end()};
}

Tensor Make(ElementType type, Dims dims, std::vector<Parameters> parameters, const Stored& stored,
            std::int64_t axis = 0) {
  return Quantized(type, std::move(dims), std::move(parameters), stored, axis);
}
Tensor Reals(Dims dims, const std::vector<float>& values) {
  return Floats(std::move(dims), values);
}
// A small float of one scale, from its codes.
Tensor Codes(ElementType type, float scale, std::initializer_list<int> bytes, Dims dims) {
  Tensor tensor = Make(type, std::move(dims), {{scale, 0}}, {});
  tensor.bytes.clear();
  for (const int byte : bytes) tensor.bytes.push_back(static_cast<std::byte>(byte));
  return tensor;
}

// (2^31 - 1)^2 + 1 * -1 = 2^62 - 2^32, over 2^32: 2^30 - 1. Binary64 rounds the square to 2^62.
TEST(GeneralMatMul, MultipliesInt32Exactly) {
  const Tensor a = Make(ElementType::kInt32Q, {1, 2}, {{1, 0}}, {2147483647, 1});
  const Tensor b = Make(ElementType::kInt32Q, {2, 1}, {{1, 0}}, {2147483647, -1});
  const Tensor y = Make(ElementType::kInt32Q, {1, 1}, {{0x1p32F, 0}}, {});
  EXPECT_EQ(StoredOf("MatMul", {{"a", a}, {"b", b}}, y), (Stored{1073741823}));
}

// inf * 0 is NaN, stored as the offset 9; inf * 1 + 1 is the end of the range; 0 * 0 + 1 is 1.
TEST(GeneralMatMul, FollowsIeeeOnSpecialValues) {
  const Tensor a = Reals({3, 2}, {INFINITY, 1, INFINITY, 1, 0, 1});
  const Tensor y = Make(kInt8Q, {3, 1}, {{1, 9}}, {});
  EXPECT_EQ(StoredOf("MatMul", {{"a", a}, {"b", Reals({2, 1}, {0, 1})}}, y), (Stored{9, 9, 10}));
  EXPECT_EQ(StoredOf("MatMul", {{"a", a}, {"b", Reals({2, 1}, {1, 1})}}, y),
            (Stored{127, 127, 10}));
}

// An empty sum is real zero.
TEST(GeneralMatMul, SumsNothingToTheOffset) {
  const Tensor y = Make(kInt8Q, {1, 2}, {{1, -4}}, {});
  EXPECT_EQ(
      StoredOf("MatMul", {{"a", Make(kInt8Q, {1, 0}, {{1, 0}}, {})}, {"b", Reals({0, 2}, {})}}, y),
      (Stored{-4, -4}));
}

// 0.5 * (1 2)' (3 4) = 1.5 2 / 3 4, plus 2 * (10 20)': 21.5 22 / 43 44; the tie goes to even.
TEST(GeneralGemm, TakesABiasPerRow) {
  const Tensor a = Make(kInt8Q, {2, 1}, {{1, 0}}, {1, 2});
  const Tensor b = Make(kInt8Q, {1, 2}, {{1, 0}}, {3, 4});
  const Tensor c = Make(ElementType::kInt32Q, {2, 1}, {{1, 0}}, {10, 20});
  const Tensor y = Make(kInt8Q, {2, 2}, {{1, 0}}, {});
  EXPECT_EQ(StoredOf("Gemm", {{"a", a}, {"b", b, true}, {"c", c, true}}, y,
                     {Attribute::Float("alpha", 0.5F), Attribute::Float("beta", 2)}),
            (Stored{22, 22, 43, 44}));
}

// x is (1 2) over (3 4) along the first spatial axis, behind one row of padding, which is real zero
// though x has offset 5: 10 * (1 2), then (1 2) + 10 * (3 4).
TEST(GeneralConv, SlidesOverThreeAxes) {
  const Tensor x = Make(kInt8Q, {1, 1, 2, 1, 2}, {{1, 5}}, {6, 7, 8, 9});
  const Tensor w = Make(kInt8Q, {1, 1, 2, 1, 1}, {{1, 0}}, {1, 10});
  const Tensor y = Make(kInt8Q, {1, 1, 2, 1, 2}, {{1, 0}}, {});
  EXPECT_EQ(StoredOf("Conv", {{"x", x}, {"w", w, true}}, y,
                     {Attribute::Ints("pads", {1, 0, 0, 0, 0, 0})}),
            (Stored{10, 20, 31, 42}));
}

// Two groups: 0.5 * 3 and -0.25 * 8, plus biases 1 and 2; the second channel of y has scale 0.25.
// 2.5 is a tie, to 2; 0 stays.
TEST(GeneralConv, TakesComputedFloatWeightsGroupsAndAnOutputPerChannel) {
  const Tensor x = Make(ElementType::kInt16Q, {1, 2, 1}, {{1, 0}}, {3, 8});
  const Tensor y = Make(kInt8Q, {1, 2, 1}, {{1, 0}, {0.25F, 7}}, {}, 1);
  EXPECT_EQ(StoredOf("Conv",
                     {{"x", x}, {"w", Reals({2, 1, 1}, {0.5F, -0.25F})}, {"b", Reals({2}, {1, 2})}},
                     y, {Attribute::Int("group", 2)}),
            (Stored{2, 7}));
}

// E4M3FN 0x38 is 1 and 0x44 is 3; scale 2 makes 2 and 6. E2M1 codes 0..7 are 0 .5 1 1.5 2 3 4 6.
TEST(GeneralPool, AveragesScaledFloats) {
  const Tensor x = Codes(ElementType::kFloat8E4M3FNQ, 2, {0x38, 0x44, 0x44}, {1, 1, 3});
  const Attribute kernel = Attribute::Ints("kernel_shape", {2});
  // Means 4 and 6.
  EXPECT_EQ(FloatsOf("AveragePool", {{"x", x}}, Reals({1, 1, 2}, {0, 0}), {kernel}),
            (std::vector<float>{4, 6}));
  // Over 2: 2 is code 4, 3 is code 5; the first in the low half.
  const Tensor y = Codes(ElementType::kFloat4E2M1Q, 2, {0}, {1, 1, 2});
  EXPECT_EQ(Compute("AveragePool", {{"x", x}}, y, {kernel}).bytes, (std::vector{std::byte{0x54}}));
}

// 1/3 in binary32 is 0x1.555556p-2: of a sum, divided and rounded once.
TEST(GeneralPool, DividesOnce) {
  const Tensor x = Make(ElementType::kInt16Q, {1, 1, 1, 1, 3}, {{1, -1}}, {0, -1, -1});
  EXPECT_EQ(FloatsOf("GlobalAveragePool", {{"x", x}}, Reals({1, 1, 1, 1, 1}, {0})),
            (std::vector<float>{0x1.555556p-2F}));
}

// Channel 0: 3 and 4 halves; channel 1: -1 and -2 quarters, whose greatest is -1/4. Over 0.25.
TEST(GeneralPool, ComparesRealsAndNotStoredValues) {
  const Tensor x = Make(kInt8Q, {1, 2, 2}, {{0.5F, 0}, {0.25F, 3}}, {3, 4, 2, 1}, 1);
  const Tensor y = Make(kInt8Q, {1, 2, 1}, {{0.25F, 0}}, {});
  EXPECT_EQ(StoredOf("MaxPool", {{"x", x}}, y, {Attribute::Ints("kernel_shape", {2})}),
            (Stored{8, -1}));
  const Tensor special = Reals({1, 3, 2}, {-INFINITY, 1, NAN, INFINITY, -INFINITY, -INFINITY});
  const Tensor z = Make(kInt8Q, {1, 3, 1}, {{1, 5}}, {});
  EXPECT_EQ(StoredOf("MaxPool", {{"x", special}}, z, {Attribute::Ints("kernel_shape", {2})}),
            (Stored{6, 5, -128}));
}

// inf - inf is NaN, and so real zero; inf - 1 and -inf clamp; NaN stays one in FLOAT.
TEST(GeneralBinary, TakesSpecialValues) {
  const Tensor a = Reals({3}, {INFINITY, INFINITY, -INFINITY});
  const Tensor b = Reals({3}, {INFINITY, 1, 1});
  EXPECT_EQ(StoredOf("Sub", {{"a", a}, {"b", b}}, Make(kInt8Q, {3}, {{1, 9}}, {})),
            (Stored{9, 127, -128}));
  const auto y = FloatsOf("Sub", {{"a", a}, {"b", b}}, Reals({3}, {0, 0, 0}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
}

// Special values of E5M2: 0x7C is infinity, 0x7E a NaN; a NaN stored in E5M2 is zero, an infinity
// the largest finite 0x7B.
TEST(GeneralConversion, TakesSmallFloatsAndSigns) {
  const Tensor x = Codes(ElementType::kFloat8E5M2Q, 1, {0x7C, 0x7E, 0xC0}, {3});
  EXPECT_EQ(StoredOf("Identity", {{"x", x}}, Make(kInt8Q, {3}, {{1, 5}}, {})), (Stored{127, 5, 3}));
  const Tensor y = Codes(ElementType::kFloat8E5M2Q, 2, {0, 0, 0}, {3});
  // -2 over 2 is -1: 0xBC.
  EXPECT_EQ(Compute("Identity", {{"x", x}}, y).bytes,
            (std::vector{std::byte{0x7B}, std::byte{0}, std::byte{0xBC}}));
  const Tensor signs = Make(ElementType::kBipolar1Q, {4}, {{1, 0}}, {});
  EXPECT_EQ(StoredOf("Identity", {{"x", Reals({4}, {-0.25F, 0, NAN, 3})}}, signs),
            (Stored{-1, 1, 1, 1}));
}

// Rows 1 2 3 / 4 5 6: above them their mirror image is the second row, beside them 3 2 and 6 5.
TEST(GeneralMove, PadsByReflectionAndByEdge) {
  const Tensor x = Make(kInt8Q, {2, 3}, {{1, 0}}, {1, 2, 3, 4, 5, 6});
  const std::array<std::int64_t, 4> above_and_right{1, 0, 0, 2};
  const Argument pads{"pads", Integers({4}, above_and_right), true};
  const Tensor y = Make(kInt8Q, {3, 5}, {{1, 0}}, {});
  EXPECT_EQ(StoredOf("Pad", {{"x", x}, pads}, y, {Attribute::String("mode", "reflect")}),
            (Stored{4, 5, 6, 5, 4, 1, 2, 3, 2, 1, 4, 5, 6, 5, 4}));
  EXPECT_EQ(StoredOf("Pad", {{"x", x}, pads}, y, {Attribute::String("mode", "edge")}),
            (Stored{1, 2, 3, 3, 3, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6}));
}

// Real zero, 1 and 3 by the parameters of the columns they go to: 0 + 3, 1 / 0.5, 3 / 0.5 + 1.
TEST(GeneralMove, PadsToATypePerAxis) {
  const Tensor x = Make(kInt4Q, {1, 2}, {{1, 0}}, {1, 3});
  const std::array<std::int64_t, 4> left{0, 1, 0, 0};
  const Tensor y = Make(kInt8Q, {1, 3}, {{1, 3}, {0.5F, 0}, {0.5F, 1}}, {}, 1);
  EXPECT_EQ(StoredOf("Pad", {{"x", x}, {"pads", Integers({4}, left), true}}, y), (Stored{3, 2, 7}));
}

TEST(GeneralMove, CutsEverythingOff) {
  const std::array<std::int64_t, 2> cut{-2, 0};
  const Tensor x = Make(kInt8Q, {2}, {{1, 0}}, {1, 3});
  EXPECT_EQ(StoredOf("Pad", {{"x", x}, {"pads", Integers({2}, cut), true}},
                     Make(kInt8Q, {0}, {{1, 0}}, {})),
            Stored{});
}

// Rows 1 2 and 4 5 of a stay; the reals 3 and 1 of b are stored 6 and 2 where the scale is half.
TEST(GeneralMove, JoinsPackedElements) {
  const Tensor a = Make(kInt4Q, {2, 2}, {{0.5F, 0}}, {1, 2, 4, 5});
  const Tensor b = Make(ElementType::kUint2Q, {2, 1}, {{1, 0}}, {3, 1});
  const Tensor y = Make(kInt4Q, {2, 3}, {{0.5F, 0}}, {});
  EXPECT_EQ(StoredOf("Concat", {{"a", a}, {"b", b}}, y, {Attribute::Int("axis", 1)}),
            (Stored{1, 2, 6, 4, 5, 2}));
}

// Codes move as they are: -0 (8) does not become 0.
TEST(GeneralMove, KeepsCodesOfOneType) {
  const Tensor x = Codes(ElementType::kFloat4E2M1Q, 1, {0x18, 0x02}, {3, 1});
  EXPECT_EQ(
      Compute("Transpose", {{"x", x}}, Codes(ElementType::kFloat4E2M1Q, 1, {0, 0}, {1, 3})).bytes,
      x.bytes);
}

// Blocks of 2 along axis 1: scales 1 1 2 / 4 4 0.5 over 4: 4 4 2 / 1 1 8.
TEST(GeneralLinear, ReadsComputedBlocks) {
  const std::vector<Attribute> blocks{Attribute::Int("axis", 1), Attribute::Int("block_size", 2)};
  const Tensor x = Reals({2, 3}, {4, 4, 4, 4, 4, 4});
  Tensor y = *format::MakeTensor(ElementType::kUint8, {2, 3});
  EXPECT_EQ(
      StoredOf("QuantizeLinear", {{"x", x}, {"s", Reals({2, 2}, {1, 2, 4, 0.5F})}}, y, blocks),
      (Stored{4, 4, 2, 1, 1, 8}));
  // 4 over 0 is an infinity, over an infinity 0, over NaN the zero point.
  EXPECT_EQ(StoredOf("QuantizeLinear", {{"x", x}, {"s", Reals({2, 2}, {0, INFINITY, NAN, 1})}}, y,
                     blocks),
            (Stored{255, 255, 0, 0, 0, 4}));
  const auto bad = ComputeOneNode(PortableKernels(), "QuantizeLinear",
                                  {{"x", x}, {"s", Reals({2, 2}, {1, 2, -1, 1})}}, y, blocks);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(bad.error().clause, "quantize_linear.C2");
}

// 1 / (1 + e) = 0.268941421369995120748840758.. and its complement, to binary32 once; minus
// infinity has no share, equal ones 1/2 each, and a row with a NaN is undefined.
TEST(GeneralSoftmax, RoundsFloatsOnce) {
  const Tensor x = Reals({4, 2}, {-1, 0, 5, -INFINITY, -INFINITY, -INFINITY, NAN, 0});
  const auto y = FloatsOf("Softmax", {{"x", x}}, Reals({4, 2}, std::vector<float>(8)));
  EXPECT_EQ(y[0], 0x1.136562p-2F);
  EXPECT_EQ(y[1], 0x1.764d5p-1F);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], 0);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
}

// 1 / (2 + exp(-700)) lies below 1/2, a tie where the scale is 1, by far less than 2^-1000 of it:
// 0, plus 3. exp(-700) / 2 itself is nothing. With 8 bits the kernel path meets exp(-255) so.
TEST(GeneralSoftmax, DecidesATraceBelowATie) {
  const Tensor y = Make(kInt8Q, {1, 3}, {{1, 3}}, {});
  const Tensor x = Make(ElementType::kInt16Q, {1, 3}, {{1, 0}}, {700, 700, 0});
  EXPECT_EQ(StoredOf("Softmax", {{"x", x}}, y), (Stored{3, 3, 3}));
  const Tensor narrow = Make(kInt8Q, {1, 3}, {{1, 0}}, {127, 127, -128});
  EXPECT_EQ(StoredOf("Softmax", {{"x", narrow}}, y), (Stored{3, 3, 3}));
}

void ExpectRefused(const std::string& op, const std::vector<Argument>& arguments, const Tensor& y,
                   std::vector<Attribute> attributes, const std::string& reason) {
  const auto result = ComputeOneNode(PortableKernels(), op, arguments, y, std::move(attributes));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
}

// Work without end is refused before it begins: 2^33 products, 2^56 kernel elements, an output of
// 2^30 positions, a batch of none with planes that would take years.
TEST(GeneralPaths, RefuseHostileSizes) {
  const Tensor half = Make(ElementType::kInt2Q, {2048, 2048}, {{1, 0}}, {});
  ExpectRefused("MatMul", {{"a", half}, {"b", half}}, half, {}, "1073741824 terms");
  const Tensor x = Make(kInt8Q, {1, 1, 1, 1, 1}, {{1, 0}}, {1});
  const std::int64_t large = std::int64_t{1} << 19;
  const std::int64_t pad = large - 1;
  ExpectRefused("AveragePool", {{"x", x}}, x,
                {Attribute::Ints("kernel_shape", {large, large, large}),
                 Attribute::Ints("pads", {pad, pad, pad, 0, 0, 0}),
                 Attribute::Ints("strides", {large, large, large})},
                "a window this large");
  const Tensor none = Make(kInt8Q, {0, 1, std::int64_t{1} << 30}, {{1, 0}}, {});
  ExpectRefused("MaxPool", {{"x", none}}, none, {Attribute::Ints("kernel_shape", {1})},
                "an axis this long");
}

// Unknown attributes are refused: they might change the meaning of a node.
TEST(PrepareModel, RefusesAttributesItDoesNotKnow) {
  const Tensor x = Make(kInt8Q, {2}, {{1, 0}}, {1, 2});
  const auto refused =
      ComputeOneNode(PortableKernels(), "Relu", {{"x", x}}, x, {Attribute::Float("slope", 0.5F)});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().clause, "graph.C6");
}

// A file may say what no type means; each of these once was read out of bounds or divided by.
TEST(PrepareModel, RefusesTypesThatBreakTheFormat) {
  const Tensor x = Make(kInt8Q, {4}, {{1, 0}}, {1, 2, 3, 100});
  const format::Model model = OneNode("Identity", {{"x", x}}, x);
  ASSERT_TRUE(PrepareModel(model, PortableKernels()).has_value());
  const std::vector<void (*)(format::Quantization&)> faults = {
      [](format::Quantization& q) { q.scale = {}; },
      [](format::Quantization& q) { q.scale = {0.0F}; },
      [](format::Quantization& q) { q.axis = {3}; },
      [](format::Quantization& q) { q.axis = {-1}; },
      [](format::Quantization& q) {
        q.axis = {0}, q.scale = {1, 2};
      },
      [](format::Quantization& q) {
        q.axis = {0}, q.scale = {1, 2}, q.block_shape = {0};
      },
      [](format::Quantization& q) { q.quant_min = 5, q.quant_max = 4; },
      [](format::Quantization& q) { q.offset = {128}; }};
  for (std::size_t i = 0; i < faults.size(); ++i) {
    for (const bool input : {true, false}) {
      format::Model broken = model;
      format::ValueInfo& value = input ? broken.graph.inputs[0] : broken.graph.outputs[0];
      faults[i](*value.type->quantization);
      const auto prepared = PrepareModel(broken, PortableKernels());
      ASSERT_FALSE(prepared.has_value()) << i;
      EXPECT_EQ(prepared.error().code, ErrorCode::kInvalid) << i;
      EXPECT_TRUE(prepared.error().clause.starts_with("quantization.C")) << i;
    }
  }
}

}  // namespace
}  // namespace qtx::backend::engine::general_test
