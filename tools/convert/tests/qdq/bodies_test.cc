// Graphs within graphs: lowered and lifted, and imported from stock ONNX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "qtx/format/scopes.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::bodies_test {
namespace {

using format::Attribute;
using format::ElementType;
using format::Graph;
using testing::ElementsAre;
using testing::HasSubstr;
using enum format::ElementType;

format::Attribute Body(std::string name, Graph graph) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = format::AttributeType::kGraph;
  attribute.graphs.push_back(std::move(graph));
  return attribute;
}

Graph& BodyOf(format::Model& model, std::size_t attribute) {
  for (format::Node& node : model.graph.nodes) {
    if (!node.attributes.empty() && !node.attributes[0].graphs.empty())
      return node.attributes[attribute].graphs[0];
  }
  ADD_FAILURE() << "no node has a body";
  return model.graph;
}

format::Model Must(const Result<Conversion>& conversion) {
  EXPECT_TRUE(conversion.has_value())
      << (conversion.has_value() ? ""
                                 : conversion.error().where + ": " + conversion.error().message);
  return conversion.has_value() ? conversion->model : format::Model();
}

std::string FirstFinding(const format::Model& model) {
  const auto findings = format::Check(model, "");
  return findings.empty() ? ""
                          : findings[0].rule + " " + findings[0].where + ": " + findings[0].message;
}

void ExpectComesBack(const format::Model& model) {
  EXPECT_EQ(FirstFinding(model), "");
  const format::Model lowered = Must(ToQdq(model));
  EXPECT_EQ(FirstFinding(lowered), "");
  const auto read = format::Model::Parse(*lowered.Serialize());
  ASSERT_TRUE(read.has_value());
  const format::Model lifted = Must(FromOnnx(*read));
  EXPECT_TRUE(lifted == model);
  EXPECT_EQ(*lifted.Serialize(), *model.Serialize());
}

// h = MatMul(x, w); y = Relu(MatMul(h, v)) if c, else Neg(h), whose branches both call it "t". v is
// an initializer of the branch, h captured.
format::Model Branches() {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  Graph& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("c", kBool, {}), OnnxMaker::Quantized("x", kInt8Q, {1, 2})};
  graph.outputs = {OnnxMaker::Quantized("y", kInt8Q, {1, 2}, {0.25F})};
  graph.values = {OnnxMaker::Quantized("w", kInt8Q, {2, 2}, {0.5F, 0.25F}, {1}),
                  OnnxMaker::Quantized("h", kInt8Q, {1, 2})};
  maker.Initializer<std::int8_t>("w", kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Node("MatMul", {"x", "w"}, {"h"});
  OnnxMaker then;
  then.model.graph.values = {OnnxMaker::Quantized("v", kInt8Q, {2, 2}),
                             OnnxMaker::Quantized("p", kInt16Q, {1, 2})};
  then.Initializer<std::int8_t>("v", kInt8, {2, 2}, {1, -2, 3, -4});
  then.Node("MatMul", {"h", "v"}, {"p"});
  then.Node("Relu", {"p"}, {"t"});
  then.model.graph.outputs = {OnnxMaker::Quantized("t", kInt8Q, {1, 2}, {0.25F})};
  OnnxMaker otherwise;
  otherwise.Node("Neg", {"h"}, {"t"});
  otherwise.model.graph.outputs = {OnnxMaker::Quantized("t", kInt8Q, {1, 2}, {0.25F})};
  otherwise.model.graph.name = "e";
  maker.Node("If", {"c"}, {"y"}).attributes = {Body("then_branch", then.model.graph),
                                               Body("else_branch", otherwise.model.graph)};
  return maker.model;
}

// y = Unsqueeze(x) in both branches, which capture x.
format::Model OlderBranches() {
  OnnxMaker maker(11);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("c", kBool, {}),
                              OnnxMaker::Quantized("x", kInt8Q, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", kInt8Q, {1, 1, 2})};
  std::vector<Attribute> bodies;
  for (const char* branch : {"then_branch", "else_branch"}) {
    OnnxMaker body;
    body.Node("Unsqueeze", {"x"}, {"t"}).attributes = {Attribute::Ints("axes", {0})};
    body.model.graph.outputs = {OnnxMaker::Quantized("t", kInt8Q, {1, 1, 2})};
    bodies.push_back(Body(branch, body.model.graph));
  }
  maker.Node("If", {"c"}, {"y"}).attributes = bodies;
  return maker.model;
}

// A decoder: as long as go, at most n times, s = MatMul(s, w) with w from outside, and logits of
// all steps. An input of the body hides an outer value.
format::Model Decoder() {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  Graph& graph = maker.model.graph;
  graph.inputs = {OnnxMaker::Value("n", kInt64, {}), OnnxMaker::Value("go", kBool, {}),
                  OnnxMaker::Quantized("s", kInt8Q, {1, 2})};
  graph.outputs = {OnnxMaker::Quantized("end", kInt8Q, {1, 2}),
                   OnnxMaker::Value("logits", kFloat, {})};
  graph.outputs[1].type->shape.reset();
  graph.values = {OnnxMaker::Quantized("w", kInt8Q, {2, 2})};
  maker.Initializer<std::int8_t>("w", kInt8, {2, 2}, {1, 2, -3, 1});
  OnnxMaker body;
  body.model.graph.inputs = {OnnxMaker::Value("i", kInt64, {}), OnnxMaker::Value("go", kBool, {}),
                             OnnxMaker::Quantized("s", kInt8Q, {1, 2})};
  body.Node("Identity", {"go"}, {"on"});
  body.Node("MatMul", {"s", "w"}, {"next"});
  body.Node("Cast", {"next"}, {"logit"}).attributes = {
      Attribute::Int("to", static_cast<std::int64_t>(kFloat))};
  body.model.graph.outputs = {OnnxMaker::Value("on", kBool, {}),
                              OnnxMaker::Quantized("next", kInt8Q, {1, 2}),
                              OnnxMaker::Value("logit", kFloat, {1, 2})};
  maker.Node("Loop", {"n", "go", "s"}, {"end", "logits"}).attributes = {
      Body("body", body.model.graph)};
  return maker.model;
}

// Source: lowering.S6, S11.
TEST(Bodies, ComeBack) {
  ExpectComesBack(Branches());
  ExpectComesBack(Decoder());
}

TEST(Bodies, WithinBodiesComeBack) {
  format::Model model = Decoder();
  Graph& body = BodyOf(model, 0);
  format::Model inner = Branches();
  format::Node choice = inner.graph.nodes[1];
  choice.inputs = {"go"};
  choice.outputs = {"y"};
  choice.attributes[0].graphs[0].nodes[0].inputs = {"s", "v"};
  choice.attributes[1].graphs[0].nodes[0].inputs = {"s"};
  body.values = {OnnxMaker::Quantized("y", kInt8Q, {1, 2}, {0.25F})};
  body.nodes.insert(body.nodes.begin(), choice);
  body.nodes[2].inputs[0] = "y";
  ExpectComesBack(model);
}

TEST(Bodies, OfAScanComeBack) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("s", kInt8Q, {2}),
                              OnnxMaker::Quantized("x", kInt8Q, {5, 2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("end", kInt8Q, {2}),
                               OnnxMaker::Quantized("all", kInt8Q, {5, 2}, {0.25F})};
  OnnxMaker body;
  body.model.graph.inputs = {OnnxMaker::Quantized("a", kInt8Q, {2}),
                             OnnxMaker::Quantized("b", kInt8Q, {2})};
  body.Node("Add", {"a", "b"}, {"sum"});
  body.Node("Relu", {"sum"}, {"r"});
  body.model.graph.outputs = {OnnxMaker::Quantized("sum", kInt8Q, {2}),
                              OnnxMaker::Quantized("r", kInt8Q, {2}, {0.25F})};
  maker.Node("Scan", {"s", "x"}, {"end", "all"}).attributes = {
      Body("body", body.model.graph), Attribute::Int("num_scan_inputs", 1)};
  ExpectComesBack(maker.model);
}

// lowering.S10: INT8Q wants opset 13, where axes are an input, which opset 11 had as an attribute.
TEST(Bodies, OfAnOlderOpsetComeBack) {
  format::Model lowered = Must(ToQdq(OlderBranches()));
  EXPECT_EQ(lowered.OpsetVersion(""), 13);
  EXPECT_THAT(BodyOf(lowered, 0).nodes[0].inputs, ElementsAre("x/quantized", "t/axes"));
  EXPECT_EQ(BodyOf(lowered, 0).initializers[0].name, "t/axes");
  EXPECT_EQ(BodyOf(lowered, 1).initializers[0].name, "t/axes#2");
  ExpectComesBack(OlderBranches());
}

// lowering.S11: names are taken in all graphs; a captured graph input is read behind its pair.
TEST(Bodies, AreLoweredWithNamesOfTheirOwn) {
  const format::Model lowered = Must(ToQdq(Branches()));
  ASSERT_EQ(lowered.graph.nodes[6].op_type, "If");
  const Graph& then = lowered.graph.nodes[6].attributes[0].graphs[0];
  const Graph& otherwise = lowered.graph.nodes[6].attributes[1].graphs[0];
  EXPECT_THAT(otherwise.nodes.back().inputs[0], "t/stored#2");
  EXPECT_THAT(then.nodes.back().outputs, ElementsAre("t"));
  EXPECT_THAT(otherwise.nodes[0].inputs, ElementsAre("h"));
  EXPECT_EQ(then.initializers[0].name, "v/stored");
  EXPECT_EQ(format::Decode(then.initializers[0])->dims, (format::Dims{2, 2}));
  format::Model direct = Branches();
  BodyOf(direct, 1).nodes[0].inputs = {"x"};
  const format::Model read = Must(ToQdq(direct));
  EXPECT_THAT(read.graph.nodes[6].attributes[1].graphs[0].nodes[0].inputs,
              ElementsAre("x/quantized"));
}

// lowering.C1, S4: what tools drop in a body shows, and the rest is what the nodes say.
TEST(Bodies, AreInTheRecord) {
  format::Model lowered = Must(ToQdq(Branches()));
  for (format::ValueInfo& value : BodyOf(lowered, 0).outputs) value.type->quantization.reset();
  EXPECT_THAT(FirstFinding(lowered), HasSubstr("lowering.C1"));
  const auto lifted = FromOnnx(lowered);
  format::Model model = Must(lifted);
  EXPECT_EQ(FirstFinding(model), "");
  EXPECT_THAT(lifted->ledger[0].why, HasSubstr("8 annotated values written, 7 left"));
  // A branch gives FLOAT then, by a Cast.
  EXPECT_EQ(BodyOf(model, 1).outputs[0].type->elem_type, kFloat);
  EXPECT_EQ(BodyOf(model, 0).nodes.back().op_type, "Cast");
}

// Q/DQ pairs around a Relu in a body, parameters and integers outside.
format::Model StockBranches() {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("c", kBool, {}),
                              OnnxMaker::Value("x", kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 2})};
  maker.Parameters("a", 0.5F, 3);
  maker.Parameters("b", 0.25F, 0);
  maker.Initializer<std::int8_t>("w", kInt8, {2, 2}, {1, 2, 3, 4});
  maker.Quantize("x", "a", "xq");
  for (const char* branch : {"then_branch", "else_branch"}) {
    OnnxMaker body;
    body.Dequantize("xq", "a", "xr");
    body.Dequantize("w", "b", "wr");
    body.Node("MatMul", {"xr", "wr"}, {"m"});
    body.Quantize("m", "b", "mq");
    body.Dequantize("mq", "b", "t");
    body.model.graph.outputs = {OnnxMaker::Value("t", kFloat, {1, 2})};
    if (maker.model.graph.nodes.size() == 1) maker.Node("If", {"c"}, {"y"});
    maker.model.graph.nodes[1].attributes.push_back(Body(branch, body.model.graph));
  }
  return maker.model;
}

TEST(StockBodies, AreFoldedInside) {
  const auto conversion = FromOnnx(StockBranches());
  const format::Model model = Must(conversion);
  EXPECT_EQ(FirstFinding(model), "");
  EXPECT_THAT(OpTypes(model), ElementsAre("Cast", "If"));
  for (const std::size_t branch : {0U, 1U}) {
    format::Model copy = model;
    const Graph& body = BodyOf(copy, branch);
    ASSERT_EQ(body.nodes.size(), 2U);
    EXPECT_THAT(body.nodes[0].inputs, ElementsAre("xq", "w"));
    EXPECT_EQ(body.nodes[1].op_type, "Cast");
    EXPECT_EQ(body.outputs[0].type->elem_type, kFloat);
    EXPECT_TRUE(body.initializers.empty());
  }
  // The weights that both read stay one.
  EXPECT_EQ(model.graph.FindValue("w")->type->elem_type, kInt8Q);
  EXPECT_TRUE(std::ranges::any_of(conversion->ledger, [](const LedgerEntry& entry) {
    return entry.value == "y_node.then_branch/mq" || entry.value == "y_node.then_branch/t";
  }));
  ExpectComesBack(model);
}

// A QuantizeLinear in a body of a float from outside does not make the float quantized there.
TEST(StockBodies, QuantizeWhatTheyCapture) {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("c", kBool, {}),
                              OnnxMaker::Value("x", kFloat, {1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 2})};
  maker.Parameters("a", 0.5F, 3);
  maker.Node("Sigmoid", {"x"}, {"s"});
  OnnxMaker then, otherwise;
  then.Quantize("s", "a", "q");
  then.Dequantize("q", "a", "r");
  then.Node("Relu", {"r"}, {"t"});
  then.model.graph.outputs = {OnnxMaker::Value("t", kFloat, {1, 2})};
  otherwise.Node("Relu", {"x"}, {"e"});
  otherwise.model.graph.outputs = {OnnxMaker::Value("e", kFloat, {1, 2})};
  maker.Node("If", {"c"}, {"y"}).attributes = {Body("then_branch", then.model.graph),
                                               Body("else_branch", otherwise.model.graph)};
  format::Model model = Must(FromOnnx(maker.model));
  EXPECT_EQ(FirstFinding(model), "");
  EXPECT_THAT(OpTypes(model), ElementsAre("Sigmoid", "If"));
  EXPECT_EQ(BodyOf(model, 0).nodes[0].op_type, "Cast");
  ExpectComesBack(model);
}

TEST(StockBodies, NameTheirPlaceInErrors) {
  format::Model model = StockBranches();
  model.graph.initializers[2] = model.graph.initializers[0];
  OnnxMaker scale;
  scale.Parameters("b", -1.0F, 0);
  model.graph.initializers[2] = scale.model.graph.initializers[0];
  const auto refused = FromOnnx(model);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().where, HasSubstr("node 'y_node.then_branch/"));
}

// What was read is checked, lowered and converted, whatever comes of it.
void Attempt(const std::string& bytes, int& read) {
  const auto model = format::Model::Parse(bytes);
  if (!model.has_value()) {
    EXPECT_FALSE(model.error().message.empty());
    return;
  }
  ++read;
  const auto findings = format::Check(*model);
  const auto lowered = ToQdq(*model);
  if (!lowered.has_value()) {
    EXPECT_FALSE(lowered.error().message.empty());
  }
  const auto converted = FromOnnx(*model);
  if (!converted.has_value()) {
    EXPECT_FALSE(converted.error().message.empty());
  }
}

TEST(HostileBodies, CutOffOrChangedAreRefusedOrSound) {
  int read = 0;
  for (const format::Model& model :
       {Branches(), Decoder(), StockBranches(), OlderBranches(), Must(ToQdq(Branches())),
        Must(ToQdq(Decoder())), Must(ToQdq(OlderBranches()))}) {
    const std::string bytes = *model.Serialize();
    for (std::size_t size = 0; size < bytes.size(); size += 29)
      Attempt(bytes.substr(0, size), read);
    std::mt19937_64 random(bytes.size());
    for (int i = 0; i < 100; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      Attempt(damaged, read);
    }
  }
  EXPECT_GT(read, 50);  // damage that leaves a model
}

}  // namespace
}  // namespace qtx::convert::bodies_test
