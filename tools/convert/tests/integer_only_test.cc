#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::integer_only_test {
namespace {

using format::ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y[1,2] = x[1,k] * w[k,2] + b, all quantized but b where it is FLOAT.
struct Product {
  OnnxMaker maker{21};

  Product(format::Dims w_dims, std::vector<std::int8_t> w, std::vector<float> w_scale,
          float y_scale = 2) {
    auto& model = maker.model;
    model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {1, w_dims[0]}, {0.5F})};
    model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {1, 2}, {y_scale})};
    maker.Initializer<std::int8_t>("w", ElementType::kInt8, w_dims, std::move(w));
    const bool channels = w_scale.size() > 1;
    model.graph.values = {OnnxMaker::Quantized(
        "w", ElementType::kInt8Q, w_dims, std::move(w_scale),
        channels ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{})};
    maker.Node("Gemm", {"x", "w"}, {"y"});
  }
  void FloatBias(std::vector<float> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    maker.Initializer<float>("b", ElementType::kFloat, {count}, std::move(values));
    maker.model.graph.nodes[0].inputs.emplace_back("b");
  }
  void Offset(std::int32_t offset) {
    maker.model.graph.inputs[0].type->quantization->offset = {offset};
  }
  Result<Conversion> Run(std::vector<std::string> allow = {}) const {
    return ToIntegerOnly(maker.model, {.allow = std::move(allow)});
  }
};

std::string Accumulator(const Conversion& conversion) {
  for (const LedgerEntry& entry : conversion.ledger) {
    if (entry.field == "accumulator") return entry.value + ": " + entry.why;
  }
  return "";
}

// 0.5 * 0.25 / 2 = 1/16 = 0.5 * 2^-3;  0.5 * 3 / 2 = 0.75 = 0.75 * 2^0.
TEST(IntegerOnly, GivesEachChannelItsMultiplierAndShift) {
  const auto result = Product({1, 2}, {1, 1}, {0.25F, 3}).Run();
  ASSERT_TRUE(result.has_value()) << result.error().message;
  const auto& r = result->model.graph.outputs[0].type->quantization->requantization;
  ASSERT_TRUE(r.has_value());
  EXPECT_THAT(r->multiplier, ElementsAre(1 << 30, 3 << 29));
  EXPECT_THAT(r->shift, ElementsAre(3, 0));
}

// 1/3 as binary32 is 11184811 * 2^-25; times 0.5 / 2 it is 11184811 * 2^-27, or
// 11184811 * 2^7 / 2^31 * 2^-3 with the mantissa normalised: 1431655808.
TEST(IntegerOnly, TakesTheMantissaOfTheFactor) {
  const auto result = Product({1, 2}, {1, 1}, {1.0F / 3}).Run();
  ASSERT_TRUE(result.has_value());
  const auto& r = result->model.graph.outputs[0].type->quantization->requantization;
  EXPECT_THAT(r->multiplier, ElementsAre(1431655808));
  EXPECT_THAT(r->shift, ElementsAre(3));
}

// Units of 0.5 * 0.25 = 1/8 and 0.5 * 3 = 1.5: 0.3125 is 2.5 units, to even 2; 3.75 is 2.5 units.
// Half away from zero gives 3 and 3.
TEST(IntegerOnly, BringsAFloatBiasToTheUnitsOfItsAccumulator) {
  Product product({1, 2}, {1, 1}, {0.25F, 3});
  product.FloatBias({0.3125F, 3.75F});
  const auto result = product.Run();
  ASSERT_TRUE(result.has_value()) << result.error().message;
  const auto bias = format::LoadInitializer(result->model, "b");
  ASSERT_TRUE(bias.has_value()) << bias.error().message;
  EXPECT_EQ(bias->elem_type, ElementType::kInt32Q);
  EXPECT_THAT(format::UnpackInt32(*bias), ElementsAre(2, 2));
  EXPECT_THAT(bias->quantization->scale, ElementsAre(0.125F, 1.5F));
  EXPECT_THAT(bias->quantization->axis, ElementsAre(0));
}

// 2^29 in units of 1/8 is 2^32.
TEST(IntegerOnly, RefusesABiasBeyond32Bits) {
  Product product({1, 2}, {1, 1}, {0.25F});
  product.FloatBias({1, 536870912.0F});
  const auto result = product.Run();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(result.error().where, HasSubstr("bias [1]"));
}

// The bound is reached by k inputs of -128 and weights of -128: k * 2^14. 2^31 needs k = 131072;
// one less stays below. With weights of 127 the bound is k * 128 * 127, far below.
TEST(IntegerOnly, SaysWhereTheWorstSumExceeds32Bits) {
  const auto run = [](std::int64_t k, std::int32_t offset) {
    std::vector<std::int8_t> w(static_cast<std::size_t>(2 * k), 1);
    for (std::size_t i = 1; i < w.size(); i += 2) w[i] = -128;
    Product product({k, 2}, std::move(w), {0.25F});
    product.Offset(offset);
    return Accumulator(*product.Run());
  };
  EXPECT_EQ(run(131071, 0), "");
  EXPECT_THAT(run(131072, 0), HasSubstr("channel 1 can reach 2147483648, beyond 32 bits (1 of 2"));
  // With the offset at 127 an input is worth -255 to 0: 65792 * 255 * 128 is just below 2^31.
  EXPECT_EQ(run(65792, 127), "");
  EXPECT_THAT(run(65794, 127), HasSubstr("can reach 2147516160"));
}

TEST(IntegerOnly, RefusesFloatsUnlessTheyAreAllowed) {
  Product product({1, 2}, {1, 1}, {0.25F});
  product.maker.Node("Relu", {"f"}, {"g"});
  product.maker.model.graph.inputs.push_back(OnnxMaker::Value("f", ElementType::kFloat, {1}));
  const auto refused = product.Run();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().where, HasSubstr("node 'g_node' (Relu)"));
  EXPECT_THAT(refused.error().message, HasSubstr("--allow float"));
  EXPECT_TRUE(product.Run({"float"}).has_value());
}

// Scales along k cannot leave the sum.
TEST(IntegerOnly, RefusesScalesThatAnAccumulatorMixes) {
  Product product({2, 2}, {1, 1, 1, 1}, {0.25F, 0.5F});
  product.maker.model.graph.values[0].type->quantization->axis = {0};
  const auto result = product.Run();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, HasSubstr("along other axes"));
}

// y = op(x, w) with scales 0.25 and 3 along `axis` of w, x in units of 0.5, y of 2: 1/16 and 3/4.
Result<Conversion> OfTwoChannels(const char* op_type, format::Dims x, format::Dims w,
                                 std::int64_t axis, format::Dims y,
                                 std::vector<format::Attribute> attributes = {}) {
  OnnxMaker maker(21);
  auto& model = maker.model;
  std::int64_t count = 1;
  for (const std::int64_t dim : w) count *= dim;
  model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, std::move(x), {0.5F})};
  model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, std::move(y), {2})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, w,
                                 std::vector<std::int8_t>(static_cast<std::size_t>(count), 1));
  model.graph.values = {
      OnnxMaker::Quantized("w", ElementType::kInt8Q, std::move(w), {0.25F, 3}, {axis})};
  maker.Node(op_type, {"x", "w"}, {"y"}).attributes = std::move(attributes);
  return ToIntegerOnly(model);
}

// The outputs of a filter are its first axis, of a transposed matrix too.
TEST(IntegerOnly, FindsTheChannelsOfFiltersAndTransposedMatrices) {
  const Result<Conversion> results[] = {
      OfTwoChannels("Conv", {1, 3, 2, 2}, {2, 3, 1, 1}, 0, {1, 2, 2, 2}),
      OfTwoChannels("Gemm", {1, 3}, {2, 3}, 0, {1, 2}, {format::Attribute::Int("transB", 1)}),
      OfTwoChannels("MatMul", {1, 3}, {3, 2}, 1, {1, 2})};
  for (const auto& result : results) {
    ASSERT_TRUE(result.has_value()) << result.error().where << result.error().message;
    const auto& r = result->model.graph.outputs[0].type->quantization->requantization;
    ASSERT_TRUE(r.has_value());
    EXPECT_THAT(r->multiplier, ElementsAre(1 << 30, 3 << 29));
    EXPECT_THAT(r->shift, ElementsAre(3, 0));
  }
}

// Two matrices [131072, 2] of ones, but for the second's first column of -128, which 131072 inputs
// of -128 bring to 2^31: the third of four sums.
TEST(IntegerOnly, BoundsEachMatrixOfABatchByItself) {
  constexpr std::int64_t kDepth = 131072;
  std::vector<std::int8_t> w(4 * kDepth, 1);
  for (std::size_t i = 2 * kDepth; i < w.size(); i += 2) w[i] = -128;
  OnnxMaker maker(21);
  auto& model = maker.model;
  model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 1, kDepth}, {0.5F})};
  model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 1, 2}, {2})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, kDepth, 2}, std::move(w));
  model.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {2, kDepth, 2}, {0.25F})};
  maker.Node("MatMul", {"x", "w"}, {"y"});
  const auto result = ToIntegerOnly(model);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_THAT(Accumulator(*result),
              HasSubstr("channel 2 can reach 2147483648, beyond 32 bits (1 of 4"));
}

}  // namespace
}  // namespace qtx::convert::integer_only_test
