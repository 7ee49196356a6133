// What operators of ONNX Runtime's domain may have.
#include <gtest/gtest.h>

#include "qtx/format/check.h"
#include "qtx/format/inference.h"
#include "samples.h"

namespace qtx::format::microsoft_test {
namespace {

using enum ElementType;

Node Of(std::string op_type, std::vector<std::string> inputs, std::string output,
        std::string domain = "") {
  Node node;
  node.op_type = std::move(op_type);
  node.domain = std::move(domain);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

Model Stock(std::vector<ValueInfo> inputs, std::vector<Node> nodes) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"com.microsoft", 1}};
  model.graph.inputs = std::move(inputs);
  model.graph.nodes = std::move(nodes);
  return model;
}

std::string FirstRule(const Model& model) {
  const auto findings = Check(model);
  return findings.empty() ? "" : findings[0].rule;
}

// y = x * w with w of 4 bits: ONNX Runtime's operator, which has no section.
TEST(Microsoft, HoldsNodesToTheSchemasOfOnnxRuntime) {
  Model model = Stock({Value("x", kFloat, {5, 32})},
                      {Of("MatMulNBits", {"x", "w", "s"}, "y", "com.microsoft")});
  model.graph.initializers = {Stored("w", kUint8, {2, 1, 16}, std::vector<std::int64_t>(32, 1))};
  model.graph.inputs.push_back(Value("s", kFloat, {2}));
  Node& node = model.graph.nodes[0];
  EXPECT_EQ(FirstRule(model), "graph.C6");  // K, N and block_size are required
  for (const auto& [name, value] :
       {std::pair("K", 32), std::pair("N", 2), std::pair("block_size", 32)})
    node.attributes.push_back(Attribute::Int(name, value));
  EXPECT_EQ(FirstRule(model), "");
  EXPECT_EQ(Inference(model).Find("y")->dims, (Dims{5, 2}));

  node.attributes.push_back(Attribute::Float("beta", 1));
  EXPECT_EQ(FirstRule(model), "graph.C6");
  node.attributes.pop_back();
  node.attributes[0].i = 31;
  EXPECT_EQ(FirstRule(model), "graph.C9");
  node.attributes[0].i = 32;
  model.graph.inputs[1] = Value("s", kFloat16, {2});
  EXPECT_EQ(FirstRule(model), "graph.C7");
  node.inputs.pop_back();
  EXPECT_EQ(FirstRule(model), "graph.C5");
}

// The sum, result 3, has the sizes of the input; ONNX Runtime has the plain one in ONNX's domain.
TEST(Microsoft, KnowsTheNormalizationsOfLanguageModels) {
  Model model =
      Stock({Value("x", kFloat, {2, 3, 8}), Value("g", kFloat, {8})},
            {Of("SkipSimplifiedLayerNormalization", {"x", "x", "g"}, "y", "com.microsoft"),
             Of("SimplifiedLayerNormalization", {"sum", "g"}, "z")});
  model.graph.nodes[0].outputs = {"y", "", "", "sum"};
  EXPECT_EQ(FirstRule(model), "");
  const Inference inference(model);
  EXPECT_EQ(inference.Find("sum")->dims, (Dims{2, 3, 8}));
  EXPECT_EQ(inference.Find("z")->dims, (Dims{2, 3, 8}));
  model.graph.nodes[0].attributes = {Attribute::Int("axis", -1)};
  EXPECT_EQ(FirstRule(model), "graph.C6");
}

// Heads of 16: [batch, length, 64] has four; keys and values lie in caches of two heads.
TEST(Microsoft, GivesCachesOfGroupQueryAttentionTheirSizes) {
  Model model = Stock(
      {Value("q", kFloat, {1, 3, 64}), Value("k", kFloat, {1, 3, 32}), Value("n", kInt32, {1})},
      {Of("GroupQueryAttention", {"q", "k", "k", "", "", "n", "n"}, "y", "com.microsoft")});
  Node& node = model.graph.nodes[0];
  node.outputs = {"y", "keys"};
  EXPECT_EQ(FirstRule(model), "graph.C6");  // numbers of heads are required
  node.attributes = {Attribute::Int("num_heads", 4), Attribute::Int("kv_num_heads", 2)};
  EXPECT_EQ(FirstRule(model), "");
  const Inference inference(model);
  EXPECT_EQ(inference.Find("y")->dims, (Dims{1, 3, 64}));
  EXPECT_EQ(inference.Find("keys")->dims, (Dims{1, 2, kUnknownSize, 16}));
}

// In a stock model the domain's DequantizeLinear is ONNX Runtime's, which has no blocks.
TEST(Microsoft, HoldsStockModelsToTheirOwnQuantizers) {
  Model model = Stock({Value("x", kInt8, {4}), Value("s", kFloat, {2})},
                      {Of("DequantizeLinear", {"x", "s"}, "y", "com.microsoft")});
  model.graph.nodes[0].attributes = {Attribute::Int("axis", 0), Attribute::Int("block_size", 2)};
  EXPECT_EQ(FirstRule(model), "graph.C6");
  model.opset_imports.push_back({"qtx", 1});
  EXPECT_EQ(FirstRule(model), "");
}

}  // namespace
}  // namespace qtx::format::microsoft_test
