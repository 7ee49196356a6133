// Graphs within graphs: reading and writing them, the flat form, clauses and inference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "qtx/format/limits.h"
#include "qtx/format/scopes.h"
#include "samples.h"

namespace qtx::format::bodies_test {
namespace {

using enum ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

Node MakeNode(std::string op_type, std::vector<std::string> inputs,
              std::vector<std::string> outputs) {
  Node node;
  node.name = outputs.empty() ? "" : outputs[0] + "_node";
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

Attribute Body(std::string name, Graph graph) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kGraph;
  attribute.graphs.push_back(std::move(graph));
  return attribute;
}

Graph& BodyOf(Model& model, std::size_t node, std::size_t attribute) {
  return model.graph.nodes[node].attributes[attribute].graphs[0];
}

// t = Relu(x) if c, else Sigmoid(x), all INT8Q of scale 1/2. Both branches call it "t" and read x.
Model Branches() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.name = "g";
  model.graph.inputs = {Value("c", kBool, {}), Value("x", kInt8Q, {2}, PerTensor(0.5F))};
  model.graph.outputs = {Value("y", kInt8Q, {2}, PerTensor(0.5F))};
  Node& choice = model.graph.nodes.emplace_back(MakeNode("If", {"c"}, {"y"}));
  for (const auto& [branch, op] :
       {std::pair("then_branch", "Relu"), std::pair("else_branch", "Sigmoid")}) {
    Graph graph;
    graph.name = branch;
    graph.nodes = {MakeNode(op, {"x"}, {"t"})};
    graph.outputs = {Value("t", kInt8Q, {2}, PerTensor(0.5F))};
    choice.attributes.push_back(Body(branch, std::move(graph)));
  }
  return model;
}

// A loop that doubles v, which begins as x, n times, and stacks what it was.
Model Doubling() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.name = "g";
  model.graph.inputs = {Value("n", kInt64, {}), Value("x", kInt8Q, {2}, PerTensor(0.5F))};
  model.graph.outputs = {Value("last", kInt8Q, {2}, PerTensor(0.5F)),
                         Value("all", kInt8Q, {4, 2}, PerTensor(0.5F))};
  Graph body;
  body.name = "body";
  body.inputs = {Value("i", kInt64, {}), Value("go", kBool, {}),
                 Value("v", kInt8Q, {2}, PerTensor(0.5F))};
  body.nodes = {MakeNode("Identity", {"go"}, {"on"}), MakeNode("Add", {"v", "v"}, {"next"}),
                MakeNode("Identity", {"v"}, {"was"})};
  body.outputs = {Value("on", kBool, {}), Value("next", kInt8Q, {2}, PerTensor(0.5F)),
                  Value("was", kInt8Q, {2}, PerTensor(0.5F))};
  model.graph.nodes = {MakeNode("Loop", {"n", "", "x"}, {"last", "all"})};
  model.graph.nodes[0].attributes = {Body("body", std::move(body))};
  return model;
}

// An If within the then branch of another, `depth` in all below the model's graph.
Model Nested(int depth) {
  Graph graph;
  graph.nodes = {MakeNode("Identity", {"x"}, {"d0"})};
  graph.outputs = {Value("d0", kFloat, {2})};
  for (int k = 1; k <= depth; ++k) {
    Graph outer;
    const std::string name = "d" + std::to_string(k);
    outer.nodes = {MakeNode("If", {"c"}, {name})};
    outer.nodes[0].attributes = {Body("then_branch", graph), Body("else_branch", std::move(graph))};
    outer.outputs = {Value(name, kFloat, {2})};
    graph = std::move(outer);
  }
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  model.graph = std::move(graph);
  model.graph.inputs = {Value("c", kBool, {}), Value("x", kFloat, {2})};
  return model;
}

std::string FirstFinding(const Model& model) {
  const std::vector<Finding> findings = Check(model, "");
  return findings.empty() ? ""
                          : findings[0].rule + " " + findings[0].where + ": " + findings[0].message;
}

TEST(Bodies, AreReadAndWrittenBack) {
  for (const Model& model : {Branches(), Doubling(), Nested(2)}) {
    const auto read = Model::Parse(*model.Serialize());
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_TRUE(*read == model);
    EXPECT_EQ(*read->Serialize(), *model.Serialize());
  }
}

TEST(Bodies, OfOneAttributeMayBeSeveral) {
  Model model = Branches();
  Attribute graphs = model.graph.nodes[0].attributes[0];
  graphs.type = AttributeType::kGraphs;
  graphs.graphs.push_back(model.graph.nodes[0].attributes[1].graphs[0]);
  model.graph.nodes[0].attributes = {graphs};
  EXPECT_TRUE(*Model::Parse(*model.Serialize()) == model);
  EXPECT_TRUE(*FlatModel(model).Nest(FlatModel(model).model()) == model);
}

TEST(Bodies, HaveABound) {
  EXPECT_TRUE(Model::Parse(*Nested(kMaxGraphDepth).Serialize()).has_value());
  const auto deeper = Model::Parse(*Nested(kMaxGraphDepth + 1).Serialize());
  ASSERT_FALSE(deeper.has_value());
  EXPECT_EQ(deeper.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(deeper.error().message, HasSubstr("more than 8 others"));
}

TEST(Bodies, ThatAreNoGraphsAreRefused) {
  Model model = Branches();
  std::string bytes = *model.Serialize();
  // A length within the body that is beyond its end.
  const std::size_t at = bytes.find("Relu");
  bytes[at - 1] = 0x7f;
  EXPECT_FALSE(Model::Parse(bytes).has_value());
}

// graph.S2: a name stands for the nearest value; equal names of two bodies are two values.
TEST(FlatModel, GivesEachValueOneName) {
  const Model model = Branches();
  const FlatModel flat(model);
  const Graph& graph = flat.model().graph;
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_THAT(graph.nodes[0].outputs, ElementsAre("\x1f"
                                                  "1\x1ft"));
  EXPECT_THAT(graph.nodes[1].outputs, ElementsAre("\x1f"
                                                  "2\x1ft"));
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("x"));
  EXPECT_EQ(graph.nodes[2].op_type, "If");
  EXPECT_EQ(flat.scopes()[2].node, 2U);
  EXPECT_EQ(flat.Readable("'\x1f"
                          "2\x1ft'"),
            "'y_node.else_branch/t'");
  EXPECT_EQ(flat.PlaceOf("node", 1), "graph.node[0] 'y_node': else_branch: graph.node[0]");
}

TEST(FlatModel, ComesBackNested) {
  Model hiding = Doubling();
  for (ValueInfo& input : BodyOf(hiding, 0, 0).inputs) {
    if (input.name == "v") input.name = "x";  // hides the x outside
  }
  BodyOf(hiding, 0, 0).nodes[1].inputs = {"x", "x"};
  Model odd = Branches();
  BodyOf(odd, 0, 0).name =
      "\x1f\x1f"
      "1\x1f\x1f";
  odd.graph.nodes[0].name =
      "\x1f"
      "2\x1f";
  Model weights = Branches();
  BodyOf(weights, 0, 0).initializers = {Stored("w", kInt8, {2}, {1, 2})};
  BodyOf(weights, 0, 0).values = {Value("w", kInt8Q, {2}, PerTensor(0.5F))};
  BodyOf(weights, 0, 0).values[0].type->quantization->scale_tensor = "s";
  for (const Model& model : {Branches(), Doubling(), Nested(3), hiding, odd, weights}) {
    const FlatModel flat(model);
    EXPECT_TRUE(*flat.Nest(flat.model()) == model);
  }
}

TEST(FlatModel, BorrowsAModelWithoutBodies) {
  const Model model = MatMulModel();
  EXPECT_EQ(&FlatModel(model).model(), &model);
}

TEST(CheckBodies, ConformingOnes) {
  EXPECT_EQ(FirstFinding(Branches()), "");
  EXPECT_EQ(FirstFinding(Doubling()), "");
  EXPECT_EQ(FirstFinding(Nested(kMaxGraphDepth)), "");
}

// Of x, which has 2 elements, or of the branch's own constants.
TEST(CheckBodies, LetsABranchAssumeOtherSizes) {
  Model model = Branches();
  Graph& branch = BodyOf(model, 0, 0);
  branch.initializers = {Stored("w", kInt8, {3}, {1, 2, 3}), Stored("v", kInt8, {4}, {1, 2, 3, 4})};
  branch.values = {Value("w", kInt8Q, {3}, PerTensor(0.5F)),
                   Value("v", kInt8Q, {4}, PerTensor(0.5F))};
  branch.nodes = {MakeNode("Add", {"x", "w"}, {"t"})};
  EXPECT_EQ(FirstFinding(model), "");
  branch.nodes = {MakeNode("Add", {"v", "w"}, {"t"})};
  EXPECT_THAT(FirstFinding(model), HasSubstr("add.C"));
  branch.nodes = {MakeNode("Add", {"x", "c"}, {"t"})};  // of BOOL, whatever the sizes
  EXPECT_THAT(FirstFinding(model), HasSubstr("add.C"));
}

struct Broken {
  const char* rule;
  const char* where;
  std::function<void(Model&)> change;  // of Branches
};

// One test per clause: a model that breaks only it, in a body.
TEST(CheckBodies, FindsEachClauseInABody) {
  const std::string then = "graph.node[0] 'y_node': then_branch: ";
  const Broken kBroken[] = {
      {"graph.C1", "graph.node[1] 'u_node'",
       [](Model& m) {
         BodyOf(m, 0, 0).nodes.push_back(MakeNode("Relu", {"x"}, {"t"}));
         BodyOf(m, 0, 0).nodes[1].name = "u_node";
       }},
      {"graph.C2", "graph.node[0] 't_node'",
       [](Model& m) { BodyOf(m, 0, 0).nodes[0].inputs = {"none"}; }},
      // The output of the other branch is not visible, nor is what stands after the node.
      {"graph.C2", "graph.node[0] 't_node'",
       [](Model& m) {
         BodyOf(m, 0, 1).nodes[0].outputs = {"e"};
         BodyOf(m, 0, 1).outputs[0].name = "e";
         BodyOf(m, 0, 0).nodes[0].inputs = {"e"};
       }},
      {"graph.C2", "graph.node[0] 't_node'",
       [](Model& m) {
         m.graph.nodes.push_back(MakeNode("Relu", {"x"}, {"late"}));
         m.graph.values.push_back(Value("late", kInt8Q, {2}, PerTensor(0.5F)));
         BodyOf(m, 0, 0).nodes[0].inputs = {"late"};
       }},
      {"graph.C3", "graph.output[0] 'x'",
       [](Model& m) {
         BodyOf(m, 0, 0).outputs[0].name = "x";
         BodyOf(m, 0, 0).values = {Value("t", kInt8Q, {2}, PerTensor(0.5F))};
       }},
      {"graph.C4", "graph.node[0] 't_node'",
       [](Model& m) { BodyOf(m, 0, 0).nodes[0].op_type = "Nonesuch"; }},
      {"graph.C8", "graph.node[0] 'u_node'",
       [](Model& m) {
         Graph& body = BodyOf(m, 0, 0);
         body.nodes = {MakeNode("Relu", {"x"}, {"u"}), MakeNode("Relu", {"u"}, {"t"})};
       }},
      {"graph.C10", "graph.node[0] 'x_node'",
       [](Model& m) {
         Graph& body = BodyOf(m, 0, 0);
         body.nodes = {MakeNode("Relu", {"x"}, {"t"}), MakeNode("Relu", {"t"}, {"x"})};
         std::swap(body.nodes[0], body.nodes[1]);
         body.nodes[0].inputs = {"c2"};
         m.graph.inputs.push_back(Value("c2", kInt8Q, {2}, PerTensor(0.5F)));
         body.values = {Value("x", kInt8Q, {2}, PerTensor(0.5F))};
       }},
      {"graph.C11", "graph", [](Model& m) { BodyOf(m, 0, 0).inputs = {Value("a", kFloat, {2})}; }},
      {"graph.C12", "graph",
       [](Model& m) { BodyOf(m, 0, 0).outputs[0].type->quantization->scale = {0.25F}; }},
      {"graph.C12", "graph",
       [](Model& m) { BodyOf(m, 0, 0).outputs[0] = Value("t", kFloat, {2}); }},
      {"quantization.C2", "graph.output[0] 't': quantization.scale",
       [](Model& m) { BodyOf(m, 0, 0).outputs[0].type->quantization->scale = {-0.5F}; }},
  };
  for (const Broken& broken : kBroken) {
    Model model = Branches();
    broken.change(model);
    EXPECT_THAT(FirstFinding(model),
                testing::StartsWith(broken.rule + (" " + then) + broken.where));
  }
}

TEST(CheckBodies, FindsWhatLoopMovesWrongly) {
  Model parameters = Doubling();
  BodyOf(parameters, 0, 0).inputs[2].type->quantization->offset = {1};
  EXPECT_THAT(FirstFinding(parameters), HasSubstr("their parameters differ"));
  Model counts = Doubling();
  BodyOf(counts, 0, 0).inputs.pop_back();
  BodyOf(counts, 0, 0).nodes[1].inputs = BodyOf(counts, 0, 0).nodes[2].inputs = {"x"};
  BodyOf(counts, 0, 0).nodes[1].inputs = {"x", "x"};
  EXPECT_THAT(FirstFinding(counts),
              HasSubstr("found 2 inputs and 3 outputs, expected 3 inputs and 3 outputs"));
  Model axis = Doubling();
  BodyOf(axis, 0, 0).outputs[2].type->quantization->axis = {0};
  BodyOf(axis, 0, 0).outputs[2].type->quantization->scale = {0.5F, 0.5F};
  EXPECT_THAT(FirstFinding(axis), HasSubstr("parameters along an axis"));
}

TEST(CheckBodies, AsksForTheDomainAndTheDigestOfNestedValuesToo) {
  Model model = Branches();
  model.graph.inputs[1] = Value("x", kFloat, {2});
  model.graph.outputs[0] = Value("y", kFloat, {2});
  model.opset_imports.pop_back();
  EXPECT_THAT(FirstFinding(model), HasSubstr("graph.C12"));
  const auto findings = Check(model, "");
  EXPECT_TRUE(std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.rule == "versioning.C1"; }));
}

// Source: lowering.S9, FNV-1a: tests/onnx/node_digest.py computes the number with ONNX's own
// library.
TEST(Digest, CountsTheNodesOfBodies) {
  const Model model = Branches();
  const auto digest = NodeDigestOf(FlatModel(model).model().graph);
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(ToText(*digest), "3:44625fea7aa73b6e");
}

TEST(Digest, ChangesWithAnAnnotationInABody) {
  Model model = Branches();
  for (std::size_t branch : {0U, 1U}) {
    ValueInfo& output = BodyOf(model, 0, branch).outputs[0];
    output.type = Annotated(*output.type);
  }
  const auto digest = DigestOf(FlatModel(model).model().graph);
  EXPECT_EQ(digest->count, 2U);
  BodyOf(model, 0, 1).outputs[0].type->quantization->scale = {0.75F};
  EXPECT_NE(*digest, *DigestOf(FlatModel(model).model().graph));
}

// graph.S3.
TEST(InferenceOfBodies, GivesTypesAndSizesInAndOut) {
  Model model = Doubling();
  Graph& body = BodyOf(model, 0, 0);
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &body.inputs, &body.outputs}) {
    for (ValueInfo& value : *list) {
      if (value.type->elem_type == kInt8Q) value = Value(value.name, kFloat, {2});
    }
  }
  model.graph.outputs[0].type.reset();
  model.graph.outputs[1].type.reset();
  body.outputs[1].type.reset();
  body.outputs[2].type.reset();
  const Inference inference(model);
  EXPECT_EQ(inference.Find("last")->type, kFloat);
  EXPECT_EQ(inference.Find("last")->dims, (Dims{2}));
  EXPECT_EQ(inference.Find("all")->dims, (Dims{kUnknownSize, 2}));
  body.inputs[2].type.reset();  // its size may change
  const Inference open(model);
  EXPECT_EQ(open.Find("\x1f"
                      "1\x1fv")
                ->type,
            kFloat);
  EXPECT_FALSE(open.Find("\x1f"
                         "1\x1fv")
                   ->dims.has_value());
  const Model declared = WithInferredTypes(model);
  EXPECT_EQ(declared.graph.nodes[0].attributes[0].graphs[0].outputs[1].type->elem_type, kFloat);
}

TEST(InferenceOfBodies, MergesTheShapesOfBranches) {
  Model model = Branches();
  model.opset_imports.pop_back();
  model.graph.inputs[1] = Value("x", kFloat, {2});
  model.graph.outputs[0].type.reset();
  for (std::size_t branch : {0U, 1U}) BodyOf(model, 0, branch).outputs[0].type.reset();
  BodyOf(model, 0, 1).nodes = {MakeNode("Concat", {"x", "x"}, {"t"})};
  BodyOf(model, 0, 1).nodes[0].attributes = {Attribute::Int("axis", 0)};
  EXPECT_EQ(Inference(model).Find("y")->dims, (Dims{kUnknownSize}));
  model.graph.outputs[0] = Value("y", kFloat, {2, 2});  // of another rank
  EXPECT_THAT(FirstFinding(model), HasSubstr("graph.C9"));
}

// A Scan over axis 1 of x [2,5] with a state of [2].
TEST(InferenceOfBodies, KnowsTheAxesOfScan) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}};
  model.graph.name = "g";
  model.graph.inputs = {Value("s", kFloat, {2}), Value("x", kFloat, {2, 5})};
  model.graph.outputs = {ValueInfo{.name = "end"}, ValueInfo{.name = "all"}};
  Graph body;
  body.inputs = {ValueInfo{.name = "a"}, ValueInfo{.name = "b"}};
  body.nodes = {MakeNode("Add", {"a", "b"}, {"sum"}), MakeNode("Relu", {"sum"}, {"r"})};
  body.outputs = {ValueInfo{.name = "sum"}, ValueInfo{.name = "r"}};
  model.graph.nodes = {MakeNode("Scan", {"s", "x"}, {"end", "all"})};
  model.graph.nodes[0].attributes = {
      Body("body", std::move(body)), Attribute::Int("num_scan_inputs", 1),
      Attribute::Ints("scan_input_axes", {1}), Attribute::Ints("scan_output_axes", {-1})};
  const Inference inference(model);
  EXPECT_EQ(inference
                .Find("\x1f"
                      "1\x1f"
                      "b")
                ->dims,
            (Dims{2}));
  EXPECT_EQ(inference.Find("end")->dims, (Dims{2}));
  EXPECT_EQ(inference.Find("all")->dims, (Dims{2, 5}));
  EXPECT_EQ(FirstFinding(model), "");
}

}  // namespace
}  // namespace qtx::format::bodies_test
