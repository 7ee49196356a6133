// A third-party network of Paddle, against plain loops over its parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "qtx/format/limits.h"
#include "qtx/reference/interpreter.h"
#include "tests/files.h"

namespace qtx::convert::samplenet_test {
namespace {

namespace fs = std::filesystem;

fs::path Folder() {
  return fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/paddle/samplenet";
}

Result<format::Tensor> Load(const fs::path& path) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes,
                       format::ReadFile(path.string(), format::kMaxModelBytes));
  QTX_ASSIGN_OR_RETURN(const format::TensorData data, format::ParseTensorData(bytes));
  return format::Decode(data);
}

// The parameters in the order of the file, by hand: after a header of 16 bytes and a description,
// whose size comes first, floats; `counts` has how many.
std::vector<std::vector<double>> Parameters(const std::string& bytes,
                                            const std::vector<std::size_t>& counts) {
  std::vector<std::vector<double>> parameters;
  std::size_t at = 0;
  for (const std::size_t count : counts) {
    std::int32_t description = 0;
    std::memcpy(&description, bytes.data() + at + 16, 4);
    at += 20 + static_cast<std::size_t>(description);
    std::vector<float> floats(count);
    std::memcpy(floats.data(), bytes.data() + at, count * 4);
    at += count * 4;
    parameters.emplace_back(floats.begin(), floats.end());
  }
  EXPECT_EQ(at, bytes.size());
  return parameters;
}

using Image = std::vector<double>;  // [channel][n][n]

// 3 x 3, no padding, then the bias and Relu.
Image ConvRelu(const Image& x, std::size_t in, std::size_t n, const std::vector<double>& w,
               const std::vector<double>& b) {
  const std::size_t m = n - 2;
  Image y(b.size() * m * m);
  for (std::size_t o = 0; o < b.size(); ++o) {
    for (std::size_t at = 0; at < m * m; ++at) {
      double sum = b[o];
      for (std::size_t k = 0; k < in * 9; ++k) {
        const std::size_t row = at / m + k % 9 / 3, column = at % m + k % 3;
        sum += w[o * in * 9 + k] * x[(k / 9 * n + row) * n + column];
      }
      y[o * m * m + at] = std::max(sum, 0.0);
    }
  }
  return y;
}

// 2 x 2 by twos; an odd last row is left over.
Image MaxPool(const Image& x, std::size_t channels, std::size_t n) {
  const std::size_t m = n / 2;
  Image y;
  for (std::size_t i = 0; i < channels * m * m; ++i) {
    const double* corner = &x[(i / (m * m) * n + i / m % m * 2) * n + i % m * 2];
    y.push_back(std::max({corner[0], corner[1], corner[n], corner[n + 1]}));
  }
  return y;
}

std::vector<double> Linear(const std::vector<double>& x, const std::vector<double>& w,
                           const std::vector<double>& b, bool relu) {
  std::vector<double> y = b;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t o = 0; o < b.size(); ++o) y[o] += x[i] * w[i * b.size() + o];
  }
  for (double& value : y) value = relu ? std::max(value, 0.0) : value;
  return y;
}

// The network as its program lists it, in doubles. Parameters in the order of their names: bias
// before weights, conv2d_0 to conv2d_2, linear_0, linear_1.
std::vector<double> PlainLoops(const std::string& bytes, const format::Tensor& input) {
  const auto p =
      Parameters(bytes, {32, 32 * 27, 64, 64 * 288, 64, 64 * 576, 64, 1024 * 64, 10, 640});
  Image x(input.As<float>().begin(), input.As<float>().end());
  x = MaxPool(ConvRelu(x, 3, 32, p[1], p[0]), 32, 30);
  x = MaxPool(ConvRelu(x, 32, 15, p[3], p[2]), 64, 13);
  x = ConvRelu(x, 64, 6, p[5], p[4]);
  return Linear(Linear(x, p[7], p[6], true), p[9], p[8], false);
}

// The corpus has outputs of ONNX Runtime too, but of another network: the ONNX file beside this one
// has two convolutions and three linear layers, the program three and two.
TEST(PaddleSamplenet, GivesWhatPlainLoopsOverItsParametersGive) {
  if (!fs::exists(Folder())) GTEST_SKIP() << "no corpus beside the source tree";
  const auto bytes =
      format::ReadFile((Folder() / "samplenet.pdiparams").string(), format::kMaxModelBytes);
  ASSERT_TRUE(bytes.has_value()) << ErrorOf(bytes);
  const auto conversion = ReadFileAs(Folder() / "samplenet.pdmodel");
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  auto interpreter = reference::Interpreter::Prepare(conversion->model, "exact");
  ASSERT_TRUE(interpreter.has_value()) << ErrorOf(interpreter);
  for (const char* run : {"test_data_set_ort_normal", "test_data_set_ort_uniform"}) {
    const auto input = Load(Folder() / run / "input_0.pb");
    ASSERT_TRUE(input.has_value()) << ErrorOf(input);
    const auto outputs = interpreter->Run(std::vector<format::Tensor>{*input});
    ASSERT_TRUE(outputs.has_value()) << ErrorOf(outputs);
    const std::vector<double> expected = PlainLoops(*bytes, *input);
    ASSERT_EQ(outputs->at(0).dims, (format::Dims{1, 10}));
    // Each of ten layers rounds to binary32: a part in 10^5 is many times that.
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_NEAR(outputs->at(0).As<float>()[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  }
}

TEST(PaddleSamplenet, TakesItsParametersFromTheFileGiven) {
  if (!fs::exists(Folder())) GTEST_SKIP() << "no corpus beside the source tree";
  const auto combined = ReadFileAs(Folder() / "samplenet.pdmodel");
  ASSERT_TRUE(combined.has_value()) << ErrorOf(combined);
  const auto with = ReadFileAs(Folder() / "samplenet.pdmodel", nullptr, {},
                               {(Folder() / "samplenet.pdiparams").string()});
  ASSERT_TRUE(with.has_value()) << ErrorOf(with);
  EXPECT_EQ(with->model.graph, combined->model.graph);
}

}  // namespace
}  // namespace qtx::convert::samplenet_test
