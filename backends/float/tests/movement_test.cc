// Operators that move elements, on values that were moved by hand.
#include "support.h"

namespace qtx::backend::float_test {
namespace {

const Tensor kX = Floats({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Transpose, PermutesTheAxes) {
  EXPECT_EQ(Compute("Transpose", {kX}), Floats({3, 2}, {1, 4, 2, 5, 3, 6}));
  const Tensor x = Floats({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Compute("Transpose", {x}, 0, {Attribute::Ints("perm", {0, 2, 3, 1})}),
            Floats({1, 1, 3, 2}, {1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Compute("Transpose", {Int64s({7, 8})}), Int64s({7, 8}));
}

TEST(Reshaping, KeepsTheElements) {
  EXPECT_EQ(Compute("Reshape", {kX, Int64s({0, 1, -1})}, 1), Floats({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Compute("Flatten", {kX}, 0, {Attribute::Int("axis", 0)}).dims, (Dims{1, 6}));
  EXPECT_EQ(Compute("Flatten", {kX}, 0, {Attribute::Int("axis", -1)}).dims, (Dims{2, 3}));
  EXPECT_EQ(Compute("Unsqueeze", {kX, Int64s({0, -1})}, 1).dims, (Dims{1, 2, 3, 1}));
  EXPECT_EQ(Compute("Squeeze", {Floats({1, 2, 1}, {1, 2}), Int64s({-1})}, 1).dims, (Dims{1, 2}));
  EXPECT_EQ(Compute("Squeeze", {Floats({1, 2, 1}, {1, 2})}).dims, (Dims{2}));
  EXPECT_EQ(Compute("Identity", {kX}), kX);
  EXPECT_EQ(Compute("Dropout", {kX}), kX);
}

TEST(Concat, JoinsAlongItsAxis) {
  const Tensor column = Floats({2, 1}, {7, 8});
  EXPECT_EQ(Compute("Concat", {kX, column}, 0, {Attribute::Int("axis", 1)}),
            Floats({2, 4}, {1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(Compute("Concat", {kX, Floats({0, 3}, {}), kX}, 0, {Attribute::Int("axis", -2)}).dims,
            (Dims{4, 3}));
  EXPECT_EQ(Compute("Concat", {Int64s({1}), Int64s({2})}, 0, {Attribute::Int("axis", 0)}),
            Int64s({1, 2}));
}

TEST(Pad, AddsAndCuts) {
  EXPECT_EQ(Compute("Pad", {kX, Int64s({0, 1, 0, 0})}, 1),
            Floats({2, 4}, {0, 1, 2, 3, 0, 4, 5, 6}));
  EXPECT_EQ(Compute("Pad", {kX, Int64s({0, -1, 1, -1}), Floats({}, {9})}, 2),
            Floats({3, 1}, {2, 5, 9}));
  EXPECT_EQ(Compute("Pad", {kX, Int64s({0, -2, 0, -1})}, 1).dims, (Dims{2, 0}));
  EXPECT_EQ(Compute("Pad", {kX, Int64s({0, -3, 0, 2}), Floats({}, {9})}, 2),
            Floats({2, 2}, {9, 9, 9, 9}));
}

TEST(Movement, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& op, const std::vector<Tensor>& inputs,
                          std::vector<Attribute> attributes = {}) {
    const auto result = RunModel(OneNode(op, inputs, 0, std::move(attributes)), inputs);
    return !result.has_value() && result.error().code != ErrorCode::kUnsupported;
  };
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({4})}));
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({-1, -1})}));
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({-2, -3})}));
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({huge, huge, -1})}));
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({0, 0, 0})}));
  EXPECT_TRUE(refused("Reshape", {kX, Int64s({4, -1})}));
  EXPECT_TRUE(refused("Reshape", {kX, kX}));
  EXPECT_TRUE(refused("Flatten", {kX}, {Attribute::Int("axis", 3)}));
  EXPECT_TRUE(refused("Squeeze", {kX, Int64s({0})}));
  EXPECT_TRUE(refused("Unsqueeze", {kX, Int64s({0, 0})}));
  EXPECT_TRUE(refused("Unsqueeze", {kX, Int64s({5})}));
  EXPECT_TRUE(refused("Transpose", {kX}, {Attribute::Ints("perm", {0, 0})}));
  EXPECT_TRUE(refused("Transpose", {kX}, {Attribute::Ints("perm", {0})}));
  EXPECT_TRUE(refused("Concat", {kX, Floats({1}, {1})}, {Attribute::Int("axis", 1)}));
  EXPECT_TRUE(refused("Concat", {kX, kX}, {Attribute::Int("axis", 2)}));
  EXPECT_TRUE(refused("Concat", {kX, Int64s({1})}, {Attribute::Int("axis", 0)}));
  EXPECT_TRUE(refused("Pad", {kX, Int64s({0, -9, 0, 0})}));
  EXPECT_TRUE(refused("Pad", {kX, Int64s({0, huge, 0, huge})}));
  EXPECT_TRUE(refused("Pad", {kX, Int64s({0, 1})}));
  EXPECT_TRUE(refused("ReduceMean", {kX}, {Attribute::Ints("axes", {2})}));
  EXPECT_TRUE(refused("Softmax", {kX}, {Attribute::Int("axis", 2)}));
}

}  // namespace
}  // namespace qtx::backend::float_test
