// The general path against the kernels, where both run: two implementations that share only the
// rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace qtx::backend::engine {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

constexpr ElementType kInt8Q = ElementType::kInt8Q;

class GeneralAgainstKernels : public testing::Test {
 protected:
  Tensor RandomTensor(ElementType type, Dims dims, std::vector<Parameters> parameters,
                      std::int64_t axis = 0) {
    const auto count = format::ElementCount(dims);
    return Quantized(type, dims, std::move(parameters), Random(type, *count, random_), axis);
  }
  ElementType EitherType() { return random_() % 2 == 0 ? kInt8Q : ElementType::kUint8Q; }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  // Often powers of two, where a share of the sums are ties.
  float Scale(float around) {
    if (random_() % 2 == 0) return std::exp2(std::nearbyint(std::log2(around)));
    return around * std::uniform_real_distribution<float>(0.5F, 1.5F)(random_);
  }
  void ExpectSame(const std::string& op, const std::vector<Argument>& arguments, const Tensor& y,
                  const std::vector<Attribute>& attributes = {}) {
    for (const Kernels* kernels : KernelsUnderTest()) {
      const auto fast = ComputeOneNode(*kernels, op, arguments, y, attributes);
      const auto general = ComputeOneNode(*kernels, op, arguments, y, attributes, Path::kGeneral);
      ASSERT_TRUE(fast.has_value() && general.has_value());
      ASSERT_EQ(fast->bytes, general->bytes) << op << " by " << kernels->name;
    }
  }
  std::mt19937 random_{11};
};

TEST_F(GeneralAgainstKernels, ConvIsTheSame) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t groups = Between(1, 3), depth = Between(1, 5),
                       filters = groups * Between(1, 4);
    const std::int64_t kernel = Between(1, 3), stride = Between(1, 2), dilation = Between(1, 2);
    const std::int64_t size = Between(5, 9), pad = Between(0, 2);
    const Tensor x = RandomTensor(EitherType(), {2, groups * depth, size, size}, {{0.1F, 3}});
    std::vector<Parameters> scales(static_cast<std::size_t>(filters));
    for (auto& p : scales) p = {Scale(0.02F), 0};
    const Tensor w = RandomTensor(kInt8Q, {filters, depth, kernel, kernel}, scales);
    const Tensor b = RandomTensor(ElementType::kInt16Q, {filters}, {{1, 0}});
    const Tensor bias =
        Quantized(ElementType::kInt32Q, {filters}, {{0.001F, 0}}, format::UnpackInt32(b));
    const std::int64_t out = (size + pad - (kernel - 1) * dilation - 1) / stride + 1;
    const Tensor y = Quantized(EitherType(), {2, filters, out, out}, {{Scale(1), 5}}, {});
    ExpectSame("Conv", {{"x", x}, {"w", w, true}, {"b", bias, true}}, y,
               {Attribute::Ints("pads", {pad, 0, 0, pad}), Attribute::Int("group", groups),
                Attribute::Ints("strides", {stride, stride}),
                Attribute::Ints("dilations", {dilation, dilation})});
  }
}

TEST_F(GeneralAgainstKernels, MatMulAndGemmAreTheSame) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t rows = Between(1, 9), depth = Between(1, 40), columns = Between(1, 20);
    const Tensor a = RandomTensor(EitherType(), {2, 1, rows, depth}, {{Scale(0.1F), 17}});
    const Tensor b = RandomTensor(EitherType(), {3, depth, columns}, {{Scale(0.1F), 9}});
    const Tensor y = Quantized(kInt8Q, {2, 3, rows, columns}, {{Scale(4), -3}}, {});
    ExpectSame("MatMul", {{"a", a}, {"b", b, round % 2 == 0}}, y);
    const Tensor left = RandomTensor(kInt8Q, {depth, rows}, {{Scale(0.1F), 2}});
    const Tensor right = RandomTensor(kInt8Q, {depth, columns}, {{Scale(0.1F), 0}});
    const Tensor real =
        Floats({rows, columns}, std::vector<float>(static_cast<std::size_t>(rows * columns)));
    ExpectSame("Gemm", {{"a", left}, {"b", right, true}}, real,
               {Attribute::Float("alpha", 0.7F), Attribute::Int("transA", 1)});
  }
}

TEST_F(GeneralAgainstKernels, PoolsAndSoftmaxAreTheSame) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t kernel = Between(1, 3), size = Between(4, 7), pad = Between(0, kernel - 1);
    const Tensor x = RandomTensor(EitherType(), {2, 3, size, size}, {{Scale(0.1F), 4}});
    const std::int64_t out = (size + 2 * pad - kernel + 1) / 2 + 1;
    const bool dropped = (out - 1) * 2 >= size + pad;
    const std::int64_t kept = dropped ? out - 1 : out;
    const Tensor y = Quantized(EitherType(), {2, 3, kept, kept}, {{Scale(0.1F), 3}}, {});
    std::vector<Attribute> attributes{Attribute::Ints("kernel_shape", {kernel, kernel}),
                                      Attribute::Ints("pads", {pad, pad, pad, pad}),
                                      Attribute::Ints("strides", {2, 2}),
                                      Attribute::Int("ceil_mode", 1)};
    ExpectSame("MaxPool", {{"x", x}}, y, attributes);
    attributes.push_back(Attribute::Int("count_include_pad", round % 2));
    ExpectSame("AveragePool", {{"x", x}}, y, attributes);
    const Tensor shares = Quantized(ElementType::kUint8Q, {2, 3, size, size}, {{0x1p-8F, 0}}, {});
    ExpectSame("Softmax", {{"x", x}}, shares, {Attribute::Int("axis", Between(0, 3))});
  }
}

}  // namespace
}  // namespace qtx::backend::engine
