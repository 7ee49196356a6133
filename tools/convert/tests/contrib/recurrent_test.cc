// DynamicQuantizeLSTM and QuantLSTMCell as a Scan, and the former back.
#include <limits>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::recurrent_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr ElementType kFloat = ElementType::kFloat;

// (i step + shift) mod `modulo` - `less`, divided.
std::vector<float> Reals(int count, int step, int shift, int modulo, int less, float divisor) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&, i = 0]() mutable {
    return static_cast<float>((i++ * step + shift) % modulo - less) / divisor;
  });
  return values;
}
std::vector<std::int8_t> Integers(int count, int step) {
  std::vector<std::int8_t> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [step, i = 0]() mutable {
    return static_cast<std::int8_t>((i++ * step) % 255 - 127);
  });
  return values;
}

// Three steps of two sequences of two elements, in both directions; states of two.
OnnxMaker DynamicLstm(std::int64_t opset = 17) {
  OnnxMaker maker(opset);
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("x", kFloat, {3, 2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {3, 2, 2, 2}),
                               OnnxMaker::Value("h", kFloat, {2, 2, 2}),
                               OnnxMaker::Value("c", kFloat, {2, 2, 2})};
  maker.Initializer("w", ElementType::kInt8, {2, 2, 8}, Integers(32, 37));
  maker.Initializer("r", ElementType::kInt8, {2, 2, 8}, Integers(32, 59));
  maker.Initializer("b", kFloat, {2, 16}, Reals(32, 7, 0, 13, 6, 8));
  maker.Initializer<float>("ws", kFloat, {2}, {0x1p-6F, 0x1p-7F});
  maker.Initializer<float>("rs", kFloat, {2}, {0x1p-7F, 0x1p-6F});
  maker.Initializer<std::int8_t>("z", ElementType::kInt8, {2}, {0, 0});
  format::Node& node =
      maker.Node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "ws", "z", "rs", "z"},
                 {"y", "h", "c"});
  node.domain = "com.microsoft";
  node.attributes = {Attribute::String("direction", "bidirectional"),
                     Attribute::Int("hidden_size", 2)};
  return maker;
}

std::vector<float> ResultsOf(const format::Model& lifted, const char* arithmetic,
                             const format::Tensor& x) {
  const std::vector<std::byte> bytes = RunIn(lifted, arithmetic, {x});
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// What ONNX Runtime 1.32 gives with one thread.
const std::vector<float> kDynamicLstm = {
    -0.31953680F, 0.552335083F, 0.198067650F, 0.425877004F, 0.221253678F, 0.094529069F,
    0.106059163F, 0.044455822F, -0.04174377F, 0.120754830F, 0.055844895F, 0.182935357F,
    -0.12425160F, -0.00266954F, 0.052287228F, 0.130375608F, 0.014864715F, -0.15749344F,
    -0.20654356F, 0.500310778F, -0.01414140F, 0.016416113F, 0.170720323F, 0.104545988F,  // y
    0.014864715F, -0.15749344F, -0.20654356F, 0.500310778F, 0.221253678F, 0.094529069F,
    0.106059163F, 0.044455822F,  // h
    0.059430085F, -0.23524677F, -0.46089255F, 0.695950031F, 0.531023383F, 0.235783413F,
    0.518575429F, 0.207859516F};  // c

TEST(Recurrent, ADynamicLstmQuantizesItsInputOnceAndItsStateAtEachStep) {
  const auto x = TensorOf(kFloat, {3, 2, 2}, Reals(12, 29, 0, 41, 20, 16));
  for (const std::int64_t opset : {13, 17, 23}) {
    const format::Model lifted = Lifted(DynamicLstm(opset).model);
    EXPECT_EQ(lifted.OpsetVersion(""), opset);
    for (const char* arithmetic : {"exact", "float32"})
      EXPECT_THAT(ResultsOf(lifted, arithmetic, x), Pointwise(FloatNear(1e-6F), kDynamicLstm));
  }
}

TEST(Recurrent, ADynamicLstmComesBack) {
  const format::Model stock = DynamicLstm().model;
  const auto written = Write(Lifted(stock), *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value()) << Text(written.error());
  const auto& back = std::get<format::Model>(written->content);
  EXPECT_EQ(back.graph.nodes, stock.graph.nodes);
  EXPECT_EQ(back.graph.initializers, stock.graph.initializers);
}

Attribute Branch(const char* name, const std::string& value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kGraph;
  format::Graph& body = attribute.graphs.emplace_back();
  body.name = name;
  OnnxMaker maker;
  maker.Node("Identity", {value}, {std::string(name) + "/v"});
  body.nodes = maker.model.graph.nodes;
  body.outputs = {OnnxMaker::Value(body.nodes[0].outputs[0], kFloat, {2, 2})};
  return attribute;
}

TEST(Recurrent, NodesOfWhichABodyReadsAnInnerValueStay) {
  OnnxMaker maker = DynamicLstm();
  maker.model = Lifted(maker.model);
  const auto scan = std::ranges::find(maker.model.graph.nodes, "Scan", &format::Node::op_type);
  ASSERT_NE(scan, maker.model.graph.nodes.end());
  const std::string last = scan->outputs[0];
  maker.model.graph.inputs.push_back(OnnxMaker::Value("if", ElementType::kBool, {}));
  maker.model.graph.outputs.push_back(OnnxMaker::Value("v", kFloat, {2, 2}));
  maker.Node("If", {"if"}, {"v"}).attributes = {Branch("else_branch", last),
                                                Branch("then_branch", last)};
  const auto written = Write(maker.model, *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value()) << Text(written.error());
  EXPECT_EQ(OpTypes(std::get<format::Model>(written->content)), OpTypes(maker.model));
}

TEST(Recurrent, NamesInsideAreOtherThanThoseOfTheModel) {
  OnnxMaker maker = DynamicLstm();
  maker.Node("Identity", {"y/step/h"}, {"same"});
  maker.model.graph.inputs.push_back(OnnxMaker::Value("y/step/h", kFloat, {1}));
  maker.model.graph.outputs.push_back(OnnxMaker::Value("same", kFloat, {1}));
  EXPECT_EQ(Lifted(maker.model).graph.nodes.back().op_type, "Identity");  // and check finds nothing
}

TEST(Recurrent, SaysWhyADynamicLstmStays) {
  OnnxMaker maker = DynamicLstm();
  maker.Initializer<std::int32_t>("lengths", ElementType::kInt32, {2}, {3, 2});
  maker.model.graph.nodes[0].inputs[4] = "lengths";
  const Conversion stays = LiftedWithLedger(maker.model);
  EXPECT_EQ(stays.model.graph.nodes, maker.model.graph.nodes);
  EXPECT_TRUE(HasLine(stays, "y", "its sequences have lengths of their own"));
  maker = DynamicLstm();
  maker.model.graph.nodes[0].attributes[1].i = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(HasLine(LiftedWithLedger(maker.model), "y", "it lacks inputs, or the size"));
}

// Three steps of one sequence; each quantizer has a scale of its kind.
OnnxMaker QuantCell(bool reversed_and_coupled) {
  constexpr const char* kDomain = "qonnx.custom_op.general";
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({kDomain, 2});
  maker.model.graph.inputs = {OnnxMaker::Value("x", kFloat, {1, 3, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 3, 2}),
                               OnnxMaker::Value("h", kFloat, {1, 2}),
                               OnnxMaker::Value("c", kFloat, {1, 2})};
  std::vector<std::string> inputs = {"x", "zeros", "zeros"};
  maker.Initializer<float>("zeros", kFloat, {1, 2}, {0, 0});
  for (const int first : {5, 9}) {
    for (int gate = 0; gate < 4; ++gate) {
      inputs.push_back("w" + std::to_string(first + gate) + "of" + std::to_string(first));
      maker.Initializer(inputs.back(), kFloat, {2, 2}, Reals(4, first + gate, 0, 23, 11, 8));
    }
  }
  for (int gate = 0; gate < 4; ++gate) {
    inputs.push_back("b" + std::to_string(gate));
    maker.Initializer(inputs.back(), kFloat, {2}, Reals(2, 3 + gate, 0, 23, 11, 16));
  }
  maker.Initializer<float>("zero", kFloat, {}, {0});
  maker.Initializer<float>("bits", kFloat, {}, {8});
  const std::vector<std::pair<std::string, float>> quantizers = {
      {"output", 0x1p-7F},         {"cell_state", 0x1p-6F},       {"input_acc", 0x1p-5F},
      {"forget_acc", 0x1p-5F},     {"cell_acc", 0x1p-5F},         {"output_acc", 0x1p-5F},
      {"input_sigmoid", 0x1p-8F},  {"forget_sigmoid", 0x1p-8F},   {"cell_tanh", 0x1p-7F},
      {"output_sigmoid", 0x1p-8F}, {"hidden_state_tanh", 0x1p-7F}};
  std::vector<Attribute> attributes = {Attribute::Int("batch_first", 1),
                                       Attribute::Int("reverse_input", reversed_and_coupled),
                                       Attribute::Int("cifg", reversed_and_coupled)};
  for (const auto& [name, scale] : quantizers) {
    maker.Initializer<float>(name + "_scale", kFloat, {}, {scale});
    inputs.insert(inputs.end(), {name + "_scale", "zero", "bits"});
    attributes.push_back(Attribute::Int(name + "_signed", !name.ends_with("sigmoid")));
  }
  format::Node& node = maker.Node("QuantLSTMCell", std::move(inputs), {"y", "h", "c"});
  node.domain = kDomain;
  node.attributes = std::move(attributes);
  return maker;
}

std::vector<float> ResultsOfCell(bool reversed_and_coupled) {
  const format::Model lifted = Lifted(QuantCell(reversed_and_coupled).model);
  return ResultsOf(lifted, "exact", TensorOf(kFloat, {1, 3, 2}, Reals(6, 7, 0, 23, 11, 8)));
}

// Computed by numpy, of the formulas of Brevitas's _QuantLSTMCell, and rounded half to even.
TEST(Recurrent, AQuantCellQuantizesEachGateAndState) {
  EXPECT_THAT(ResultsOfCell(false),
              ElementsAre(64 / 128.F, -15 / 128.F, 0, 4 / 128.F, 10 / 128.F, -2 / 128.F,  // y
                          10 / 128.F, -2 / 128.F, 9 / 64.F, -3 / 64.F));
}

TEST(Recurrent, AQuantCellGoesBackwardsWithACoupledGate) {
  EXPECT_THAT(ResultsOfCell(true),
              ElementsAre(65 / 128.F, -1 / 128.F, 1 / 128.F, 7 / 128.F, 12 / 128.F, -7 / 128.F,
                          65 / 128.F, -1 / 128.F, 48 / 64.F, -2 / 64.F));
}

TEST(Recurrent, RefusesAQuantCellThatLacksInputs) {
  OnnxMaker maker = QuantCell(false);
  maker.model.graph.nodes[0].inputs.pop_back();
  EXPECT_EQ(Refusal(maker.model), "node 'y_node' (QuantLSTMCell): found 47 inputs, expected 48");
}

}  // namespace
}  // namespace qtx::convert::recurrent_test
