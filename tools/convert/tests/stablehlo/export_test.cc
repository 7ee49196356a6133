// Models written as StableHLO programs: their text, and what reading it gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/graph/graph_builder.h"
#include "stablehlo/mlir_out.h"
#include "tests/stablehlo/maker.h"

namespace qtx::convert::stablehlo_test {
namespace {

using format::ElementType;
using format::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TensorType Type(ElementType type, const format::Dims& dims, std::vector<float> scale = {},
                std::vector<std::int32_t> offset = {}, std::vector<std::int64_t> axis = {}) {
  TensorType result{.elem_type = type, .shape = format::ToShape(dims)};
  if (scale.empty()) return result;
  result.quantization.emplace();
  result.quantization->scale = std::move(scale);
  result.quantization->offset = std::move(offset);
  result.quantization->axis = std::move(axis);
  return result;
}

format::Tensor Integers(const TensorType& type, const std::vector<std::int64_t>& values) {
  auto tensor =
      format::MakeTensor(type.elem_type, *format::FixedDims(*type.shape), type.quantization);
  format::PackIntegers(values, *tensor);
  return *tensor;
}

format::Model ModelOf(graph::GraphBuilder& builder) {
  format::Model model;
  model.ir_version = 10;
  model.opset_imports = {{"", 21, ""}, {std::string(format::kDomain), format::kVersion, ""}};
  model.graph = builder.Finish();
  model.graph.name = "main";
  return model;
}

Result<std::string> Written(const format::Model& model, const Options& options = {}) {
  QTX_ASSIGN_OR_RETURN(const Export written, Write(model, *FindKind("stablehlo"), options));
  return BytesOf(written);
}

std::string ProgramOf(const format::Model& model, const Options& options = {}) {
  const auto text = Written(model, options);
  EXPECT_EQ(ErrorOf(text), "no error");
  return text.has_value() ? *text : "";
}

// A node of one output over inputs and constants.
format::Model OneNode(graph::Draft draft, const std::vector<TensorType>& inputs,
                      const TensorType& output) {
  graph::GraphBuilder builder;
  for (std::size_t i = 0; i < inputs.size(); ++i) builder.AddInput(draft.inputs[i], inputs[i]);
  builder.AddOutput("y", output);
  builder.Add("n", std::move(draft), {"y"});
  return ModelOf(builder);
}

// A convolution of int8 with weights per channel and a bias of int32: 0.5 * 0.25 and 0.5 * 2.
format::Model Convolution() {
  graph::GraphBuilder builder;
  const TensorType w = Type(ElementType::kInt8Q, {2, 1, 1, 1}, {0.25F, 2}, {}, {0});
  const TensorType b = Type(ElementType::kInt32Q, {2}, {0.125F, 1}, {}, {0});
  builder.AddInput("x", Type(ElementType::kInt8Q, {1, 1, 2, 2}, {0.5F}, {3}));
  builder.SetConstant("w", Integers(w, {4, -3}));
  builder.SetConstant("b", Integers(b, {100, -7}));
  builder.AddOutput("y", Type(ElementType::kInt8Q, {1, 2, 2, 2}, {4}, {-1}));
  builder.Add("y", {"Conv", {"x", "w", "b"}, {}}, {"y"});
  return ModelOf(builder);
}

TEST(StablehloExport, WritesAConvolutionAsAChainInUnitsOfBothScales) {
  const std::string text = ProgramOf(Convolution());
  EXPECT_THAT(text, HasSubstr("func.func public @main(%x: "
                              "tensor<1x1x2x2x!quant.uniform<i8:f32, 0.5:3>> loc(\"x\"))"));
  EXPECT_THAT(text, HasSubstr("dense<[[[[4]]], [[[-3]]]]> : tensor<2x1x1x1xi8>}> : () -> "
                              "tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.25,2.0}>>"));
  EXPECT_THAT(text, HasSubstr("!quant.uniform<i32:f32:1, {0.125,1.0}>"));
  EXPECT_THAT(text, HasSubstr("stablehlo.uniform_quantize"));
}

TEST(StablehloExport, GivesTheConvolutionBackWhenItIsRead) {
  const format::Model model = Convolution();
  const auto back = ReadProgram(ProgramOf(model));
  ASSERT_EQ(ErrorOf(back), "no error");
  const format::Graph& graph = back->model.graph;
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op_type, "Conv");
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("x", "w", "b"));
  EXPECT_THAT(graph.nodes[0].outputs, ElementsAre("y"));
  EXPECT_EQ(graph.inputs, model.graph.inputs);
  EXPECT_EQ(graph.outputs, model.graph.outputs);
  EXPECT_EQ(graph.initializers, model.graph.initializers);
}

// The second writing of what was read is the first.
TEST(StablehloExport, WritesTheSameTextOfWhatItRead) {
  const std::string text = ProgramOf(Convolution());
  const auto back = ReadProgram(text);
  ASSERT_EQ(ErrorOf(back), "no error");
  EXPECT_EQ(ProgramOf(back->model), text);
}

// 200 of u8 is -56 of the signless i8 that holds it.
TEST(StablehloExport, WritesUnsignedConstantsInSignlessTypes) {
  const TensorType type = Type(ElementType::kUint8Q, {2}, {0.5F}, {128});
  EXPECT_EQ(*MlirDense(Integers(type, {200, 7})), "dense<[200, 7]> : tensor<2xi8>");
  const std::vector<std::int64_t> many(17, 200);
  const TensorType all = Type(ElementType::kUint8Q, {17}, {0.5F}, {128});
  EXPECT_EQ(*MlirDense(Integers(all, many)), "dense<200> : tensor<17xi8>");
}

// Of 0.1, -0, 2^-149, infinity and 2^127: the shortest decimals of the binary64 numbers.
TEST(StablehloExport, WritesFloatsThatReadBackBitForBit) {
  format::Tensor tensor = *format::MakeTensor(ElementType::kFloat, {5});
  const std::vector<float> values = {0.1F, -0.0F, 1e-45F, INFINITY, 0x1p127F};
  std::copy(values.begin(), values.end(), tensor.As<float>().begin());
  EXPECT_EQ(*MlirDense(tensor),
            "dense<[0.10000000149011612, -0.0, 1.401298464324817e-45, 0x7F800000, "
            "1.7014118346046923e+38]> : tensor<5xf32>");
}

TEST(StablehloExport, WritesBoundsBlocksAndHalves) {
  TensorType type = Type(ElementType::kInt4Q, {2, 4}, {1, 2, 3, 4}, {0, 1, 0, 0}, {0, 1});
  type.quantization->block_shape = {1, 2};
  type.quantization->quant_min = -7;
  type.quantization->real_type = ElementType::kBfloat16;
  EXPECT_EQ(*MlirType({type.elem_type, {2, 4}, type.quantization}),
            "tensor<2x4x!quant.uniform<i4<-7:7>:bf16:{0:1, 1:2}, {{1.0,2.0:1},{3.0,4.0}}>>");
  EXPECT_EQ(*MlirType({ElementType::kUint16, {-2, 3}, {}}), "tensor<?x3xui16>");
}

// Names are text of strangers: none ends its string, and none begins an operator.
TEST(StablehloExport, KeepsHostileNamesInTheirStrings) {
  const std::string name = "a\")\n  return\n}\n// \\\x01%z \xC3\xA9";
  const TensorType type = Type(ElementType::kFloat, {2});
  const format::Model model = OneNode({"Abs", {name}, {}}, {type}, type);
  const std::string text = ProgramOf(model);
  EXPECT_THAT(text, HasSubstr("loc(\"a\\22)\\0A  return\\0A}\\0A// \\5C\\01%z \\C3\\A9\")"));
  EXPECT_THAT(text, HasSubstr("(%a_____return_"));
  const auto back = ReadProgram(text);
  ASSERT_EQ(ErrorOf(back), "no error");
  EXPECT_EQ(back->model.graph.inputs[0].name, name);
}

TEST(StablehloExport, BroadcastsAndGoesOverRealsWhereStoragesDiffer) {
  const TensorType a = Type(ElementType::kInt8Q, {2, 3}, {0.5F});
  const TensorType b = Type(ElementType::kUint8Q, {3}, {0.5F});
  const std::string mixed = ProgramOf(OneNode({"Add", {"a", "b"}, {}}, {a, b}, a));
  EXPECT_THAT(mixed, HasSubstr("stablehlo.broadcast_in_dim %b, dims = [1]"));
  EXPECT_THAT(mixed, HasSubstr("(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"));
  const std::string same = ProgramOf(OneNode({"Add", {"a", "b"}, {}}, {a, a}, a));
  EXPECT_THAT(same, Not(HasSubstr("f32>)")));
}

TEST(StablehloExport, RefusesByNameWhatItCannotSay) {
  const TensorType type = Type(ElementType::kFloat, {2});
  const TensorType eighth = Type(ElementType::kFloat8E4M3FN, {2});
  graph::Draft cast{"Cast", {"x"}, {format::Attribute::Int("to", 17)}};
  EXPECT_THAT(ErrorOf(Written(OneNode(std::move(cast), {type}, eighth))),
              HasSubstr("with saturate to FLOAT8E4M3FN"));
  EXPECT_THAT(ErrorOf(Written(OneNode({"Selu", {"x"}, {}}, {type}, type))),
              HasSubstr("node 'n/Selu' (Selu): the operator has no form in StableHLO"));
  const TensorType small = Type(ElementType::kFloat8E4M3FNQ, {2}, {0.5F});
  EXPECT_THAT(ErrorOf(Written(OneNode({"Abs", {"x"}, {}}, {small}, small))),
              HasSubstr("input 'x': FLOAT8E4M3FNQ: StableHLO's operators take quantized integers"));
  TensorType blocks = Type(ElementType::kInt8Q, {2}, {1, 2}, {}, {0});
  EXPECT_THAT(ErrorOf(Written(OneNode({"Identity", {"x"}, {}}, {blocks}, blocks))), "no error");
  blocks = Type(ElementType::kInt8Q, {4}, {1, 2}, {}, {0});
  blocks.quantization->block_shape = {2};
  EXPECT_THAT(ErrorOf(Written(OneNode({"Abs", {"x"}, {}}, {blocks}, blocks))),
              HasSubstr("node 'n/Abs' (Abs): parameters in blocks"));
  TensorType measured = type;
  measured.statistics.emplace();
  measured.statistics->min = {0};
  measured.statistics->max = {1};
  const format::Model model = OneNode({"Abs", {"x"}, {}}, {measured}, type);
  EXPECT_THAT(ErrorOf(Written(model)), HasSubstr("--allow statistics goes without"));
  Options options;
  options.allow = {"statistics"};
  EXPECT_THAT(ProgramOf(model, options), HasSubstr("stablehlo.abs %x"));
}

// x of 1 and 2 in both channels, and 10 and 20 added along the last axis, which is as long as the
// axis of channels: 11 and 22 in both. As a bias of channels they would give 11 12, 21 22.
TEST(StablehloSums, AreNoBiasAlongAnotherAxis) {
  const auto program = [](const std::string& axis) {
    return R"(
    %x = "stablehlo.constant"() <{value = dense<[[[[1, 2]]]]> : tensor<1x1x1x2xi8>}>
      : () -> tensor<1x1x1x2x!quant.uniform<i8:f32, 1.0>>
    %w = "stablehlo.constant"() <{value = dense<1> : tensor<2x1x1x1xi8>}>
      : () -> tensor<2x1x1x1x!quant.uniform<i8:f32, 1.0>>
    %b = "stablehlo.constant"() <{value = dense<[10, 20]> : tensor<2xi32>}>
      : () -> tensor<2x!quant.uniform<i32:f32, 1.0>>
    %s = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x1x1x2x!quant.uniform<i8:f32, 1.0>>, tensor<2x1x1x1x!quant.uniform<i8:f32, 1.0>>)
      -> tensor<1x2x1x2x!quant.uniform<i32:f32, 1.0>>
    %e = stablehlo.broadcast_in_dim %b, dims = [)" +
           axis + R"(] : (tensor<2x!quant.uniform<i32:f32, 1.0>>)
      -> tensor<1x2x1x2x!quant.uniform<i32:f32, 1.0>>
    %a = stablehlo.add %s, %e : tensor<1x2x1x2x!quant.uniform<i32:f32, 1.0>>
    %r = stablehlo.uniform_quantize %a : (tensor<1x2x1x2x!quant.uniform<i32:f32, 1.0>>)
      -> tensor<1x2x1x2x!quant.uniform<i8:f32, 1.0>>)";
  };
  const std::string type = "tensor<1x2x1x2x!quant.uniform<i8:f32, 1.0>>";
  EXPECT_THAT(Returned(program("3"), type), ElementsAre(11, 22, 11, 22));
  EXPECT_THAT(Returned(program("1"), type), ElementsAre(11, 12, 21, 22));
}

}  // namespace
}  // namespace qtx::convert::stablehlo_test
