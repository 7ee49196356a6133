// Single operators with attributes that the networks do not have, and each refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::tflite_operators_test {
namespace {

using schema::ActivationFunctionType;
using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;

Conversion Converted(const std::string& bytes) {
  auto conversion = FromTflite(bytes);
  EXPECT_TRUE(conversion.has_value())
      << (conversion.has_value() ? ""
                                 : conversion.error().where + ": " + conversion.error().message);
  Conversion result = std::move(conversion).value_or(Conversion{});
  for (const format::Finding& finding : format::Check(result.model)) {
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  }
  return result;
}

Error Refusal(const std::string& bytes) {
  const auto conversion = FromTflite(bytes);
  EXPECT_FALSE(conversion.has_value());
  return conversion.has_value() ? Error{} : conversion.error();
}

const format::Node* FindNode(const Conversion& conversion, std::string_view op_type) {
  for (const format::Node& node : conversion.model.graph.nodes) {
    if (node.op_type == op_type) return &node;
  }
  return nullptr;
}

schema::Conv2DOptionsT ConvOptions() {
  schema::Conv2DOptionsT options;
  options.padding = schema::Padding::SAME;
  options.stride_h = 2;
  options.stride_w = 1;
  return options;
}

// Input 5x4 with 2 channels, kernel 3x2, 1 output channel, strides 2 and 1, SAME: output 3x4.
struct Conv {
  TfliteMaker maker;
  int x = maker.Int8("x", {1, 5, 4, 2});
  int w = maker.Tensor("w", {1, 3, 2, 2}, TensorType::INT8, 0.25F, 0,
                       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  int b = maker.Int32s("b", {1}, {7}, 0.125F);
  int y = maker.Int8("y", {1, 3, 4, 1});
  std::string Bytes(const schema::Conv2DOptionsT& options) {
    maker.Operator(BuiltinOperator::CONV_2D, {x, w, b}, {y}, options);
    return maker.Bytes({x}, {y});
  }
};

TEST(TfliteConv, MakesSamePaddingExplicitWithTheOddOneAtTheEnd) {
  const Conversion conversion = Converted(Conv().Bytes(ConvOptions()));
  const format::Node* node = FindNode(conversion, "Conv");
  ASSERT_NE(node, nullptr);
  // Height: (3-1)*2 + 3 - 5 = 2, one on each side.  Width: (4-1)*1 + 2 - 4 = 1, at the end.
  EXPECT_THAT(node->IntsOr("pads", {}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(node->IntsOr("strides", {}), ElementsAre(2, 1));
  EXPECT_EQ(node->origin->op_type, "CONV_2D");
}

// Kernels add 7 in units of x_scale * w_scale = 0.125, whatever the file says.
TEST(TfliteConv, ReadsABiasInTheUnitsOfTheKernel) {
  Conv conv;
  conv.maker.tensor(conv.b).quantization->scale = {0.5F};
  const std::string bytes = conv.Bytes(ConvOptions());
  const Conversion conversion = Converted(bytes);
  const format::Node* node = FindNode(conversion, "Conv");
  ASSERT_NE(node, nullptr);
  const auto bias = format::LoadInitializer(conversion.model, node->inputs[2]);
  ASSERT_TRUE(bias.has_value());
  EXPECT_THAT(format::UnpackInt32(*bias), ElementsAre(7));
  EXPECT_THAT(bias->quantization->scale, ElementsAre(0.125F));
  EXPECT_TRUE(std::ranges::any_of(conversion.ledger, [](const LedgerEntry& entry) {
    return entry.value == "b" && entry.field == "scale" &&
           entry.fate == LedgerEntry::Fate::kChanged;
  }));
  const auto back = ToTflite(conversion.model);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(std::get<std::string>(back->content), bytes);
}

// tflite_half_up.S12: vectors of a QUANTIZE begin where TFLite's order says.
TEST(TfliteQuantize, SaysWhereItsChannelsComeFirst) {
  for (const bool behind_a_conv : {true, false}) {
    Conv conv;
    const int z = conv.maker.Tensor("z", {1, 3, 4, 1}, TensorType::UINT8, 0.5F, 3);
    if (behind_a_conv) {
      conv.maker.Operator(BuiltinOperator::CONV_2D, {conv.x, conv.w, conv.b}, {conv.y},
                          ConvOptions());
    }
    conv.maker.Operator(BuiltinOperator::QUANTIZE, {conv.y}, {z}, schema::QuantizeOptionsT());
    const Conversion conversion =
        Converted(conv.maker.Bytes({behind_a_conv ? conv.x : conv.y}, {z}));
    const format::Node* node = FindNode(conversion, "Cast");
    ASSERT_NE(node, nullptr);
    const bool says = std::ranges::find(node->origin->attributes, "channels_first",
                                        &format::Attribute::name) != node->origin->attributes.end();
    EXPECT_EQ(says, behind_a_conv);
  }
}

TEST(TfliteConv, MovesChannelsOfTheWeightsToTheFront) {
  const Conversion conversion = Converted(Conv().Bytes(ConvOptions()));
  const auto weights = format::LoadInitializer(conversion.model, "w");
  ASSERT_TRUE(weights.has_value());
  EXPECT_THAT(weights->dims, ElementsAre(1, 2, 3, 2));
  EXPECT_THAT(format::UnpackInt32(*weights), ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
}

TEST(TfliteConv, TurnsAFusedActivationIntoTheRangeOfTheStoredValues) {
  Conv conv;
  schema::Conv2DOptionsT options = ConvOptions();
  options.fused_activation_function = ActivationFunctionType::RELU6;
  conv.maker.tensor(conv.y).quantization->zero_point = {-100};
  const Conversion conversion = Converted(conv.Bytes(options));
  const format::Quantization& q = *conversion.model.graph.FindValue("y")->type->quantization;
  EXPECT_EQ(q.quant_min, -100);
  EXPECT_EQ(q.quant_max, -88);  // -100 + 6 / 0.5
}

TEST(TfliteConv, TakesAnOutOfRangeAxisOfABiasAsItsOnlyOne) {
  Conv conv;
  conv.maker.tensor(conv.w).shape = {2, 3, 2, 1};
  conv.maker.tensor(conv.x).shape = {1, 5, 4, 1};
  conv.maker.tensor(conv.y).shape = {1, 3, 4, 2};
  conv.b = conv.maker.Int32s("b2", {2}, {7, 8});
  conv.maker.tensor(conv.b).quantization->scale = {0.125F, 0.125F};
  conv.maker.tensor(conv.b).quantization->quantized_dimension = 3;
  const Conversion conversion = Converted(conv.Bytes(ConvOptions()));
  EXPECT_THAT(conversion.model.graph.FindValue("b2")->type->quantization->axis, ElementsAre(0));
  EXPECT_THAT(conversion.ledger,
              testing::Contains(testing::Field(&LedgerEntry::why, HasSubstr("the file has 3"))));
}

TEST(TfliteConv, GivesABiasWithoutScaleTheProductOfTheOthers) {
  Conv conv;
  conv.maker.tensor(conv.b).quantization->scale.clear();
  const Conversion conversion = Converted(conv.Bytes(ConvOptions()));
  EXPECT_THAT(conversion.model.graph.FindValue("b")->type->quantization->scale,
              ElementsAre(0.125F));
}

TEST(TfliteConv, RefusesShapesThatTheWindowDoesNotGive) {
  Conv conv;
  conv.maker.tensor(conv.y).shape = {1, 4, 4, 1};
  const Error error = Refusal(conv.Bytes(ConvOptions()));
  EXPECT_EQ(error.where, "operator 0 (CONV_2D): output");
  EXPECT_EQ(error.message, "size 4, expected 3");
}

TEST(TfliteConv, RefusesAStrideOfZero) {
  schema::Conv2DOptionsT options = ConvOptions();
  options.stride_h = 0;
  EXPECT_EQ(Refusal(Conv().Bytes(options)).where, "operator 0 (CONV_2D): stride");
}

TEST(TfliteDepthwise, NumbersGroupsByInputChannel) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 2, 2, 2});
  const int w = maker.Tensor("w", {1, 1, 1, 4}, TensorType::INT8, 1.0F, 0, {1, 2, 3, 4});
  const int y = maker.Int8("y", {1, 2, 2, 4});
  maker.tensor(w).quantization->scale = {1, 2, 3, 4};
  maker.tensor(w).quantization->quantized_dimension = 3;
  schema::DepthwiseConv2DOptionsT options;
  options.stride_h = options.stride_w = 1;
  maker.Operator(BuiltinOperator::DEPTHWISE_CONV_2D, {x, w}, {y}, options);
  const Conversion conversion = Converted(maker.Bytes({x}, {y}));
  EXPECT_EQ(FindNode(conversion, "Conv")->IntOr("group", 1), 2);
  EXPECT_THAT(conversion.model.graph.FindInitializer("w")->dims, ElementsAre(4, 1, 1, 1));
  EXPECT_THAT(conversion.model.graph.FindValue("w")->type->quantization->axis, ElementsAre(0));
}

std::string SoftmaxBytes(float beta) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 4});
  const int y = maker.Int8("y", {1, 4});
  schema::SoftmaxOptionsT options;
  options.beta = beta;
  maker.Operator(BuiltinOperator::SOFTMAX, {x}, {y}, options);
  return maker.Bytes({x}, {y});
}

TEST(TfliteSoftmax, RefusesABetaOtherThanOne) {
  EXPECT_EQ(Converted(SoftmaxBytes(1)).model.graph.nodes.size(), 1U);
  EXPECT_EQ(Refusal(SoftmaxBytes(2)).where, "operator 0 (SOFTMAX): beta");
}

// Chained by pools so that the value between them has channels first, as PAD and CONCATENATION find
// it.
TEST(TflitePad, PermutesPadsAndAxesToChannelsFirst) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 4, 6, 2});
  const int pooled = maker.Int8("pooled", {1, 2, 3, 2});
  const int rows = maker.Int32s("rows", {4, 2}, {0, 0, 1, 2, 3, 4, 0, 5});
  const int padded = maker.Int8("padded", {1, 5, 10, 7});
  const int joined = maker.Int8("joined", {1, 5, 10, 14});
  schema::Pool2DOptionsT pool;
  pool.stride_h = pool.stride_w = pool.filter_height = pool.filter_width = 2;
  maker.Operator(BuiltinOperator::MAX_POOL_2D, {x}, {pooled}, pool);
  maker.Operator(BuiltinOperator::PAD, {pooled, rows}, {padded});
  schema::ConcatenationOptionsT concatenation;
  concatenation.axis = -1;
  maker.Operator(BuiltinOperator::CONCATENATION, {padded, padded}, {joined}, concatenation);
  const Conversion conversion = Converted(maker.Bytes({x}, {joined}));
  const auto pads = format::Decode(*conversion.model.graph.FindInitializer("padded/pads"));
  EXPECT_THAT(format::UnpackIntegers(*pads), ElementsAre(0, 0, 1, 3, 0, 5, 2, 4));
  EXPECT_EQ(FindNode(conversion, "Concat")->IntOr("axis", 0), 1);
}

TEST(TfliteMean, IsAGlobalPoolAndAReshape) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 4, 6, 2});
  const int axes = maker.Int32s("axes", {2}, {2, -3});
  const int y = maker.Int8("y", {1, 2});
  maker.Operator(BuiltinOperator::MEAN, {x, axes}, {y}, schema::ReducerOptionsT());
  const Conversion conversion = Converted(maker.Bytes({x}, {y}));
  std::vector<std::string> op_types;
  for (const format::Node& node : conversion.model.graph.nodes) op_types.push_back(node.op_type);
  EXPECT_THAT(op_types, ElementsAre("Transpose", "GlobalAveragePool", "Reshape"));
}

TEST(TfliteFloat, ActivatesInANodeOfItsOwn) {
  TfliteMaker maker;
  const int a = maker.Tensor("a", {3}, TensorType::FLOAT32);
  const int b = maker.Tensor("b", {3}, TensorType::FLOAT32);
  const int y = maker.Tensor("y", {3}, TensorType::FLOAT32);
  schema::AddOptionsT options;
  options.fused_activation_function = ActivationFunctionType::RELU6;
  maker.Operator(BuiltinOperator::ADD, {a, b}, {y}, options);
  const Conversion conversion = Converted(maker.Bytes({a, b}, {y}));
  ASSERT_NE(FindNode(conversion, "Clip"), nullptr);
  EXPECT_THAT(FindNode(conversion, "Clip")->inputs, ElementsAre("y/linear", "y/min", "y/max"));
}

TEST(TfliteRefusal, NamesOperatorAndOutput) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 4});
  const int y = maker.Int8("y", {1, 4});
  maker.Operator(BuiltinOperator::SVDF, {x}, {y});
  const Error error = Refusal(maker.Bytes({x}, {y}));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.where, "operator 0 (SVDF)");
  EXPECT_THAT(error.message, HasSubstr("'y'"));
}

// One Relu over [1,4] after `change` has been made to the tensors.
template <typename Change>
Error ReluRefusal(Change change) {
  TfliteMaker maker;
  const int x = maker.Int8("x", {1, 4});
  const int y = maker.Int8("y", {1, 4});
  maker.Operator(BuiltinOperator::RELU, {x}, {y});
  change(maker);
  return Refusal(maker.Bytes({x}, {y}));
}

TEST(TfliteRefusal, NamesTheTensorWithABadScale) {
  for (const float scale : {-1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 0.0F}) {
    const Error error =
        ReluRefusal([&](TfliteMaker& maker) { maker.tensor(0).quantization->scale = {scale}; });
    EXPECT_EQ(error.where, "tensor 'x'");
    EXPECT_THAT(error.message, HasSubstr("scale[0]"));
  }
}

TEST(TfliteRefusal, HoldsParametersToTypeAndShape) {
  const auto zero_point =
      ReluRefusal([](TfliteMaker& m) { m.tensor(0).quantization->zero_point = {128}; });
  EXPECT_THAT(zero_point.message, HasSubstr("zero point 128"));
  const auto axis = ReluRefusal([](TfliteMaker& m) {
    m.tensor(0).quantization->scale = {1, 1, 1, 1};
    m.tensor(0).quantization->quantized_dimension = 2;
  });
  EXPECT_THAT(axis.message, HasSubstr("quantized dimension 2"));
  const auto count = ReluRefusal([](TfliteMaker& m) {
    m.tensor(0).quantization->scale = {1, 1, 1};
    m.tensor(0).quantization->quantized_dimension = 1;
  });
  EXPECT_THAT(count.message, HasSubstr("3 scales, expected 1 or 4"));
  const auto shape = ReluRefusal([](TfliteMaker& m) { m.tensor(1).shape = {1, 5}; });
  EXPECT_EQ(shape.where, "operator 0 (RELU): output");
  const auto empty = ReluRefusal([](TfliteMaker& m) { m.tensor(1).shape = {1, 0}; });
  EXPECT_THAT(empty.message, HasSubstr("dimension 1 is 0"));
}

TEST(TfliteRefusal, ChecksIndices) {
  EXPECT_THAT(ReluRefusal([](TfliteMaker& m) { m.tensor(0).buffer = 99; }).message,
              HasSubstr("buffer 99"));
  EXPECT_EQ(ReluRefusal([](TfliteMaker& m) { m.graph().operators[0]->inputs = {7}; }).where,
            "operator 0 (RELU): input[0]");
  EXPECT_EQ(ReluRefusal([](TfliteMaker& m) { m.graph().operators[0]->inputs = {-1}; }).where,
            "operator 0 (RELU): input[0]");
  EXPECT_THAT(ReluRefusal([](TfliteMaker& m) { m.graph().operators[0]->opcode_index = 5; }).message,
              HasSubstr("operator code 5"));
  EXPECT_THAT(ReluRefusal([](TfliteMaker& m) { m.graph().operators[0]->inputs = {1}; }).message,
              HasSubstr("used before"));
}

TEST(TfliteRefusal, NamesAConstantWhoseSizeIsNotItsShapes) {
  Conv conv;
  conv.maker.model().buffers[conv.maker.tensor(conv.w).buffer]->data.pop_back();
  const Error error = Refusal(conv.Bytes(ConvOptions()));
  EXPECT_EQ(error.where, "operator 0 (CONV_2D): tensor 'w'");
  EXPECT_THAT(error.message, HasSubstr("buffer of 11 bytes, expected 12"));
}

TEST(TfliteNames, AreMadeUnique) {
  TfliteMaker maker;
  const int x = maker.Int8("same", {1, 4});
  const int y = maker.Int8("same", {1, 4});
  maker.Operator(BuiltinOperator::RELU, {x}, {y});
  const Conversion conversion = Converted(maker.Bytes({x}, {y}));
  EXPECT_EQ(conversion.model.graph.inputs[0].name, "same");
  EXPECT_EQ(conversion.model.graph.outputs[0].name, "same#1");
}

}  // namespace
}  // namespace qtx::convert::tflite_operators_test
