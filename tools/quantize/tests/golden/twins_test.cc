// Float networks against their published 8-bit twins, which have the same weights: what is
// quantized here from calibration inputs lies at least as near to the float outputs, on other
// inputs. The corpus lies beside the source tree; without it there is nothing to compare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "measure.h"
#include "qtx/convert/convert.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {
namespace {

namespace fs = std::filesystem;
using format::Model;
using format::Tensor;

fs::path Corpus() { return fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus"; }

struct Twins {
  const char* name;
  const char* real;
  const char* twin;
  double low, high;  // of synthetic inputs: uniform; the twin's own input range
  double mean, std;  // or normal within it, where std is above 0
};

// hello_world_float and _int8 are no twins: their weights differ by up to 188 LSB.
const std::vector<Twins> kTwins = {
    {"toycar", "tflite-net/ad01_fp32/ad01_fp32.tflite", "tflite-net/toycar/toycar.tflite", -66.9,
     2.05, -28.3, 11.1},
    {"resnet8", "tflite-net/resnet8_fp32/pretrainedResnet.tflite",
     "tflite-net/resnet8/resnet.tflite", 0, 255, 0, 0},
    {"micro_kws", "tflite-net/micro_kws_m_fp32/micro_kws_m_fp32.tflite",
     "tflite-net/micro_kws_m_quantized/micro_kws_m_quantized.tflite", 0, 25.9, 0, 0},
    {"micro_kws_onnx", "onnx-net/micro_kws_m_static_fp32/model.onnx",
     "onnx-net/micro_kws_m_static_qdq/model.onnx", -5, 4.9, 0, 0},
    {"mnist_dw", "tflite-net/tinymaix_mnist_dw_f/mnist_dw_f.tflite",
     "tflite-net/tinymaix_mnist_dw_q/mnist_dw_q.tflite", 0, 1, 0, 0},
    {"mnist_valid", "tflite-net/tinymaix_mnist_valid_f/mnist_valid_f.tflite",
     "tflite-net/tinymaix_mnist_valid_q/mnist_valid_q.tflite", 0, 1, 0, 0},
};

// splitmix64: Steele, Lea, Flood 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double Uniform() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  double Normal() {  // Box and Muller 1958
    return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(6.283185307179586 * Uniform());
  }

 private:
  std::uint64_t state_;
};

Model Read(const std::string& path) {
  const auto source = convert::Open((Corpus() / path).string());
  EXPECT_TRUE(source.has_value()) << path;
  const auto kind = convert::KindOf(*source);
  auto read = convert::Read(*source, **kind);
  EXPECT_TRUE(read.has_value()) << read.error().where << ": " << read.error().message;
  return std::move(read->model);
}

// The input of the final Softmax, whose own 8 bits hide what came before; else the output.
std::string Logits(const Model& model) {
  for (const format::Node& node : model.graph.nodes) {
    if (node.op_type == "Softmax") return node.inputs[0];
  }
  return model.graph.outputs[0].name;
}

std::vector<float> RealsOf(const Tensor& tensor) {
  const auto stored = format::StoredValues(tensor);
  std::vector<float> reals;
  for (const double value : stored) {
    reals.push_back(!tensor.quantization
                        ? static_cast<float>(value)
                        : static_cast<float>(static_cast<double>(tensor.quantization->scale[0]) *
                                             (value - format::OffsetAt(*tensor.quantization, 0))));
  }
  return reals;
}

// Logits and output of each sample, one after the other.
struct Results {
  std::vector<float> logits, output;
};

void Append(std::vector<float>& to, const std::vector<float>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Results RunAll(const Model& model, const std::vector<Tensor>& samples, const char* arithmetic) {
  auto interpreter = reference::Interpreter::Prepare(model, arithmetic);
  EXPECT_TRUE(interpreter.has_value()) << interpreter.error().message;
  Results results;
  const std::string logits = Logits(model);
  interpreter->set_observer([&](const std::string& name, const Tensor& tensor) {
    if (name == logits) Append(results.logits, RealsOf(tensor));
  });
  for (const Tensor& sample : samples) {
    const auto outputs = interpreter->Run(std::span(&sample, 1));
    EXPECT_TRUE(outputs.has_value()) << outputs.error().message;
    Append(results.output, RealsOf((*outputs)[0]));
  }
  return results;
}

double Sqnr(const std::vector<float>& real, const std::vector<float>& other) {
  EXPECT_EQ(real.size(), other.size());
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    signal += std::pow(static_cast<double>(real[i]), 2);
    noise += std::pow(static_cast<double>(real[i]) - static_cast<double>(other[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

// Samples to calibrate with, and to test on.
struct Fold {
  std::vector<Tensor> calibration, test;
};

Tensor Sample(const Model& model, const std::vector<float>& values) {
  format::Dims dims;
  for (const format::Dimension& d : *model.graph.inputs[0].type->shape)
    dims.push_back(d.value.value_or(1));
  auto tensor = format::MakeTensor(format::ElementType::kFloat, dims);
  EXPECT_EQ(tensor->As<float>().size(), values.size());
  std::ranges::copy(values, tensor->As<float>().begin());
  return *std::move(tensor);
}

Fold Synthetic(const Model& model, const Twins& twins) {
  Random random(7);
  std::int64_t size = 1;
  for (const format::Dimension& d : *model.graph.inputs[0].type->shape) size *= d.value.value_or(1);
  Fold fold;
  for (int i = 0; i < 40; ++i) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) {
      const double x = twins.std > 0 ? twins.mean + twins.std * random.Normal()
                                     : twins.low + (twins.high - twins.low) * random.Uniform();
      value = static_cast<float>(std::clamp(x, twins.low, twins.high));
    }
    (i < 24 ? fold.calibration : fold.test).push_back(Sample(model, values));
  }
  return fold;
}

std::string Bytes(const fs::path& path) {
  auto bytes = format::ReadFile(path.string(), 1 << 24);
  EXPECT_TRUE(bytes.has_value()) << path;
  return *std::move(bytes);
}

// Ten photographs: nine to calibrate, the tenth to test, each in turn.
std::vector<Fold> Photographs(const Model& model) {
  std::vector<Tensor> photographs;
  for (int i = 0; i < 10; ++i) {
    const std::string bytes =
        Bytes(Corpus() / "tflite-net/resnet8/input" / (std::to_string(i) + ".bin"));
    std::vector<float> values;
    for (const char byte : bytes)
      values.push_back(static_cast<float>(static_cast<unsigned char>(byte)));
    photographs.push_back(Sample(model, values));
  }
  std::vector<Fold> folds(10);
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t k = 0; k < 10; ++k)
      (i == k ? folds[i].test : folds[i].calibration).push_back(photographs[k]);
  }
  return folds;
}

// A recording of a toy car as mel bands: windows of five frames, those of its first half to
// calibrate, those of its second half to test; none shares a frame with one of the other half.
std::vector<Fold> Recording(const Model& model) {
  const std::string bytes =
      Bytes(Corpus() / "tflite-net/toycar_accuracy" / "normal_id_01_00000000_hist_librosa.bin");
  constexpr std::size_t kBands = 128, kFrames = 5;
  std::vector<float> all(bytes.size() / sizeof(float));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
  const std::size_t frames = all.size() / kBands;
  Fold fold;
  for (std::size_t i = 0; i + kFrames <= frames; i += 2) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(i * kBands);
    const Tensor window =
        Sample(model, std::vector<float>(at, at + static_cast<std::ptrdiff_t>(kFrames * kBands)));
    if (i + kFrames <= frames / 2) fold.calibration.push_back(window);
    if (i >= frames / 2) fold.test.push_back(window);
  }
  return {fold};
}

struct Outcome {
  Results real, ours, twin, twin_tflite;
};

void Add(const Results& more, Results& all) {
  Append(all.logits, more.logits);
  Append(all.output, more.output);
}

Outcome Compare(const Model& real, const Model& twin, const std::vector<Fold>& folds) {
  Outcome all;
  for (const Fold& fold : folds) {
    auto measured = Measured(real, fold.calibration);
    EXPECT_TRUE(measured.has_value()) << measured.error().message;
    const auto quantized = Quantize(*measured, {});
    EXPECT_TRUE(quantized.has_value()) << quantized.error().where << quantized.error().message;
    Add(RunAll(real, fold.test, "float32"), all.real);
    Add(RunAll(quantized->model, fold.test, "exact"), all.ours);
    Add(RunAll(twin, fold.test, "exact"), all.twin);
    Add(RunAll(twin, fold.test, "tflite"), all.twin_tflite);
  }
  return all;
}

void Judge(const std::string& name, const Outcome& outcome) {
  for (const auto& [what, member] :
       {std::pair("logits", &Results::logits), std::pair("output", &Results::output)}) {
    const auto& real = outcome.real.*member;
    const double ours = Sqnr(real, outcome.ours.*member);
    const double exact = Sqnr(real, outcome.twin.*member);
    const double tflite = Sqnr(real, outcome.twin_tflite.*member);
    std::printf("%-24s %s: %6.2f dB here, %6.2f dB the twin (in TFLite's arithmetic %6.2f)\n",
                name.c_str(), what, ours, exact, tflite);
    EXPECT_GE(ours, exact) << name << " " << what;
    EXPECT_GE(ours, tflite) << name << " " << what;
  }
}

class TwinsTest : public testing::TestWithParam<Twins> {};

TEST_P(TwinsTest, AreNoNearerToTheFloatNetwork) {
  const Twins& twins = GetParam();
  if (!fs::exists(Corpus() / twins.real)) GTEST_SKIP() << "no corpus beside the source tree";
  const Model real = Read(twins.real), twin = Read(twins.twin);
  const std::string name = twins.name;
  Judge(name + " synthetic", Compare(real, twin, {Synthetic(real, twins)}));
  if (name == "resnet8") Judge(name + " photographs", Compare(real, twin, Photographs(real)));
  if (name == "toycar") Judge(name + " recording", Compare(real, twin, Recording(real)));
}

INSTANTIATE_TEST_SUITE_P(Corpus, TwinsTest, testing::ValuesIn(kTwins),
                         [](const auto& twins) { return std::string(twins.param.name); });

}  // namespace
}  // namespace qtx::quantize
