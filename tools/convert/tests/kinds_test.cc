#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <tuple>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"
#include "qtx/format/check.h"
#include "qtx/format/limits.h"
#include "tests/networks.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::kinds_test {
namespace {

std::string KindOfBytes(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "kinds_test.bin";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto source = Open(path);
  if (!source.has_value()) return source.error().message;
  const auto kind = KindOf(*source);
  return kind.has_value() ? std::string((*kind)->name) : kind.error().message;
}

// An If with one branch.
format::Model WithBody(const format::Graph& body) {
  OnnxMaker maker;
  maker.Node("If", {"c"}, {"y"});
  format::Attribute attribute;
  attribute.name = "then_branch";
  attribute.type = format::AttributeType::kGraph;
  attribute.graphs = {body};
  maker.model.graph.nodes[0].attributes = {attribute};
  return maker.model;
}

// What only a body or a function has decides as well.
TEST(KindOf, LooksIntoBodiesAndFunctions) {
  OnnxMaker inner;
  inner.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(KindOfBytes(*WithBody(inner.model.graph).Serialize()), "onnx");
  inner.Node("QLinearAdd", {"y"}, {"z"}).domain = "com.microsoft";
  EXPECT_EQ(KindOfBytes(*WithBody(inner.model.graph).Serialize()), "qoperator");
  inner.model.graph.nodes[1].op_type = "DequantizeLinear";
  inner.model.graph.nodes[1].domain = "";
  const format::Model once = WithBody(inner.model.graph);
  EXPECT_EQ(KindOfBytes(*once.Serialize()), "qdq");
  EXPECT_EQ(KindOfBytes(*WithBody(once.graph).Serialize()), "qdq");
  inner.model.graph.nodes[1].op_type = "Quant";
  inner.model.graph.nodes[1].domain = "qonnx.custom_op.general";
  EXPECT_EQ(KindOfBytes(*WithBody(inner.model.graph).Serialize()), "qonnx");

  OnnxMaker calls;
  calls.Node("F", {"x"}, {"y"}).domain = "my";
  // ModelProto.functions: a FunctionProto with name "F", domain "my" and a node of op_type
  // "QuantizeLinear".
  calls.model.unknown_fields =
      "\xca\x01\x19\x0a\x01"
      "F"
      "\x3a\x10\x22\x0eQuantizeLinear"
      "\x52\x02my";
  EXPECT_EQ(KindOfBytes(*calls.model.Serialize()), "qdq");
}

TEST(KindOf, NamesTheLimitThatAModelIsPast) {
  format::Model model = WithBody(format::Graph());
  for (int depth = 0; depth < format::kMaxGraphDepth; ++depth) model = WithBody(model.graph);
  EXPECT_THAT(KindOfBytes(*model.Serialize()),
              testing::HasSubstr("found a graph within more than 8"));
}

// Split and Pad had their parts and pads in attributes, which the text does not define.
TEST(Read, RaisesAnOldOpsetWhoseFormsQuantizedValuesGoThrough) {
  const std::tuple<const char*, const char*, std::vector<std::int64_t>> old_forms[] = {
      {"Split", "split", {1, 3}}, {"Pad", "pads", {0, 2}}};
  for (const auto& [op_type, attribute, values] : old_forms) {
    OnnxMaker maker(10);
    maker.Parameters("p", 0.5F, 0);
    maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {4})};
    maker.Quantize("x", "p", "q");
    maker.Dequantize("q", "p", "r");
    maker.Node(op_type, {"r"}, {"s"}).attributes = {format::Attribute::Ints(attribute, values)};
    if (*op_type == 'S') maker.model.graph.nodes.back().outputs.emplace_back("t");
    maker.Quantize("s", "p", "a");
    maker.Dequantize("a", "p", "y");
    maker.model.graph.outputs.emplace_back().name = "y";
    Source source;
    source.onnx = maker.model;
    const auto conversion = Read(source, *FindKind("qdq"));
    ASSERT_TRUE(conversion.has_value()) << conversion.error().Text();
    EXPECT_EQ(format::OnnxOpset(conversion->model), 13);
    const format::Node& moved = conversion->model.graph.nodes[1];
    ASSERT_EQ(moved.inputs.size(), 2U);
    const auto* data = conversion->model.graph.FindInitializer(moved.inputs[1]);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(format::UnpackIntegers(*format::Decode(*data)), values);
    EXPECT_TRUE(conversion->model.graph.FindValue("a")->type->quantization.has_value());
  }
}

// The same of a model without quantized values, and none where each form is one of opset 13.
TEST(Read, RaisesFloatModelsOfOldFormsAlone) {
  for (const auto& [op_type, opset] : {std::pair("Pad", 13), std::pair("Relu", 10)}) {
    OnnxMaker maker(10);
    maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {4})};
    maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kFloat, {4})};
    format::Node& node = maker.Node(op_type, {"x"}, {"y"});
    if (*op_type == 'P') node.attributes = {format::Attribute::Ints("pads", {1, -1})};
    Source source;
    source.onnx = maker.model;
    const auto conversion = Read(source, *FindKind("onnx"));
    ASSERT_TRUE(conversion.has_value()) << conversion.error().Text();
    EXPECT_EQ(format::OnnxOpset(conversion->model), opset) << op_type;
    EXPECT_EQ(conversion->ledger.empty(), opset == 10);
  }
}

TEST(KindOf, TellsKindsApartByContent) {
  EXPECT_EQ(KindOfBytes(*ReadNetwork("aww")), "tflite");
  OnnxMaker stock;
  stock.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "onnx");
  stock.Quantize("y", "a", "q");
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "qdq");
  stock.model.graph.inputs = {OnnxMaker::Quantized("x", format::ElementType::kInt8Q, {2})};
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "qtx");
}

TEST(KindOf, SaysWhatItKnowsOfAFileThatIsNone) {
  EXPECT_EQ(KindOfBytes(""), "empty; expected a model");
  for (const std::string& bytes : {std::string("hello"), std::string(100, '\0')})
    EXPECT_TRUE(KindOfBytes(bytes).starts_with("none of the kinds tflite, ")) << KindOfBytes(bytes);
}

TEST(Kinds, AreFoundByTheirNames) {
  for (const Kind& kind : Kinds()) EXPECT_EQ(FindKind(kind.name), &kind);
  EXPECT_EQ(FindKind("tflight"), nullptr);
}

// y = Gemm(x, w, b) with weights of no column, whose scales are none, in narrowed ranges.
// Source: quantization.C1.
format::Model WithoutColumns() {
  using format::ElementType;
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 3})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 0}, {}, {1})};
  maker.model.graph.outputs[0].type->quantization->quant_max = 12;
  maker.model.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {3, 0}, {}, {1}),
                              OnnxMaker::Quantized("b", ElementType::kInt32Q, {0}, {}, {0})};
  maker.model.graph.values[0].type->quantization->quant_min = -127;
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {3, 0}, {});
  maker.Initializer<std::int32_t>("b", ElementType::kInt32, {0}, {});
  maker.Node("Gemm", {"x", "w", "b"}, {"y"});
  EXPECT_TRUE(format::Check(maker.model).empty());
  return maker.model;
}

TEST(Kinds, WriteOrRefuseTypesWithoutScales) {
  format::Model model = WithoutColumns();
  for (const bool one_output_scale : {false, true}) {
    if (one_output_scale) *model.graph.outputs[0].type->quantization = {.scale = {1}};
    Options all;
    for (const Loss& loss : Losses()) all.allow.emplace_back(loss.name);
    for (const Kind& kind : Kinds()) {
      if (kind.write == nullptr) continue;
      const auto written = Write(model, kind, all);
      EXPECT_TRUE(written.has_value() || !written.error().message.empty()) << kind.name;
      constexpr std::array<std::string_view, 8> kMayRefuse = {
          "tflite", "qonnx", "qoperator", "ort", "gguf", "safetensors", "stablehlo", "nnef"};
      const bool said = std::ranges::find(kMayRefuse, kind.name) == kMayRefuse.end();
      EXPECT_TRUE(!said || written.has_value()) << kind.name;
    }
    const auto integer = ToIntegerOnly(model, all);
    EXPECT_EQ(integer.has_value(), one_output_scale);
    EXPECT_TRUE(!integer.has_value() || format::Check(integer->model).empty());
  }
}

TEST(RefuseLosses, NamesTheFirstOfEachLossThatIsNotAllowed) {
  const auto lost = [](const char* value, const char* loss) {
    return LedgerEntry{value, "field", LedgerEntry::Fate::kDropped, "of " + std::string(value),
                       loss};
  };
  const std::vector<LedgerEntry> ledger = {lost("a", ""), lost("b", "scheme"),
                                           lost("c", "statistics"), lost("d", "scheme")};
  const auto refused = RefuseLosses(ledger, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().where, "b: field");
  EXPECT_EQ(refused.error().message,
            "of b; c: field: of c; --allow scheme --allow statistics goes without");
  const std::vector<std::string> allowed = {"scheme"};
  EXPECT_EQ(RefuseLosses(ledger, allowed).error().where, "c: field");
  const std::vector<std::string> both = {"statistics", "scheme"};
  EXPECT_TRUE(RefuseLosses(ledger, both).has_value());
}

// A stock model with one node, which has an attribute that its operator has not.
format::Model WithUnknownAttribute() {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kFloat, {2})};
  maker.Node("Relu", {"x"}, {"y"}).attributes = {format::Attribute::Int("alpha", 1)};
  return maker.model;
}

TEST(Write, MakesAModelThatBreaksARuleAnErrorOfItsOwn) {
  const Kind broken{"broken", "", nullptr, nullptr,
                    [](const format::Model&, const Options&) -> Result<Export> {
                      return Export{WithUnknownAttribute(), {}};
                    }};
  const auto written = Write(WithoutColumns(), broken);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kInternal);
  EXPECT_EQ(written.error().clause, "graph.C6");
  EXPECT_EQ(written.error().where, "graph.node[0] 'y_node': attribute 'alpha'");
  EXPECT_TRUE(written.error().message.starts_with("internal: the model written breaks a rule: "))
      << written.error().message;
}

// INT16 is a type of QuantizeLinear's zero point since opset 21.
format::Model WithNewType(std::int64_t opset) {
  OnnxMaker maker(opset);
  maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {2}),
                              OnnxMaker::Value("s", format::ElementType::kFloat, {}),
                              OnnxMaker::Value("z", format::ElementType::kInt16, {})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kInt16, {2})};
  maker.Node("QuantizeLinear", {"x", "s", "z"}, {"y"});
  return maker.model;
}

TEST(Write, AsksForTheOpsetThatHasTheType) {
  const auto as_it_is = [](const format::Model& model, const Options&) -> Result<Export> {
    return Export{model, {}};
  };
  const Kind kind{"kind", "", nullptr, nullptr, as_it_is};
  EXPECT_TRUE(Write(WithNewType(21), kind).has_value());
  const auto written = Write(WithNewType(17), kind);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(written.error().message,
            "stock ONNX allows this in a newer opset than 17, which --opset asks for");
}

// q_linear_mat_mul.C2 asks no more of a scale than that it is one; ONNX has one type for all three.
TEST(Write, RefusesTypesThatStockOnnxHasInNoOpset) {
  using enum format::ElementType;
  OnnxMaker maker(21);
  maker.model.opset_imports.push_back({std::string(format::kDomain), 1});
  maker.model.graph.inputs = {
      OnnxMaker::Value("a", kInt8, {2, 2}),      OnnxMaker::Value("a_scale", kFloat, {}),
      OnnxMaker::Value("a_zero", kInt8, {}),     OnnxMaker::Value("b", kInt8, {2, 2}),
      OnnxMaker::Value("b_scale", kFloat, {}),   OnnxMaker::Value("b_zero", kInt8, {}),
      OnnxMaker::Value("y_scale", kFloat16, {}), OnnxMaker::Value("y_zero", kInt8, {})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kInt8, {2, 2})};
  maker.Node("QLinearMatMul",
             {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"}, {"y"});
  ASSERT_TRUE(format::Check(maker.model).empty());
  const auto written = Write(maker.model, *FindKind("qdq"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(written.error().where, "graph.node[0] 'y_node': input[6] 'y_scale'");
  EXPECT_EQ(written.error().message,
            "stock ONNX: found type FLOAT16, expected FLOAT, as input[1] 'a_scale'");
}

TEST(Read, BlamesASourceThatBreaksTheRuleItself) {
  const Source source = FromBytes(*WithUnknownAttribute().Serialize(), "x.onnx");
  const auto read = Read(source, *FindKind("qdq"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(read.error().message.starts_with("the input breaks a rule: "))
      << read.error().message;
}

// The record says opset 7 of nodes that opset 17 has.
TEST(Read, DropsARecordOfLoweringThatItsNodesDoNotBearOut) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", format::ElementType::kInt8Q, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", format::ElementType::kInt8Q, {2})};
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.Node("HardSwish", {"x"}, {"y"});
  const auto lowered = ToQdq(maker.model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().Text();
  format::Model forged = lowered->model;
  for (auto& [key, text] : forged.metadata) {
    if (key == format::kImportsKey) text = "17:=7,qtx=1";
  }
  const auto read = Read(FromBytes(*forged.Serialize(), "x.onnx"), *FindKind("qdq"));
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  EXPECT_EQ(read->model.OpsetVersion(""), 17);
  ASSERT_FALSE(read->ledger.empty());
  EXPECT_EQ(read->ledger[0].field, "record of lowering");
  EXPECT_EQ(read->ledger[0].why,
            "graph.node[0] 'y_node': what it restores breaks a rule: ONNX has no operator "
            "HardSwish in opset 7");
}

// The type of 'y' needs its rank, which stock ONNX does not.
TEST(Read, SaysThatAFileDeclaresNoRankForAxes) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {1, 2})};
  maker.model.graph.inputs[0].type->shape.reset();
  maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kInt8, {1, 2})};
  maker.model.graph.outputs[0].type->shape.reset();
  maker.Initializer<float>("x/scale", format::ElementType::kFloat, {2}, {1.0F, 2.0F});
  maker.Initializer<std::int8_t>("x/zp", format::ElementType::kInt8, {2}, {0, 0});
  maker.Quantize("x", "x", "y");
  const auto read = Read(FromBytes(*maker.model.Serialize(), "x.onnx"), *FindKind("qdq"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported) << read.error().Text();
  EXPECT_EQ(read.error().where, "x.onnx: graph.output[0] 'y': shape");
}

// Check does not look at an initializer without a declared type; the reader declares 'w'.
TEST(Read, BlamesASourceWhoseInitializerHasAByteTooMany) {
  OnnxMaker maker(17);
  maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kFloat, {2, 2})};
  maker.Parameters("w", 0.5F, 0);
  maker.Initializer<std::int8_t>("w/stored", format::ElementType::kInt8, {2, 2}, {1, 2, 3, 4, 5});
  maker.Dequantize("w/stored", "w", "w");
  maker.Node("Relu", {"w"}, {"y"});
  const auto read = Read(FromBytes(*maker.model.Serialize(), "x.onnx"), *FindKind("qdq"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << read.error().Text();
  EXPECT_EQ(read.error().where, "x.onnx: graph.initializer[2]");
  EXPECT_TRUE(read.error().message.starts_with("the input breaks a rule: ")) << read.error().Text();
}

// No shape passes through a Quant, so that Check does not see it in the file.
TEST(Read, BlamesASourceWhoseShapesDifferBehindAQuant) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qonnx.custom_op.general", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("x", format::ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", format::ElementType::kFloat, {3})};
  for (const auto& [name, value] : {std::pair("one", 1.0F), {"zero", 0.0F}, {"bits", 8.0F}})
    maker.Initializer<float>(name, format::ElementType::kFloat, {}, {value});
  maker.Node("Quant", {"x", "one", "zero", "bits"}, {"q"}).domain = "qonnx.custom_op.general";
  maker.Node("Relu", {"q"}, {"y"});
  const auto read = Read(FromBytes(*maker.model.Serialize(), "x.onnx"), *FindKind("qonnx"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << read.error().Text();
  EXPECT_EQ(read.error().clause, "relu.C2");
}

Source TableBeside(const std::string& table, const format::Model& model) {
  const std::string path = ::testing::TempDir() + "kinds_test.onnx";
  EXPECT_TRUE(model.Save(path).has_value());
  Source source = FromBytes(table, "x.yaml");
  source.with = {path};
  return source;
}

TEST(Read, BlamesTheModelBesideATableThatBreaksTheRuleItself) {
  const auto read = Read(
      TableBeside("- nodeOutputName: 'x:0'\n  scale: 0.5\n  offset: 0\n", WithUnknownAttribute()),
      *FindKind("glow"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << read.error().Text();
  EXPECT_TRUE(read.error().message.starts_with("the model read breaks a rule: "))
      << read.error().message;
}

}  // namespace
}  // namespace qtx::convert::kinds_test
