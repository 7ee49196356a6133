// Scales as the hexadecimal digits of their 32 bits: sign, exponent + 127, 23 bits of fraction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/files.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::cache_test {
namespace {

using format::ElementType;
using testing::HasSubstr;

std::string Written(const format::Model& model, const Options& options = {}) {
  const auto written = Write(model, *FindKind("tensorrt"), options);
  return written.has_value() ? std::get<std::string>(written->content) : ErrorOf(written);
}

format::Model Net(float x_scale, float y_scale) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Quantized("x:0", ElementType::kInt8Q, {2}, {x_scale})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2}, {y_scale})};
  maker.Node("Relu", {"x:0"}, {"y"});
  return maker.model;
}

// 0.0625 = 2^-4: exponent 123 = 0x7B, 0 01111011 000... = 3D800000.
// 1.5 * 2^-7: exponent 120 = 0x78, fraction 0x400000: 0 01111000 100... = 3C400000.
TEST(TensorrtCache, HasTheBitsOfEachScaleInHex) {
  EXPECT_EQ(Written(Net(0x1p-4F, 0x1.8p-7F)),
            "TRT-8601-EntropyCalibration2\nx:0: 3d800000\ny: 3c400000\n");
}

// As qtx quantize leaves a model whose inputs and outputs stay FLOAT: TensorRT builds the float
// one, which has x and y alone.
TEST(TensorrtCache, NamesTheFloatValuesThatCastsStandBeside) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.model.graph.values = {
      OnnxMaker::Quantized("x/quantized", ElementType::kInt8Q, {2}, {0x1p-4F}),
      OnnxMaker::Quantized("r", ElementType::kInt8Q, {2}, {0x1p-5F}),
      OnnxMaker::Quantized("y/quantized", ElementType::kInt8Q, {2}, {0x1.8p-7F})};
  const auto cast = [&maker](const char* from, const char* to, ElementType type) {
    maker.Node("Cast", {from}, {to}).attributes = {
        format::Attribute::Int("to", static_cast<std::int64_t>(type))};
  };
  cast("x", "x/quantized", ElementType::kInt8Q);
  maker.Node("Relu", {"x/quantized"}, {"r"});
  maker.Node("Neg", {"r"}, {"y/quantized"});
  cast("y/quantized", "y", ElementType::kFloat);
  EXPECT_EQ(Written(maker.model),
            "TRT-8601-EntropyCalibration2\nx: 3d800000\nr: 3d000000\ny: 3c400000\n");
}

// A subnormal: 2^-149 is the lowest bit alone.
TEST(TensorrtCache, KeepsAllEightDigits) {
  EXPECT_THAT(Written(Net(0x1p-149F, 1.0F)), HasSubstr("x:0: 00000001\ny: 3f800000\n"));
}

TEST(TensorrtCache, TakesItsFirstLineFromTheModel) {
  format::Model net = Net(1.0F, 1.0F);
  net.metadata.emplace_back("tensorrt.header", "TRT-101401-EntropyCalibration2");
  EXPECT_THAT(Written(net), HasSubstr("TRT-101401-EntropyCalibration2\nx:0"));
  net.metadata[0].second = "TRT-1\nz: 0";  // not a line
  EXPECT_THAT(Written(net), HasSubstr("TRT-8601-"));
}

TEST(TensorrtCache, RefusesANameThatALineCannotHold) {
  for (const char* name : {"x\ny", "x\ry", "x: 3f800000", "x\x1b[2J", "x\ty", ""}) {
    format::Model net = Net(1.0F, 1.0F);
    net.graph.outputs[0].name = net.graph.nodes[0].outputs[0] = name;
    EXPECT_THAT(Written(net), testing::Not(HasSubstr("TRT-"))) << name;
  }
  format::Model net = Net(1.0F, 1.0F);
  net.graph.outputs[0].name = net.graph.nodes[0].outputs[0] = "a b:c\xc3\xbc";
  EXPECT_THAT(Written(net), HasSubstr("\na b:c\xc3\xbc: 3f800000\n"));
}

TEST(TensorrtCache, RefusesAnOffsetUnlessAllowed) {
  format::Model net = Net(1.0F, 1.0F);
  net.graph.inputs[0].type->quantization->offset = {-128};
  EXPECT_THAT(Written(net), HasSubstr("x:0: quantization: offset -128"));
  EXPECT_THAT(Written(net), HasSubstr("--allow parameters"));
  EXPECT_EQ(Written(net, {.allow = {"parameters"}}), "TRT-8601-EntropyCalibration2\ny: 3f800000\n");
}

TEST(TensorrtCache, WritesUint8AroundItsMiddleAsInt8) {
  format::Model net = Net(1.0F, 1.0F);
  net.graph.inputs[0].type->elem_type = ElementType::kUint8Q;
  net.graph.inputs[0].type->quantization->offset = {128};
  EXPECT_THAT(Written(net), HasSubstr("x:0: 3f800000\n"));
}

TEST(TensorrtCache, RefusesScalesAlongAnAxisConstantsStatisticsAndLineBreaks) {
  format::Model net = Net(1.0F, 1.0F);
  net.graph.outputs[0] = OnnxMaker::Quantized("y", ElementType::kInt8Q, {2}, {1.0F, 2.0F}, {0});
  EXPECT_THAT(Written(net), HasSubstr("y: quantization: scales along an axis"));
  net = Net(1.0F, 1.0F);
  net.graph.outputs[0].type->statistics.emplace();
  EXPECT_THAT(Written(net), HasSubstr("--allow statistics"));
  net = Net(1.0F, 1.0F);
  net.graph.outputs[0].name = "y\nz";
  EXPECT_THAT(Written(net), HasSubstr("which the cache cannot hold"));
  net = Net(1.0F, 1.0F);
  net.graph.values = {OnnxMaker::Quantized("w", ElementType::kInt8Q, {1})};
  net.graph.initializers = {format::ToTensorData(
      "w", format::Tensor{ElementType::kInt8, {1}, std::nullopt, {std::byte{1}}})};
  EXPECT_THAT(Written(net), HasSubstr("w: quantization: a constant"));
}

}  // namespace
}  // namespace qtx::convert::cache_test
