// The corpus' QONNX models under arithmetic `exact`, against what golden/derive.py computes of
// QONNX's definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "qtx/convert/convert.h"
#include "qtx/format/npy.h"
#include "qtx/reference/interpreter.h"

namespace qtx::convert::corpus_test {
namespace {

namespace fs = std::filesystem;
using format::ElementType;
using format::Tensor;

fs::path Corpus() { return fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/qonnx"; }

Result<Tensor> Golden(const std::string& model) {
  const fs::path folder = fs::path(QTX_SOURCE_DIR) / "tools/convert/tests/qonnx/golden";
  QTX_ASSIGN_OR_RETURN(const std::string bytes,
                       format::ReadFile(folder / (model + "_output.npy"), 1 << 20));
  return format::ParseNpy(bytes);
}

Result<Conversion> ReadModel(const std::string& model) {
  QTX_ASSIGN_OR_RETURN(const Source source, Open(Corpus() / model / "model.onnx"));
  QTX_ASSIGN_OR_RETURN(const Kind* kind, KindOf(source));
  EXPECT_EQ(kind->name, "qonnx");
  return Read(source, *kind);
}

// The shapes that an input of another size changes.
void ForgetShapes(const format::Dims& input, format::Graph& graph) {
  graph.inputs.at(0).type->shape = format::ToShape(input);
  for (auto* list : {&graph.values, &graph.outputs}) {
    for (format::ValueInfo& info : *list) {
      if (graph.FindInitializer(info.name) == nullptr) info.type->shape.reset();
    }
  }
}

Result<Tensor> RunModel(const std::string& model, const Tensor& input) {
  QTX_ASSIGN_OR_RETURN(Conversion conversion, ReadModel(model));
  ForgetShapes(input.dims, conversion.model.graph);
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(std::move(conversion.model)));
  QTX_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, interpreter.Run(std::vector{input}));
  return std::move(outputs.at(0));
}

// derive.py's pattern.
Tensor Pattern(format::Dims dims, float divisor) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, std::move(dims));
  const auto values = tensor.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7919 % 256) / divisor;
  return tensor;
}

// The first `size` rows and columns.  REQUIRES: four dimensions.
Tensor Corner(const Tensor& image, std::int64_t size) {
  Tensor corner = *format::MakeTensor(ElementType::kFloat, {1, image.dims[1], size, size});
  const auto from = image.As<float>();
  std::size_t to = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (at % image.dims[3] < size && at / image.dims[3] % image.dims[2] < size)
      corner.As<float>()[to++] = from[i];
  }
  return corner;
}

Result<Tensor> InputOf(const std::string& model) {
  if (model.starts_with("TFC")) return Pattern({1, 1, 28, 28}, 256);
  if (model == "eltwise_chanlast") return Pattern({1, 3, 64, 64}, 1);
  QTX_ASSIGN_OR_RETURN(const std::string bytes,
                       format::ReadFile(Corpus() / model / "input_0.pb", 1 << 20));
  QTX_ASSIGN_OR_RETURN(const format::TensorData data, format::ParseTensorData(bytes));
  QTX_ASSIGN_OR_RETURN(const Tensor image, format::Decode(data));
  return Corner(image, 32);
}

// Every 4th row and column of an image.
std::vector<float> Thinned(const Tensor& image) {
  const auto values = image.As<float>();
  if (image.dims.size() != 4) return {values.begin(), values.end()};
  const std::int64_t height = image.dims[2], width = image.dims[3];
  std::vector<float> thinned;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (at % width % 4 == 0 && at / width % height % 4 == 0) thinned.push_back(values[i]);
  }
  return thinned;
}

class QonnxCorpus : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!fs::exists(Corpus())) GTEST_SKIP() << "no corpus beside the source tree";
  }
};

TEST_P(QonnxCorpus, GivesWhatQonnxDefines) {
  const auto input = InputOf(GetParam());
  const auto golden = Golden(GetParam());
  ASSERT_TRUE(input.has_value() && golden.has_value());
  const auto output = RunModel(GetParam(), *input);
  ASSERT_TRUE(output.has_value()) << output.error().where << ": " << output.error().message;
  const std::vector<float> found = Thinned(*output);
  const auto expected = golden->As<float>();
  ASSERT_EQ(found.size(), expected.size());
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < found.size(); ++i) differing += found[i] == expected[i] ? 0 : 1;
  EXPECT_EQ(differing, 0) << "of " << found.size();
}

INSTANTIATE_TEST_SUITE_P(Models, QonnxCorpus,
                         testing::Values("TFC_1W1A", "TFC_2W2A", "eltwise_chanlast",
                                         "espcn_subpixel_quant"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace qtx::convert::corpus_test
