// Code books and scales of 0 and below, in stock ONNX and in forms that have neither.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::code_book_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// y = MatMul(x, w), w UINT4Q [4,2] of 16 values in blocks of 2 along axis 0.
format::Model WithCodeBook() {
  OnnxMaker maker(21);
  maker.model.opset_imports.push_back({"qtx", format::kCodeBooksVersion});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {3, 4})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {3, 2})};
  maker.Initializer<std::uint8_t>("w", ElementType::kUint4, {4, 2}, {0x10, 0x32, 0x54, 0xF6});
  maker.model.graph.initializers[0].dims = {4, 2};
  format::ValueInfo w = OnnxMaker::Quantized("w", ElementType::kUint4Q, {4, 2}, {1, -2, 0, 0.5F});
  format::Quantization& q = *w.type->quantization;
  q.axis = {0, 1};
  q.block_shape = {2, 1};
  std::vector<float> book;
  for (int code = 0; code < 16; ++code) book.push_back(static_cast<float>(code * code) - 3.5F);
  format::SetCodeBook(book, q);
  maker.model.graph.values = {w};
  maker.Node("MatMul", {"x", "w"}, {"y"});
  const auto findings = format::Check(maker.model);
  EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
  return maker.model;
}

void ExpectComesBack(const format::Model& model) {
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().where << ": " << lowered.error().message;
  const auto findings = format::Check(lowered->model);
  EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
  const auto lifted = FromOnnx(lowered->model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == model);
  const auto read = format::Model::Parse(*lowered->model.Serialize());
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(FromOnnx(*read)->model == model);
}

// Scales 1, -2 of block 0, rows 0 to 2; 0, 0.5 of row 3.  Source: lowering.S2.
TEST(ToQdq, RepeatsScalesOfACodeBookWhoseLastBlockIsShort) {
  format::Model model = WithCodeBook();
  model.graph.values[0].type->quantization->block_shape = {3, 1};
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
  const auto scale = format::Decode(*lowered->model.graph.FindInitializer("w/scale"));
  EXPECT_THAT(scale->As<float>(), ElementsAre(1, -2, 1, -2, 1, -2, 0, 0.5F));
  ExpectComesBack(model);
}

TEST(ToQdq, LooksUpACodeBookInBlocks) {
  const auto lowered = ToQdq(WithCodeBook());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
  EXPECT_THAT(OpTypes(lowered->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "Cast", "Gather", "Reshape", "Mul",
                          "Reshape", "MatMul", "QuantizeLinear", "DequantizeLinear"));
  EXPECT_EQ(lowered->model.graph.FindInitializer("w/scale")->dims, (format::Dims{2, 1, 2}));
  ExpectComesBack(WithCodeBook());
}

TEST(ToQdq, AddsABaseToWhatACodeBookGives) {
  format::Model model = WithCodeBook();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.base_levels = {{.value = {1, 2, 3, 4}}};
  EXPECT_THAT(OpTypes(ToQdq(model)->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "Cast", "Gather", "Reshape", "Mul",
                          "Add", "Reshape", "MatMul", "QuantizeLinear", "DequantizeLinear"));
  ExpectComesBack(model);
}

TEST(ToQdq, LooksUpACodeBookOfOneScaleWithoutAReshape) {
  format::Model model = WithCodeBook();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.axis.clear();
  q.block_shape.clear();
  q.scale = {-0.25F};
  EXPECT_THAT(OpTypes(ToQdq(model)->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "Cast", "Gather", "Mul", "MatMul",
                          "QuantizeLinear", "DequantizeLinear"));
  ExpectComesBack(model);
}

// Another table than the annotation's: the nodes stay.
TEST(FromOnnx, TakesNoCodeBookThatTheNodesContradict) {
  format::Model lowered = ToQdq(WithCodeBook())->model;
  for (format::TensorData& data : lowered.graph.initializers) {
    if (data.name != "w/code_book") continue;
    format::Tensor table = *format::Decode(data);
    table.As<float>()[3] = 99;
    data = format::ToTensorData(data.name, table);
  }
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value());
  const std::vector<std::string> types = OpTypes(lifted->model);
  EXPECT_EQ(std::ranges::count(types, "Gather"), 1);
}

TEST(ToQdq, KeepsScalesOfZeroAndBelow) {
  format::Model model = WithCodeBook();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.code_book.clear();
  q.must_understand.clear();
  q.offset = {1, 2, 3, 4};
  EXPECT_THAT(OpTypes(ToQdq(model)->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul",
                          "QuantizeLinear", "DequantizeLinear"));
  ExpectComesBack(model);
}

// As ONNX Runtime's quantizer writes a constant of equal negative values.
TEST(FromOnnx, TakesANegativeScaleOfAConstantAlone) {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Initializer<std::int8_t>("c", ElementType::kInt8, {2}, {-128, 127});
  maker.Parameters("p", -0.5F, 3);
  maker.Dequantize("c", "p", "w");
  maker.Node("Add", {"x", "w"}, {"y"});
  const auto lifted = FromOnnx(maker.model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().message;
  EXPECT_THAT(OpTypes(lifted->model), ElementsAre("Add"));
  EXPECT_TRUE(format::Check(lifted->model).empty());
  EXPECT_EQ(lifted->model.OpsetVersion("qtx"), format::kCodeBooksVersion);
  maker.Quantize("y", "p", "q");
  maker.Dequantize("q", "p", "z");
  maker.model.graph.outputs[0].name = "z";
  const auto refused = FromOnnx(maker.model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("expected a finite value above 0"));
}

TEST(Kinds, WithoutCodeBooksRefuseThem) {
  format::Model model = WithCodeBook();
  for (const Kind& kind : Kinds()) {
    // GGUF has code books of its own, safetensors takes what it gave alone.
    const bool others = kind.name == "gguf" || kind.name == "safetensors";
    if (others || kind.name == "qdq" || kind.name == "qtx" || kind.write == nullptr) continue;
    const auto refused = Write(model, kind);
    ASSERT_FALSE(refused.has_value()) << kind.name;
    EXPECT_THAT(refused.error().where, EndsWith("value 'w'")) << kind.name;
    EXPECT_THAT(refused.error().message, HasSubstr("code_book")) << kind.name;
  }
}

TEST(Diff, TellsCodeBooksApart) {
  format::Model other = WithCodeBook();
  other.graph.values[0].type->quantization->code_book[5] = 0;
  const auto differences = Diff(WithCodeBook(), other);
  ASSERT_TRUE(differences.has_value());
  EXPECT_EQ(differences->size(), 1U);
}

}  // namespace
}  // namespace qtx::convert::code_book_test
