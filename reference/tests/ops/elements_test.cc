// GatherElements, ScatterElements, ReverseSequence, Compress and NonMaxSuppression against GMP
// rationals: gather_elements.S1 to gather_elements.S3, scatter_elements.S1, scatter_elements.S2,
// reverse_sequence.S1, compress.S1, non_max_suppression.S1 to non_max_suppression.S3.
#include <algorithm>

#include "moving.h"

namespace qtx::reference::testing::elements_test {
namespace {

// Data, an axis, and indices for a part of it that go along the axis.
struct Case {
  Dims from, shape;
  std::size_t axis = 0;
  Values indices;
};

Case AnyCase(Random& random) {
  Case c;
  for (std::int64_t rank = random.In(1, 3); rank > 0; --rank) c.from.push_back(random.In(1, 4));
  c.axis = static_cast<std::size_t>(random.In(0, static_cast<std::int64_t>(c.from.size()) - 1));
  for (const std::int64_t size : c.from) c.shape.push_back(random.In(1, size));
  c.shape[c.axis] = random.In(0, 6);
  std::int64_t count = 1;
  for (const std::int64_t size : c.shape) count *= size;
  const std::int64_t along = c.from[c.axis];
  while (count-- > 0) c.indices.push_back(random.In(-along, along - 1));
  return c;
}

// The element of data that index `i` names, by division of the coordinates.
std::size_t NamedBy(const Case& c, std::size_t i) {
  auto left = static_cast<std::int64_t>(i);
  Dims at(c.shape.size());
  for (std::size_t axis = c.shape.size(); axis-- > 0; left /= c.shape[axis]) {
    at[axis] = left % c.shape[axis];
  }
  at[c.axis] = (c.indices[i] + c.from[c.axis]) % c.from[c.axis];
  std::int64_t element = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis) element = element * c.from[axis] + at[axis];
  return static_cast<std::size_t>(element);
}

TEST(GatherElements, TakesTheElementThatEachIndexNames) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const Case c = AnyCase(random);
    const Tensor data = random.Tensor8(c.from, AnyGranularity(random, c.from));
    const Tensor indices = Stored(ElementType::kInt64, c.shape, c.indices);
    const OutputType type = Int8Type(AnyGranularity(random, c.shape));
    const AllRun run{"GatherElements",
                     {Attribute::Int("axis", static_cast<std::int64_t>(c.axis))},
                     {&data, &indices},
                     {type}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    const std::vector<mpq_class> reals = TextbookReals(data);
    std::vector<mpq_class> taken;
    for (std::size_t i = 0; i < c.indices.size(); ++i) taken.push_back(reals[NamedBy(c, i)]);
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(taken, type, c.shape));
  }
}

mpq_class Together(const std::string& reduction, const mpq_class& a, const mpq_class& b) {
  if (reduction == "add") return a + b;
  if (reduction == "mul") return a * b;
  if (reduction == "max") return a > b ? a : b;
  if (reduction == "min") return a < b ? a : b;
  return b;
}

TEST(ScatterElements, EqualsRationalArithmeticRoundedOnce) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const char* reduction =
        std::array{"none", "add", "mul", "max", "min"}[static_cast<std::size_t>(round % 5)];
    const Case c = AnyCase(random);
    const Tensor data = random.Tensor8(c.from, AnyGranularity(random, c.from));
    const Tensor indices = Stored(ElementType::kInt64, c.shape, c.indices);
    const Tensor updates = random.Tensor8(c.shape, AnyGranularity(random, c.shape));
    const OutputType type = Int8Type(AnyGranularity(random, c.from));
    const AllRun run{"ScatterElements",
                     {Attribute::Int("axis", static_cast<std::int64_t>(c.axis)),
                      Attribute::String("reduction", reduction)},
                     {&data, &indices, &updates},
                     {type}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    std::vector<mpq_class> reals = TextbookReals(data);
    const std::vector<mpq_class> added = TextbookReals(updates);
    for (std::size_t i = 0; i < added.size(); ++i) {
      mpq_class& at = reals[NamedBy(c, i)];
      at = Together(reduction, at, added[i]);
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(reals, type, c.from))
        << reduction;
  }
}

TEST(ReverseSequence, ReversesTheFirstPlacesOfEachBatch) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = {random.In(1, 4), random.In(1, 4), random.In(1, 2)};
    const std::size_t batch = static_cast<std::size_t>(random.In(0, 1)), time = 1 - batch;
    Values lengths;
    for (std::int64_t b = 0; b < dims[batch]; ++b) lengths.push_back(random.In(0, dims[time]));
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    const Tensor sequence_lens = Stored(ElementType::kInt64, {dims[batch]}, lengths);
    const OutputType type = Int8Type(AnyGranularity(random, dims));
    const AllRun run{"ReverseSequence",
                     {Attribute::Int("batch_axis", static_cast<std::int64_t>(batch)),
                      Attribute::Int("time_axis", static_cast<std::int64_t>(time))},
                     {&x, &sequence_lens},
                     {type}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    const std::vector<mpq_class> reals = TextbookReals(x);
    std::vector<mpq_class> reversed = reals;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i);
      Dims at = {element / dims[2] / dims[1], element / dims[2] % dims[1], element % dims[2]};
      const std::int64_t length = lengths[static_cast<std::size_t>(at[batch])];
      if (at[time] < length) at[time] = length - 1 - at[time];
      reversed[static_cast<std::size_t>((at[0] * dims[1] + at[1]) * dims[2] + at[2])] = reals[i];
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(reversed, type, dims));
  }
}

TEST(Compress, KeepsTheSlicesThatAreTrue) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const Dims dims = {random.In(1, 4), random.In(1, 4), random.In(1, 4)};
    const auto axis = static_cast<std::size_t>(random.In(0, 2));
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    Values condition;
    std::int64_t kept = 0;
    for (std::int64_t k = random.In(0, dims[axis]); k > 0; --k) {
      condition.push_back(random.In(0, 1));
      kept += condition.back();
    }
    const Tensor c = Stored(ElementType::kBool, {std::ssize(condition)}, condition);
    const std::vector<mpq_class> reals = TextbookReals(x);
    std::vector<mpq_class> taken;
    for (std::int64_t i = 0; i < CountOf(dims); ++i) {
      const auto k = static_cast<std::size_t>(CoordinatesOf(i, dims)[axis]);
      if (k >= condition.size() || condition[k] == 0) continue;
      taken.push_back(reals[static_cast<std::size_t>(i)]);
    }
    Dims shape = dims;
    shape[axis] = kept;
    const OutputType type = Int8Type(random.PerTensor());
    EXPECT_EQ(Integers({"Compress",
                        {Attribute::Int("axis", static_cast<std::int64_t>(axis))},
                        {&x, &c},
                        type}),
              TextbookStored(taken, type, shape));
  }
}

// Area over the union by what of each axis lies in both boxes, and in either.
mpq_class Share(const std::vector<mpq_class>& boxes, std::size_t i, std::size_t j) {
  const auto side = [&](std::size_t k, std::size_t d, bool far) {
    const mpq_class& a = boxes[4 * k + d];
    const mpq_class& b = boxes[4 * k + d + 2];
    return far == (a < b) ? b : a;
  };
  mpq_class common = 1, first = 1, second = 1;
  for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
    const mpq_class low = std::max(side(i, d, false), side(j, d, false));
    const mpq_class high = std::min(side(i, d, true), side(j, d, true));
    common *= std::max(mpq_class(0), mpq_class(high - low));
    first *= side(i, d, true) - side(i, d, false);
    second *= side(j, d, true) - side(j, d, false);
  }
  return common == 0 ? common : mpq_class(common / (first + second - common));
}

TEST(NonMaxSuppression, SelectsByExactAreas) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const std::int64_t count = random.In(1, 8);
    const Tensor boxes = random.Tensor8({1, count, 4}, random.PerTensor());
    const Tensor scores = random.Tensor8({1, 1, count}, random.PerTensor());
    const Tensor most = Int64({random.In(0, 8)});
    const Tensor limit = Float({1}, {0.25F});
    const std::vector<mpq_class> corners = TextbookReals(boxes);
    std::vector<mpq_class> left = TextbookReals(scores);
    const mpq_class lowest = *std::ranges::min_element(left) - 1;
    std::vector<std::size_t> selected;
    for (std::int64_t turn = 0; turn < count; ++turn) {
      const auto best = static_cast<std::size_t>(std::ranges::max_element(left) - left.begin());
      left[best] = lowest;
      const bool free = std::ranges::none_of(selected, [&](std::size_t other) {
        return Share(corners, best, other) > mpq_class(1, 4);
      });
      if (free && std::ssize(selected) < most.As<std::int64_t>()[0]) selected.push_back(best);
    }
    Values rows;
    for (const std::size_t i : selected) {
      rows.insert(rows.end(), {0, 0, static_cast<std::int64_t>(i)});
    }
    EXPECT_EQ(Integers({"NonMaxSuppression",
                        {},
                        {&boxes, &scores, &most, &limit},
                        OutputType{ElementType::kInt64}}),
              rows);
  }
}

}  // namespace
}  // namespace qtx::reference::testing::elements_test
