// Operators of NNEF, read and computed by the reference. The expected results are derived by hand
// from the fragments of NNEF's standard library; axes, sides and strides differ from each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/reference/interpreter.h"
#include "tests/files.h"

namespace qtx::convert::nnef_operators_test {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

struct Computed {
  const char* name;
  Dims x;
  std::vector<float> values;
  const char* constants;  // `w = ...`, or nothing
  const char* call;
  Dims y;
  std::vector<float> expected;
};

Tensor Floats(const Dims& dims, const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, dims);
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

class NnefOperator : public testing::TestWithParam<Computed> {};

TEST_P(NnefOperator, IsThatOfTheStandardLibrary) {
  const Computed& c = GetParam();
  const auto folder = TestFolder();
  WriteBytes(folder / "graph.nnef",
             "version 1.0;\ngraph net(x) -> (y)\n{\nx = external<scalar>(shape = " +
                 format::ToString(c.x) + ");\n" + c.constants + "y = " + c.call + ";\n}\n");
  const auto read = ReadFileAs(folder);
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  auto interpreter = reference::Interpreter::Prepare(read->model, "exact");
  ASSERT_TRUE(interpreter.has_value()) << ErrorOf(interpreter);
  const auto outputs = interpreter->Run(std::vector<Tensor>{Floats(c.x, c.values)});
  ASSERT_TRUE(outputs.has_value()) << ErrorOf(outputs);
  EXPECT_EQ(outputs->at(0), Floats(c.y, c.expected));
}

const std::vector<float> kNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
const std::vector<float> kBelow = {-1, -2, -3, -4, -5, -6, -7, -8, -9};

INSTANTIATE_TEST_SUITE_P(
    All, NnefOperator,
    testing::Values(
        // A line of zeros above, a column of them on the right; lines one by one, columns by two.
        Computed{
            "conv",
            {1, 1, 3, 3},
            kNine,
            "w = constant<scalar>(shape = [1, 1, 2, 2], value = [1.0, 2.0, 3.0, 4.0]);\n",
            "conv(x, w, 0.0, border = 'constant', padding = [(1, 0), (0, 1)], stride = [1, 2], "
            "dilation = [1, 1], groups = 1)",
            {1, 1, 3, 2},
            {11, 9, 37, 21, 67, 33}},
        // 1 + 100 * 3 along lines; a tap of each is two apart.
        Computed{
            "conv_dilated",
            {1, 1, 3, 3},
            kNine,
            "w = constant<scalar>(shape = [1, 1, 1, 2], value = [1.0, 100.0]);\n",
            "conv(x, w, 0.5, border = 'constant', padding = [(0, 0), (0, 0)], stride = [2, 1], "
            "dilation = [1, 2], groups = 1)",
            {1, 1, 2, 1},
            {301.5F, 907.5F}},
        // No groups are as many as channels: 1 - 2, 2 - 3; 2 * 4 + 5, 2 * 5 + 6.
        Computed{"conv_depthwise",
                 {1, 2, 1, 3},
                 {1, 2, 3, 4, 5, 6},
                 "w = constant<scalar>(shape = [2, 1, 1, 2], value = [1.0, -1.0, 2.0, 1.0]);\n",
                 "conv(x, w, 0.0, border = 'constant', padding = [(0, 0), (0, 0)], stride = [], "
                 "dilation = [], groups = 0)",
                 {1, 2, 1, 2},
                 {-1, -1, 13, 16}},
        // 1 * w from 0 on and 2 * w from 2 on.
        Computed{
            "deconv",
            {1, 1, 1, 2},
            {1, 2},
            "w = constant<scalar>(shape = [1, 1, 1, 3], value = [1.0, 10.0, 100.0]);\n",
            "deconv(x, w, 0.0, border = 'constant', padding = [(0, 0), (0, 0)], stride = [1, 2], "
            "dilation = [1, 1], output_shape = [], groups = 1)",
            {1, 1, 1, 5},
            {1, 10, 102, 20, 200}},
        // A line below and a column on the left.
        Computed{
            "max_pool_ignore",
            {1, 1, 3, 3},
            kBelow,
            "",
            "max_pool(x, size = [1, 1, 2, 2], border = 'ignore', padding = [(0, 0), (0, 0), (0, "
            "1), (1, 0)], stride = [1, 1, 2, 2], dilation = [1, 1, 1, 1])",
            {1, 1, 2, 2},
            {-1, -2, -7, -8}},
        Computed{"max_pool_constant",
                 {1, 1, 3, 3},
                 kBelow,
                 "",
                 "max_pool(x, size = [1, 1, 2, 2], border = 'constant', padding = [(0, 0), (0, 0), "
                 "(0, 1), (1, 0)], stride = [1, 1, 2, 2], dilation = [1, 1, 1, 1])",
                 {1, 1, 2, 2},
                 {0, -2, 0, 0}},
        Computed{"avg_pool_constant",
                 {1, 1, 3, 3},
                 kNine,
                 "",
                 "avg_pool(x, size = [1, 1, 2, 2], border = 'constant', padding = [(0, 0), (0, 0), "
                 "(0, 1), (1, 0)], stride = [1, 1, 2, 2], dilation = [1, 1, 1, 1])",
                 {1, 1, 2, 2},
                 {1.25F, 4, 1.75F, 4.25F}},
        Computed{
            "avg_pool_ignore",
            {1, 1, 3, 3},
            kNine,
            "",
            "avg_pool(x, size = [1, 1, 2, 2], border = 'ignore', padding = [(0, 0), (0, 0), (0, "
            "1), (1, 0)], stride = [1, 1, 2, 2], dilation = [1, 1, 1, 1])",
            {1, 1, 2, 2},
            {2.5F, 4, 7, 8.5F}},
        Computed{"transpose",
                 {1, 2, 3},
                 {1, 2, 3, 4, 5, 6},
                 "",
                 "transpose(x, axes = [0, 2, 1])",
                 {1, 3, 2},
                 {1, 4, 2, 5, 3, 6}},
        // An end of 0 is that of the axis.
        Computed{"slice",
                 {2, 3},
                 {1, 2, 3, 4, 5, 6},
                 "",
                 "slice(x, axes = [1], begin = [1], end = [0])",
                 {2, 2},
                 {2, 3, 5, 6}},
        Computed{"pad",
                 {1, 2},
                 {1, 2},
                 "",
                 "pad(x, padding = [(0, 0), (1, 2)], border = 'constant', value = 7.0)",
                 {1, 5},
                 {7, 1, 2, 7, 7}},
        // Rows of both: 1 * 5 + 2 * 6, 1 * 7 + 2 * 8; 3 * 5 + 4 * 6, 3 * 7 + 4 * 8.
        Computed{"matmul",
                 {2, 2},
                 {1, 2, 3, 4},
                 "w = constant<scalar>(shape = [2, 2], value = [5.0, 6.0, 7.0, 8.0]);\n",
                 "matmul(x, w, transposeA = false, transposeB = true)",
                 {2, 2},
                 {17, 23, 39, 53}},
        Computed{"matmul_of_a_transposed",
                 {2, 2},
                 {1, 2, 3, 4},
                 "w = constant<scalar>(shape = [2, 2], value = [5.0, 6.0, 7.0, 8.0]);\n",
                 "matmul(x, w, transposeA = true, transposeB = false)",
                 {2, 2},
                 {26, 30, 38, 44}},
        Computed{"concat",
                 {2, 1},
                 {1, 2},
                 "w = constant<scalar>(shape = [2, 2], value = [3.0, 4.0, 5.0, 6.0]);\n",
                 "concat([x, w], axis = 1)",
                 {2, 3},
                 {1, 3, 4, 2, 5, 6}},
        Computed{"stack",
                 {2},
                 {1, 2},
                 "w = constant<scalar>(shape = [2], value = [3.0, 4.0]);\n",
                 "stack([x, w], axis = 1)",
                 {2, 2},
                 {1, 3, 2, 4}},
        Computed{"sum_reduce",
                 {2, 3},
                 {1, 2, 3, 4, 5, 6},
                 "",
                 "sum_reduce(x, axes = [0])",
                 {1, 3},
                 {5, 7, 9}},
        Computed{"max_reduce",
                 {2, 3},
                 {1, 2, 3, 4, 5, 6},
                 "",
                 "max_reduce(x, axes = [1])",
                 {2, 1},
                 {3, 6}},
        Computed{"mean_reduce", {1, 3}, {1, 3, 2}, "", "mean_reduce(x, axes = [1])", {1, 1}, {2}},
        // Half away from zero.
        Computed{
            "round", {5}, {-2.5F, -0.5F, 0.5F, 1.5F, 2.5F}, "", "round(x)", {5}, {-3, -1, 1, 2, 3}},
        // [2] beside [2, 3] is [2, 1].
        Computed{"div",
                 {2, 3},
                 {1, 2, 3, 4, 5, 6},
                 "w = constant<scalar>(shape = [2], value = [1.0, 2.0]);\n",
                 "div(x, w)",
                 {2, 3},
                 {1, 2, 3, 2, 2.5F, 3}},
        Computed{"sub", {2}, {1, 2}, "", "sub(5.0, x)", {2}, {4, 3}},
        Computed{"clamp", {4}, {-1, 0.5F, 2, 3}, "", "clamp(x, 0.0, 2.0)", {4}, {0, 0.5F, 2, 2}},
        // (3 - 1) / 2 * 2 + 10 and (5 - 1) / 1 * 3 + 20.
        Computed{"batch_normalization",
                 {1, 2},
                 {3, 5},
                 "m = constant<scalar>(shape = [1, 2], value = [1.0]);\n"
                 "v = constant<scalar>(shape = [1, 2], value = [4.0, 1.0]);\n"
                 "o = constant<scalar>(shape = [1, 2], value = [10.0, 20.0]);\n"
                 "s = constant<scalar>(shape = [1, 2], value = [2.0, 3.0]);\n",
                 "batch_normalization(x, mean = m, variance = v, offset = o, scale = s, epsilon = "
                 "0.0)",
                 {1, 2},
                 {12, 32}},
        Computed{"softmax",
                 {2, 2},
                 {0, 0, 7, 7},
                 "",
                 "softmax(x, axes = [1])",
                 {2, 2},
                 {0.5F, 0.5F, 0.5F, 0.5F}},
        Computed{"tile", {1, 2}, {1, 2}, "", "tile(x, repeats = [2, 1])", {2, 2}, {1, 2, 1, 2}},
        Computed{"nearest_upsample",
                 {1, 1, 1, 2},
                 {1, 2},
                 "",
                 "nearest_upsample(x, factor = [1, 2])",
                 {1, 1, 1, 4},
                 {1, 1, 2, 2}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace qtx::convert::nnef_operators_test
