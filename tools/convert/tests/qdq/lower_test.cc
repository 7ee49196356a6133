// Lowering: what QDQ cannot say is refused by name, what it can comes back field for field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"
#include "qtx/format/check.h"
#include "qtx/format/description.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::lower_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// x -> Relu -> y, both of `type`, and a weight that nothing reads.
format::Model Extended(ElementType type) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", type, {2, 4})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", type, {2, 4})};
  maker.Node("Relu", {"x"}, {"y"});
  return maker.model;
}

format::Model Lowered(const format::Model& model, std::int64_t opset = 0) {
  const auto lowered = ToQdq(model, {.opset = opset});
  EXPECT_TRUE(lowered.has_value())
      << (lowered.has_value() ? "" : lowered.error().where + ": " + lowered.error().message);
  return lowered.has_value() ? lowered->model : format::Model{};
}

void ExpectComesBack(const format::Model& model, std::int64_t opset = 0) {
  const auto lifted = FromOnnx(Lowered(model, opset));
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == model);
}

// Source: lowering.S1.
TEST(ToQdq, PutsAPairBehindEveryValue) {
  const format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  EXPECT_THAT(OpTypes(lowered), ElementsAre("QuantizeLinear", "DequantizeLinear", "Relu",
                                            "QuantizeLinear", "DequantizeLinear"));
  EXPECT_THAT(lowered.graph.nodes[2].inputs, ElementsAre("x/quantized"));
  EXPECT_THAT(lowered.graph.nodes[2].outputs, ElementsAre("y/real"));
  EXPECT_EQ(lowered.graph.outputs[0].type->elem_type, ElementType::kFloat);
  EXPECT_EQ(lowered.graph.outputs[0].type->quantization->storage_type, ElementType::kInt8);
  EXPECT_EQ(lowered.OpsetVersion("qtx"), 0);
}

// What viewers show that know neither of QTX's fields.  Source: lowering.S3.
TEST(ToQdq, SaysInOnnxsOwnFieldsToo) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.outputs[0].doc_string = "logits";
  const format::Model lowered = Lowered(model);
  const std::string text = format::Description(*model.graph.outputs[0].type);
  EXPECT_EQ(lowered.graph.inputs[0].doc_string, text);
  EXPECT_EQ(lowered.graph.outputs[0].doc_string, "logits\n\n" + text);
  ASSERT_EQ(lowered.graph.quantization_annotations.size(), 2U);
  EXPECT_EQ(lowered.graph.quantization_annotations[1],
            (format::TensorAnnotation{
                "y", {{"SCALE_TENSOR", "y/scale"}, {"ZERO_POINT_TENSOR", "y/zero_point"}}, {}}));
  ExpectComesBack(model);
}

// Source: lowering.S3.
TEST(ToQdq, RaisesTheOpsetOnlyForTypesThatNeedIt) {
  EXPECT_EQ(Lowered(Extended(ElementType::kInt8Q)).OpsetVersion(""), 17);
  EXPECT_EQ(Lowered(Extended(ElementType::kFloat8E4M3FNQ)).OpsetVersion(""), 19);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt16Q)).OpsetVersion(""), 21);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt2Q)).OpsetVersion(""), 25);
  EXPECT_EQ(Lowered(Extended(ElementType::kInt8Q), 13).OpsetVersion(""), 13);
}

// Source: lowering.S5.
TEST(ToQdq, RecordsTheImportsOfTheExtendedForm) {
  const format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  const auto imports = std::ranges::find(lowered.metadata, "qtx.imports",
                                         [](const auto& entry) { return entry.first; });
  ASSERT_NE(imports, lowered.metadata.end());
  EXPECT_EQ(imports->second, "17:=17,qtx=1");
}

// Source: lowering.S6.
TEST(ToQdq, ComesBackForEveryTypeOnnxHas) {
  using enum ElementType;
  for (const ElementType type :
       {kUint8Q, kInt8Q, kUint16Q, kInt16Q, kFloat8E4M3FNQ, kFloat8E4M3FNUZQ, kFloat8E5M2Q,
        kFloat8E5M2FNUZQ, kUint4Q, kInt4Q, kFloat4E2M1Q, kUint2Q, kInt2Q}) {
    SCOPED_TRACE(std::string(format::Name(type)));
    ExpectComesBack(Extended(type));
  }
}

TEST(ToQdq, ComesBackWithStatisticsOriginsAndEveryParameter) {
  format::Model model = Extended(ElementType::kInt8Q);
  format::TensorType& type = *model.graph.outputs[0].type;
  type.quantization =
      format::Quantization{.scale = {1, 2, 3, 4}, .offset = {1, 0, -1, 2}, .axis = {1}};
  type.quantization->scheme = format::Scheme::kAsymmetric;
  type.statistics.emplace();
  type.statistics->min = {-1};
  type.statistics->max = {2};
  type.statistics->source = "calibration";
  model.graph.nodes[0].origin =
      format::Origin{.group = "7", .framework = "tflite", .op_type = "RELU"};
  model.metadata = {{"author", "someone"}};
  ExpectComesBack(model);
}

TEST(ToQdq, ComesBackWithCastsAndBlockedWeights) {
  format::Model model = Extended(ElementType::kInt8Q);
  OnnxMaker maker;
  maker.model = model;
  maker.Node("Cast", {"y"}, {"z"}).attributes = {
      format::Attribute::Int("to", static_cast<int>(ElementType::kInt16Q))};
  maker.model.graph.outputs.push_back(OnnxMaker::Quantized("z", ElementType::kInt16Q, {2, 4}));
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  maker.model.graph.values.push_back(
      OnnxMaker::Quantized("w", ElementType::kInt8Q, {2, 4}, {1, 2}, {1}));
  maker.model.graph.values.back().type->quantization->block_shape = {2};
  maker.Node("Add", {"z", "w"}, {"sum"});
  maker.model.graph.outputs.push_back(OnnxMaker::Quantized("sum", ElementType::kUint8Q, {2, 4}));
  ExpectComesBack(maker.model);
  const format::Model lowered = Lowered(maker.model);
  EXPECT_THAT(lowered.graph.FindInitializer("w/scale")->dims, ElementsAre(2, 2));
}

// The inputs of a DequantizeLinear of [4, 4] in blocks of 2; `offset` has a value for each of 8
// blocks.
std::size_t InputsOfBlocks(std::vector<std::int32_t> offset) {
  OnnxMaker maker(21);
  maker.model = Extended(ElementType::kInt8Q);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {4, 4}, std::vector<std::int8_t>(16, 3));
  maker.model.graph.values.push_back(
      OnnxMaker::Quantized("w", ElementType::kInt8Q, {4, 4}, std::vector<float>(8, 0.5F), {0, 1}));
  format::Quantization& q = *maker.model.graph.values.back().type->quantization;
  q.block_shape = {2, 1};
  q.offset = std::move(offset);
  maker.Node("MatMul", {"y", "w"}, {"product"});
  maker.model.graph.outputs.push_back(OnnxMaker::Quantized("product", ElementType::kInt8Q, {2, 4}));
  ExpectComesBack(maker.model);
  const format::Model lowered = Lowered(maker.model);
  const auto& nodes = lowered.graph.nodes;
  const auto found = std::ranges::find(nodes, "w/DequantizeLinear", &format::Node::name);
  return found == nodes.end() ? 0 : found->inputs.size();
}

// Source: lowering.S1.
TEST(ToQdq, LeavesOutZeroPointsOfBlocksThatAreAll0) {
  EXPECT_EQ(InputsOfBlocks({}), 2U);
  EXPECT_EQ(InputsOfBlocks(std::vector<std::int32_t>(8, 0)), 2U);
  EXPECT_EQ(InputsOfBlocks({0, 0, 0, 0, 0, 0, 0, -1}), 3U);
}

// Source: lowering.S2.
TEST(ToQdq, ClipsToANarrowedRange) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.outputs[0].type->quantization->quant_max = 12;
  const format::Model lowered = Lowered(model);
  EXPECT_THAT(OpTypes(lowered), ElementsAre("QuantizeLinear", "DequantizeLinear", "Relu", "Clip",
                                            "QuantizeLinear", "DequantizeLinear"));
  const auto bound = format::Decode(*lowered.graph.FindInitializer("y/max"));
  EXPECT_EQ(bound->As<float>()[0], 6.0F);
  ExpectComesBack(model);
}

// Source: lowering.S8.
TEST(ToQdq, RefusesByNameWhatQdqCannotSay) {
  const auto bipolar = ToQdq(Extended(ElementType::kBipolar1Q));
  ASSERT_FALSE(bipolar.has_value());
  EXPECT_EQ(bipolar.error().where, "value 'x'");
  EXPECT_THAT(bipolar.error().message, HasSubstr("BIPOLAR1Q"));
  const auto int32 = ToQdq(Extended(ElementType::kInt32Q));
  ASSERT_FALSE(int32.has_value());
  EXPECT_THAT(int32.error().message, HasSubstr("no INT32"));
  format::Model axes = Extended(ElementType::kInt8Q);
  axes.graph.inputs[0] =
      OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1});
  EXPECT_THAT(ToQdq(axes).error().message, HasSubstr("several axes"));
  const auto old = ToQdq(Extended(ElementType::kInt16Q), {.opset = 17});
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().message, "INT16Q needs opset 21, found 17");
}

// Source: versioning.C1. The second lowering records imports without qtx.
TEST(FromQdq, ImportsQtxWhatWasLoweredTwice) {
  const format::Model once = Lowered(Extended(ElementType::kInt8Q));
  const auto lifted = FromOnnx(Lowered(once));
  ASSERT_TRUE(lifted.has_value()) << lifted.error().message;
  const auto findings = format::Check(lifted->model);
  EXPECT_TRUE(findings.empty()) << findings[0].where << ": " << findings[0].message;
}

TEST(FromQdq, TakesNodesWithoutOutputs) {
  for (const char* op : {"Dropout", "MaxPool", "TopK", "Unique"}) {
    OnnxMaker maker;
    maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2, 4})};
    maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2, 4})};
    maker.Parameters("p", 0.5F, 0);
    maker.Quantize("x", "p", "xq");
    maker.Dequantize("xq", "p", "y");
    maker.Node(op, {"y"}, {"none"}).outputs.clear();
    EXPECT_TRUE(FromOnnx(maker.model).has_value()) << op;
  }
}

// Source: quantization.C3. An assertion on the zero points ended the program here.
TEST(ToQdq, RefusesTwoScalesWithoutAnAxisWhereTheShapeIsUnknown) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.inputs[0].type->shape.reset();
  model.graph.inputs[0].type->quantization->scale = {1, 2};
  const auto lowered = ToQdq(model);
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().message, "found 2 scales and 0 offsets, expected 1");
}

// x -> ReduceMean over axis 0 -> y, of opset 17.
format::Model WithAxes(ElementType type) {
  format::Model model = Extended(type);
  model.graph.nodes[0].op_type = "ReduceMean";
  model.graph.nodes[0].attributes = {format::Attribute::Ints("axes", {0})};
  model.graph.outputs[0].type->shape = format::ToShape(format::Dims{1, 4});
  return model;
}

// Source: lowering.S3, S10.
TEST(ToQdq, WritesNodesInTheFormOfTheOpsetThatItRaises) {
  const format::Model model = WithAxes(ElementType::kInt16Q);
  const format::Model lowered = Lowered(model);
  EXPECT_EQ(lowered.OpsetVersion(""), 21);
  EXPECT_THAT(lowered.graph.nodes[2].inputs, ElementsAre("x/quantized", "y/axes"));
  ExpectComesBack(model);
}

// Source: lowering.S10.
TEST(ToQdq, ComesBackFromEachOpset) {
  const format::Model model = WithAxes(ElementType::kInt8Q);
  for (std::int64_t opset = 13; opset <= format::NewestOpset(); ++opset)
    ExpectComesBack(model, opset);
}

// A Softmax over two axes is four nodes since 13, whose values have no declaration.
TEST(ToQdq, ComesBackFromSeveralNodesOfOne) {
  for (const std::int64_t opset : {0, 13, 28}) {
    format::Model model = Extended(ElementType::kInt8Q);
    model.opset_imports[0].version = 11;
    model.graph.nodes[0].op_type = "Softmax";
    model.graph.nodes[0].attributes = {format::Attribute::Int("axis", 0)};
    const format::Model lowered = Lowered(model, opset);
    EXPECT_THAT(OpTypes(lowered), testing::Contains("Flatten"));
    EXPECT_TRUE(format::Check(lowered).empty());
    ExpectComesBack(model, opset);
  }
}

// Source: lowering.S10.
TEST(FromQdq, KeepsTheOpsetWhereTheRecordIsOfOtherNodes) {
  const format::Model lowered = Lowered(WithAxes(ElementType::kInt8Q), 18);
  const auto record =
      std::ranges::find(lowered.metadata, "qtx.opset", &std::pair<std::string, std::string>::first);
  ASSERT_NE(record, lowered.metadata.end());
  EXPECT_THAT(record->second, testing::StartsWith("8;+1-1;-1;;"));
  const std::size_t lost = record->second.rfind(';') + 1;
  for (const std::string& text :
       {std::string(), std::string("8"), std::string("8;=1;-1;;"), std::string("8;=9;;;"),
        "8;+2-1;-1;;" + record->second.substr(lost), "8;+1-1;=1;;" + record->second.substr(lost),
        "8;+1-1;-1;;" + record->second.substr(lost + 4),
        "8;*1-1;-1;;" + record->second.substr(lost), "8;+1;-1;;" + record->second.substr(lost)}) {
    format::Model changed = lowered;
    changed.metadata[static_cast<std::size_t>(record - lowered.metadata.begin())].second = text;
    const auto lifted = FromOnnx(changed);
    ASSERT_TRUE(lifted.has_value()) << lifted.error().Text();
    EXPECT_EQ(lifted->model.OpsetVersion(""), 18) << text;
    EXPECT_TRUE(format::Check(lifted->model).empty()) << text;
    EXPECT_THAT(lifted->ledger,
                testing::Contains(testing::Field(&LedgerEntry::field, "qtx.opset")));
  }
}

// Source: lowering.S9, S10.
TEST(FromQdq, KeepsTheOpsetWhereAToolAddedNodes) {
  OnnxMaker maker;
  maker.model = Lowered(WithAxes(ElementType::kInt8Q), 18);
  maker.Node("Relu", {"y"}, {"z"});
  maker.model.graph.outputs.push_back(OnnxMaker::Value("z", ElementType::kFloat, {1, 4}));
  const auto lifted = FromOnnx(maker.model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().Text();
  EXPECT_EQ(lifted->model.OpsetVersion(""), 18);
  EXPECT_EQ(format::FindMetadata(lifted->model.metadata, "qtx.opset"), nullptr);
}

TEST(ToQdq, KeepsItsNamesApartFromTheModels) {
  format::Model model = Extended(ElementType::kInt8Q);
  model.graph.nodes[0].outputs = {"x/stored"};
  model.graph.outputs[0].name = "x/stored";
  ExpectComesBack(model);
}

// x -> Identity -> m -> Add w -> y, all of one granularity.
format::Model OfGranularity(ElementType type, const format::Dims& dims,
                            const std::vector<std::int64_t>& axes,
                            const std::vector<std::int64_t>& blocks) {
  const auto quantized = [&](const std::string& name) {
    format::ValueInfo info = OnnxMaker::Quantized(name, type, dims, {}, axes);
    format::Quantization& q = *info.type->quantization;
    q.block_shape = blocks;
    const std::int64_t count = *format::ElementCount(*format::ParameterDims(q, dims));
    for (std::int64_t i = 0; i < count; ++i) {
      q.scale.push_back(1 + static_cast<float>(i) / 8);
      if (format::IsIntegerStorage(type)) q.offset.push_back(static_cast<std::int32_t>(i % 2));
    }
    return info;
  };
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {quantized("x")};
  maker.model.graph.values = {quantized("m"), quantized("w")};
  maker.model.graph.outputs = {quantized("y")};
  maker.model.graph.initializers = {format::ToTensorData("w", *format::MakeTensor(type, dims))};
  maker.Node("Identity", {"x"}, {"m"});
  maker.Node("Add", {"m", "w"}, {"y"});
  for (const format::Finding& finding : format::Check(maker.model))
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  return maker.model;
}

// Source: lowering.S6, S8.
TEST(ToQdq, ComesBackForEveryGranularityThatOnnxHas) {
  int refused = 0, returned = 0;
  const auto check = [&](ElementType type, const format::Dims& dims,
                         const std::vector<std::int64_t>& axes,
                         const std::vector<std::int64_t>& blocks) {
    SCOPED_TRACE(std::string(format::Name(type)) + format::ToString(dims) + " axes " +
                 format::ToString(axes) + " blocks " + format::ToString(blocks));
    const format::Model model = OfGranularity(type, dims, axes, blocks);
    const auto blocked = std::ranges::count_if(blocks, [](auto block) { return block > 1; });
    if (blocked > 1 || (axes.size() > 1 && blocked == 0)) {
      EXPECT_EQ(ToQdq(model).error().code, ErrorCode::kUnsupported);
      ++refused;
      return;
    }
    ExpectComesBack(model);
    ++returned;
  };
  for (const ElementType type :
       {ElementType::kInt8Q, ElementType::kUint4Q, ElementType::kFloat8E4M3FNQ}) {
    for (const format::Dims& dims : {format::Dims{4}, {2, 3}, {2, 3, 4}, {0, 4}, {4, 0}}) {
      check(type, dims, {}, {});
      const std::int64_t rank = std::ssize(dims);
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        check(type, dims, {axis}, {});
        for (const std::int64_t block : {1, 2, 3, 5}) {
          check(type, dims, {axis}, {block});
          const std::int64_t other = (axis + 1) % rank;
          if (other == axis) continue;
          check(type, dims, {axis, other}, {block, 1});
          check(type, dims, {other, axis}, {2, block});
        }
      }
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(returned, 200);
}

// What the extended form has of stock quantization is its own, not a type.  Source: lowering.S9.
TEST(ToQdq, ComesBackWithPairsAndOperatorsOnIntegersOfItsOwn) {
  OnnxMaker maker;
  maker.model = Extended(ElementType::kInt8Q);
  maker.Parameters("a", 0.5F, 3);
  maker.model.graph.inputs.push_back(OnnxMaker::Value("f", ElementType::kFloat, {2, 4}));
  maker.model.graph.inputs.push_back(OnnxMaker::Value("i", ElementType::kInt8, {4, 4}));
  maker.model.graph.outputs.push_back(OnnxMaker::Value("g", ElementType::kFloat, {2, 4}));
  maker.model.graph.outputs.push_back(OnnxMaker::Value("p", ElementType::kInt8, {2, 4}));
  maker.Quantize("f", "a", "fq");
  maker.Dequantize("fq", "a", "g");
  // A remark about how g might be quantized, of the same parameters.
  format::TensorType& g = *maker.model.graph.outputs.front().type;
  maker.model.graph.outputs[1].type = format::Annotated(g);
  maker.model.graph.outputs[1].type->quantization->offset = {3};
  maker.Node("QLinearMatMul", {"fq", "a/scale", "a/zp", "i", "a/scale", "a/zp", "a/scale", "a/zp"},
             {"p"});
  ExpectComesBack(maker.model);
}

// Source: lowering.S3, S5.
TEST(ToQdq, LeavesTheImportsOfAModelWithoutQuantizedValues) {
  OnnxMaker maker(9);
  maker.model.opset_imports = {{"ai.onnx.ml", 1}};
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Node("Binarizer", {"x"}, {"y"}).domain = "ai.onnx.ml";
  EXPECT_EQ(Lowered(maker.model).opset_imports, maker.model.opset_imports);
  ExpectComesBack(maker.model);
  // The pairs need one; the extended form did without.
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs[0] = OnnxMaker::Quantized("x", ElementType::kInt8Q, {2});
  EXPECT_EQ(Lowered(maker.model).OpsetVersion(""), 13);
  ExpectComesBack(maker.model);
}

// A tool that drops unknown fields leaves stock QDQ and the seal in metadata_props.
TEST(FromQdq, SaysHowManyAnnotationsWereLost) {
  format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  lowered.graph.outputs[0].type->quantization.reset();
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_THAT(lifted->ledger,
              testing::Contains(testing::Field(&LedgerEntry::why,
                                               HasSubstr("2 annotated values written, 1 left"))));
  EXPECT_THAT(OpTypes(lifted->model), ElementsAre("Relu", "Cast"));
  EXPECT_TRUE(format::Check(lifted->model).empty());
}

// Source: lowering.S7.
TEST(FromQdq, BelievesTheNodesOverAnAnnotationThatDisagrees) {
  format::Model lowered = Lowered(Extended(ElementType::kInt8Q));
  lowered.graph.outputs[0].type->quantization->scale = {8};
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_THAT(lifted->model.graph.outputs[0].type->quantization->scale, ElementsAre(0.5F));
}

std::vector<std::string> Changed(const Conversion& lifted) {
  std::vector<std::string> lines;
  for (const LedgerEntry& entry : lifted.ledger) {
    if (entry.fate == LedgerEntry::Fate::kChanged)
      lines.push_back(entry.value + " " + entry.field + ": " + entry.why);
  }
  return lines;
}

// Lowered y -> Relu -> r2 -> Q -> DQ -> y2, as another tool leaves it.
format::Model WithAddedPair() {
  OnnxMaker maker;
  maker.model = Lowered(Extended(ElementType::kInt8Q));
  maker.model.graph.values.push_back(maker.model.graph.outputs[0]);
  maker.model.graph.outputs = {OnnxMaker::Value("y2", ElementType::kFloat, {2, 4})};
  maker.Parameters("b", 0.25F, -5);
  maker.Node("Relu", {"y"}, {"r2"});
  maker.Quantize("r2", "b", "q2");
  maker.Dequantize("q2", "b", "y2");
  return maker.model;
}

// Source: lowering.S9.
TEST(FromQdq, TakesPairsThatAToolAddedToALoweredModelForTypes) {
  const auto lifted = FromOnnx(WithAddedPair());
  ASSERT_TRUE(lifted.has_value());
  EXPECT_TRUE(format::Check(lifted->model).empty());
  EXPECT_THAT(OpTypes(lifted->model), ElementsAre("Relu", "Relu", "Cast"));
  const format::TensorType& y = *lifted->model.graph.FindValue("y")->type;
  EXPECT_EQ(y.elem_type, ElementType::kInt8Q);
  EXPECT_THAT(y.quantization->scale, ElementsAre(0.5F));
  const format::TensorType& q2 = *lifted->model.graph.FindValue("q2")->type;
  EXPECT_EQ(q2.elem_type, ElementType::kInt8Q);
  EXPECT_THAT(q2.quantization->scale, ElementsAre(0.25F));
  EXPECT_THAT(q2.quantization->offset, ElementsAre(-5));
  EXPECT_EQ(lifted->model.OpsetVersion("qtx"), 1);
  EXPECT_THAT(Changed(*lifted),
              testing::IsSupersetOf({HasSubstr("model nodes: 5 written, 8 found"),
                                     HasSubstr("q2 elem_type: INT8Q from QuantizeLinear")}));
}

// A record of nothing, or of an earlier program, which recorded no nodes.
TEST(FromQdq, TakesPairsForTypesWhereNoNodesAreRecorded) {
  for (const bool mixed : {false, true}) {
    format::Model model = WithAddedPair();
    std::erase_if(model.metadata, [](const auto& entry) { return entry.first == "qtx.nodes"; });
    if (!mixed) {
      for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
        for (format::ValueInfo& info : *list) info.type->quantization.reset();
      }
      // lowering.S4 of a graph without annotations.
      model.metadata = {{"qtx.annotations", "0:081e2407b4da1cf7"}};
    }
    const auto lifted = FromOnnx(model);
    ASSERT_TRUE(lifted.has_value());
    EXPECT_EQ(std::ranges::count(OpTypes(lifted->model), "QuantizeLinear"), 0) << mixed;
    EXPECT_EQ(lifted->model.graph.FindValue("q2")->type->elem_type, ElementType::kInt8Q);
    EXPECT_THAT(Changed(*lifted), testing::Contains(HasSubstr("model nodes: not recorded")));
  }
}

// INT16Q needs opset 21. Where a tool adds what only opset 21 means so, the file's opset stays.
TEST(FromQdq, RestoresTheOpsetOnlyWhereAllNodesMeanTheSame) {
  OnnxMaker maker;
  maker.model = Lowered(Extended(ElementType::kInt16Q));
  ASSERT_EQ(maker.model.OpsetVersion(""), 21);
  maker.Node("Relu", {"x"}, {"z"});
  maker.model.graph.outputs.push_back(OnnxMaker::Value("z", ElementType::kFloat, {2, 4}));
  EXPECT_EQ(FromOnnx(maker.model)->model.OpsetVersion(""), 17);
  maker.model.graph.nodes.back().op_type = "Gelu";
  const format::Model lifted = FromOnnx(maker.model)->model;
  EXPECT_EQ(lifted.OpsetVersion(""), 21);
  EXPECT_EQ(lifted.OpsetVersion("qtx"), 1);
}

// A converter of versions may leave nodes and annotations, and raise the opset: what is recorded is
// of another.
TEST(FromQdq, ImportsQtxWhereTheRecordIsOfAnotherOpset) {
  format::Model model = Lowered(Extended(ElementType::kInt8Q));
  model.opset_imports[0].version = 18;
  const auto lifted = FromOnnx(model);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_EQ(lifted->model.OpsetVersion(""), 18);
  EXPECT_EQ(lifted->model.OpsetVersion("qtx"), 1);
  EXPECT_TRUE(format::Check(lifted->model).empty());
}

// The blocks of a node are compared, too.  Source: lowering.S7.
TEST(FromQdq, BelievesTheNodesOverBlocksThatDisagree) {
  format::Model model = Lowered(OfGranularity(ElementType::kInt8Q, {4}, {0}, {2}));
  for (format::TensorData& data : model.graph.initializers) {
    if (data.name != "m/scale") continue;
    format::Tensor changed = *format::Decode(data);
    changed.As<float>()[1] = 7;
    data = format::ToTensorData("m/scale", changed);
  }
  const auto lifted = FromOnnx(model);
  ASSERT_TRUE(lifted.has_value());
  EXPECT_THAT(lifted->model.graph.FindValue("m")->type->quantization->scale, ElementsAre(1, 7));
  EXPECT_THAT(lifted->model.graph.FindValue("y")->type->quantization->scale,
              ElementsAre(1, 1.125F));
}

}  // namespace
}  // namespace qtx::convert::lower_test
