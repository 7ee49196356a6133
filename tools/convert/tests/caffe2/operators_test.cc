// Operators of Caffe2 one by one. Quantized inputs come out of an Int8Quantize; stored values are
// those of INT8Q, 128 below Caffe2's bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/caffe2/maker.h"

namespace qtx::convert::caffe2_operators_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x -> Int8Quantize of `scale` and `zero_point` -> q
std::string Quantized(const std::string& scale = "1", int zero_point = 128) {
  return Op("Int8Quantize", {"x"}, "q", Y(scale, zero_point));
}
std::string Bytes(const std::string& blob, const std::string& shape, const std::string& values,
                  const std::string& y) {
  return Op("Int8GivenTensorFill", {}, blob,
            Shape(shape) + Arg("values", "s: \"" + values + "\"") + y);
}

TEST(Caffe2, MovesBytesAndZeroPointsBy128) {
  // 0.5, 127.5 and 1000 in units of 0.5: bytes 129, 255 + ..., clamped at 255; 127.5 / 0.5 + 100 =
  // 355.
  EXPECT_THAT(RunNet(Quantized("0.5", 100), {{3}, {0.5F, 1000, -1000}}),
              ElementsAre(101 - 128, 127, -128));
  const auto read = ReadNet(Quantized("0.5", 100));
  ASSERT_TRUE(read.has_value());
  const format::TensorType& type = *read->model.graph.outputs[0].type;
  EXPECT_EQ(type.elem_type, format::ElementType::kInt8Q);
  EXPECT_THAT(type.quantization->offset, ElementsAre(-28));
  const auto entry = std::ranges::find(read->ledger, "elem_type", &LedgerEntry::field);
  ASSERT_NE(entry, read->ledger.end());
  EXPECT_THAT(entry->why, HasSubstr("reduced by 128"));
}

// x is 1, 1.5, -1, -2 in units of 0.5; weights 1 and -1, bias 1 and -1.
// Channel 0: x + 1 = 2, 2.5, 0, -1; channel 1: -x - 1 = -2, -2.5, 0, 1. Relu, then units of 1 and
// zero point 10: the tie 2.5 goes to 2, in QNNPACK away from zero to 3.
std::string ConvRelu() {
  return Quantized("0.5") + Bytes("w", "ints: [2, 1, 1, 1]", "yw", Y("1", 120)) +
         Op("Int8GivenIntTensorFill", {}, "b",
            Shape("ints: 2") + Arg("values", "ints: [2, -2]") + Y("0.5", 0)) +
         Op("Int8ConvRelu", {"q", "w", "b"}, "y",
            Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 1") + Y("1", 10));
}

TEST(Caffe2, ComputesInt8ConvReluInNhwc) {
  const Input x = {{1, 2, 2, 1}, {1, 1.5F, -1, -2}};
  EXPECT_THAT(RunNet(ConvRelu(), x), ElementsAre(-116, -118, -116, -118, -118, -118, -118, -117));
  EXPECT_THAT(RunNet(ConvRelu(), x, "qnnpack"),
              ElementsAre(-116, -118, -115, -118, -118, -118, -118, -117));
}

TEST(Caffe2, KeepsTheNetsOwnOrderAtItsEdges) {
  const auto read = ReadNet(ConvRelu());
  ASSERT_TRUE(read.has_value()) << TextOf(read.error());
  EXPECT_EQ(read->model.graph.inputs[0].name, "x");
  EXPECT_EQ(read->model.graph.outputs[0].name, "y");
  const format::Node& conv = read->model.graph.nodes[2];
  ASSERT_EQ(conv.op_type, "Conv");
  EXPECT_EQ(conv.origin->framework, "caffe2");
  EXPECT_EQ(conv.origin->op_type, "Int8ConvRelu");
  EXPECT_EQ(read->model.graph.outputs[0].type->quantization->quant_min, -118);
}

// Two groups of two channels: y0 = x0 + 2 x1, y1 = 3 x2 + 4 x3, weights [2,1,1,2].
TEST(Caffe2, ComputesGroups) {
  const std::string net =
      Quantized() + Bytes("w", "ints: [2, 1, 1, 2]", "\\1\\2\\3\\4", Y("1", 0)) +
      Op("Int8Conv", {"q", "w"}, "y",
         Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 1") + Arg("group", "i: 2") + Y("1", 128));
  EXPECT_THAT(RunNet(net, {{1, 1, 1, 4}, {1, 10, 1, 10}}), ElementsAre(21, 43));
}

// Beside the weights, scales 1 and 2 and offsets 0 and 1 of the shifted bytes 1 and 4:
// y0 = 1 * (1 - 0) x = x, y1 = 2 * (4 - 1) x = 6 x.
TEST(Caffe2, ReadsAScalePerOutputChannel) {
  const std::string net = Quantized() + Bytes("w", "ints: [2, 1, 1, 1]", "\\x81\\x84", Y("1", 0)) +
                          Op("GivenTensorFill", {}, "w_loaded_scales",
                             Shape("ints: 2") + Arg("values", "floats: [1, 2]")) +
                          Op("GivenTensorIntFill", {}, "w_loaded_offsets",
                             Shape("ints: 2") + Arg("values", "ints: [0, 1]")) +
                          Op("Int8Conv", {"q", "w"}, "y",
                             Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 1") +
                                 Arg("quantize_groupwise", "i: 1") + Y("1", 128));
  const auto read = ReadNet(net);
  ASSERT_TRUE(read.has_value()) << TextOf(read.error());
  EXPECT_THAT(read->model.graph.FindValue("w")->type->quantization->scale, ElementsAre(1, 2));
  EXPECT_THAT(RunNet(net, {{1, 1, 1, 1}, {3}}), ElementsAre(3, 18));
}

// Weights 0 1 2 | 2 1 0, bias -1 | 1 as bytes: 2 + 6 - 1 = 7, 2 + 2 + 1 = 5; halved 3.5 and 2.5, to
// even 4 and 2, in QNNPACK 4 and 3.
TEST(Caffe2, ComputesInt8FcOnAFlattenedValue) {
  const std::string net = Quantized() +
                          Bytes("w", "ints: [2, 3]", "\\1\\2\\3\\3\\2\\1", Y("1", 1)) +
                          Bytes("b", "ints: 2", "\\5\\7", Y("1", 6)) +
                          Op("Int8FC", {"q", "w", "b"}, "f", Arg("axis", "i: 1") + Y("2", 0)) +
                          Op("Int8Dequantize", {"f"}, "y");
  EXPECT_THAT(RunNet(net, {{1, 3, 1, 1}, {1, 2, 3}}), ElementsAre(8, 4));
  EXPECT_THAT(RunNet(net, {{1, 3, 1, 1}, {1, 2, 3}}, "qnnpack"), ElementsAre(8, 6));
}

TEST(Caffe2, ComputesSumsWithAndWithoutRelu) {
  const std::string ones = Quantized() + Bytes("o", "ints: 3", "\\1\\1\\1", Y("1", 0));
  EXPECT_THAT(RunNet(ones + Op("Int8Add", {"q", "o"}, "y", Y("1", 128)), {{3}, {-5, -1, 5}}),
              ElementsAre(-4, 0, 6));
  for (const char* type : {"Int8AddRelu", "Int8SumRelu"})
    EXPECT_THAT(RunNet(ones + Op(type, {"q", "o"}, "y", Y("1", 128)), {{3}, {-5, -1, 5}}),
                ElementsAre(0, 0, 6));
}

// [N,H,W,C] after a pool in NHWC, plus one value per channel: the last dimension of the net's own
// order.
TEST(Caffe2, BroadcastsInTheNetsOwnOrder) {
  const std::string net =
      Op("MaxPool", {"x"}, "p", Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 1")) +
      Op("GivenTensorFill", {}, "c", Shape("ints: 2") + Arg("values", "floats: [100, 200]")) +
      Op("Add", {"p", "c"}, "y", Arg("broadcast", "i: 1"));
  EXPECT_THAT(RunNet(net, {{1, 1, 2, 2}, {1, 2, 3, 4}}), ElementsAre(101, 202, 103, 204));
}

// Columns of a 2 x 2 image with two channels, [N,H,W,C].
TEST(Caffe2, PoolsInNhwc) {
  const Input x = {{1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 6, 40}};
  const std::string window = Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 2") + Y("1", 128);
  EXPECT_THAT(RunNet(Quantized() + Op("Int8MaxPool", {"q"}, "y", window), x), ElementsAre(6, 40));
  EXPECT_THAT(RunNet(Quantized() + Op("Int8AveragePool", {"q"}, "y", window), x),
              ElementsAre(3, 25));
  const std::string global =
      Arg("order", "s: \"NHWC\"") + Arg("global_pooling", "i: 1") + Y("1", 128);
  EXPECT_THAT(RunNet(Quantized() + Op("Int8AveragePool", {"q"}, "y", global), x),
              ElementsAre(3, 25));
}

TEST(Caffe2, ComputesElementwiseOperators) {
  EXPECT_THAT(RunNet(Quantized() + Op("Int8Relu", {"q"}, "y"), {{2}, {-3, 3}}), ElementsAre(0, 3));
  // -8 / 4 = -2
  EXPECT_THAT(
      RunNet(Quantized() + Op("Int8LeakyRelu", {"q"}, "y", Arg("alpha", "f: 0.25") + Y("1", 128)),
             {{2}, {-8, 3}}),
      ElementsAre(-2, 3));
  // 1 / (1 + 1) and 1 / 4 in units of 1 / 256 from -128.
  EXPECT_THAT(RunNet(Quantized() + Op("Int8Sigmoid", {"q"}, "y", Y("0.00390625", 0)), {{1}, {0}}),
              ElementsAre(0));
  EXPECT_THAT(RunNet(Quantized() + Op("Int8Flatten", {"q"}, "f", Y("1", 128)) +
                         Op("Int8Softmax", {"f"}, "y", Y("0.00390625", 0)),
                     {{1, 4}, {7, 7, 7, 7}}),
              ElementsAre(-64, -64, -64, -64));
}

TEST(Caffe2, MovesElements) {
  const Input x = {{1, 1, 1, 4}, {1, 2, 3, 4}};
  const auto run = [&](const std::string& op) { return RunNet(Quantized() + op, x); };
  EXPECT_THAT(run(Op("Int8ChannelShuffle", {"q"}, "y", Arg("group", "i: 2") + Y("1", 128))),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(run(Op("Int8Slice", {"q"}, "y",
                     Arg("starts", "ints: [0, 0, 0, 1]") + Arg("ends", "ints: [-1, -1, -1, -2]"))),
              ElementsAre(2, 3));
  EXPECT_THAT(run(Op("Int8Concat", {"q", "q"}, "y", Arg("order", "s: \"NHWC\"") + Y("1", 128))),
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(run(Op("Int8Reshape", {"q"}, "r", Shape("ints: [2, -1]")) +
                  Op("Int8Transpose", {"r"}, "y", Arg("axes", "ints: [1, 0]"))),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(RunNet(Quantized() + Op("Int8ResizeNearest", {"q"}, "y",
                                      Arg("width_scale", "f: 2") + Y("1", 128)),
                     {{1, 1, 2, 1}, {5, 6}}),
              ElementsAre(5, 5, 6, 6));
  EXPECT_THAT(RunNet(Op("NCHW2NHWC", {"x"}, "y"), {{1, 2, 1, 2}, {1, 2, 3, 4}}),
              ElementsAre(1, 3, 2, 4));
}

// A blob written three times is three values, and the output is the last.
TEST(Caffe2, TellsWritesToOneBlobApart) {
  const std::string net = Op("Relu", {"x"}, "a") + Op("Sum", {"a", "a"}, "a") +
                          Op("Sum", {"a", "x"}, "a") + "external_output: \"a\"\n";
  EXPECT_THAT(RunNet(net, {{2}, {-1, 3}}), ElementsAre(-1, 9));
  // Here the output's name is the input's, too.
  EXPECT_THAT(RunNet(Op("Relu", {"x"}, "x") + "external_output: \"x\"\n", {{2}, {-1, 3}}),
              ElementsAre(0, 3));
}

// 1 2 | 3 4 under a kernel of ones with bias 2, pads of 1: the corner sees 1, the middle all.
TEST(Caffe2, ComputesFloatConvReluInNchw) {
  const std::string net =
      Op("ConstantFill", {}, "w", Shape("ints: [1, 1, 2, 2]") + Arg("value", "f: 1")) +
      Op("GivenTensorFill", {}, "b", Shape("ints: 1") + Arg("values", "floats: -4")) +
      Op("ConvRelu", {"x", "w", "b"}, "y", Arg("kernel", "i: 2") + Arg("pad", "i: 1"));
  EXPECT_THAT(RunNet(net, {{1, 1, 2, 2}, {1, 2, 3, 4}}), ElementsAre(0, 0, 0, 0, 6, 2, 0, 3, 0));
}

TEST(Caffe2, RefusesByOperatorAndReason) {
  EXPECT_THAT(RefusalOf(Op("SparseLengthsSumFused4BitRowwise", {"d", "i", "l"}, "y")),
              HasSubstr("op[0] (SparseLengthsSumFused4BitRowwise): a lookup in a row-wise"));
  EXPECT_THAT(RefusalOf(Op("Int8RoIAlign", {"x"}, "y")), HasSubstr("op[0] (Int8RoIAlign)"));
  EXPECT_THAT(RefusalOf(Op("Int8Relu", {"x"}, "y")),
              HasSubstr("blob 'x': an input whose scale the net does not say"));
  EXPECT_THAT(RefusalOf(Quantized("0")), HasSubstr("Y_scale: found 0x0p+0"));
  EXPECT_THAT(RefusalOf(Quantized("1", 256)), HasSubstr("Y_zero_point: found 256"));
  EXPECT_THAT(RefusalOf(Bytes("w", "ints: [2, 2]", "abc", Y("1", 0)) + Op("Copy", {"w"}, "y")),
              HasSubstr("values: found 3, expected 4"));
}

}  // namespace
}  // namespace qtx::convert::caffe2_operators_test
