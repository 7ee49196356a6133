// UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM as ONNX's LSTM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/limits.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::lstm_test {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::uint8_t> Bytes(const std::vector<float>& values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return {bytes, bytes + values.size() * sizeof(float)};
}

// One unit, one feature. Gates are numbered as TFLite does: 1 input, 2 forget, 3 cell, 4 output.
class LstmImport : public testing::Test {
 protected:
  void AddFloat(std::vector<std::int32_t> x_shape, std::vector<std::int32_t> y_shape) {
    const auto constant = [&](const std::string& name, std::vector<std::int32_t> shape, float v) {
      return maker.Tensor(name, std::move(shape), TensorType::FLOAT32, 0, 0, Bytes({v}));
    };
    x = maker.Tensor("x", std::move(x_shape), TensorType::FLOAT32);
    inputs = {x};
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F}) inputs.push_back(constant("w", {1, 1}, gate));
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F})
      inputs.push_back(constant("r", {1, 1}, 10 * gate));
    inputs.insert(inputs.end(), {-1, -1, -1});
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F})
      inputs.push_back(constant("b", {1}, 100 * gate));
    inputs.insert(inputs.end(), {-1, -1});
    AddStates(TensorType::FLOAT32, TensorType::FLOAT32);
    y = maker.Tensor("y", std::move(y_shape), TensorType::FLOAT32);
  }
  void AddQuantized() {
    const auto constant = [&](const std::string& name, std::vector<std::int32_t> shape, float s) {
      return maker.Tensor(name, std::move(shape), TensorType::INT8, s, 0, {1});
    };
    x = maker.Int8("x", {1, 3, 1}, 0.25F);
    inputs = {x};
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F}) inputs.push_back(constant("w", {1, 1}, gate));
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F})
      inputs.push_back(constant("r", {1, 1}, 10 * gate));
    inputs.insert(inputs.end(), {-1, -1, -1});
    for (const float gate : {1.0F, 2.0F, 3.0F, 4.0F})
      inputs.push_back(maker.Int32s("b", {1}, {7}, 0.25F * gate));
    inputs.insert(inputs.end(), {-1, -1});
    AddStates(TensorType::INT8, TensorType::INT16);
    y = maker.Int8("y", {1, 3, 1}, 0.5F, -1);
  }
  void AddStates(TensorType h, TensorType c) {
    const bool quantized = h != TensorType::FLOAT32;
    inputs.push_back(maker.Tensor("h", {1, 1}, h, quantized ? 0.5F : 0.0F, quantized ? -1 : 0));
    inputs.push_back(maker.Tensor("c", {1, 1}, c, quantized ? 0x1p-12F : 0.0F));
    for (std::size_t i = inputs.size() - 2; i < inputs.size(); ++i) {
      maker.tensor(inputs[i]).is_variable = true;
    }
    inputs.insert(inputs.end(), {-1, -1, -1, -1});
  }
  Result<Conversion> Convert(Options how = {}) {
    maker.Operator(BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y}, options);
    return FromTflite(maker.Bytes({x}, {y}), how);
  }
  void Expect(Result<Conversion> result) {
    ASSERT_TRUE(result.has_value()) << result.error().where << ": " << result.error().message;
    model = std::move(result->model);
    EXPECT_THAT(format::Check(model), testing::IsEmpty());
    for (const format::Node& node : model.graph.nodes) {
      if (node.op_type == "LSTM") lstm = node;
    }
  }
  void ExpectRefused(const Result<Conversion>& result, const std::string& what) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().where + ": " + result.error().message, HasSubstr(what));
  }
  std::vector<double> Constant(const std::string& name) const {
    const auto tensor = format::LoadInitializer(model, name);
    return tensor.has_value() ? format::StoredValues(*tensor) : std::vector<double>();
  }
  schema::UnidirectionalSequenceLSTMOptionsT Defaults() const {
    schema::UnidirectionalSequenceLSTMOptionsT defaults;
    defaults.fused_activation_function = schema::ActivationFunctionType::TANH;
    return defaults;
  }
  TfliteMaker maker;
  std::vector<int> inputs;
  int x = 0, y = 0;
  schema::UnidirectionalSequenceLSTMOptionsT options = Defaults();
  format::Model model;
  format::Node lstm;
};

// TensorFlow's converter puts a DEQUANTIZE before each constant, and before the states.
TEST_F(LstmImport, ReadsTheConstantsOfFloat16ThatAreWidenedForIt) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  for (int& input : inputs) {
    if (input < 0 || input == x) continue;
    const std::vector<std::int32_t> shape = maker.tensor(input).shape;
    const auto data = maker.model().buffers.at(maker.tensor(input).buffer)->data;
    float value = 0;
    if (!data.empty()) std::memcpy(&value, data.data(), sizeof value);
    const std::uint32_t half = format::EncodeSmallFloat(format::ElementType::kFloat16, value);
    const int stored = maker.Tensor(
        "half", shape, TensorType::FLOAT16, 0, 0,
        {static_cast<std::uint8_t>(half & 255U), static_cast<std::uint8_t>(half >> 8U)});
    const int wide = data.empty() ? input : maker.Tensor("wide", shape, TensorType::FLOAT32);
    maker.Operator(BuiltinOperator::DEQUANTIZE, {stored}, {wide});
    input = wide;
  }
  Expect(Convert());
  const auto weights = format::LoadInitializer(model, lstm.inputs.at(1));
  ASSERT_TRUE(weights.has_value());
  EXPECT_THAT(weights->As<float>(), ElementsAre(1, 4, 2, 3));  // ONNX: i, o, f, c
  EXPECT_EQ(std::ranges::count(model.graph.nodes, "Cast", &format::Node::op_type), 0);
  EXPECT_EQ(model.graph.outputs.size(), 3U);  // with the states
}

TEST_F(LstmImport, StacksTheGatesInOnnxsOrder) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  Expect(Convert());
  EXPECT_THAT(Constant(lstm.inputs[1]), ElementsAre(1, 4, 2, 3));
  EXPECT_THAT(Constant(lstm.inputs[2]), ElementsAre(10, 40, 20, 30));
  EXPECT_THAT(Constant(lstm.inputs[3]), ElementsAre(100, 400, 200, 300, 0, 0, 0, 0));
  EXPECT_EQ(lstm.IntOr("hidden_size", 0), 1);
  EXPECT_EQ(lstm.origin->op_type, "UNIDIRECTIONAL_SEQUENCE_LSTM");
}

TEST_F(LstmImport, AStateIsAnInputThatIsZeroUnlessGivenAndAnOutput) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  Expect(Convert());
  EXPECT_THAT(lstm.inputs,
              ElementsAre("x/steps", testing::_, testing::_, testing::_, "", "h", "c"));
  EXPECT_THAT(lstm.outputs, ElementsAre("y/sequence", "h/after", "c/after"));
  ASSERT_EQ(model.graph.inputs.size(), 3U);
  EXPECT_EQ(model.graph.inputs[1].name, "h");
  EXPECT_EQ(model.graph.outputs[2].name, "c/after");
  EXPECT_THAT(Constant("h"), ElementsAre(0));
}

TEST_F(LstmImport, OfTimeMajorNothingIsTransposed) {
  options.time_major = true;
  AddFloat({3, 1, 1}, {3, 1, 1});
  Expect(Convert());
  EXPECT_EQ(model.graph.nodes.size(), 2U);
  EXPECT_EQ(model.graph.nodes[1].op_type, "Reshape");
}

TEST_F(LstmImport, GivesAnOutputWithoutShapeItsOwn) {
  AddFloat({1, 3, 1}, {});
  Expect(Convert());
  EXPECT_EQ(format::FixedDims(*model.graph.outputs[0].type->shape), (format::Dims{1, 3, 1}));
}

TEST_F(LstmImport, KeepsTheScaleOfEachGate) {
  AddQuantized();
  Expect(Convert());
  const auto w = format::LoadInitializer(model, lstm.inputs[1]);
  ASSERT_TRUE(w.has_value());
  EXPECT_THAT(w->quantization->scale, ElementsAre(1, 4, 2, 3));
  EXPECT_THAT(w->quantization->axis, ElementsAre(1));
  const auto b = format::LoadInitializer(model, lstm.inputs[3]);
  ASSERT_TRUE(b.has_value());
  EXPECT_THAT(b->quantization->scale, ElementsAre(0.25F, 1, 0.5F, 0.75F, 0.25F, 1, 0.5F, 0.75F));
  EXPECT_THAT(format::UnpackIntegers(*b), ElementsAre(7, 7, 7, 7, 0, 0, 0, 0));
  EXPECT_THAT(Constant("h"), ElementsAre(-1));  // the stored value of 0
}

// 2 / 2^-12 = 8192.
TEST_F(LstmImport, TheClipOfAStoredCellIsItsRange) {
  options.cell_clip = 2;
  AddQuantized();
  Expect(Convert());
  const format::Quantization& cell = *model.graph.inputs[2].type->quantization;
  EXPECT_EQ(cell.quant_min, -8192);
  EXPECT_EQ(cell.quant_max, 8192);
}

TEST_F(LstmImport, TheClipOfAFloatCellIsALoss) {
  options.cell_clip = 2;
  AddFloat({1, 3, 1}, {1, 3, 1});
  ExpectRefused(Convert(), "--allow cell_clip");
}

TEST_F(LstmImport, WithLeaveTheClipIsDropped) {
  options.cell_clip = 2;
  AddFloat({1, 3, 1}, {1, 3, 1});
  Expect(Convert({.allow = {"cell_clip"}}));
  // The file that it came from has it.
  const auto written = ToTflite(model);
  ASSERT_TRUE(written.has_value()) << written.error().where << written.error().message;
  const auto& out = std::get<std::string>(written->content);
  const auto& op = *schema::GetModel(out.data())->subgraphs()->Get(0)->operators()->Get(0);
  EXPECT_EQ(op.builtin_options_as_UnidirectionalSequenceLSTMOptions()->cell_clip(), 2);
}

TEST_F(LstmImport, RefusesWhatOnnxsLstmHasNot) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  inputs[1] = inputs[5] = inputs[12] = -1;
  ExpectRefused(Convert(), "coupled to the forget gate");
}

TEST_F(LstmImport, RefusesAProjection) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  inputs[16] = maker.Tensor("p", {1, 1}, TensorType::FLOAT32, 0, 0, Bytes({1}));
  ExpectRefused(Convert(), "projection");
}

TEST_F(LstmImport, RefusesOtherActivations) {
  options.fused_activation_function = schema::ActivationFunctionType::SIGN_BIT;
  AddFloat({1, 3, 1}, {1, 3, 1});
  ExpectRefused(Convert(), "SIGN_BIT, expected TANH or RELU");
}

TEST_F(LstmImport, RefusesAStateThatIsNoVariable) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  maker.tensor(inputs[18]).is_variable = false;
  ExpectRefused(Convert(), "a state that is not a variable");
}

TEST_F(LstmImport, ComesBackFromLoweringFieldForField) {
  AddFloat({1, 3, 1}, {1, 3, 1});
  Expect(Convert());
  const auto lowered = ToQdq(model, {.opset = 21});
  ASSERT_TRUE(lowered.has_value()) << lowered.error().where << ": " << lowered.error().message;
  const auto lifted = FromOnnx(lowered->model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == model);
}

TEST(LstmHostile, DamagedBytesOfARealFileAreRefusedOrSound) {
  const fs::path file = fs::path(QTX_SOURCE_DIR).parent_path() /
                        "shared/corpus/tflite-net/trained_lstm_int8/trained_lstm_int8.tflite";
  if (!fs::exists(file)) GTEST_SKIP() << "no corpus beside the source tree";
  const std::string bytes = *format::ReadFile(file, format::kMaxModelBytes);
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    // The tables of tensors and operators are at the end of the file.
    for (int flip = 0; flip < 3; ++flip) {
      damaged[damaged.size() - 1 - random() % 6000] ^= static_cast<char>(1U << (random() % 8));
    }
    const auto conversion = FromTflite(damaged);
    if (conversion.has_value()) continue;
    ASSERT_FALSE(conversion.error().message.empty());
  }
}

}  // namespace
}  // namespace qtx::convert::lstm_test
