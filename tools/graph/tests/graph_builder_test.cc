#include "qtx/graph/graph_builder.h"

#include <gtest/gtest.h>

#include "qtx/graph/graph_index.h"

namespace qtx::graph {
namespace {

TEST(Names, CountsFromTwoAndSkipsWhatIsTaken) {
  Names names;
  EXPECT_TRUE(names.Take("x#2"));
  EXPECT_EQ(names.Unique("x"), "x");
  EXPECT_EQ(names.Unique("x"), "x#3");
  EXPECT_EQ(names.Unique("x"), "x#4");
  EXPECT_EQ(names.Unique("x#2"), "x#2#2");
  EXPECT_FALSE(names.Take("x#3"));
}

// lowering.S11: a name that one graph of a model has is taken in all. Prefixes: lowering.S4.
TEST(Names, TakesThoseOfBodiesInAllGraphs) {
  Names names;
  const std::string body = "\0371\037";
  EXPECT_TRUE(names.Take(body + "x"));
  EXPECT_TRUE(names.IsTaken("x"));
  EXPECT_EQ(names.Unique("x"), "x#2");
  EXPECT_EQ(names.Unique(body + "x"), body + "x#3");
}

// t is read by a node of the graph that has it, u by one of a body.
TEST(GraphIndex, TellsAUseBesideFromOneInABody) {
  const std::string body = "\0371\037";
  format::Model model;
  model.graph.inputs = {{.name = "x"}};
  model.graph.nodes = {{.op_type = "Abs", .inputs = {"x"}, .outputs = {"t"}},
                       {.op_type = "Neg", .inputs = {"t"}, .outputs = {"u"}},
                       {.op_type = "Relu", .inputs = {"u"}, .outputs = {body + "r"}},
                       {.op_type = "Relu", .inputs = {body + "r"}, .outputs = {body + "s"}}};
  const GraphIndex index(model);
  EXPECT_TRUE(index.OnlyUse("u").has_value());
  EXPECT_TRUE(index.OnlyUseBeside("t").has_value());
  EXPECT_FALSE(index.OnlyUseBeside("u").has_value());
  EXPECT_TRUE(index.OnlyUseBeside(body + "r").has_value());
  EXPECT_FALSE(index.OnlyUseBeside(body + "s").has_value());
}

TEST(GraphBuilder, NamesNodesApartAndDeclaresAnEdgeOnce) {
  GraphBuilder builder;
  builder.AddInput("x", {.elem_type = format::ElementType::kFloat});
  const std::string inner = builder.Inner("x", {.elem_type = format::ElementType::kFloat});
  EXPECT_EQ(inner, "x#2");
  builder.Add("n", {"Relu", {"x"}, {}}, {inner});
  builder.Add("n", {"Relu", {inner}, {}}, {"y"});
  builder.Declare("y", {.elem_type = format::ElementType::kFloat});
  builder.AddOutput("y", {.elem_type = format::ElementType::kFloat});
  EXPECT_TRUE(builder.IsRead("x"));
  EXPECT_FALSE(builder.IsRead("y"));
  const format::Graph graph = builder.Finish();
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].name, "n/Relu");
  EXPECT_EQ(graph.nodes[1].name, "n/Relu#2");
  ASSERT_EQ(graph.values.size(), 1U);
  EXPECT_EQ(graph.values[0].name, inner);
}

TEST(GraphIndex, RefusesAValueThatIsProducedTwice) {
  format::Model model;
  model.graph.nodes.resize(2);
  for (format::Node& node : model.graph.nodes) {
    node.op_type = "Relu";
    node.inputs = {"x"};
    node.outputs = {"y"};
  }
  const auto index = GraphIndex::Of(model);
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().where, "value 'y'");
}

TEST(GraphIndex, HasOneUseForEachInput) {
  format::Model model;
  format::Node& node = model.graph.nodes.emplace_back();
  node.op_type = "Add";
  node.inputs = {"x", "x"};
  node.outputs = {"y"};
  const GraphIndex index(model);
  ASSERT_EQ(index.Uses("x").size(), 2U);
  EXPECT_EQ(index.Uses("x")[1].input, 1U);
  EXPECT_FALSE(index.OnlyUse("x"));
  EXPECT_TRUE(index.Uses("y").empty());
}

}  // namespace
}  // namespace qtx::graph
