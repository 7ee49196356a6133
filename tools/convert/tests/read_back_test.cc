// What a writer writes, the reader of its kind takes; what the form has no word for, the writer
// refuses. Each model is one that fuzzing found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::read_back_test {
namespace {

using format::ElementType;
using testing::HasSubstr;

Options AllowAll() {
  Options options;
  for (const Loss& loss : Losses()) options.allow.emplace_back(loss.name);
  return options;
}

// The model that comes back.
Result<format::Model> ThereAndBack(const format::Model& model, const char* kind) {
  const Kind& row = *FindKind(kind);
  QTX_ASSIGN_OR_RETURN(const Export written, Write(model, row, AllowAll()));
  const auto* stock = std::get_if<format::Model>(&written.content);
  QTX_ASSIGN_OR_RETURN(std::string bytes, stock != nullptr ? stock->Serialize() : BytesOf(written));
  QTX_ASSIGN_OR_RETURN(Conversion back,
                       Read(FromBytes(std::move(bytes), "written"), row, AllowAll()));
  return std::move(back.model);
}

std::string Refusal(const format::Model& model, const char* kind) {
  const auto back = ThereAndBack(model, kind);
  if (back.has_value()) return "";
  EXPECT_EQ(back.error().code, ErrorCode::kUnsupported) << back.error().Text();
  return back.error().Text();
}

// node(inputs) of FLOAT[2, 3] values -> y
format::Model OneNode(const char* op_type, std::vector<std::string> inputs) {
  OnnxMaker maker(17);
  for (const std::string& input : inputs) {
    if (input != "")
      maker.model.graph.inputs.push_back(OnnxMaker::Value(input, ElementType::kFloat, {2, 3}));
  }
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2, 3})};
  maker.Node(op_type, std::move(inputs), {"y"});
  return maker.model;
}

format::Model WithoutScales() {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kUint8Q, {0, 6}, {}, {0})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {0, 6}, {}, {0})};
  maker.Node("Cast", {"x"}, {"y"}).attributes = {
      format::Attribute::Int("to", static_cast<std::int64_t>(ElementType::kInt8Q))};
  return maker.model;
}

TEST(ReadBack, NoScaleAlongAnAxisOfSizeZero) {
  EXPECT_THAT(Refusal(WithoutScales(), "stablehlo"), HasSubstr("an axis of size 0"));
  EXPECT_THAT(Refusal(WithoutScales(), "nnef"), HasSubstr("a size of 0"));
  for (const char* kind : {"csv", "json"}) {
    const auto written = Write(WithoutScales(), *FindKind(kind));
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(written.error().message, HasSubstr("no scale: the axis has size 0"));
  }
}

TEST(ReadBack, NnefHasNoWordForAnInfinity) {
  format::Model clip = OneNode("Clip", {"x", "low", "high"});
  clip.graph.inputs.resize(1);
  const float infinity = std::numeric_limits<float>::infinity();
  OnnxMaker bounds;
  bounds.Initializer<float>("low", ElementType::kFloat, {}, {-infinity});
  bounds.Initializer<float>("high", ElementType::kFloat, {}, {1});
  clip.graph.initializers = bounds.model.graph.initializers;
  const auto back = ThereAndBack(clip, "nnef");
  ASSERT_TRUE(back.has_value()) << back.error().Text();
  EXPECT_THAT(OpTypes(*back), testing::ElementsAre("Clip"));

  format::Model leaky = OneNode("LeakyRelu", {"x"});
  leaky.graph.nodes[0].attributes = {format::Attribute::Float("alpha", infinity)};
  EXPECT_THAT(Refusal(leaky, "nnef"), HasSubstr("attribute 'alpha': an infinity or NaN"));
}

TEST(ReadBack, NnefAddsTensorsOfOneShape) {
  format::Model sum = OneNode("Sum", {"a", "b", "c"});
  ASSERT_TRUE(ThereAndBack(sum, "nnef").has_value());
  sum.graph.inputs[1].type->shape = format::ToShape(format::Dims{1, 3});
  EXPECT_THAT(Refusal(sum, "nnef"), HasSubstr("value 'b': shape [1,3]"));
}

// constant_of_shape.S2: the attribute holds a stored value.
TEST(ReadBack, StockOnnxHasNoConstantOfStoredValues) {
  OnnxMaker maker(17);
  maker.Initializer<std::int64_t>("sizes", ElementType::kInt64, {1}, {5});
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {5})};
  OnnxMaker value;
  value.Initializer<std::int8_t>("", ElementType::kInt8, {1}, {9});
  format::Attribute attribute;
  attribute.name = "value";
  attribute.type = format::AttributeType::kTensor;
  attribute.t = value.model.graph.initializers[0];
  maker.Node("ConstantOfShape", {"sizes"}, {"y"}).attributes = {attribute};
  for (const char* kind : {"qdq", "qonnx"})
    EXPECT_THAT(Refusal(maker.model, kind), HasSubstr("'value' holds a stored value"));
}

TEST(ReadBack, QonnxHasOneTypeOfRealsInANode) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat16, {2, 2})};
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2}, {1, 2, 3, 4});
  maker.model.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 2})};
  maker.Node("MatMul", {"x", "w"}, {"y"});
  EXPECT_THAT(Refusal(maker.model, "qonnx"), HasSubstr("one type of reals"));
}

// quantization_annotation has scales above 0 alone; DequantizeLinear has any.
TEST(ReadBack, AScaleBelowZeroIsThatOfDequantizeLinear) {
  OnnxMaker maker(23);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {3}, {1, -2, 3});
  maker.model.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {3}, {-0.5F})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {3})};
  maker.Node("Cast", {"w"}, {"y"}).attributes = {
      format::Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))};
  const auto back = ThereAndBack(maker.model, "qoperator");
  ASSERT_TRUE(back.has_value()) << back.error().Text();
  ASSERT_FALSE(back->graph.values.empty());
  EXPECT_THAT(back->graph.values[0].type->quantization->scale, testing::ElementsAre(-0.5F));
}

// dequantize_linear.C2 sets no bound; a computed value of a quantized type has scales above 0.
TEST(ReadBack, ADequantizeLinearOfScalesBelowZeroStaysANode) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {2, 2})};
  maker.Initializer<float>("s", ElementType::kFloat, {2}, {-0.5F, 0.0F});
  maker.Initializer<std::int8_t>("z", ElementType::kInt8, {2}, {2, 1});
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2, 2})};
  maker.Node("DequantizeLinear", {"x", "s", "z"}, {"y"}).attributes = {
      format::Attribute::Int("axis", 0)};
  for (const char* kind : {"qdq", "qonnx", "qoperator"}) {
    const auto back = ThereAndBack(maker.model, kind);
    ASSERT_TRUE(back.has_value()) << back.error().Text();
    EXPECT_THAT(OpTypes(*back), testing::ElementsAre("DequantizeLinear")) << kind;
  }
}

TEST(ReadBack, NnefReadsWindowsUpTo2To24) {
  const auto padded = [](std::int64_t by) {
    OnnxMaker maker(17);
    for (const char* name : {"x", "w", "y"})
      maker.model.graph.inputs.push_back(
          OnnxMaker::Value(name, ElementType::kFloat, {1, 1, *name == 'y' ? by + 1 : 1}));
    maker.model.graph.outputs = {maker.model.graph.inputs.back()};
    maker.model.graph.inputs.pop_back();
    maker.Node("Conv", {"x", "w"}, {"y"}).attributes = {format::Attribute::Ints("pads", {by, 0})};
    return maker.model;
  };
  const auto most = ThereAndBack(padded(1 << 24), "nnef");
  EXPECT_TRUE(most.has_value()) << most.error().Text();
  EXPECT_THAT(Refusal(padded((1 << 24) + 1), "nnef"), HasSubstr("a size, stride, dilation or pad"));
}

// one_hot.C1 takes INT4 and top_k.S1 one output alone; the schemas of ONNX do not.
TEST(ReadBack, StockOnnxLacksWhatTheTextAloneAllows) {
  OnnxMaker hot(13);
  hot.model.opset_imports.push_back({"qtx", 1});
  hot.model.graph.inputs = {OnnxMaker::Value("indices", ElementType::kInt4, {3}),
                            OnnxMaker::Quantized("off_on", ElementType::kInt16Q, {2})};
  hot.Initializer<std::int64_t>("depth", ElementType::kInt64, {}, {5});
  hot.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {3, 5})};
  hot.Node("OneHot", {"indices", "depth", "off_on"}, {"y"});

  OnnxMaker top(17);
  top.model.opset_imports.push_back({"qtx", 1});
  top.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {5})};
  top.Initializer<std::int64_t>("k", ElementType::kInt64, {1}, {2});
  top.model.graph.outputs = {OnnxMaker::Value("values", ElementType::kFloat, {2})};
  top.Node("TopK", {"x", "k"}, {"values"});
  for (const char* kind : {"qdq", "qonnx", "qoperator"}) {
    EXPECT_THAT(Refusal(hot.model, kind), HasSubstr("found type INT4, expected FLOAT")) << kind;
    EXPECT_THAT(Refusal(top.model, kind), HasSubstr("stock ONNX: found 1, expected 2")) << kind;
  }
}

TEST(ReadBack, TransposeOfAScalarHasNoAxesInTflite) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {})};
  maker.Node("Transpose", {"x"}, {"y"});
  const auto back = ThereAndBack(maker.model, "tflite");
  ASSERT_TRUE(back.has_value()) << back.error().Text();
  EXPECT_THAT(OpTypes(*back), testing::ElementsAre("Transpose"));
}

TEST(ReadBack, TheRecordOfAnotherLoweringIsReplacedAndTold) {
  format::Model relu = OneNode("Relu", {"x"});
  relu.metadata = {{std::string(format::kImportsKey), "17:=17-qtx=1"}};
  const auto written = Write(relu, *FindKind("qdq"), AllowAll());
  ASSERT_TRUE(written.has_value()) << written.error().Text();
  EXPECT_TRUE(std::ranges::any_of(written->ledger, [](const LedgerEntry& entry) {
    return entry.field == "record of lowering" && entry.fate == LedgerEntry::Fate::kChanged;
  }));
}

// Bytes 4 to 7, those of TFLite's identifier, are of a name here.
TEST(ReadBack, AModelThatBeginsLikeTfliteIsBlamedForItsOwnFaults) {
  format::Model relu = OneNode("Relu", {"x"});
  relu.producer_name = "TFL3";
  relu.graph.nodes[0].op_type = "Rely";
  const auto read = Read(FromBytes(*relu.Serialize(), "renamed"), *FindKind("qtx"), AllowAll());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << read.error().Text();
  EXPECT_THAT(read.error().message, HasSubstr("the input breaks a rule"));
}

// lowering.S5: "17:=17,qtx=1,a=b=1".
TEST(ReadBack, AGraphWithoutOutputsIsNoFunction) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  for (const char* kind : {"nnef", "stablehlo"})
    EXPECT_THAT(Refusal(maker.model, kind), HasSubstr("no outputs"));
}

TEST(ReadBack, MlirHasNoRangeOfOneValue) {
  format::Model relu = OneNode("Relu", {"x"});
  for (auto* values : {&relu.graph.inputs, &relu.graph.outputs}) {
    (*values)[0] = OnnxMaker::Quantized((*values)[0].name, ElementType::kInt8Q, {2, 3});
    (*values)[0].type->quantization->quant_min = 20;
    (*values)[0].type->quantization->quant_max = 20;
  }
  EXPECT_THAT(Refusal(relu, "stablehlo"), HasSubstr("a range of one value"));
}

TEST(ReadBack, ADomainMayHaveAnEqualsSign) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.opset_imports.push_back({"a=b", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2})};
  maker.Node("Relu", {"x"}, {"y"});
  const auto back = ThereAndBack(maker.model, "qdq");
  ASSERT_TRUE(back.has_value()) << back.error().Text();
  EXPECT_EQ(back->opset_imports, maker.model.opset_imports);
}

// A forged record: there is no opset 97.
TEST(ReadBack, RecordedImportsOfNoOpsetAreNotRestored) {
  format::Model relu = OneNode("Relu", {"x"});
  for (auto* value : {&relu.graph.inputs[0], &relu.graph.outputs[0]})
    *value = OnnxMaker::Quantized(value->name, ElementType::kInt8Q, {2, 3});
  const auto written = Write(relu, *FindKind("qdq"), AllowAll());
  ASSERT_TRUE(written.has_value()) << written.error().Text();
  auto lowered = std::get<format::Model>(written->content);
  for (auto& [key, text] : lowered.metadata) {
    if (key == format::kImportsKey) text = "17:=97,qtx=1";
  }
  const auto read = Read(FromBytes(*lowered.Serialize(), "forged"), *FindKind("qdq"), AllowAll());
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  EXPECT_EQ(read->model.OpsetVersion(""), 17);
}

TEST(ReadBack, AComparisonOfAQuantizedValueIsABoolOfTflite) {
  format::Model less = OneNode("Less", {"a", "b"});
  less.graph.inputs[0] = OnnxMaker::Quantized("a", ElementType::kInt8Q, {2, 3});
  less.graph.outputs = {OnnxMaker::Value("y", ElementType::kBool, {2, 3})};
  const auto back = ThereAndBack(less, "tflite");
  ASSERT_TRUE(back.has_value()) << back.error().Text();
  EXPECT_EQ(back->graph.outputs[0].type->elem_type, ElementType::kBool);
}

}  // namespace
}  // namespace qtx::convert::read_back_test
