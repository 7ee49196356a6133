// TopK, Hardmax, ArgMax and ArgMin against a stable sort of GMP rationals: top_k.S1, top_k.S2,
// hardmax.S1, arg_max.S2, arg_max.S3, arg_min.S2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "moving.h"

namespace qtx::reference::testing::order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OutputType kPositions = {ElementType::kInt64, std::nullopt};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Positions along `axis` of the line through `at`, in falling (or rising) order of their reals.
Values SortedLine(const std::vector<mpq_class>& reals, const Dims& dims, Dims at, std::size_t axis,
                  bool largest) {
  Values line(static_cast<std::size_t>(dims[axis]));
  std::iota(line.begin(), line.end(), 0);
  const auto real = [&](std::int64_t position) {
    at[axis] = position;
    return reals[static_cast<std::size_t>(ElementAt(at, dims))];
  };
  std::ranges::stable_sort(line, [&](std::int64_t a, std::int64_t b) {
    return largest ? real(a) > real(b) : real(a) < real(b);
  });
  return line;
}

TEST(TopK, SortsByExactRealsAndLowerIndex) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const Dims from = {random.In(1, 3), random.In(1, 6), random.In(1, 3)};
    const auto axis = static_cast<std::size_t>(random.In(0, 2));
    const bool largest = random.In(0, 1) == 1;
    Tensor x = random.Tensor8(from, AnyGranularity(random, from));
    for (std::byte& byte : x.bytes) byte &= std::byte{7};  // many equal ones
    Dims dims = from;
    dims[axis] = random.In(1, from[axis]);
    const Tensor k = Int64({dims[axis]});
    const OutputType type = Int8Type(AnyGranularity(random, dims));
    const AllRun run{"TopK",
                     {Attribute::Int("axis", static_cast<std::int64_t>(axis) - 3),
                      Attribute::Int("largest", largest ? 1 : 0)},
                     {&x, &k},
                     {type, kPositions}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    const std::vector<mpq_class> reals = TextbookReals(x);
    const auto position = [&](const Dims& at) {
      return SortedLine(reals, from, at, axis, largest)[static_cast<std::size_t>(at[axis])];
    };
    Values positions;
    for (std::int64_t i = 0; i < CountOf(dims); ++i) {
      positions.push_back(position(CoordinatesOf(i, dims)));
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[1]), positions);
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookMoved(x, type, dims, [&](Dims at) {
                at[axis] = position(at);
                return at;
              }));
  }
}

TEST(Hardmax, IsOneAtTheFirstGreatest) {
  Random random(8);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = {random.In(1, 3), random.In(1, 5), random.In(1, 3)};
    const auto axis = static_cast<std::size_t>(random.In(0, 2));
    Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    for (std::byte& byte : x.bytes) byte &= std::byte{3};  // many equal ones
    const AllRun run{"Hardmax",
                     {Attribute::Int("axis", static_cast<std::int64_t>(axis) - 3)},
                     {&x},
                     {Int8Type({.scale = {0.25F}, .offset = {-7}})}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    const std::vector<mpq_class> reals = TextbookReals(x);
    Values expected;  // 1 is 4 steps of a quarter
    for (std::int64_t i = 0; i < CountOf(dims); ++i) {
      const Dims at = CoordinatesOf(i, dims);
      expected.push_back(SortedLine(reals, dims, at, axis, true)[0] == at[axis] ? -3 : -7);
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), expected);
  }
}

TEST(ArgMax, AndArgMinFindTheFirstOrLastExtreme) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const Dims from = {random.In(1, 3), random.In(1, 5), random.In(1, 3)};
    const auto axis = static_cast<std::size_t>(random.In(0, 2));
    const bool greatest = random.In(0, 1) == 1;
    const bool last = random.In(0, 1) == 1;
    const bool keeps = random.In(0, 1) == 1;
    Tensor x = random.Tensor8(from, AnyGranularity(random, from));
    for (std::byte& byte : x.bytes) byte &= std::byte{3};
    const AllRun run{greatest ? "ArgMax" : "ArgMin",
                     {Attribute::Int("axis", static_cast<std::int64_t>(axis)),
                      Attribute::Int("keepdims", keeps ? 1 : 0),
                      Attribute::Int("select_last_index", last ? 1 : 0)},
                     {&x},
                     {kPositions}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    const std::vector<mpq_class> reals = TextbookReals(x);
    Dims kept = from;
    kept[axis] = 1;
    Values expected;
    for (std::int64_t i = 0; i < CountOf(kept); ++i) {
      Dims at = CoordinatesOf(i, kept);
      const Values line = SortedLine(reals, from, at, axis, greatest);
      const auto real = [&](std::int64_t position) {
        at[axis] = position;
        return reals[static_cast<std::size_t>(ElementAt(at, from))];
      };
      std::int64_t best = line[0];
      for (const std::int64_t p : line) {
        if (last && real(p) == real(line[0])) best = std::max(best, p);
      }
      expected.push_back(best);
    }
    if (!keeps) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
    EXPECT_EQ((*result)[0].dims, kept);
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), expected);
  }
}

// 2^-126 and 2^-149 times small integers, and 2^127: far apart, and equal only as reals.
TEST(TopK, ComparesAcrossExtremeScales) {
  const Tensor x =
      Int8({6}, {3, 0, 24, -128, 1, 127},
           Q({0x1p-146F, 0x1p127F, 0x1p-149F, 0x1p-149F, 0x1p-126F, 0x1p-149F}, {}, {0}));
  const Tensor k = Int64({6});
  const AllRun run{"TopK", {}, {&x, &k}, {FloatType(), kPositions}};
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value()) << run.Error();
  // 3 * 2^-146 = 24 * 2^-149 are equal; 2^-126 = 2^23 * 2^-149.
  EXPECT_THAT(format::UnpackIntegers((*result)[1]), ElementsAre(4, 5, 0, 2, 1, 3));
}

TEST(TopK, PutsNanAboveInfinity) {
  const Tensor x = Float({5}, {1, kNan, kInf, -kInf, kNan});
  const Tensor k = Int64({5});
  for (const auto& [largest, expected] :
       {std::pair<std::int64_t, Values>{1, {1, 4, 2, 0, 3}}, {0, {3, 0, 2, 1, 4}}}) {
    const AllRun run{
        "TopK", {Attribute::Int("largest", largest)}, {&x, &k}, {OutputType{}, kPositions}};
    EXPECT_EQ(format::UnpackIntegers((*run.Run())[1]), expected) << largest;
  }
}

TEST(TopK, OrdersEveryPlainType) {
  const Tensor k = Int64({3});
  const auto order = [&k](ElementType type, const Values& values) {
    const Tensor x = Stored(type, {3}, values);
    const AllRun run{"TopK", {}, {&x, &k}, {OutputType{}, kPositions}};
    return format::UnpackIntegers((*run.Run())[1]);
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(order(ElementType::kInt64, {-kMost - 1, kMost, kMost - 1}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(ElementType::kUint64, {1, -1, kMost}), ElementsAre(1, 2, 0));  // 2^64 - 1
  EXPECT_THAT(order(ElementType::kUint32, {1, 0xffffffff, 2}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(ElementType::kInt4, {-8, 7, -1}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(ElementType::kUint2, {0, 3, 1}), ElementsAre(1, 2, 0));
}

TEST(TopK, OrdersDoublesThatBinary32CannotTellApart) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {3});
  const double values[] = {1.0, 1.0 + 0x1p-52, -0x1p-1074};
  std::memcpy(x.bytes.data(), values, sizeof values);
  const AllRun run{"ArgMax", {}, {&x}, {kPositions}};
  EXPECT_THAT(format::UnpackIntegers((*run.Run())[0]), ElementsAre(1));
  const AllRun least{"ArgMin", {}, {&x}, {kPositions}};
  EXPECT_THAT(format::UnpackIntegers((*least.Run())[0]), ElementsAre(2));
}

// The types of outputs that a model does not declare.
TEST(TopK, InfersPositionsAsInt64) {
  const format::Node node;
  const format::ValueFacts real = {.given = true, .type = ElementType::kFloat};
  const format::ValueFacts integer = {.given = true, .type = ElementType::kInt64};
  const auto inferred = [&](const char* op, std::size_t output) {
    const format::OpSchema& schema = *format::FindSchema("", op);
    return schema.type({schema, node, 17, {real, integer}, {}}, output);
  };
  EXPECT_EQ(inferred("TopK", 0), ElementType::kFloat);
  EXPECT_EQ(inferred("TopK", 1), ElementType::kInt64);
  EXPECT_EQ(inferred("ArgMax", 0), ElementType::kInt64);
  EXPECT_EQ(inferred("ArgMin", 0), ElementType::kInt64);
  EXPECT_EQ(inferred("Where", 0), ElementType::kInt64);  // that of x, not of the condition
}

TEST(TopK, NamesWhatDoesNotFit) {
  const Tensor x = Int8({2}, {1, 2}, Q({1.0F}));
  const Tensor three = Int64({3});
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT((AllRun{"TopK", {}, {&x, &three}, {type, kPositions}}.Error()),
              HasSubstr("input[1] 'in1': found 3, expected 1 to 2"));
  const Tensor one = Int64({1});
  EXPECT_THAT((AllRun{"TopK", {}, {&x, &one}, {type, type}}.Error()), HasSubstr("output[1]"));
  EXPECT_THAT((AllRun{"TopK", {Attribute::Int("axis", 4)}, {&x, &one}, {type}}.Error()),
              HasSubstr("attribute 'axis'"));
}

}  // namespace
}  // namespace qtx::reference::testing::order_test
