// Which of TFLite's operators ONNX nodes become, in which layout and on which grids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "tflite_generated.h"

namespace qtx::convert::new_file_test {
namespace {

using format::Attribute;
using format::ElementType;
using schema::ActivationFunctionType;
using schema::BuiltinOperator;
using testing::ElementsAre;
using testing::HasSubstr;
using Codes = std::vector<std::string>;

format::Quantization Grid(float scale, std::int32_t offset = 0) {
  format::Quantization q;
  q.scale = {scale};
  if (offset != 0) q.offset = {offset};
  return q;
}

class NewFile : public testing::Test {
 protected:
  NewFile() {
    model_.ir_version = 8;
    model_.opset_imports = {{"", 17}, {std::string(format::kDomain), format::kVersion}};
    model_.graph.name = "net";
    file_ = std::make_unique<schema::ModelT>();
    file_->subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  }
  format::ValueInfo Value(const std::string& name, ElementType type, const format::Dims& dims,
                          std::optional<format::Quantization> q = std::nullopt) {
    format::ValueInfo info;
    info.name = name;
    info.type.emplace();
    info.type->elem_type = type;
    info.type->shape = format::ToShape(dims);
    info.type->quantization = std::move(q);
    return info;
  }
  void Input(const format::ValueInfo& value) { model_.graph.inputs.push_back(value); }
  void Output(const format::ValueInfo& value) { model_.graph.outputs.push_back(value); }
  void Inner(const format::ValueInfo& value) { model_.graph.values.push_back(value); }
  void Constant(const std::string& name, ElementType type, const format::Dims& dims,
                const std::vector<std::int64_t>& values,
                const std::optional<format::Quantization>& q = std::nullopt) {
    auto tensor = format::MakeTensor(type, dims, q);
    ASSERT_TRUE(tensor.has_value());
    format::PackIntegers(values, *tensor);
    model_.graph.initializers.push_back(format::ToTensorData(name, *tensor));
    if (q) Inner(Value(name, type, dims, q));
  }
  void Floats(const std::string& name, const format::Dims& dims, std::vector<float> values) {
    auto tensor = *format::MakeTensor(ElementType::kFloat, dims);
    std::ranges::copy(values, tensor.As<float>().begin());
    model_.graph.initializers.push_back(format::ToTensorData(name, tensor));
  }
  format::Node& Node(const std::string& op_type, std::vector<std::string> inputs,
                     const std::string& output, std::vector<Attribute> attributes = {}) {
    format::Node node;
    node.name = output + "/node";
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    model_.graph.nodes.push_back(std::move(node));
    return model_.graph.nodes.back();
  }
  void Write(const std::vector<std::string>& allow = {}) {
    const auto written = ToTflite(model_, {.allow = allow});
    ASSERT_TRUE(written.has_value()) << written.error().where << ": " << written.error().message;
    bytes_ = std::get<std::string>(written->content);
    file_.reset(schema::GetModel(bytes_.data())->UnPack());
  }
  Error Refusal() {
    const auto written = ToTflite(model_);
    EXPECT_FALSE(written.has_value());
    return written.has_value() ? Error{} : written.error();
  }
  const schema::SubGraphT& Graph() const { return *file_->subgraphs[0]; }
  const schema::OperatorT& Op(std::size_t i) const { return *Graph().operators.at(i); }
  const schema::TensorT& Tensor(int index) const {
    return *Graph().tensors.at(static_cast<std::size_t>(index));
  }
  const schema::TensorT& OpInput(std::size_t op, std::size_t i) const {
    return Tensor(Op(op).inputs.at(i));
  }
  const schema::TensorT& OpOutput(std::size_t op) const { return Tensor(Op(op).outputs.at(0)); }
  const std::vector<std::uint8_t>& Data(const schema::TensorT& tensor) const {
    return file_->buffers.at(tensor.buffer)->data;
  }
  std::int32_t Version(std::size_t op) const {
    return file_->operator_codes.at(Op(op).opcode_index)->version;
  }
  Codes Operators() const {
    Codes codes;
    for (const auto& op : Graph().operators) {
      codes.emplace_back(schema::EnumNameBuiltinOperator(
          file_->operator_codes.at(op->opcode_index)->builtin_code));
    }
    return codes;
  }
  format::Model model_;
  std::string bytes_;
  std::unique_ptr<schema::ModelT> file_;
};

// Weights [2,2,1,2] (O,I,H,W) holding 0..7: element (o,i,h,w) is 4o + 2i + w. TFLite's [O,H,W,I]
// walks o, w, i: 0 2 1 3 4 6 5 7.
TEST_F(NewFile, ConvHasItsWeightsAndActivationsChannelsLast) {
  Input(Value("x", ElementType::kInt8Q, {1, 2, 3, 4}, Grid(0.5F, 3)));
  Constant("w", ElementType::kInt8Q, {2, 2, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, Grid(0.25F));
  Constant("b", ElementType::kInt32Q, {2}, {5, -5}, Grid(0.125F));
  Output(Value("y", ElementType::kInt8Q, {1, 2, 3, 3}, Grid(1.0F, -1)));
  Node("Conv", {"x", "w", "b"}, "y");
  Write();
  EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "CONV_2D", "TRANSPOSE"}));
  const schema::TensorT& w = OpInput(1, 1);
  EXPECT_THAT(w.shape, ElementsAre(2, 1, 2, 2));
  EXPECT_THAT(Data(w), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(OpInput(1, 0).shape, ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(OpInput(1, 0).quantization->zero_point, ElementsAre(3));
  EXPECT_THAT(OpOutput(1).shape, ElementsAre(1, 3, 3, 2));
  EXPECT_EQ(Op(1).builtin_options.AsConv2DOptions()->padding, schema::Padding::VALID);
  EXPECT_EQ(Version(1), 3);
  EXPECT_EQ(Tensor(Graph().inputs[0]).name, "x");
  EXPECT_EQ(Tensor(Graph().outputs[0]).name, "y");
  EXPECT_THAT(Tensor(Graph().outputs[0]).shape, ElementsAre(1, 2, 3, 3));
}

TEST_F(NewFile, ConstantNodesAreConstants) {
  Input(Value("x", ElementType::kFloat, {2}));
  Output(Value("y", ElementType::kFloat, {2}));
  Node("Constant", {}, "c", {Attribute::Floats("value_floats", {1.0F, 2.0F})});
  Node("Add", {"x", "c"}, "y");
  Write();
  EXPECT_EQ(Operators(), (Codes{"ADD"}));
  EXPECT_THAT(Data(OpInput(0, 1)), ElementsAre(0, 0, 0x80, 0x3F, 0, 0, 0, 0x40));
}

// Weights (O,1,1,W) = [[0,1],[2,3]] per output channel; [1,H,W,O] walks w, o: 0 2 1 3.
TEST_F(NewFile, OneChannelInEachGroupIsDepthwise) {
  Input(Value("x", ElementType::kInt8Q, {1, 2, 1, 4}, Grid(0.5F)));
  format::Quantization q = Grid(0.25F);
  q.scale = {0.25F, 0.5F};
  q.axis = {0};
  Constant("w", ElementType::kInt8Q, {2, 1, 1, 2}, {0, 1, 2, 3}, q);
  Output(Value("y", ElementType::kInt8Q, {1, 2, 1, 3}, Grid(1.0F)));
  Node("Conv", {"x", "w"}, "y", {Attribute::Int("group", 2)});
  Write();
  EXPECT_EQ(Operators()[1], "DEPTHWISE_CONV_2D");
  EXPECT_THAT(OpInput(1, 1).shape, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(Data(OpInput(1, 1)), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(OpInput(1, 1).quantization->scale, ElementsAre(0.25F, 0.5F));
  EXPECT_EQ(OpInput(1, 1).quantization->quantized_dimension, 3);
  EXPECT_EQ(Op(1).builtin_options.AsDepthwiseConv2DOptions()->depth_multiplier, 1);
}

// LiteRT refuses CONV_2D without a bias and crashes on DEPTHWISE_CONV_2D. Scales 0.5 * 0.25 and
// 0.5 * 0.5; 64 bits for 16-bit activations.
TEST_F(NewFile, AConvolutionWithoutABiasGetsZeros) {
  format::Quantization q = Grid(0.25F);
  q.scale = {0.25F, 0.5F};
  q.axis = {0};
  for (const ElementType type : {ElementType::kInt8Q, ElementType::kInt16Q}) {
    for (const std::int64_t group : {1, 2}) {
      model_.graph = {};
      Input(Value("x", type, {1, 2, 1, 4}, Grid(0.5F)));
      Constant("w", ElementType::kInt8Q, {2, 2 / group, 1, 1},
               std::vector<std::int64_t>(static_cast<std::size_t>(4 / group), 1), q);
      Output(Value("y", type, {1, 2, 1, 4}, Grid(1.0F)));
      Node("Conv", {"x", "w"}, "y", {Attribute::Int("group", group)});
      Write();
      const bool wide = type == ElementType::kInt16Q;
      const schema::TensorT& bias = OpInput(1, 2);
      EXPECT_EQ(bias.type, wide ? schema::TensorType::INT64 : schema::TensorType::INT32);
      EXPECT_THAT(bias.shape, ElementsAre(2));
      EXPECT_THAT(bias.quantization->scale, ElementsAre(0.125F, 0.25F));
      EXPECT_EQ(Data(bias), std::vector<std::uint8_t>(wide ? 16 : 8, 0));
    }
  }
  model_.graph = {};
  Input(Value("x", ElementType::kFloat, {1, 1, 1, 4}));
  Floats("w", {2, 1, 1, 1}, {1, 2});
  Output(Value("y", ElementType::kFloat, {1, 2, 1, 4}));
  Node("Conv", {"x", "w"}, "y");
  Write();
  EXPECT_EQ(OpInput(1, 2).type, schema::TensorType::FLOAT32);
  EXPECT_EQ(Data(OpInput(1, 2)), std::vector<std::uint8_t>(8, 0));
}

// LiteRT reads a scale for each channel here: with one it computes with what lies behind it.
TEST_F(NewFile, ADepthwiseFilterOfAFloatInputHasAScaleForEachChannel) {
  Input(Value("x", ElementType::kFloat, {1, 2, 1, 4}));
  Constant("w", ElementType::kInt8Q, {2, 1, 1, 1}, {1, 2}, Grid(0.25F));
  Output(Value("y", ElementType::kFloat, {1, 2, 1, 4}));
  Node("Conv", {"x", "w"}, "y", {Attribute::Int("group", 2)});
  Write();
  EXPECT_EQ(Operators()[1], "DEPTHWISE_CONV_2D");
  EXPECT_THAT(OpInput(1, 1).quantization->scale, ElementsAre(0.25F, 0.25F));
  EXPECT_EQ(OpInput(1, 1).quantization->quantized_dimension, 3);
  EXPECT_EQ(Version(1), 6);
}

TEST_F(NewFile, AProductOfUnsignedValuesIsSignedForBatchMatMul) {
  Input(Value("a", ElementType::kUint8Q, {2, 2, 3}, Grid(0.5F, 130)));
  Input(Value("b", ElementType::kUint8Q, {2, 3, 1}, Grid(0.5F)));
  Output(Value("y", ElementType::kUint8Q, {2, 2, 1}, Grid(1.0F)));
  Node("MatMul", {"a", "b"}, "y");
  Write();
  EXPECT_EQ(Operators(), (Codes{"QUANTIZE", "QUANTIZE", "BATCH_MATMUL", "QUANTIZE"}));
  EXPECT_EQ(OpInput(2, 0).type, schema::TensorType::INT8);
  EXPECT_THAT(OpInput(2, 0).quantization->zero_point, ElementsAre(2));  // 130 - 128
  EXPECT_THAT(OpInput(2, 1).quantization->zero_point, ElementsAre(-128));
}

// A FLOAT value is no less FLOAT for an annotation; storage FLOAT8E4M3FN is no tensor of TFLite.
TEST_F(NewFile, RefusesScalesThatNoTensorHasByName) {
  Input(Value("x", ElementType::kFloat, {1, 2}));
  Floats("w", {2, 1}, {1, 2});
  Inner(Value("w", ElementType::kFloat, {2, 1}, Grid(0.25F)));
  model_.graph.values[0].type->quantization->storage_type = ElementType::kInt8;
  Output(Value("y", ElementType::kFloat, {1, 1}));
  Node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(Refusal().where, "w: quantization");
  EXPECT_THAT(Refusal().message, HasSubstr("annotates a FLOAT value"));
  EXPECT_THAT(Refusal().message, HasSubstr("--allow parameters"));
  Write({"parameters"});
  EXPECT_EQ(OpInput(0, 1).type, schema::TensorType::FLOAT32);
  EXPECT_EQ(OpInput(0, 1).quantization, nullptr);

  model_.graph.initializers.clear();
  model_.graph.values.clear();
  format::Tensor w = *format::MakeTensor(ElementType::kFloat8E4M3FNQ, {2, 1}, Grid(0.25F));
  model_.graph.initializers.push_back(format::ToTensorData("w", w));
  Inner(Value("w", ElementType::kFloat8E4M3FNQ, {2, 1}, Grid(0.25F)));
  EXPECT_THAT(Refusal().where, HasSubstr("'w'"));
  EXPECT_THAT(Refusal().message, HasSubstr("FLOAT8E4M3FNQ"));
}

// Width 5, kernel 3, stride 2: SAME gives 3 columns and needs (3-1)*2+3-5 = 2, one on each side.
TEST_F(NewFile, PadsAreSameWhereTfliteComputesThem) {
  for (const bool same : {true, false}) {
    model_.graph = {};
    Input(Value("x", ElementType::kFloat, {1, 1, 1, 5}));
    Floats("w", {1, 1, 1, 3}, {1, 2, 3});
    const std::vector<std::int64_t> pads =
        same ? std::vector<std::int64_t>{0, 1, 0, 1} : std::vector<std::int64_t>{0, 2, 0, 0};
    Output(Value("y", ElementType::kFloat, {1, 1, 1, 3}));
    Node("Conv", {"x", "w"}, "y",
         {Attribute::Ints("strides", {1, 2}), Attribute::Ints("pads", pads)});
    Write();
    const Codes operators = Operators();
    if (same) {
      EXPECT_EQ(operators, (Codes{"TRANSPOSE", "CONV_2D", "TRANSPOSE"}));
      EXPECT_EQ(Op(1).builtin_options.AsConv2DOptions()->padding, schema::Padding::SAME);
    } else {
      EXPECT_EQ(operators, (Codes{"TRANSPOSE", "PAD", "CONV_2D", "TRANSPOSE"}));
      EXPECT_THAT(OpOutput(1).shape, ElementsAre(1, 1, 7, 1));
      EXPECT_EQ(Op(2).builtin_options.AsConv2DOptions()->padding, schema::Padding::VALID);
    }
  }
}

TEST_F(NewFile, LayoutsMeetOnlyAtTheEdges) {
  Input(Value("x", ElementType::kFloat, {1, 4, 4, 2}));
  Floats("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  Floats("c", {2, 1, 1}, {5, 6});
  Output(Value("y", ElementType::kFloat, {1, 4, 4, 2}));
  Node("Transpose", {"x"}, "nchw", {Attribute::Ints("perm", {0, 3, 1, 2})});
  Node("Conv", {"nchw", "w"}, "a");
  Node("Add", {"a", "c"}, "b");
  Node("Conv", {"b", "w"}, "d");
  Node("Transpose", {"d"}, "y", {Attribute::Ints("perm", {0, 2, 3, 1})});
  Write();
  EXPECT_EQ(Operators(), (Codes{"CONV_2D", "ADD", "CONV_2D"}));
  EXPECT_THAT(OpInput(1, 1).shape, ElementsAre(1, 1, 1, 2));  // the channels' constant
  EXPECT_EQ(Tensor(Graph().outputs[0]).name, "y");
}

TEST_F(NewFile, AFloatReluIsPartOfTheOperatorBeforeIt) {
  Input(Value("x", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
  Constant("c", ElementType::kInt8Q, {2}, {1, 2}, Grid(0.5F));
  Floats("low", {}, {0});
  Floats("high", {}, {6});
  Inner(Value("sum", ElementType::kFloat, {1, 2}));
  Output(Value("y", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
  Node("Add", {"x", "c"}, "sum");
  Node("Clip", {"sum", "low", "high"}, "y");
  Write();
  EXPECT_EQ(Operators(), Codes{"ADD"});
  EXPECT_EQ(Op(0).builtin_options.AsAddOptions()->fused_activation_function,
            ActivationFunctionType::RELU6);
}

// Scale 1/2: 6 is 12 steps, so RELU6 is [0, 12] around offset 0; [0, 11] is no activation's.
TEST_F(NewFile, ARangeIsTheActivationThatClampsToIt) {
  for (const std::int64_t high : {12, 11}) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
    format::Quantization q = Grid(0.5F);
    q.quant_min = 0;
    q.quant_max = high;
    Output(Value("y", ElementType::kInt8Q, {1, 2}, q));
    Node("Mul", {"x", "x"}, "y");
    if (high == 12) {
      Write();
      EXPECT_EQ(Op(0).builtin_options.AsMulOptions()->fused_activation_function,
                ActivationFunctionType::RELU6);
    } else {
      const Error error = Refusal();
      EXPECT_EQ(error.code, ErrorCode::kUnsupported);
      EXPECT_THAT(error.where, HasSubstr("'y'"));
      EXPECT_THAT(error.message, HasSubstr("[0, 11]"));
    }
  }
}

// x[1,3] * B[3,2] with B = 0..5: FULLY_CONNECTED's weights are B transposed, 0 2 4 1 3 5.
TEST_F(NewFile, AProductWithAConstantMatrixIsFullyConnected) {
  Input(Value("x", ElementType::kInt8Q, {1, 3}, Grid(0.5F)));
  Constant("w", ElementType::kInt8Q, {3, 2}, {0, 1, 2, 3, 4, 5}, Grid(0.5F));
  Output(Value("y", ElementType::kInt8Q, {1, 2}, Grid(1.0F)));
  Node("MatMul", {"x", "w"}, "y");
  Write();
  EXPECT_EQ(Operators(), Codes{"FULLY_CONNECTED"});
  EXPECT_THAT(OpInput(0, 1).shape, ElementsAre(2, 3));
  EXPECT_THAT(Data(OpInput(0, 1)), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(Version(0), 6);  // without a bias
}

// 2x2 to 5x4, kernel 3x3, strides 2. The convolution of the output that SAME gives needs
// (3-1)*2+3-5 = 2 rows, one before, and (2-1)*2+3-4 = 1 column, none before.
TEST_F(NewFile, ATransposedConvolutionStatesTheSizeOfItsOutput) {
  Input(Value("x", ElementType::kFloat, {1, 1, 2, 2}));
  Floats("w", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Output(Value("y", ElementType::kFloat, {1, 1, 5, 4}));
  Node("ConvTranspose", {"x", "w"}, "y",
       {Attribute::Ints("strides", {2, 2}), Attribute::Ints("pads", {1, 0, 0, 1}),
        Attribute::Ints("output_padding", {1, 0})});
  Write();
  EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "TRANSPOSE_CONV", "TRANSPOSE"}));
  EXPECT_EQ(Op(1).builtin_options.AsTransposeConvOptions()->padding, schema::Padding::SAME);
  EXPECT_THAT(Data(OpInput(1, 0)), ElementsAre(1, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(OpOutput(1).shape, ElementsAre(1, 5, 4, 1));
}

// 2x2 to 4x4, which SAME_UPPER gives for strides 2: a kernel of 5x5 would reach 2 + 5 = 7, 3 more,
// 1 of them before.
TEST_F(NewFile, ATransposedConvolutionTakesAutoPad) {
  Input(Value("x", ElementType::kFloat, {1, 1, 2, 2}));
  Floats("w", {1, 1, 5, 5}, std::vector<float>(25, 1));
  Output(Value("y", ElementType::kFloat, {1, 1, 4, 4}));
  Node("ConvTranspose", {"x", "w"}, "y",
       {Attribute::Ints("strides", {2, 2}), Attribute::String("auto_pad", "SAME_UPPER")});
  Write();
  EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "TRANSPOSE_CONV", "TRANSPOSE"}));
  EXPECT_EQ(Op(1).builtin_options.AsTransposeConvOptions()->padding, schema::Padding::SAME);
  EXPECT_THAT(OpOutput(1).shape, ElementsAre(1, 4, 4, 1));
}

TEST_F(NewFile, UnsignedActivationsAreSignedWhereTheWeightsAre) {
  Input(Value("x", ElementType::kUint8Q, {1, 1}, Grid(0.5F, 100)));
  Constant("w", ElementType::kInt8Q, {1, 1}, {3}, Grid(0.5F));
  Output(Value("y", ElementType::kUint8Q, {1, 1}, Grid(1.0F, 128)));
  Node("MatMul", {"x", "w"}, "y");
  Write();
  EXPECT_EQ(Operators(), (Codes{"QUANTIZE", "FULLY_CONNECTED", "QUANTIZE"}));
  EXPECT_EQ(Tensor(Graph().inputs[0]).type, schema::TensorType::UINT8);
  EXPECT_THAT(Tensor(Graph().inputs[0]).quantization->zero_point, ElementsAre(100));
  EXPECT_EQ(OpInput(1, 0).type, schema::TensorType::INT8);
  EXPECT_THAT(OpInput(1, 0).quantization->zero_point, ElementsAre(-28));
  EXPECT_THAT(OpOutput(1).quantization->zero_point, ElementsAre(0));
  EXPECT_EQ(Tensor(Graph().outputs[0]).type, schema::TensorType::UINT8);
}

TEST_F(NewFile, UnsignedWeightsOf128AreSignedOnesOf0) {
  Input(Value("x", ElementType::kUint8Q, {1, 1}, Grid(0.5F, 128)));
  format::Quantization q = Grid(0.5F);
  q.scale = {0.5F, 0.25F};
  q.offset = {128, 128};
  q.axis = {1};
  Constant("w", ElementType::kUint8Q, {1, 2}, {131, 127}, q);
  Output(Value("y", ElementType::kUint8Q, {1, 2}, Grid(1.0F, 128)));
  Node("MatMul", {"x", "w"}, "y");
  Write();
  EXPECT_EQ(OpInput(1, 1).type, schema::TensorType::INT8);
  EXPECT_THAT(Data(OpInput(1, 1)), ElementsAre(3, 255));  // 131 - 128, 127 - 128
  EXPECT_THAT(OpInput(1, 1).quantization->zero_point, ElementsAre(0, 0));
  EXPECT_EQ(OpInput(1, 1).quantization->quantized_dimension, 0);
}

TEST_F(NewFile, SixteenBitLayersHaveABiasOf64Bits) {
  Input(Value("x", ElementType::kInt16Q, {1, 1}, Grid(0.5F)));
  Constant("w", ElementType::kInt8Q, {1, 1}, {3}, Grid(0.5F));
  Constant("b", ElementType::kInt32Q, {1}, {-2}, Grid(0.25F));
  Output(Value("y", ElementType::kInt16Q, {1, 1}, Grid(1.0F)));
  Node("Gemm", {"x", "w", "b"}, "y");
  Write();
  EXPECT_EQ(OpInput(0, 2).type, schema::TensorType::INT64);
  EXPECT_THAT(Data(OpInput(0, 2)), ElementsAre(254, 255, 255, 255, 255, 255, 255, 255));
}

TEST_F(NewFile, SoftmaxOnAnotherGridThanItsKernelsIsComputedInFloat) {
  for (const float scale : {0x1p-8F, 1.0F / 255}) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 4}, Grid(0.5F)));
    Output(Value("y", ElementType::kInt8Q, {1, 4}, Grid(scale, -128)));
    Node("Softmax", {"x"}, "y", {Attribute::Int("axis", -1)});
    Write();
    if (scale == 0x1p-8F) {
      EXPECT_EQ(Operators(), Codes{"SOFTMAX"});
    } else {
      EXPECT_EQ(Operators(), (Codes{"DEQUANTIZE", "SOFTMAX", "QUANTIZE"}));
    }
  }
}

TEST_F(NewFile, WhatMovesElementsIsRequantizedAfterIt) {
  Input(Value("x", ElementType::kInt8Q, {1, 4}, Grid(0.5F)));
  Constant("shape", ElementType::kInt64, {2}, {2, -1});
  Output(Value("y", ElementType::kInt8Q, {2, 2}, Grid(0.25F, 1)));
  Node("Reshape", {"x", "shape"}, "y");
  Write();
  EXPECT_EQ(Operators(), (Codes{"RESHAPE", "QUANTIZE"}));
  EXPECT_THAT(OpOutput(0).quantization->scale, ElementsAre(0.5F));
  EXPECT_THAT(OpOutput(0).shape, ElementsAre(2, 2));
}

TEST_F(NewFile, RefusesWhatNoKernelTakes) {
  struct Case {
    const char* what;
    format::ValueInfo x, y;
  };
  format::Quantization axis = Grid(0.5F);
  axis.scale = {0.5F, 0.25F};
  axis.axis = {1};
  const format::ValueInfo y = Value("y", ElementType::kInt8Q, {1, 2}, Grid(0.5F));
  const Case cases[] = {
      {"scales", Value("x", ElementType::kInt8Q, {1, 2}, axis), y},
      {"INT4Q", Value("x", ElementType::kInt4Q, {1, 2}, Grid(0.5F)), y},
      {"with an offset", Value("x", ElementType::kInt16Q, {1, 2}, Grid(0.5F, 1)),
       Value("y", ElementType::kInt16Q, {1, 2}, Grid(0.5F))},
  };
  for (const Case& c : cases) {
    model_.graph = {};
    Input(c.x);
    Constant("w", ElementType::kInt8Q, {2, 2}, {1, 2, 3, 4}, Grid(0.5F));
    Output(c.y);
    Node("MatMul", {"x", "w"}, "y");
    const Error error = Refusal();
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << c.what;
    EXPECT_THAT(error.where, HasSubstr("MatMul 'y/node'")) << c.what;
    EXPECT_THAT(error.where, HasSubstr("'x'")) << c.what;
    EXPECT_THAT(error.message, HasSubstr(c.what));
  }
}

// Weights with an offset or scales along another axis, a result of FLOAT, a bias of another scale.
TEST_F(NewFile, LayersThatNoKernelOfIntegersTakesAreComputedInFloat) {
  format::Quantization rows = Grid(0.5F);
  rows.scale = {0.5F, 0.25F};
  rows.axis = {0};
  const auto layer = [&](const format::Quantization& w, bool real, float bias) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
    Constant("w", ElementType::kInt8Q, {2, 2}, {1, 2, 3, 4}, w);
    Constant("b", ElementType::kInt32Q, {2}, {7, -1}, Grid(bias));
    Output(real ? Value("y", ElementType::kFloat, {1, 2})
                : Value("y", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
    Node("Gemm", {"x", "w", "b"}, "y");
    Write();
  };
  const Codes in_float = {"DEQUANTIZE", "DEQUANTIZE", "FULLY_CONNECTED", "QUANTIZE"};
  layer(Grid(0.5F, 1), false, 0.25F);
  EXPECT_EQ(Operators(), in_float);
  EXPECT_THAT(OpInput(1, 0).quantization->zero_point, ElementsAre(1));
  layer(rows, false, 0.25F);
  EXPECT_EQ(Operators(), in_float);
  layer(Grid(0.5F), true, 0.25F);
  EXPECT_EQ(Operators(), (Codes{"DEQUANTIZE", "DEQUANTIZE", "FULLY_CONNECTED"}));
  layer(Grid(0.5F), false, 0.5F);
  EXPECT_EQ(Operators(), in_float);
  EXPECT_EQ(OpInput(2, 2).type, schema::TensorType::FLOAT32);
  const auto* bias = reinterpret_cast<const float*>(Data(OpInput(2, 2)).data());
  EXPECT_THAT(std::vector(bias, bias + 2), ElementsAre(3.5F, -0.5F));
  layer(Grid(0.5F), false, 0.25F);
  EXPECT_EQ(Operators(), Codes{"FULLY_CONNECTED"});
}

// Their factors would be 0: 2^20 times the scale of y is beyond binary32.
TEST_F(NewFile, SumsOfScalesOnWhichLiteRtAbortsAreComputedInFloat) {
  for (const float scale : {1e30F, 2e36F}) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
    Input(Value("mask", ElementType::kInt8Q, {1, 2}, Grid(scale)));
    Output(Value("y", ElementType::kInt8Q, {1, 2}, Grid(scale)));
    Node("Add", {"x", "mask"}, "y");
    Write();
    EXPECT_EQ(Operators(), scale < 1e31F ? Codes{"ADD"}
                                         : (Codes{"DEQUANTIZE", "DEQUANTIZE", "ADD", "QUANTIZE"}));
  }
}

// LOGISTIC checks its scale to the bit.
TEST_F(NewFile, AScaleBesideThatOfTheKernelIsComputedInFloat) {
  for (const float scale : {0x1p-8F, 0.003907F}) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 2}, Grid(0.5F)));
    Output(Value("y", ElementType::kInt8Q, {1, 2}, Grid(scale, -128)));
    Node("Sigmoid", {"x"}, "y");
    Write();
    EXPECT_EQ(Operators(),
              scale == 0x1p-8F ? Codes{"LOGISTIC"} : (Codes{"DEQUANTIZE", "LOGISTIC", "QUANTIZE"}));
  }
}

// The pads of a maximum are the least stored value, those of an average the offset, which stands
// for 0.
TEST_F(NewFile, PoolsOfIntegersWithPadsOfTheirOwn) {
  const auto pool = [&](const char* op_type) {
    model_.graph = {};
    Input(Value("x", ElementType::kInt8Q, {1, 1, 3, 2}, Grid(0.5F, 3)));
    Output(Value("y", ElementType::kInt8Q, {1, 1, 3, 2}, Grid(0.5F, 3)));
    Node(op_type, {"x"}, "y",
         {Attribute::Ints("kernel_shape", {2, 2}), Attribute::Ints("pads", {1, 1, 0, 0}),
          Attribute::Int("count_include_pad", 1)});
    if (std::string(op_type) == "MaxPool") model_.graph.nodes[0].attributes.pop_back();
    Write();
  };
  pool("MaxPool");
  EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "PADV2", "MAX_POOL_2D", "TRANSPOSE"}));
  EXPECT_THAT(Data(OpInput(1, 1)), testing::SizeIs(32));  // [4, 2] of INT32
  EXPECT_EQ(Data(OpInput(1, 1))[8], 1);                   // rows before H; none after
  EXPECT_EQ(Data(OpInput(1, 1))[12], 0);
  EXPECT_THAT(Data(OpInput(1, 2)), ElementsAre(0x80));
  EXPECT_THAT(OpOutput(1).shape, ElementsAre(1, 4, 3, 1));
  EXPECT_EQ(Op(2).builtin_options.AsPool2DOptions()->padding, schema::Padding::VALID);
  pool("AveragePool");
  EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "PAD", "AVERAGE_POOL_2D", "TRANSPOSE"}));
  EXPECT_THAT(OpOutput(1).quantization->zero_point, ElementsAre(3));
}

TEST_F(NewFile, IndicesFromTheBackAreCountedFromTheFront) {
  Input(Value("x", ElementType::kFloat, {3, 2}));
  Constant("i", ElementType::kInt64, {2}, {-1, 0});
  Output(Value("y", ElementType::kFloat, {2, 2}));
  Node("Gather", {"x", "i"}, "y");
  Write();
  const auto* indices = reinterpret_cast<const std::int64_t*>(Data(OpInput(0, 1)).data());
  EXPECT_THAT(std::vector(indices, indices + 2), ElementsAre(2, 0));
}

// TFLite takes 2.5 as 5 / 2, and would take 2.4, whose result has the same sizes, so, too.
TEST_F(NewFile, RefusesScalesThatAreNoRatiosOfSizes) {
  const auto resize = [&](float scale, const char* mode) {
    model_.graph = {};
    Input(Value("x", ElementType::kFloat, {1, 1, 2, 2}));
    Floats("scales", {4}, {1, 1, scale, scale});
    const auto size = static_cast<std::int64_t>(scale * 2);
    Output(Value("y", ElementType::kFloat, {1, 1, size, size}));
    Node("Resize", {"x", "", "scales"}, "y",
         {Attribute::String("mode", "linear"),
          Attribute::String("coordinate_transformation_mode", mode)});
  };
  for (const char* mode : {"half_pixel", "align_corners"}) {
    resize(2.5F, mode);
    Write();
    EXPECT_EQ(Operators(), (Codes{"TRANSPOSE", "RESIZE_BILINEAR", "TRANSPOSE"}));
    resize(2.4F, mode);
    EXPECT_THAT(Refusal().message, HasSubstr("scales that give no whole sizes"));
  }
}

TEST_F(NewFile, RefusesATypeThatNoTensorHas) {
  Input(Value("x", ElementType::kFloat8E4M3FNQ, {1, 2}, Grid(0.5F)));
  Output(Value("y", ElementType::kFloat, {1, 2}));
  Node("Tanh", {"x"}, "y");
  const Error error = Refusal();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.where, "'x'");
  EXPECT_THAT(error.message, HasSubstr("FLOAT8E4M3FNQ"));
}

TEST_F(NewFile, RangesAreKeptAndOtherStatisticsNeedLeave) {
  Input(Value("x", ElementType::kFloat, {1, 2}));
  Output(Value("y", ElementType::kFloat, {1, 2}));
  format::Statistics statistics;
  statistics.min = {-1};
  statistics.max = {2};
  model_.graph.inputs[0].type->statistics = statistics;
  Node("Tanh", {"x"}, "y");
  Write();
  EXPECT_THAT(Tensor(Graph().inputs[0]).quantization->max, ElementsAre(2));
  model_.graph.inputs[0].type->statistics->mean = {0.5};
  EXPECT_THAT(Refusal().message, HasSubstr("--allow statistics"));
  Write({"statistics"});
}

TEST_F(NewFile, MetadataPropsComeBack) {
  Input(Value("x", ElementType::kFloat, {1, 2}));
  Output(Value("y", ElementType::kFloat, {1, 2}));
  Node("Tanh", {"x"}, "y");
  model_.metadata = {{"author", "nobody"}, {"empty", ""}};
  model_.doc_string = "what it is";
  Write();
  const auto back = FromTflite(bytes_);
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->model.metadata.size(), 3U);  // and the skeleton
  EXPECT_EQ(back->model.metadata[0], model_.metadata[0]);
  EXPECT_EQ(back->model.metadata[1], model_.metadata[1]);
  EXPECT_EQ(back->model.doc_string, "what it is");
}

TEST_F(NewFile, OperatorCodesAboveOneByteLeaveTheOldFieldAt127) {
  Input(Value("x", ElementType::kFloat, {1, 2}));
  Output(Value("y", ElementType::kFloat, {1, 2}));
  model_.opset_imports[0].version = 20;
  Node("Gelu", {"x"}, "y");
  Write();
  const schema::OperatorCodeT& code = *file_->operator_codes.at(0);
  EXPECT_EQ(code.deprecated_builtin_code, 127);
  EXPECT_EQ(code.builtin_code, BuiltinOperator::GELU);
  EXPECT_TRUE(file_->buffers.at(0)->data.empty());
}

TEST_F(NewFile, SameModelSameBytes) {
  Input(Value("x", ElementType::kFloat, {1, 2}));
  Output(Value("y", ElementType::kFloat, {1, 2}));
  Node("Tanh", {"x"}, "y");
  Write();
  const std::string first = bytes_;
  Write();
  EXPECT_EQ(bytes_, first);
}

// Weights of FLOAT16 stay so: a DEQUANTIZE of a constant, which kernels take as one.
TEST_F(NewFile, WidenedHalvesAreStoredAsHalves) {
  Input(Value("x", ElementType::kFloat, {1, 1, 2, 2}));
  Output(Value("y", ElementType::kFloat, {1, 1, 2, 2}));
  format::Tensor half{ElementType::kFloat16, {1, 1, 1, 1}, {}, {}};
  half.bytes = {std::byte{0x00}, std::byte{0xc0}};  // -2
  model_.graph.initializers.push_back(format::ToTensorData("half", half));
  Node("Cast", {"half"}, "wide", {Attribute::Int("to", 1)});
  Node("Transpose", {"wide"}, "w", {Attribute::Ints("perm", {0, 3, 1, 2})});
  Node("Conv", {"x", "w"}, "y");
  Write();
  EXPECT_THAT(Operators(), testing::Contains("DEQUANTIZE").Times(1));
  EXPECT_THAT(Operators(), testing::Contains("CONV_2D"));
  const Codes codes = Operators();
  const auto at = std::ranges::find(codes, "DEQUANTIZE") - codes.begin();
  const schema::TensorT& stored = OpInput(static_cast<std::size_t>(at), 0);
  EXPECT_EQ(stored.type, schema::TensorType::FLOAT16);
  EXPECT_THAT(Data(stored), ElementsAre(0x00, 0xc0));
}

TEST_F(NewFile, OperatorsThatPickElements) {
  Input(Value("x", ElementType::kFloat, {2, 3}));
  Input(Value("mask", ElementType::kBool, {3}));
  Constant("k", ElementType::kInt64, {1}, {2});
  Constant("axis", ElementType::kInt64, {}, {1});
  Constant("repeats", ElementType::kInt64, {2}, {1, 2});
  Constant("shape", ElementType::kInt64, {3}, {4, 1, 3});
  Constant("tuples", ElementType::kInt64, {1, 2}, {1, 2});
  Node("Where", {"mask", "x", "x"}, "picked");
  Node("CumSum", {"picked", "axis"}, "sums", {Attribute::Int("reverse", 1)});
  Node("Expand", {"sums", "shape"}, "wide");
  Node("Tile", {"sums", "repeats"}, "tiles");
  Node("GatherND", {"sums", "tuples"}, "element");
  Node("Shape", {"wide"}, "sizes");
  format::Node& top = Node("TopK", {"tiles", "k"}, "best");
  top.outputs.push_back("places");
  Output(Value("wide", ElementType::kFloat, {4, 2, 3}));
  Output(Value("element", ElementType::kFloat, {1}));
  Output(Value("sizes", ElementType::kInt64, {3}));
  Output(Value("best", ElementType::kFloat, {2, 2}));
  Output(Value("places", ElementType::kInt64, {2, 2}));
  Write();
  EXPECT_THAT(Operators(), ElementsAre("SELECT_V2", "CUMSUM", "BROADCAST_TO", "TILE", "GATHER_ND",
                                       "SHAPE", "TOPK_V2", "CAST"));
  EXPECT_TRUE(Op(1).builtin_options.AsCumsumOptions()->reverse);
  EXPECT_THAT(OpOutput(2).shape, ElementsAre(4, 2, 3));
  EXPECT_THAT(OpOutput(3).shape, ElementsAre(2, 6));
  EXPECT_THAT(OpOutput(4).shape, ElementsAre(1));
}

}  // namespace
}  // namespace qtx::convert::new_file_test
