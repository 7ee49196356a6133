// The reductions: reduce_sum.S1 to reduce_sum.S5 and those of its kin.
#include <functional>

#include "unary_textbook.h"

namespace qtx::reference::testing::reduce_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
const OutputType kInt32Type{ElementType::kInt32, std::nullopt};

Attribute Axes(std::vector<std::int64_t> axes) { return Attribute::Ints("axes", std::move(axes)); }

struct Shape {  // of a reduction by the textbook
  Dims dims;
  std::vector<std::int64_t> result;  // of each element of x, row-major
};

// By walking the coordinates of every element of x.
Shape TextbookShape(const Dims& from, const std::vector<bool>& reduced, bool keeps) {
  Shape shape;
  std::int64_t count = 1;
  for (std::size_t a = 0; a < from.size(); ++a) {
    count *= from[a];
    if (!reduced[a]) shape.dims.push_back(from[a]);
    if (reduced[a] && keeps) shape.dims.push_back(1);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, result = 0, weight = 1;
    for (std::size_t a = from.size(); a-- > 0;) {
      if (!reduced[a]) {
        result += rest % from[a] * weight;
        weight *= from[a];
      }
      rest /= from[a];
    }
    shape.result.push_back(result);
  }
  return shape;
}

std::vector<std::vector<mpq_class>> Groups(const Shape& shape,
                                           const std::vector<mpq_class>& reals) {
  std::int64_t results = 1;
  for (const std::int64_t dim : shape.dims) results *= dim;
  std::vector<std::vector<mpq_class>> groups(static_cast<std::size_t>(results));
  for (std::size_t i = 0; i < reals.size(); ++i) {
    groups[static_cast<std::size_t>(shape.result[i])].push_back(reals[i]);
  }
  return groups;
}

mpq_class Textbook(const std::string& op, const std::vector<mpq_class>& group) {
  mpq_class result = op == "ReduceMax" || op == "ReduceMin" ? group[0]
                     : op == "ReduceProd"                   ? mpq_class(1)
                                                            : mpq_class(0);
  for (const mpq_class& x : group) {
    if (op == "ReduceMax" && x > result) result = x;
    if (op == "ReduceMin" && x < result) result = x;
    if (op == "ReduceSum" || op == "ReduceMean") result += x;
    if (op == "ReduceSumSquare" || op == "ReduceL2") result += x * x;
    if (op == "ReduceL1") result += abs(x);
    if (op == "ReduceProd") result *= x;
  }
  if (op == "ReduceMean") result /= static_cast<long>(group.size());
  if (op == "ReduceL2") {  // at 400 bits: an exact root where there is one
    result = TextbookValue([](mpfr_ptr x) { mpfr_sqrt(x, x, MPFR_RNDN); }, result);
  }
  return result;
}

Quantization Granularity(Random* random, int kind, const Dims& dims) {
  if (kind == 0) return random->PerTensor();
  if (kind == 1) return random->PerAxis(1, dims[1]);
  Quantization q = random->PerAxis(2, (dims[2] + 1) / 2);
  q.block_shape = {2};
  return q;
}

TEST(Reduce, EqualsTheTextbookOnRandomTensors) {
  Random random(31);
  for (int round = 0; round < 160; ++round) {
    const Dims dims = {random.In(1, 3), random.In(1, 4), random.In(1, 6)};
    const Tensor x = random.Tensor8(dims, Granularity(&random, round % 3, dims));
    std::vector<bool> reduced;
    std::vector<std::int64_t> axes;
    for (std::int64_t a = 0; a < 3; ++a) {
      reduced.push_back(random.In(0, 1) == 1);
      if (reduced.back()) axes.push_back(random.In(0, 1) == 1 ? a : a - 3);
    }
    if (axes.empty()) reduced.assign(3, true);
    const bool keeps = random.In(0, 1) == 1;
    const Shape shape = TextbookShape(dims, reduced, keeps);
    const Tensor axes_input = Int64(axes);
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare",
                           "ReduceL1", "ReduceL2", "ReduceProd"}) {
      std::vector<mpq_class> reals;
      for (const auto& group : Groups(shape, TextbookReals(x)))
        reals.push_back(Textbook(op, group));
      const OutputType type = Int8Type(Q({random.Scale() * 8}, {3}));
      OpRun run{op, {Attribute::Int("keepdims", keeps ? 1 : 0)}, {&x, &axes_input}, type};
      run.opset = 18;
      const auto result = run.Run();
      ASSERT_TRUE(result.has_value()) << op << ' ' << result.error().where;
      ASSERT_EQ(result->dims, shape.dims) << op;
      ASSERT_EQ(format::UnpackIntegers(*result), TextbookStored(reals, type, shape.dims)) << op;
      std::vector<float> floats;
      for (const mpq_class& real : reals) floats.push_back(TextbookFloat(real));
      run.output = FloatType();
      ASSERT_EQ(Floats(run), floats) << op;
    }
  }
}

TEST(Reduce, EqualsTheTextbookWithExtremeScales) {
  const Dims dims = {2, 8};
  Random random(32);
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F}) {
    const Tensor x = random.Tensor8(dims, Q({scale}, {5}));
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare",
                           "ReduceL1", "ReduceL2", "ReduceProd"}) {
      std::vector<mpq_class> reals;
      for (const auto& group : Groups(TextbookShape(dims, {false, true}, true), TextbookReals(x))) {
        reals.push_back(Textbook(op, group));
      }
      for (const float y : {0x1p-149F, scale, 1.0F, 0x1.fffffep127F}) {
        const OutputType type = Int8Type(Q({y}));
        const Tensor axes = Int64({1});
        OpRun run{op, {}, {&x, &axes}, type};
        run.opset = 18;
        ASSERT_EQ(Integers(run), TextbookStored(reals, type, {2, 1})) << op << ' ' << scale;
      }
    }
  }
}

TEST(Reduce, DecidesLongSumsOfBytesWithoutFallback) {
  Random random(33);
  const Tensor x = random.Tensor8({100, 1000}, Q({0.0123456789F}, {-9}));
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2"}) {
    const Tensor axes = Int64({1});
    OpRun run{op, {}, {&x, &axes}, Type(ElementType::kInt32Q, Q({0.107F}))};
    run.opset = 18;
    ASSERT_TRUE(run.Run().has_value());
    EXPECT_EQ(run.counters.rounded, 100U) << op;
    EXPECT_EQ(run.counters.exact_fallbacks, 0U) << op;
  }
}

// 1 lost beside 2^24 in binary32, in the order of the elements; the exact sum keeps all.
TEST(ReduceSum, AddsInOrderInFloat32) {
  const Tensor x = Float({4}, {0x1p24F, 1, 1, -0x1p24F});
  EXPECT_THAT(Floats({"ReduceSum", {}, {&x}, FloatType()}), ElementsAre(2));
  EXPECT_THAT(Floats({"ReduceSum", {}, {&x}, FloatType(), "float32"}), ElementsAre(0));
}

TEST(Reduce, TakesWhatEachOpsetHas) {
  const Tensor x = Int8({2, 2}, {1, 2, 3, 4}, Q({1.0F}));
  const Tensor axes = Int64({0});
  const OutputType type = Int8Type(Q({1.0F}));
  for (const char* op : {"ReduceSum", "ReduceMax"}) {
    const std::int64_t since = op == std::string("ReduceSum") ? 13 : 18;
    OpRun by_input{op, {}, {&x, &axes}, type};
    by_input.opset = since - 1;
    EXPECT_THAT(ErrorOf(by_input), HasSubstr("has axes as an attribute"));
    by_input.opset = since;
    EXPECT_EQ(Integers(by_input).size(), 2U);
    OpRun by_attribute{op, {Axes({0})}, {&x}, type};
    by_attribute.opset = since;
    EXPECT_THAT(ErrorOf(by_attribute), HasSubstr("has axes as an input"));
    by_attribute.opset = since - 1;
    EXPECT_EQ(Integers(by_attribute).size(), 2U);
    by_attribute.attributes.push_back(Attribute::Int("noop_with_empty_axes", 1));
    EXPECT_THAT(ErrorOf(by_attribute), HasSubstr("noop_with_empty_axes"));
  }
}

TEST(Reduce, GivesEachElementItsOwnStepWhenNothingIsReduced) {
  const Tensor x = Int8({2}, {-3, 4}, Q({1.0F}));
  for (const auto& [op, expected] :
       std::vector<std::pair<std::string, Values>>{{"ReduceSum", {-3, 4}},
                                                   {"ReduceMean", {-3, 4}},
                                                   {"ReduceMin", {-3, 4}},
                                                   {"ReduceSumSquare", {9, 16}},
                                                   {"ReduceL1", {3, 4}},
                                                   {"ReduceL2", {3, 4}},
                                                   {"ReduceProd", {-3, 4}},
                                                   {"ReduceLogSumExp", {-3, 4}}}) {
    OpRun run{op, {Attribute::Int("noop_with_empty_axes", 1)}, {&x}, Int8Type(Q({1.0F}))};
    run.opset = 18;
    EXPECT_EQ(Integers(run), expected) << op;
  }
}

TEST(Reduce, TakesAScalar) {
  const Tensor x = Int8({}, {-3}, Q({1.0F}));
  for (const auto& [op, expected] :
       std::vector<std::pair<std::string, std::int64_t>>{{"ReduceSum", -3},
                                                         {"ReduceMean", -3},
                                                         {"ReduceMax", -3},
                                                         {"ReduceL1", 3},
                                                         {"ReduceL2", 3},
                                                         {"ReduceProd", -3},
                                                         {"ReduceLogSumExp", -3}}) {
    OpRun run{op, {}, {&x}, Int8Type(Q({1.0F}))};
    EXPECT_EQ(run.Run()->dims, Dims{}) << op;
    EXPECT_THAT(Integers(run), ElementsAre(expected)) << op;
  }
}

TEST(Reduce, OfNothing) {
  const Tensor x = Float({2, 0}, {});
  const auto run = [&x](const std::string& op) {
    const Tensor axes = Int64({1});
    OpRun reduction{op, {}, {&x, &axes}, FloatType()};
    reduction.opset = 18;
    return Floats(reduction);
  };
  EXPECT_THAT(run("ReduceSum"), ElementsAre(0, 0));
  EXPECT_THAT(run("ReduceSumSquare"), ElementsAre(0, 0));
  EXPECT_THAT(run("ReduceL1"), ElementsAre(0, 0));
  EXPECT_THAT(run("ReduceL2"), ElementsAre(0, 0));
  EXPECT_THAT(run("ReduceProd"), ElementsAre(1, 1));
  EXPECT_THAT(run("ReduceLogSum"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(run("ReduceLogSumExp"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(run("ReduceMax"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(run("ReduceMin"), ElementsAre(kInf, kInf));
  const Tensor one = Int64({1});
  EXPECT_THAT(ErrorOf({"ReduceMean", {}, {&x, &one}, FloatType()}), HasSubstr("[reduce_mean.C5]"));
  const Tensor zero = Int64({0});
  EXPECT_THAT(Floats({"ReduceMean", {Attribute::Int("keepdims", 0)}, {&x, &zero}, FloatType()}),
              ElementsAre());
}

// 3k and 4k of at most 24 bits make 5k, which has 25 and is odd: a tie of binary32; and what lies a
// little above it.
TEST(ReduceL2, GivesTheNearestFloatAtTiesAndAbove) {
  std::mt19937 engine(34);
  std::vector<float> values, expected;
  for (int i = 0; i < 2000; ++i) {
    const auto k = static_cast<float>(3355445 + 2 * (engine() % 1118400));
    const float more = i % 2 == 0 ? 0 : std::ldexp(1.0F, -static_cast<int>(engine() % 60));
    values.insert(values.end(), {3 * k, 4 * k, more});
    std::vector<mpq_class> group;
    for (const float x : {3 * k, 4 * k, more}) group.emplace_back(static_cast<double>(x));
    expected.push_back(TextbookFloat(Textbook("ReduceL2", group)));
  }
  const Tensor x = Float({2000, 3}, values);
  const Tensor axes = Int64({1});
  EXPECT_EQ(Floats({"ReduceL2", {Attribute::Int("keepdims", 0)}, {&x, &axes}, FloatType()}),
            expected);
}

TEST(ReduceMax, ComparesFlags) {
  const OutputType flags{ElementType::kBool, std::nullopt};
  const Tensor x = Stored(ElementType::kBool, {2, 2}, {1, 0, 0, 0});
  const Tensor axes = Int64({1});
  EXPECT_THAT(Integers({"ReduceMax", {}, {&x, &axes}, flags}), ElementsAre(1, 0));
  EXPECT_THAT(Integers({"ReduceMin", {}, {&x, &axes}, flags}), ElementsAre(0, 0));
  const Tensor none = Stored(ElementType::kBool, {0}, {});
  EXPECT_THAT(Integers({"ReduceMax", {}, {&none}, flags}), ElementsAre(0));
  EXPECT_THAT(Integers({"ReduceMin", {}, {&none}, flags}), ElementsAre(1));
}

TEST(Reduce, OfNothingInPlainIntegers) {
  const Tensor x = Stored(ElementType::kInt32, {0}, {});
  EXPECT_THAT(Integers({"ReduceMax", {}, {&x}, kInt32Type}), ElementsAre(-2147483648));
  EXPECT_THAT(Integers({"ReduceMin", {}, {&x}, kInt32Type}), ElementsAre(2147483647));
  EXPECT_THAT(Integers({"ReduceSum", {}, {&x}, kInt32Type}), ElementsAre(0));
  EXPECT_THAT(Integers({"ReduceL1", {}, {&x}, kInt32Type}), ElementsAre(0));
  EXPECT_THAT(Integers({"ReduceProd", {}, {&x}, kInt32Type}), ElementsAre(1));
}

TEST(Reduce, WrapsPlainIntegers) {
  const Tensor x = Stored(ElementType::kInt32, {3}, {2147483647, 2147483647, 7});
  EXPECT_THAT(Integers({"ReduceSum", {}, {&x}, kInt32Type}), ElementsAre(5));
  EXPECT_THAT(Integers({"ReduceMean", {}, {&x}, kInt32Type}), ElementsAre(1431655767));
  // (2^31 - 1)^2 is 1 modulo 2^32.
  EXPECT_THAT(Integers({"ReduceProd", {}, {&x}, kInt32Type}), ElementsAre(7));
  // That twice, and 49.
  EXPECT_THAT(Integers({"ReduceSumSquare", {}, {&x}, kInt32Type}), ElementsAre(51));
  // The root of 2 * (2^31 - 1)^2 + 49 is 3037000498.56, less 2^32.
  EXPECT_THAT(Integers({"ReduceL2", {}, {&x}, kInt32Type}), ElementsAre(3037000498 - 4294967296));
}

TEST(Reduce, PassesANanOn) {
  const Tensor x = Float({3}, {1, std::numeric_limits<float>::quiet_NaN(), kInf});
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                         "ReduceL2", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp"}) {
    for (const char* arithmetic : {"exact", "float32"}) {
      OpRun run{op, {}, {&x}, Int8Type(Q({1.0F}, {9})), arithmetic};
      EXPECT_THAT(Integers(run), ElementsAre(9)) << op;
    }
  }
}

TEST(Reduce, RefusesHugeShapes) {
  const Tensor x = Float({0, 1 << 15, 1 << 15}, {});
  const Tensor axes = Int64({0});
  EXPECT_THAT(ErrorOf({"ReduceMax", {}, {&x, &axes}, FloatType()}), HasSubstr("elements"));
  const Tensor y = Float({std::int64_t{1} << 31, 0}, {});
  EXPECT_EQ(Floats({"ReduceMax", {}, {&y, &axes}, FloatType()}).size(), 0U);
}

}  // namespace
}  // namespace qtx::reference::testing::reduce_test
