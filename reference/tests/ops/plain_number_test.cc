// The operators of reals on plain integers and DOUBLE (exact.S10): clip.C1, relu.C1, max_pool.C1,
// mat_mul.C1, gemm.C1, conv.C1, average_pool.C1, softmax.C1.
#include <gmpxx.h>

#include <cmath>

#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

OutputType Plain(ElementType type) { return {type, std::nullopt}; }

Tensor Doubles(const Dims& dims, const std::vector<double>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kDouble, dims);
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// Unsigned arithmetic of C++ wraps at 2^32 and 2^64.
template <typename Unsigned, typename Signed>
void ProductsWrap(ElementType type, std::uint32_t seed) {
  Random random(seed);
  const auto any = [&random] {
    return static_cast<Signed>(
        random.In(std::numeric_limits<Signed>::min(), std::numeric_limits<Signed>::max()));
  };
  Values a, b;
  for (int i = 0; i < 6; ++i) a.push_back(any());
  for (int i = 0; i < 12; ++i) b.push_back(any());
  const Tensor left = Stored(type, {2, 3}, a);
  const Tensor right = Stored(type, {3, 4}, b);
  Values expected;
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      Unsigned sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        sum += static_cast<Unsigned>(a[r * 3 + k]) * static_cast<Unsigned>(b[k * 4 + c]);
      }
      expected.push_back(static_cast<Signed>(sum));
    }
  }
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_EQ(Integers({"MatMul", {}, {&left, &right}, Plain(type), arithmetic}), expected);
    EXPECT_EQ(Integers({"Gemm", {}, {&left, &right}, Plain(type), arithmetic}), expected);
  }
}

TEST(PlainNumber, SumsOfProductsWrap) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    ProductsWrap<std::uint32_t, std::int32_t>(ElementType::kInt32, seed);
    ProductsWrap<std::uint64_t, std::int64_t>(ElementType::kInt64, 100 + seed);
  }
}

TEST(PlainNumber, DoubleSumsOfProductsAreRoundedOnce) {
  Random random(91);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a, b;
    mpq_class sum = 0;
    for (int i = 0; i < 5; ++i) {
      a.push_back(std::ldexp(static_cast<double>(random.In(-(1LL << 53), 1LL << 53)),
                             static_cast<int>(random.In(-400, 400))));
      b.push_back(std::ldexp(static_cast<double>(random.In(-(1LL << 53), 1LL << 53)),
                             static_cast<int>(random.In(-400, 400))));
      sum += mpq_class(a.back()) * mpq_class(b.back());
    }
    const Tensor left = Doubles({1, 5}, a);
    const Tensor right = Doubles({5, 1}, b);
    const auto y = OpRun{"MatMul", {}, {&left, &right}, Plain(ElementType::kDouble)}.Run();
    ASSERT_TRUE(y.has_value());
    const double got = y->As<double>()[0];
    // No other double is nearer to the sum.
    for (const double other : {std::nextafter(got, INFINITY), std::nextafter(got, -INFINITY)}) {
      EXPECT_LE(abs(mpq_class(got) - sum), abs(mpq_class(other) - sum));
    }
  }
}

TEST(PlainNumber, OrderIsThatOfTheIntegers) {
  const Values values = {std::numeric_limits<std::int64_t>::min(), -1, 0, (1LL << 53) + 1,
                         std::numeric_limits<std::int64_t>::max()};
  const Tensor x = Stored(ElementType::kInt64, {1, 1, 5}, values);
  const OutputType type = Plain(ElementType::kInt64);
  EXPECT_THAT(Integers({"Relu", {}, {&x}, type}), ElementsAre(0, 0, 0, (1LL << 53) + 1, values[4]));
  const Tensor high = Stored(ElementType::kInt64, {}, {1LL << 53});
  EXPECT_THAT(Integers({"Clip", {}, {&x, nullptr, &high}, type}),
              ElementsAre(values[0], -1, 0, 1LL << 53, 1LL << 53));
  EXPECT_THAT(Integers({"MaxPool", {Attribute::Ints("kernel_shape", {2})}, {&x}, type}),
              ElementsAre(-1, 0, values[3], values[4]));
}

TEST(PlainNumber, ConvPoolsAndSoftmaxTakeDoubles) {
  const Tensor x = Doubles({1, 1, 3}, {0x1p-60, 1.0, 3.0});
  const Tensor w = Doubles({1, 1, 2}, {1.0, 1.0});
  const OutputType type = Plain(ElementType::kDouble);
  const auto values = [](OpRun run) {
    const auto y = run.Run();
    EXPECT_TRUE(y.has_value());
    return y.has_value() ? std::vector<double>(y->As<double>().begin(), y->As<double>().end())
                         : std::vector<double>();
  };
  const std::vector<Attribute> kernel = {Attribute::Ints("kernel_shape", {2})};
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(values({"Conv", kernel, {&x, &w}, type, arithmetic}), ElementsAre(1.0, 4.0));
    EXPECT_THAT(values({"AveragePool", kernel, {&x}, type, arithmetic}), ElementsAre(0.5, 2.0));
    EXPECT_THAT(values({"GlobalAveragePool", {}, {&x}, type, arithmetic}), ElementsAre(4.0 / 3));
    const Tensor equal = Doubles({3}, {1e300, 1e300, 1e300});
    EXPECT_THAT(values({"Softmax", {}, {&equal}, type, arithmetic}),
                ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3));
  }
}

TEST(PlainNumber, DoesNotMixWithReals) {
  const Tensor x = Stored(ElementType::kInt32, {1, 1}, {3});
  const Tensor real = Float({1, 1}, {1.5F});
  EXPECT_NE(ErrorOf({"MatMul", {}, {&x, &real}, Plain(ElementType::kInt32)}), "");
  EXPECT_NE(ErrorOf({"Relu", {}, {&x}, FloatType()}), "");
  EXPECT_NE(ErrorOf({"Relu", {}, {&real}, Plain(ElementType::kInt32)}), "");
  const Tensor bound = Float({}, {1.5F});
  EXPECT_NE(ErrorOf({"Clip", {}, {&x, &bound}, Plain(ElementType::kInt32)}), "");
}

}  // namespace
}  // namespace qtx::reference::testing
