// What QONNX can say comes back field for field; what it cannot is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/qonnx/maker.h"

namespace qtx::convert::export_test {
namespace {

namespace fs = std::filesystem;
using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

Result<format::Model> Exported(const format::Model& model) {
  QTX_ASSIGN_OR_RETURN(Export written, Write(model, *FindKind("qonnx"), {}));
  return std::get<format::Model>(std::move(written.content));
}

std::string Refusal(const format::Model& model) {
  const auto written = Exported(model);
  return written.has_value() ? "" : written.error().where + ": " + written.error().message;
}

void ExpectComesBack(const format::Model& model) {
  ASSERT_TRUE(format::Check(model).empty()) << format::Check(model)[0].message;
  const auto written = Exported(model);
  ASSERT_TRUE(written.has_value()) << Refusal(model);
  const auto bytes = written->Serialize();
  const auto read = format::Model::Parse(*bytes);
  const auto back = FromOnnx(*read);
  ASSERT_TRUE(back.has_value()) << back.error().where << ": " << back.error().message;
  EXPECT_TRUE(back->model == *format::Model::Parse(*model.Serialize()));
}

// x -> Relu -> y of `type`, and weights of four integers that a MatMul reads.
OnnxMaker Extended(ElementType type, std::vector<float> scale = {0.5F},
                   std::vector<std::int64_t> axis = {}) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", type, {2, 4}, scale, axis)};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", type, {2, 4}, scale, axis)};
  maker.Node("Relu", {"x"}, {"y"});
  return maker;
}

TEST(ToQonnx, PutsAQuantBehindEveryValue) {
  const auto written = Exported(Extended(ElementType::kInt4Q).model);
  ASSERT_TRUE(written.has_value());
  EXPECT_THAT(OpTypes(*written), ElementsAre("Quant", "Relu", "Quant"));
  const format::Node& quant = written->graph.nodes[2];
  EXPECT_EQ(quant.domain, "qonnx.custom_op.general");
  EXPECT_THAT(quant.inputs, ElementsAre("y/real", "y/scale", "y/zero_point", "y/bit_width"));
  EXPECT_EQ(quant.IntOr("signed", 0), 1);
  EXPECT_EQ(written->OpsetVersion("qonnx.custom_op.general"), 1);
  EXPECT_EQ(written->OpsetVersion("qtx"), 0);
}

TEST(ToQonnx, BringsEveryIntegerTypeBack) {
  using enum ElementType;
  for (const ElementType type : {kUint2Q, kInt2Q, kUint4Q, kInt4Q, kUint8Q, kInt8Q, kUint16Q,
                                 kInt16Q, kInt32Q, kBipolar1Q}) {
    SCOPED_TRACE(format::Name(type));
    ExpectComesBack(Extended(type).model);
    ExpectComesBack(Extended(type, {0.5F, 0.25F}, {0}).model);
    ExpectComesBack(Extended(type, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1}).model);
  }
}

TEST(ToQonnx, BringsOffsetsSchemeStatisticsAndWidthsBack) {
  format::Model model = Extended(ElementType::kInt8Q).model;
  for (auto* list : {&model.graph.inputs, &model.graph.outputs}) {
    format::TensorType& type = *list->at(0).type;
    type.quantization->offset = {3};
    type.quantization->scheme = format::Scheme::kAsymmetric;
    type.quantization->quant_min = -8;  // four bits in eight
    type.quantization->quant_max = 7;
    type.statistics.emplace();
    type.statistics->min = {-1};
    type.statistics->max = {2};
  }
  ExpectComesBack(model);
}

// No bit width has -3 to 100: a Clip from -1.5 to 50 says it.
TEST(ToQonnx, SaysOtherRangesWithAClip) {
  format::Model model = Extended(ElementType::kInt8Q).model;
  model.graph.outputs[0].type->quantization->quant_min = -3;
  model.graph.outputs[0].type->quantization->quant_max = 100;
  EXPECT_THAT(OpTypes(*Exported(model)), ElementsAre("Quant", "Relu", "Clip", "Quant"));
  ExpectComesBack(model);
  model.graph.inputs[0].type->quantization->quant_min = -3;
  EXPECT_THAT(Refusal(model), HasSubstr("value 'x': a range that no bit width has"));
}

TEST(ToQonnx, BringsWeightsBackWithEveryStoredValue) {
  OnnxMaker maker = Extended(ElementType::kInt8Q);
  std::vector<std::int8_t> all;
  for (int value = -128; value < 128; ++value) all.push_back(static_cast<std::int8_t>(value));
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {4, 64}, all);
  maker.model.graph.values = {
      OnnxMaker::Quantized("w", ElementType::kInt8Q, {4, 64}, {0.1F, 0.3F, 1e-20F, 3e20F}, {0})};
  maker.model.graph.values[0].type->quantization->offset = {1, -128, 0, 127};
  maker.model.graph.outputs.push_back(OnnxMaker::Value("z", ElementType::kFloat, {2, 64}));
  maker.Node("MatMul", {"x", "w"}, {"z"});
  ExpectComesBack(maker.model);
}

// Files of exporters use QONNX's operators without importing their domain.
TEST(FromQonnx, LeavesAQuantThatLoweringKept) {
  for (const bool imported : {true, false}) {
    QonnxMaker maker;
    maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
    maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
    maker.Quant("x", "y", 0.5F, 0, 4);
    if (!imported) maker.model.opset_imports.pop_back();
    const auto lowered = Write(maker.model, *FindKind("qdq"), {});
    ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
    const auto back = FromOnnx(std::get<format::Model>(lowered->content));
    ASSERT_TRUE(back.has_value()) << back.error().where << ": " << back.error().message;
    EXPECT_TRUE(back->model == *format::Model::Parse(*maker.model.Serialize())) << imported;
  }
}

TEST(ToQonnx, RefusesWhatQuantCannotSay) {
  format::Model blocks = Extended(ElementType::kInt4Q, {1, 2, 3, 4}, {0, 1}).model;
  for (auto* list : {&blocks.graph.inputs, &blocks.graph.outputs})
    list->at(0).type->quantization->block_shape = {1, 2};
  EXPECT_THAT(Refusal(blocks), HasSubstr("value 'x': Quant has no blocks"));
  EXPECT_THAT(Refusal(Extended(ElementType::kFloat8E4M3FNQ).model),
              HasSubstr("value 'x': Quant has no small floats"));
  // 2^24 + 1 times 1 is no binary32.
  OnnxMaker wide = Extended(ElementType::kInt8Q);
  wide.Initializer<std::int32_t>("w", ElementType::kInt32, {1}, {(1 << 24) + 1});
  wide.model.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt32Q, {1}, {1})};
  EXPECT_THAT(Refusal(wide.model), HasSubstr("value 'w': its reals in binary32 do not determine"));
}

// What was read from QONNX is written as it was: the same again when read.
class QonnxThereAndBack : public testing::TestWithParam<const char*> {};

TEST_P(QonnxThereAndBack, GivesTheSameModel) {
  const fs::path folder = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/qonnx";
  if (!fs::exists(folder)) GTEST_SKIP() << "no corpus beside the source tree";
  const auto source = Open(folder / GetParam() / "model.onnx");
  ASSERT_TRUE(source.has_value());
  const auto read = Read(*source, *FindKind("qonnx"));
  ASSERT_TRUE(read.has_value()) << read.error().where << ": " << read.error().message;
  ExpectComesBack(read->model);
}

INSTANTIATE_TEST_SUITE_P(Models, QonnxThereAndBack,
                         testing::Values("TFC_1W1A", "TFC_2W2A", "eltwise_chanlast",
                                         "espcn_subpixel_quant"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace qtx::convert::export_test
