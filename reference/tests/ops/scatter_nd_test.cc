// ScatterND against sums, products and extremes of GMP rationals: scatter_nd.S1 to scatter_nd.S6.
#include <limits>

#include "moving.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

mpq_class Combined(const std::string& reduction, const mpq_class& a, const mpq_class& b) {
  if (reduction == "add") return a + b;
  if (reduction == "mul") return a * b;
  if (reduction == "max") return a > b ? a : b;
  if (reduction == "min") return a < b ? a : b;
  return b;
}

// Data of [rows, columns], tuples that name rows (slices) or elements, many of them twice.
void ExpectTextbook(Random& random, const std::string& reduction) {
  const Dims from = {random.In(1, 4), random.In(1, 3)};
  const std::int64_t depth = random.In(1, 2);
  const std::int64_t count = random.In(1, 6);
  const Dims shape = depth == 1 ? Dims{count, from[1]} : Dims{count};
  Values tuples;
  for (std::int64_t i = 0; i < count * depth; ++i) {
    const std::int64_t size = from[static_cast<std::size_t>(i % depth)];
    tuples.push_back(random.In(-size, size - 1));
  }
  const Tensor data = random.Tensor8(from, AnyGranularity(random, from));
  const Tensor indices = Stored(ElementType::kInt64, {count, depth}, tuples);
  const Tensor updates = random.Tensor8(shape, AnyGranularity(random, shape));
  const OutputType type = Int8Type(AnyGranularity(random, from));
  const AllRun run{"ScatterND",
                   {Attribute::String("reduction", reduction)},
                   {&data, &indices, &updates},
                   {type}};
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value()) << run.Error();
  std::vector<mpq_class> reals = TextbookReals(data);
  const std::vector<mpq_class> added = TextbookReals(updates);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    const std::int64_t tuple = depth == 1 ? element / from[1] : element;
    const auto index = [&](std::int64_t k) {
      const std::int64_t size = from[static_cast<std::size_t>(k)];
      return (tuples[static_cast<std::size_t>(tuple * depth + k)] + size) % size;
    };
    const std::int64_t column = depth == 1 ? element % from[1] : index(1);
    mpq_class& at = reals[static_cast<std::size_t>(index(0) * from[1] + column)];
    at = Combined(reduction, at, added[i]);
  }
  EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(reals, type, from)) << reduction;
}

TEST(ScatterNd, EqualsRationalArithmeticRoundedOnce) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      ExpectTextbook(random, reduction);
    }
  }
}

Result<Tensor> Scattered(const std::string& reduction, const Tensor& data, const Tensor& indices,
                         const Tensor& updates, const std::string& arithmetic = "exact") {
  auto result = AllRun{"ScatterND",
                       {Attribute::String("reduction", reduction)},
                       {&data, &indices, &updates},
                       {OutputType{data.elem_type, data.quantization}},
                       arithmetic}
                    .Run();
  if (!result.has_value()) return std::move(result).error();
  return std::move((*result)[0]);
}

TEST(ScatterNd, WrapsPlainIntegers) {
  const Tensor indices = Stored(ElementType::kInt64, {2, 1}, {0, 0});
  const auto of = [&indices](ElementType type, const char* reduction, std::int64_t a,
                             std::int64_t b, std::int64_t c) {
    const Tensor data = Stored(type, {1}, {a});
    const Tensor updates = Stored(type, {2}, {b, c});
    return format::UnpackIntegers(*Scattered(reduction, data, indices, updates))[0];
  };
  EXPECT_EQ(of(ElementType::kInt8, "add", 100, 100, 100), 300 - 256);
  EXPECT_EQ(of(ElementType::kUint8, "mul", 16, 16, 3), 0);  // 768 = 3 * 256
  EXPECT_EQ(of(ElementType::kInt64, "mul", std::int64_t{1} << 62, 2, 3),
            std::numeric_limits<std::int64_t>::min());  // 3 * 2^63 is 2^63 modulo 2^64
  EXPECT_EQ(of(ElementType::kInt4, "add", 7, 1, 0), -8);
}

TEST(ScatterNd, KeepsNanAndZeroTimesInfinity) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor data = Float({2}, {0.0F, 2.0F});
  const Tensor indices = Stored(ElementType::kInt64, {2, 1}, {0, 1});
  const Tensor updates = Float({2}, {kInf, -kInf});
  for (const char* arithmetic : {"exact", "float32"}) {
    const Tensor result = *Scattered("mul", data, indices, updates, arithmetic);
    EXPECT_TRUE(std::isnan(result.As<float>()[0]));
    EXPECT_EQ(result.As<float>()[1], -kInf);
  }
}

// 2^127 * 2^-126 * 2^-126 is a normal number on the way to a subnormal one, and no step overflows.
TEST(ScatterNd, MultipliesFactorsBeyondAnyFloat) {
  const Tensor data = Float({1}, {0x1p127F});
  const Tensor indices = Stored(ElementType::kInt64, {3, 1}, {0, 0, 0});
  const Tensor updates = Float({3}, {0x1p127F, 0x1p-126F, 0x1p-127F});
  EXPECT_THAT(Scattered("mul", data, indices, updates)->As<float>(), ElementsAre(2.0F));
  EXPECT_THAT(Scattered("mul", data, indices, updates, "float32")->As<float>(),
              ElementsAre(std::numeric_limits<float>::infinity()));
}

TEST(ScatterNd, RefusesMoreFactorsThanItCanMultiply) {
  const Tensor data = Float({1}, {1.0F});
  const Tensor indices = Stored(ElementType::kInt64, {5000, 1}, Values(5000, 0));
  const Tensor updates = Float({5000}, std::vector<float>(5000, 1.5F));
  const auto result = Scattered("mul", data, indices, updates);
  EXPECT_EQ(result.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(result.error().message, HasSubstr("5000 factors"));
  EXPECT_THAT(Scattered("add", data, indices, updates)->As<float>(), ElementsAre(7501.0F));
}

}  // namespace
}  // namespace qtx::reference::testing
