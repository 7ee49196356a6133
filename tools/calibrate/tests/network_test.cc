// Whole networks: every statistic against an independent computation with GMP and MPFR on the
// values that the reference computes.
#include <gmp.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "qtx/calibrate/calibrate.h"
#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::calibrate::network_test {
namespace {

namespace fs = std::filesystem;
using format::Tensor;

fs::path Corpus() { return fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus"; }

// Standard normal numbers in the shape of a model's inputs.
class NormalSamples : public Samples {
 public:
  NormalSamples(const format::Model& model, std::int64_t count) : count_(count) {
    for (const auto& input : model.graph.inputs)
      dims_.push_back(*format::FixedDims(*input.type->shape));
  }
  std::int64_t size() const override { return count_; }
  std::string Name(std::int64_t index) const override { return std::to_string(index); }
  std::string Digest() const override { return "normal " + std::to_string(count_); }
  Sample Read(std::int64_t index) const override {
    std::mt19937 random(static_cast<std::uint32_t>(index));
    std::normal_distribution<float> normal;
    std::vector<Tensor> inputs;
    for (const format::Dims& dims : dims_) {
      inputs.push_back(*format::MakeTensor(format::ElementType::kFloat, dims));
      for (float& value : inputs.back().As<float>()) value = normal(random);
    }
    return inputs;
  }

 private:
  std::int64_t count_;
  std::vector<format::Dims> dims_;
};

struct Expected {
  double min = 0, max = 0, mean = 0, std = 0;
};

// Rational sums; the square root to 2000 bits, of which the last 1947 decide no tie.
Expected ByRationals(const std::vector<float>& values) {
  mpq_t sum, squares, term;
  mpq_inits(sum, squares, term, nullptr);
  for (const float value : values) {
    mpq_set_d(term, double{value});
    mpq_add(sum, sum, term);
    mpq_mul(term, term, term);
    mpq_add(squares, squares, term);
  }
  mpq_set_ui(term, values.size(), 1);
  mpq_div(sum, sum, term);
  mpq_div(squares, squares, term);
  mpq_mul(term, sum, sum);
  mpq_sub(squares, squares, term);
  mpfr_t mean, std;
  mpfr_init2(mean, 53);
  mpfr_init2(std, 2000);
  mpfr_set_q(mean, sum, MPFR_RNDN);
  mpfr_set_q(std, squares, MPFR_RNDN);
  mpfr_sqrt(std, std, MPFR_RNDN);
  const auto [min, max] = std::ranges::minmax(values);
  const Expected expected{min, max, mpfr_get_d(mean, MPFR_RNDN), mpfr_get_d(std, MPFR_RNDN)};
  mpfr_clears(mean, std, nullptr);
  mpq_clears(sum, squares, term, nullptr);
  return expected;
}

// Everything that the reference computes for the samples, by value.
std::map<std::string, std::vector<float>> ValuesOf(const format::Model& model,
                                                   const Samples& samples) {
  std::map<std::string, std::vector<float>> values;
  const auto collect = [&values](const std::string& name, const Tensor& tensor) {
    if (tensor.elem_type != format::ElementType::kFloat) return;
    const auto floats = tensor.As<float>();
    values[name].insert(values[name].end(), floats.begin(), floats.end());
  };
  auto interpreter = reference::Interpreter::Prepare(model, "float32");
  EXPECT_TRUE(interpreter.has_value());
  interpreter->set_observer(collect);
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> inputs = *samples.Read(i);
    for (std::size_t k = 0; k < inputs.size(); ++k) collect(model.graph.inputs[k].name, inputs[k]);
    EXPECT_TRUE(interpreter->Run(inputs).has_value());
  }
  return values;
}

class Network : public testing::TestWithParam<const char*> {};

TEST_P(Network, HasTheStatisticsOfItsValues) {
  const fs::path path = Corpus() / GetParam();
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto source = convert::Open(path.string());
  ASSERT_TRUE(source.has_value());
  const auto conversion = convert::Read(*source, **convert::KindOf(*source));
  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const format::Model& model = conversion->model;
  const NormalSamples samples(model, 3);
  const auto done = Calibrate(model, samples, ReferenceExecutor(model),
                              {.statistics = {.axis = {}, .bins = 512}, .threads = 2});
  ASSERT_TRUE(done.has_value()) << done.error().where << ": " << done.error().message;
  EXPECT_TRUE(format::Check(done->model).empty());
  const auto values = ValuesOf(model, samples);
  EXPECT_GT(values.size(), model.graph.nodes.size() / 2);
  for (const auto& [name, floats] : values) {
    const format::ValueInfo* info = done->model.graph.FindValue(name);
    ASSERT_TRUE(info != nullptr && info->type && info->type->statistics) << name;
    const format::Statistics& statistics = *info->type->statistics;
    const Expected expected = ByRationals(floats);
    EXPECT_EQ(statistics.min, std::vector{expected.min}) << name;
    EXPECT_EQ(statistics.max, std::vector{expected.max}) << name;
    EXPECT_EQ(statistics.mean, std::vector{expected.mean}) << name;
    EXPECT_EQ(statistics.std, std::vector{expected.std}) << name;
    EXPECT_EQ(statistics.count, floats.size()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Network,
                         testing::Values("onnx-net/micro_kws_m_static_fp32/model.onnx",
                                         "tflite-net/ad01_fp32/ad01_fp32.tflite",
                                         "tflite-net/micro_kws_m_fp32/micro_kws_m_fp32.tflite",
                                         "tflite-net/resnet8_fp32/pretrainedResnet.tflite"));

}  // namespace
}  // namespace qtx::calibrate::network_test
