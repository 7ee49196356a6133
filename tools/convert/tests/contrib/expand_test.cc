// Operators of com.microsoft as nodes of ai.onnx, and back.
#include "tests/qoperator/lifted.h"

namespace qtx::convert::expand_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;

constexpr ElementType kFloat = ElementType::kFloat;

format::Node& Theirs(OnnxMaker& maker, const std::string& op_type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs) {
  if (maker.model.OpsetVersion("com.microsoft") == 0)
    maker.model.opset_imports.push_back({"com.microsoft", 1});
  format::Node& node = maker.Node(op_type, std::move(inputs), std::move(outputs));
  node.domain = "com.microsoft";
  return node;
}

// sum = x + skip = [1 7]: its mean square is 25, so that it is divided by 5.
OnnxMaker OneSkip() {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", kFloat, {1, 1, 2}),
                              OnnxMaker::Value("skip", kFloat, {1, 1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 1, 2}),
                               OnnxMaker::Value("sum", kFloat, {1, 1, 2})};
  maker.Initializer<float>("gamma", kFloat, {2}, {5, 10});
  Theirs(maker, "SkipSimplifiedLayerNormalization", {"x", "skip", "gamma"}, {"y", "", "", "sum"})
      .attributes = {Attribute::Float("epsilon", 0)};
  return maker;
}

TEST(Contrib, ASkipIsAnAddAndANormalization) {
  const format::Model lifted = Lifted(OneSkip().model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Add", "RMSNormalization"));
  EXPECT_EQ(lifted.OpsetVersion(""), 23);
  const auto expected = TensorOf<float>(kFloat, {4}, {1, 14, 1, 7});
  EXPECT_EQ(RunIn(lifted, "exact",
                  {TensorOf<float>(kFloat, {1, 1, 2}, {3, 3}),
                   TensorOf<float>(kFloat, {1, 1, 2}, {-2, 4})}),
            expected.bytes);
}

format::Model BackOf(const format::Model& extended) {
  const auto written = Write(extended, *FindKind("qoperator"), {});
  EXPECT_TRUE(written.has_value()) << Text(written.has_value() ? Error{} : written.error());
  return written.has_value() ? std::get<format::Model>(written->content) : format::Model{};
}

TEST(Contrib, GivesTheFormerNodeBack) {
  const format::Model stock = OneSkip().model;
  const format::Model back = BackOf(Lifted(stock));
  EXPECT_EQ(back.graph.nodes, stock.graph.nodes);
}

TEST(Contrib, KeepsNodesOfWhichAnInnerValueIsReadElsewhere) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {OnnxMaker::Value("x", kFloat, {1, 1, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 1, 2})};
  Theirs(maker, "QuickGelu", {"x"}, {"y"});
  format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(BackOf(lifted)), ElementsAre("QuickGelu"));
  const format::Node& gate = lifted.graph.nodes[lifted.graph.nodes.size() - 2];
  lifted.graph.outputs.push_back(OnnxMaker::Value(gate.outputs[0], kFloat, {1, 1, 2}));
  EXPECT_EQ(OpTypes(BackOf(lifted)), OpTypes(lifted));
}

// One head of size 2; two tokens lie in the cache, one is new. Its query is 0: all keys that it
// sees have the same share.
OnnxMaker OneToken(std::int64_t window) {
  OnnxMaker maker(17);
  maker.model.graph.inputs = {
      OnnxMaker::Value("q", kFloat, {1, 1, 2}), OnnxMaker::Value("k", kFloat, {1, 1, 2}),
      OnnxMaker::Value("v", kFloat, {1, 1, 2}), OnnxMaker::Value("pk", kFloat, {1, 1, 3, 2}),
      OnnxMaker::Value("pv", kFloat, {1, 1, 3, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, {1, 1, 2}),
                               OnnxMaker::Value("v2", kFloat, {1, 1, 3, 2})};
  maker.Initializer<std::int32_t>("lengths", ElementType::kInt32, {1}, {2});
  maker.Initializer<std::int32_t>("total", ElementType::kInt32, {1}, {3});
  format::Node& node = Theirs(maker, "GroupQueryAttention",
                              {"q", "k", "v", "pk", "pv", "lengths", "total"}, {"y", "", "v2"});
  node.attributes = {Attribute::Int("num_heads", 1), Attribute::Int("kv_num_heads", 1)};
  if (window > 0) node.attributes.push_back(Attribute::Int("local_window_size", window));
  return maker;
}

std::vector<std::byte> RunOneToken(std::int64_t window) {
  return RunIn(
      Lifted(OneToken(window).model), "exact",
      {TensorOf<float>(kFloat, {1, 1, 2}, {0, 0}), TensorOf<float>(kFloat, {1, 1, 2}, {1, 5}),
       TensorOf<float>(kFloat, {1, 1, 2}, {6, 9}),
       TensorOf<float>(kFloat, {1, 1, 3, 2}, {1, 2, 3, 4, 50, 60}),
       TensorOf<float>(kFloat, {1, 1, 3, 2}, {3, 0, 0, 3, 70, 80})});
}

// The third row of the past buffer holds no token yet: the new one takes its place. With it the
// mean would be over [70 80] too.
TEST(Contrib, AGroupedQuerySeesItsTokensOfTheCacheAndItself) {
  EXPECT_EQ(RunOneToken(0), TensorOf<float>(kFloat, {8}, {3, 4, 3, 0, 0, 3, 6, 9}).bytes);
}

TEST(Contrib, ALocalWindowCountsTheQueryItself) {
  EXPECT_EQ(RunOneToken(2), TensorOf<float>(kFloat, {8}, {3, 6, 3, 0, 0, 3, 6, 9}).bytes);
}

// A byte holds two codes, plus 8, the lower first: of the cached values 89 is 1 and -3, 216 0 and
// 5, by the scale 2 the reals 2 -6 and 0 10. The new ones, 5 and -100, are 2.5, to the even code 2,
// and -50, to -8: 4 -16, the byte 10. The means are 6 / 3 and -12 / 3.
TEST(Contrib, AQuantizedCacheHoldsTheCodesThatAreAttendedTo) {
  OnnxMaker maker = OneToken(0);
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    maker.model.graph.inputs[i] =
        OnnxMaker::Value(maker.model.graph.inputs[i].name, ElementType::kUint8, {1, 1, 3, 1});
  }
  maker.model.graph.outputs[1] = OnnxMaker::Value("v2", ElementType::kUint8, {1, 1, 3, 1});
  maker.Initializer<float>("scale", kFloat, {1}, {2});
  format::Node& node = maker.model.graph.nodes[0];
  node.inputs.resize(12);
  node.inputs.insert(node.inputs.end(), {"scale", "scale"});
  for (const char* part : {"k_quant_type", "v_quant_type"})
    node.attributes.push_back(Attribute::String(part, "PER_TENSOR"));
  node.attributes.push_back(Attribute::Int("kv_cache_bit_width", 4));
  const format::Model lifted = Lifted(maker.model);
  using Bytes = std::vector<std::uint8_t>;
  std::vector<std::byte> expected = TensorOf<float>(kFloat, {2}, {2, -4}).bytes;
  for (const std::uint8_t code : Bytes{89, 216, 10}) expected.push_back(std::byte{code});
  EXPECT_EQ(
      RunIn(lifted, "exact",
            {TensorOf<float>(kFloat, {1, 1, 2}, {0, 0}), TensorOf<float>(kFloat, {1, 1, 2}, {1, 5}),
             TensorOf<float>(kFloat, {1, 1, 2}, {5, -100}),
             TensorOf<std::uint8_t>(ElementType::kUint8, {1, 1, 3, 1}, {1, 2, 3}),
             TensorOf<std::uint8_t>(ElementType::kUint8, {1, 1, 3, 1}, {89, 216, 77})}),
      expected);
  EXPECT_EQ(BackOf(lifted).graph.nodes, maker.model.graph.nodes);
}

TEST(Contrib, SaysWhyANodeStays) {
  OnnxMaker maker = OneToken(0);
  maker.model.graph.nodes[0].attributes.push_back(Attribute::Int("smooth_softmax", 1));
  const Conversion stays = LiftedWithLedger(maker.model);
  EXPECT_EQ(stays.model.graph.nodes, maker.model.graph.nodes);
  EXPECT_EQ(stays.model.OpsetVersion(""), 17);  // there was no reason to move it
}

}  // namespace
}  // namespace qtx::convert::expand_test
