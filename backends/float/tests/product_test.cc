// MatMul and Gemm against sums of exact products in binary64.
#include "support.h"

namespace qtx::backend::float_test {
namespace {

double At(const Tensor& tensor, std::int64_t i) {
  return static_cast<double>(tensor.As<float>()[static_cast<std::size_t>(i)]);
}

// The same node with every set of kernels, two threads, and constant or computed operands.
void CheckSame(const std::string& op, const std::vector<Tensor>& inputs,
               const std::vector<Attribute>& attributes, const Tensor& result) {
  for (const std::string& kernels : FloatKernels()) {
    EXPECT_EQ(Compute(op, inputs, 0, attributes, {2, kernels}), result) << kernels;
    EXPECT_EQ(Compute(op, inputs, inputs.size() - 1, attributes, {1, kernels}), result) << kernels;
  }
}

TEST(MatMul, IsWithinTheBoundAroundTheSizesOfTiles) {
  Random random(1);
  for (const std::int64_t rows : {1, 5, 6, 7, 8, 9, 70}) {
    for (const std::int64_t columns : {1, 8, 15, 16, 17, 47, 48, 49, 100}) {
      for (const std::int64_t depth : {1, 2, 33, 400}) {
        const Tensor a = RandomTensor({rows, depth}, random);
        const Tensor b = RandomTensor({depth, columns}, random);
        const Tensor y = Compute("MatMul", {a, b}, 1);
        ASSERT_EQ(y.dims, (Dims{rows, columns}));
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          Sum sum;
          for (std::int64_t k = 0; k < depth; ++k) {
            sum.Add(At(a, i / columns * depth + k) * At(b, k * columns + i % columns));
          }
          ASSERT_LE(std::abs(At(y, i) - sum.value), Bound(depth, sum.magnitude)) << i;
        }
        CheckSame("MatMul", {a, b}, {}, y);
      }
    }
  }
}

// By ones, so that every element of a counts: rows of a are 1 + 2, 3 + 4, ..
TEST(MatMul, BroadcastsStacksOfMatrices) {
  const Tensor a = Floats({2, 1, 1, 2}, {1, 2, 3, 4});
  const Tensor b = Floats({3, 2, 1}, {1, 1, 10, 1, 1, 10});
  // [2,1] stacks by [3]: 1*1+2*1, 1*10+2*1, 1*1+2*10; 3+4, 30+4, 3+40.
  EXPECT_EQ(Compute("MatMul", {a, b}), Floats({2, 3, 1, 1}, {3, 12, 21, 7, 34, 43}));
  const Tensor matrix = Floats({2, 1}, {1, 1});
  EXPECT_EQ(Compute("MatMul", {a, matrix}, 1), Floats({2, 1, 1, 1}, {3, 7}));
}

TEST(MatMul, TakesVectors) {
  const Tensor v = Floats({2}, {1, 2});
  const Tensor m = Floats({2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(Compute("MatMul", {v, m}, 1), Floats({2}, {201, 2010}));
  EXPECT_EQ(Compute("MatMul", {m, v}), Floats({2}, {21, 2100}));
  EXPECT_EQ(Compute("MatMul", {v, v}), Floats({}, {5}));
}

TEST(MatMul, IsZeroWhereThereIsNothingToAdd) {
  EXPECT_EQ(Compute("MatMul", {Floats({2, 0}, {}), Floats({0, 1}, {})}), Floats({2, 1}, {0, 0}));
  EXPECT_EQ(Compute("MatMul", {Floats({0, 3}, {}), Floats({3, 2}, std::vector<float>(6))}).dims,
            (Dims{0, 2}));
}

// 2^24 + 1 + 1 by ascending k is 2^24; descending it would be 2^24 + 2.
TEST(MatMul, AddsByAscendingIndex) {
  const Tensor y =
      Compute("MatMul", {Floats({1, 3}, {0x1p24F, 1, 1}), Floats({3, 1}, {1, 1, 1})}, 1);
  EXPECT_EQ(y.As<float>()[0], 0x1p24F);
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  const auto clause = [](const Tensor& a, const Tensor& b) {
    const auto result = RunModel(OneNode("MatMul", {a, b}, 0), {a, b});
    return result.has_value() ? "none" : result.error().clause;
  };
  const Tensor a = Floats({1, 2}, {1, 2});
  EXPECT_EQ(clause(a, Floats({3, 1}, {1, 2, 3})), "mat_mul.C3");
  EXPECT_EQ(clause(a, Floats({}, {1})), "mat_mul.C2");
  EXPECT_EQ(clause(Floats({2, 1, 1}, {1, 2}), Floats({3, 1, 1}, {1, 2, 3})), "mat_mul.C4");
}

// gamma of one rounding for each term, one for alpha and one for beta.
TEST(Gemm, IsWithinTheBoundForEveryForm) {
  Random random(2);
  const std::int64_t rows = 9;
  const std::int64_t columns = 50;
  const std::int64_t depth = 37;
  for (int form = 0; form < 16; ++form) {
    const bool a_transposed = (form & 1) != 0;
    const bool b_transposed = (form & 2) != 0;
    const float alpha = (form & 4) != 0 ? 0.3F : 1;
    const float beta = (form & 8) != 0 ? -1.7F : 1;
    const Tensor a = RandomTensor(a_transposed ? Dims{depth, rows} : Dims{rows, depth}, random);
    const Tensor b =
        RandomTensor(b_transposed ? Dims{columns, depth} : Dims{depth, columns}, random);
    for (const Dims& c_dims :
         {Dims{columns}, Dims{rows, columns}, Dims{rows, 1}, Dims{1}, Dims{}}) {
      const Tensor c = RandomTensor(c_dims, random);
      const std::vector<Attribute> attributes = {
          Attribute::Int("transA", a_transposed), Attribute::Int("transB", b_transposed),
          Attribute::Float("alpha", alpha), Attribute::Float("beta", beta)};
      const Tensor y = Compute("Gemm", {a, b, c}, 2, attributes);
      ASSERT_EQ(y.dims, (Dims{rows, columns}));
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t row = i / columns;
        const std::int64_t column = i % columns;
        Sum sum;
        for (std::int64_t k = 0; k < depth; ++k) {
          sum.Add(static_cast<double>(alpha) *
                  (At(a, a_transposed ? k * rows + row : row * depth + k) *
                   At(b, b_transposed ? column * depth + k : k * columns + column)));
        }
        const std::int64_t at = c_dims.size() == 2  ? (c_dims[1] == 1 ? row : i)
                                : c_dims == Dims{1} ? 0
                                : c_dims.empty()    ? 0
                                                    : column;
        sum.Add(static_cast<double>(beta) * At(c, at));
        ASSERT_LE(std::abs(At(y, i) - sum.value), Bound(depth + 2, sum.magnitude)) << form;
      }
      CheckSame("Gemm", {a, b, c}, attributes, y);
    }
  }
}

TEST(Gemm, NeedsNoC) {
  const Tensor y = Compute("Gemm", {Floats({1, 2}, {1, 2}), Floats({2, 1}, {3, 4})}, 1,
                           {Attribute::Float("alpha", 2)});
  EXPECT_EQ(y, Floats({1, 1}, {22}));
}

TEST(Gemm, RefusesACThatDoesNotBroadcast) {
  const std::vector<Tensor> inputs = {Floats({1, 2}, {1, 2}), Floats({2, 1}, {3, 4}),
                                      Floats({2}, {1, 1})};
  const auto result = RunModel(OneNode("Gemm", inputs, 0), inputs);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace qtx::backend::float_test
