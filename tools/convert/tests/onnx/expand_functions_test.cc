// Functions of a model's own: expanded where they quantize, kept elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/functions.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::expand_functions_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// A field of a message that has a length below 128. Numbers: onnx.proto.
std::string Field(int number, const std::string& content) {
  const int tag = number << 3 | 2;
  std::string bytes;
  if (tag >= 0x80) bytes += static_cast<char>((tag & 0x7f) | 0x80);
  bytes += static_cast<char>(tag >= 0x80 ? tag >> 7 : tag);
  return bytes + static_cast<char>(content.size()) + content;
}

// NodeProto.
std::string NodeBytes(const std::string& op, const std::vector<std::string>& inputs,
                      const std::string& output, const std::string& rest = "") {
  std::string bytes;
  for (const std::string& input : inputs) bytes += Field(1, input);
  return bytes + Field(2, output) + Field(4, op) + rest;
}

// ModelProto.functions, opset 13 and domain "my".
std::string FunctionBytes(const std::string& name, const std::vector<std::string>& inputs,
                          const std::string& output, const std::vector<std::string>& nodes,
                          char opset = 13) {
  std::string bytes = Field(1, name);
  for (const std::string& input : inputs) bytes += Field(4, input);
  bytes += Field(5, output);
  for (const std::string& node : nodes) bytes += Field(7, node);
  return Field(25, bytes + Field(9, std::string("\x10") + opset) + Field(10, "my"));
}

// my.Round(x, s, z) quantizes and dequantizes; the local "q" is also a value of the model.
std::string Round(char opset = 13) {
  return FunctionBytes("Round", {"x", "s", "z"}, "y",
                       {NodeBytes("QuantizeLinear", {"x", "s", "z"}, "q"),
                        NodeBytes("DequantizeLinear", {"q", "s", "z"}, "y")},
                       opset);
}

std::string Plain() { return FunctionBytes("Plain", {"x"}, "y", {NodeBytes("Tanh", {"x"}, "y")}); }

// LeakyRelu with the call's "slope" as alpha: AttributeProto of name, type FLOAT and ref_attr_name.
std::string Leaky() {
  const std::string alpha = Field(1, "alpha") + "\xa0\x01\x01" + Field(21, "slope");
  return FunctionBytes("Leaky", {"x"}, "y", {NodeBytes("LeakyRelu", {"x"}, "y", Field(5, alpha))});
}

// q = Plain(x); y = Relu(Round(Plain(q))).
OnnxMaker Calls() {
  OnnxMaker maker(13);
  maker.model.opset_imports.push_back({"my", 1});
  maker.Parameters("a", 0.5F, 3);
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2})};
  maker.Node("Plain", {"x"}, {"q"}).domain = "my";
  maker.Node("Sigmoid", {"q"}, {"p"});
  maker.Node("Round", {"p", "a/scale", "a/zp"}, {"r"}).domain = "my";
  maker.Node("Relu", {"r"}, {"y"});
  maker.model.unknown_fields = Plain() + Round();
  return maker;
}

TEST(ExpandFunctions, ExpandsThoseThatQuantizeAndKeepsTheOthers) {
  const auto conversion = FromOnnx(Calls().model);
  ASSERT_TRUE(conversion.has_value()) << conversion.error().where << conversion.error().message;
  const format::Model& model = conversion->model;
  EXPECT_THAT(OpTypes(model), ElementsAre("Plain", "Sigmoid", "Relu"));
  EXPECT_TRUE(format::Check(model).empty());
  EXPECT_EQ(model.unknown_fields, Plain());
  EXPECT_EQ(conversion->ledger[0].value, "r_node");
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value());
  EXPECT_TRUE(FromOnnx(lowered->model)->model == model);
}

TEST(ExpandFunctions, ExpandsWhatStandsNextToAQuantizer) {
  OnnxMaker maker = Calls();
  maker.model.graph.nodes[1].op_type = "Leaky";
  maker.model.graph.nodes[1].domain = "my";
  maker.model.graph.nodes[1].attributes = {format::Attribute::Float("slope", 0.25F)};
  maker.model.unknown_fields += Leaky();
  const auto conversion = FromOnnx(maker.model);
  ASSERT_TRUE(conversion.has_value()) << conversion.error().where << conversion.error().message;
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Plain", "LeakyRelu", "Relu"));
  EXPECT_EQ(conversion->model.graph.nodes[1].FloatOr("alpha", 0), 0.25F);
}

TEST(ExpandFunctions, RefusesOtherOpsetsAndCallsOfThemselves) {
  OnnxMaker maker = Calls();
  maker.model.unknown_fields = Round(12);  // whose nodes mean the same in 13
  EXPECT_TRUE(FromOnnx(maker.model).has_value());
  // Softmax is along axis 1 before opset 13, along the last since.
  maker.model.unknown_fields = FunctionBytes(
      "Round", {"x", "s", "z"}, "y",
      {NodeBytes("Softmax", {"x"}, "t"), NodeBytes("QuantizeLinear", {"t", "s", "z"}, "q"),
       NodeBytes("DequantizeLinear", {"q", "s", "z"}, "y")},
      12);
  EXPECT_EQ(FromOnnx(maker.model).error().message,
            "of opset 12, may mean something else in the model's opset 13");
  maker.model.unknown_fields =
      FunctionBytes("Round", {"x", "s", "z"}, "y",
                    {NodeBytes("Round", {"x", "s", "z"}, "t", Field(7, "my")),
                     NodeBytes("QuantizeLinear", {"t", "s", "z"}, "q"),
                     NodeBytes("DequantizeLinear", {"q", "s", "z"}, "y")});
  EXPECT_THAT(FromOnnx(maker.model).error().message, HasSubstr("or themselves"));
  maker.model.unknown_fields = Field(25, "\x0f");
  EXPECT_THAT(FromOnnx(maker.model).error().message, HasSubstr("FunctionProto"));
}

// Each function calls the one before twice: 2^30 nodes.
TEST(ExpandFunctions, HasABound) {
  OnnxMaker maker = Calls();
  maker.model.unknown_fields = Round();
  std::string last = "Round";
  for (const char* name : {"F1", "F2", "F3", "F4", "F5", "F6"}) {
    std::vector<std::string> nodes;
    std::string from = "x";
    for (int i = 0; i < 16; ++i) {
      const std::string to = i == 15 ? "y" : "t" + std::to_string(i);
      nodes.push_back(NodeBytes(last, {from, "s", "z"}, to, Field(7, "my")));
      from = to;
    }
    std::string bytes =
        Field(1, name) + Field(4, "x") + Field(4, "s") + Field(4, "z") + Field(5, "y");
    for (const std::string& node : nodes) bytes += Field(7, node);
    bytes += Field(9, std::string("\x10\x0d")) + Field(10, "my");
    // Its length takes two bytes.
    maker.model.unknown_fields += "\xca\x01";
    maker.model.unknown_fields += static_cast<char>((bytes.size() & 0x7f) | 0x80);
    maker.model.unknown_fields += static_cast<char>(bytes.size() >> 7);
    maker.model.unknown_fields += bytes;
    last = name;
  }
  maker.model.graph.nodes[2].op_type = last;
  const auto refused = FromOnnx(maker.model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge) << refused.error().message;
}

}  // namespace
}  // namespace qtx::convert::expand_functions_test
