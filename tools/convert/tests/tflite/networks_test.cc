// Whole networks nobody here made: converted, checked, run, lowered and lifted again.
#include "tests/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/npy.h"
#include "qtx/reference/interpreter.h"

namespace qtx::convert::networks_test {
namespace {

namespace fs = std::filesystem;

format::Tensor ReadNpy(const fs::path& path) {
  const auto bytes = format::ReadFile(path, format::kMaxModelBytes);
  EXPECT_TRUE(bytes.has_value()) << path;
  auto tensor = format::ParseNpy(bytes.value_or(""));
  EXPECT_TRUE(tensor.has_value()) << path;
  return std::move(tensor).value_or(format::Tensor{});
}

class TfliteNetwork : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto bytes = ReadNetwork(GetParam());
    ASSERT_TRUE(bytes.has_value());
    auto conversion = FromTflite(*bytes);
    ASSERT_TRUE(conversion.has_value())
        << conversion.error().where << ": " << conversion.error().message;
    conversion_ = *std::move(conversion);
  }
  Conversion conversion_;
};

TEST_P(TfliteNetwork, KeepsEveryRuleOfTheFormat) {
  for (const format::Finding& finding : format::Check(conversion_.model)) {
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  }
}

TEST_P(TfliteNetwork, IsWrittenAsTheSameBytesEveryTime) {
  const auto again = FromTflite(*ReadNetwork(GetParam()));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again->model.Serialize(), *conversion_.model.Serialize());
}

TEST_P(TfliteNetwork, GivesTheOutputsOfTflitesBuiltinKernels) {
  auto interpreter = reference::Interpreter::Prepare(conversion_.model, "tflite");
  ASSERT_TRUE(interpreter.has_value())
      << interpreter.error().where << ": " << interpreter.error().message;
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(NetworkFolder() / GetParam())) {
    if (!entry.is_directory()) continue;
    format::Tensor input = ReadNpy(entry.path() / "input_0.npy");
    const format::TensorType& type = *conversion_.model.graph.inputs[0].type;
    ASSERT_EQ(input.elem_type, format::StorageOf(type.elem_type));
    input.elem_type = type.elem_type;
    input.quantization = type.quantization;
    const auto outputs = interpreter->Run(std::vector{input});
    ASSERT_TRUE(outputs.has_value()) << outputs.error().where << ": " << outputs.error().message;
    const format::Tensor golden = ReadNpy(entry.path() / "builtin_output_0.npy");
    EXPECT_EQ(outputs->at(0).dims, golden.dims);
    EXPECT_EQ(outputs->at(0).bytes, golden.bytes) << entry.path();
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

TEST_P(TfliteNetwork, ComesBackFromLoweringFieldForField) {
  const auto lowered = ToQdq(conversion_.model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().where << ": " << lowered.error().message;
  EXPECT_THAT(format::Check(lowered->model), testing::IsEmpty());
  const auto written = lowered->model.Serialize();
  ASSERT_TRUE(written.has_value());
  const auto read = format::Model::Parse(*written);
  ASSERT_TRUE(read.has_value());
  const auto lifted = FromOnnx(*read);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == conversion_.model);
  EXPECT_EQ(*lifted->model.Serialize(), *conversion_.model.Serialize());
}

// Five Transposes would mean that layouts change inside the network; the input's edge needs one,
// and a network whose input is flat needs another where it mixes height, width and channels again.
TEST_P(TfliteNetwork, TransposesActivationsOnlyAtEdges) {
  const auto& nodes = conversion_.model.graph.nodes;
  const auto count = std::count_if(nodes.begin(), nodes.end(), [](const format::Node& node) {
    return node.op_type == "Transpose";
  });
  EXPECT_LE(count, 2);
}

INSTANTIATE_TEST_SUITE_P(Corpus, TfliteNetwork, testing::ValuesIn(Networks()),
                         [](const auto& network) { return TestName(network.param); });

}  // namespace
}  // namespace qtx::convert::networks_test
