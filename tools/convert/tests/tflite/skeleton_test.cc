// The skeleton of a file: what the graph says is the graph's, what it does not say is the file's.
#include "tflite/skeleton.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base64.h"
#include "qtx/convert/convert.h"
#include "qtx/format/npy.h"
#include "qtx/reference/interpreter.h"
#include "tests/networks.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::skeleton_test {
namespace {

namespace fs = std::filesystem;
using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;

// A layer with much that ONNX has no word for: a version, an option, metadata, a signature, a
// tensor that nothing uses.
TfliteMaker Layer() {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 2}), unused = maker.Int8("unused", {3});
  const int w = maker.Tensor("w", {2, 2}, TensorType::INT8, 0.5F, 0, {1, 2, 3, 4});
  const int b = maker.Int32s("b", {2}, {5, 6}, 0.25F);
  const int y = maker.Int8("y", {1, 2});
  EXPECT_EQ(unused, 1);
  schema::FullyConnectedOptionsT options;
  options.keep_num_dims = true;
  options.fused_activation_function = schema::ActivationFunctionType::RELU6;
  maker.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w, b}, {y}, options);
  maker.model().operator_codes[0]->version = 5;
  maker.model().metadata.push_back(std::make_unique<schema::MetadataT>());
  maker.model().metadata[0]->name = "min_runtime_version";
  maker.model().signature_defs.push_back(std::make_unique<schema::SignatureDefT>());
  maker.model().signature_defs[0]->signature_key = "serving_default";
  maker.model().description = "a layer";
  return maker;
}

class Skeleton : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = Layer().Bytes({0}, {4});
    auto read = FromTflite(bytes_);
    ASSERT_TRUE(read.has_value()) << read.error().where << ": " << read.error().message;
    model_ = std::move(read->model);
  }
  std::unique_ptr<schema::ModelT> Written(const std::vector<std::string>& allow = {}) {
    const auto written = ToTflite(model_, {.allow = allow});
    EXPECT_TRUE(written.has_value()) << written.error().where << ": " << written.error().message;
    if (!written.has_value()) return std::make_unique<schema::ModelT>();
    out_ = std::get<std::string>(written->content);
    return std::unique_ptr<schema::ModelT>(schema::GetModel(out_.data())->UnPack());
  }
  std::string bytes_, out_;
  format::Model model_;
};

TEST_F(Skeleton, HoldsNoConstantOfTheGraph) {
  const auto skeleton = FromBase64(*FindSkeleton(model_));
  ASSERT_TRUE(skeleton.has_value());
  const std::unique_ptr<schema::ModelT> tables(schema::GetModel(skeleton->data())->UnPack());
  const auto& weights = *tables->buffers[tables->subgraphs[0]->tensors[2]->buffer];
  EXPECT_TRUE(weights.data.empty());
  EXPECT_EQ(weights.size, 4U);
}

TEST_F(Skeleton, BringsBackWhatOnnxHasNoWordFor) {
  const auto file = Written();
  EXPECT_EQ(file->operator_codes[0]->version, 5);
  const auto* options = file->subgraphs[0]->operators[0]->builtin_options.AsFullyConnectedOptions();
  EXPECT_TRUE(options->keep_num_dims);
  EXPECT_EQ(options->fused_activation_function, schema::ActivationFunctionType::RELU6);
  EXPECT_EQ(file->subgraphs[0]->tensors[1]->name, "unused");
  EXPECT_EQ(file->metadata[0]->name, "min_runtime_version");
  EXPECT_EQ(file->signature_defs[0]->signature_key, "serving_default");
  EXPECT_EQ(out_, bytes_);
}

TEST_F(Skeleton, TakesScalesAndConstantsFromTheGraph) {
  format::Tensor weights = *format::LoadInitializer(model_, "w");
  format::PackIntegers(std::vector<std::int64_t>{-1, -2, -3, -4}, weights);
  for (format::TensorData& data : model_.graph.initializers) {
    if (data.name == "w") data = format::ToTensorData("w", weights);
  }
  model_.graph.inputs[0].type->quantization->offset = {7};
  const auto file = Written();
  const auto& graph = *file->subgraphs[0];
  EXPECT_THAT(file->buffers[graph.tensors[2]->buffer]->data, ElementsAre(255, 254, 253, 252));
  EXPECT_THAT(graph.tensors[0]->quantization->zero_point, ElementsAre(7));
  EXPECT_EQ(file->operator_codes[0]->version, 5);  // the rest is the file's
}

TEST_F(Skeleton, OfAnotherGraphIsLeftAside) {
  format::Node extra;
  extra.op_type = "Identity";
  extra.name = "extra";
  extra.inputs = {"y"};
  extra.outputs = {"z"};
  format::ValueInfo z = model_.graph.outputs[0];
  z.name = "z";
  model_.graph.values.push_back(model_.graph.outputs[0]);
  model_.graph.outputs[0] = z;
  model_.graph.nodes.push_back(extra);
  const auto file = Written();
  EXPECT_EQ(
      file->subgraphs[0]->tensors[static_cast<std::size_t>(file->subgraphs[0]->outputs[0])]->name,
      "z");
  EXPECT_TRUE(file->signature_defs.empty());
}

TEST_F(Skeleton, StatisticsBeyondARangeNeedLeave) {
  format::Statistics statistics;
  statistics.min = {-1};
  statistics.max = {1};
  statistics.mean = {0.25};
  model_.graph.inputs[0].type->statistics = statistics;
  const auto refused = ToTflite(model_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("--allow statistics"));
  const auto file = Written({"statistics"});
  EXPECT_THAT(file->subgraphs[0]->tensors[0]->quantization->max, ElementsAre(1));
}

// Whatever a skeleton says, the result is a file of this graph, or an error.
TEST_F(Skeleton, DamagedGivesAFileOfTheGraphOrAnError) {
  const std::string good = *FromBase64(*FindSkeleton(model_));
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string bad = good;
    if (round % 5 == 0) bad.resize(random() % bad.size());
    for (int flip = 0; flip < 2 && !bad.empty(); ++flip) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    model_.metadata[0].second = round % 7 == 0 ? bad : ToBase64(bad);
    const auto written = ToTflite(model_);
    ASSERT_TRUE(written.has_value()) << written.error().message;
    const auto back = FromTflite(std::get<std::string>(written->content));
    ASSERT_TRUE(back.has_value()) << back.error().where << ": " << back.error().message;
    EXPECT_EQ(back->model.graph.outputs[0].type->elem_type, format::ElementType::kInt8Q);
  }
}

TEST_F(Skeleton, AsksForNoMoreThanTheGraphHas) {
  const std::string good = *FromBase64(*FindSkeleton(model_));
  const std::unique_ptr<schema::ModelT> tables(schema::GetModel(good.data())->UnPack());
  tables->buffers[tables->subgraphs[0]->tensors[2]->buffer]->size = std::uint64_t{1} << 62;
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, tables.get()));
  const auto* data = reinterpret_cast<const char*>(builder.GetBufferPointer());
  model_.metadata[0].second = ToBase64({data, builder.GetSize()});
  EXPECT_FALSE(FillSkeleton(model_).has_value());
}

format::Tensor ReadNpy(const fs::path& path) {
  const auto bytes = format::ReadFile(path, format::kMaxModelBytes);
  auto tensor = format::ParseNpy(bytes.value_or(""));
  EXPECT_TRUE(tensor.has_value()) << path;
  return std::move(tensor).value_or(format::Tensor{});
}

class NetworkWithoutSkeleton : public testing::TestWithParam<std::string> {};

// Third-party outputs: what TFLite gave for the file that nobody here wrote.
TEST_P(NetworkWithoutSkeleton, IsWrittenAnewAndComputesTheSame) {
  auto read = FromTflite(*ReadNetwork(GetParam()));
  ASSERT_TRUE(read.has_value());
  read->model.metadata.clear();
  const auto written = ToTflite(read->model);
  ASSERT_TRUE(written.has_value()) << written.error().where << ": " << written.error().message;
  const auto back = FromTflite(std::get<std::string>(written->content));
  ASSERT_TRUE(back.has_value()) << back.error().where << ": " << back.error().message;
  auto interpreter = reference::Interpreter::Prepare(back->model, "tflite");
  ASSERT_TRUE(interpreter.has_value()) << interpreter.error().message;
  const fs::path folder = NetworkFolder() / GetParam();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    format::Tensor input = ReadNpy(entry.path() / "input_0.npy");
    const format::TensorType& type = *back->model.graph.inputs[0].type;
    input.elem_type = type.elem_type;
    input.quantization = type.quantization;
    const auto outputs = interpreter->Run(std::vector{input});
    ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
    EXPECT_EQ(outputs->at(0).bytes, ReadNpy(entry.path() / "builtin_output_0.npy").bytes);
    break;  // one run: every one is run on the graph it came from
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, NetworkWithoutSkeleton, testing::ValuesIn(Networks()),
                         [](const auto& network) { return TestName(network.param); });

}  // namespace
}  // namespace qtx::convert::skeleton_test
