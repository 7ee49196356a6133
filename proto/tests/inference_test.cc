// What follows for the values of a graph, and what of ONNX is not defined.
#include "qtx/format/inference.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "qtx/format/check.h"
#include "samples.h"

namespace qtx::format {
namespace {

using enum ElementType;

Node Of(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
        std::vector<Attribute> attributes = {}) {
  Node node;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

Model Stock(std::int64_t opset, std::vector<ValueInfo> inputs, std::vector<Node> nodes) {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", opset}};
  model.graph.inputs = std::move(inputs);
  model.graph.nodes = std::move(nodes);
  return model;
}

Dims DimsIn(const Inference& inference, const std::string& name) {
  const ValueFacts* facts = inference.Find(name);
  return facts == nullptr || !facts->dims ? Dims{-99} : *facts->dims;
}

std::vector<std::int64_t> ElementsIn(const Inference& inference, const std::string& name) {
  const ValueFacts* facts = inference.Find(name);
  if (facts == nullptr || facts->constant == nullptr) return {-99};
  return UnpackIntegers(*facts->constant);
}

// Shape [2,3,4] -> its last two, their product, [2, 12]: the flattening that exporters write.
TEST(Inference, FollowsTheShapeThatAGraphComputesForReshape) {
  Model model =
      Stock(18, {Value("x", kFloat, {2, 3, 4})},
            {Of("Shape", {"x"}, {"shape"}), Of("Slice", {"shape", "one", "three"}, {"tail"}),
             Of("Gather", {"shape", "zero"}, {"batch"}), Of("Gather", {"tail", "zero"}, {"h"}),
             Of("Gather", {"tail", "one0"}, {"w"}), Of("Mul", {"h", "w"}, {"area"}),
             Of("Unsqueeze", {"area", "axes"}, {"areas"}),
             Of("Unsqueeze", {"batch", "axes"}, {"batches"}),
             Of("Concat", {"batches", "areas"}, {"goal"}, {Attribute::Int("axis", 0)}),
             Of("Reshape", {"x", "goal"}, {"y"})});
  model.graph.initializers = {Stored("one", kInt64, {1}, {1}), Stored("three", kInt64, {1}, {3}),
                              Stored("zero", kInt64, {}, {0}), Stored("one0", kInt64, {}, {1}),
                              Stored("axes", kInt64, {1}, {0})};
  const Inference inference(model);
  EXPECT_TRUE(inference.broken().empty());
  EXPECT_EQ(ElementsIn(inference, "tail"), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(ElementsIn(inference, "goal"), (std::vector<std::int64_t>{2, 12}));
  EXPECT_EQ(DimsIn(inference, "y"), (Dims{2, 12}));
}

TEST(Inference, FollowsElementsBackwardsAndBroadcast) {
  Model model = Stock(18, {},
                      {Of("Range", {"zero", "five", "two"}, {"even"}),  // 0 2 4
                       Of("Slice", {"even", "last", "least", "axis", "back"}, {"reversed"}),
                       Of("Equal", {"reversed", "two"}, {"is_two"}),
                       Of("Where", {"is_two", "five", "reversed"}, {"chosen"}),
                       Of("Expand", {"chosen", "goal"}, {"twice"})});
  model.graph.initializers = {Stored("zero", kInt64, {}, {0}),
                              Stored("five", kInt64, {}, {5}),
                              Stored("two", kInt64, {}, {2}),
                              Stored("last", kInt64, {1}, {-1}),
                              Stored("least", kInt64, {1}, {INT64_MIN}),
                              Stored("axis", kInt64, {1}, {0}),
                              Stored("back", kInt64, {1}, {-1}),
                              Stored("goal", kInt64, {2}, {2, 1})};
  const Inference inference(model);
  EXPECT_TRUE(inference.broken().empty());
  EXPECT_EQ(ElementsIn(inference, "reversed"), (std::vector<std::int64_t>{4, 2, 0}));
  EXPECT_EQ(ElementsIn(inference, "chosen"), (std::vector<std::int64_t>{4, 5, 0}));
  EXPECT_EQ(ElementsIn(inference, "twice"), (std::vector<std::int64_t>{4, 5, 0, 4, 5, 0}));
}

// As PyTorch's exporter computes the pads of a Pad.
TEST(Inference, FollowsTransposedElements) {
  Model model =
      Stock(18, {},
            {Of("Transpose", {"pairs"}, {"turned"}), Of("Unsqueeze", {"pairs", "front"}, {"deep"}),
             Of("Transpose", {"deep"}, {"last"})});
  model.graph.nodes[2].attributes = {Attribute::Ints("perm", {1, 0, 2})};
  model.graph.initializers = {Stored("pairs", kInt64, {3, 2}, {1, 2, 3, 4, 5, 6}),
                              Stored("front", kInt64, {1}, {0})};
  const Inference inference(model);
  EXPECT_TRUE(inference.broken().empty());
  EXPECT_EQ(ElementsIn(inference, "turned"), (std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(DimsIn(inference, "last"), (Dims{3, 1, 2}));
  EXPECT_EQ(ElementsIn(inference, "last"), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

// A product past int64, a quotient by 0 that is not certain, and what is too large to be computed.
TEST(Inference, LeavesUnknownWhatDoesNotFollow) {
  Model model =
      Stock(18, {},
            {Of("Mul", {"big", "big"}, {"past"}), Of("Mul", {"many", "many"}, {"squares"}),
             Of("Neg", {"least"}, {"negated"})});
  model.graph.initializers = {Stored("big", kInt64, {1}, {std::int64_t{1} << 40}),
                              Stored("many", kInt64, {5000}, std::vector<std::int64_t>(5000, 2)),
                              Stored("least", kInt64, {1}, {INT64_MIN})};
  const Inference inference(model);
  for (const char* name : {"past", "squares", "negated"}) {
    EXPECT_EQ(ElementsIn(inference, name), (std::vector<std::int64_t>{-99})) << name;
  }
}

// 2^12 elements, added 2^13 times, are more than a model may cost.
TEST(Inference, StopsComputingElementsAtItsLimit) {
  Model model = Stock(18, {}, {});
  model.graph.initializers = {Stored("v0", kInt64, {4096}, std::vector<std::int64_t>(4096, 0))};
  for (int i = 0; i < 1 << 13; ++i) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    model.graph.nodes.push_back(Of("Add", {from, "v0"}, {to}));
  }
  const Inference inference(model);
  EXPECT_NE(inference.Find("v1")->constant, nullptr);
  EXPECT_EQ(inference.Find("v8192")->constant, nullptr);
  EXPECT_EQ(DimsIn(inference, "v8192"), (Dims{4096}));
}

// graph.C9: types by the constraints of ONNX's schema, by an attribute, by a default.
TEST(Inference, GivesOutputsOfOperatorsWithoutASectionTheirTypesAndShapes) {
  const Model model = Stock(
      22, {Value("x", kFloat16, {2, 3})},
      {Of("Dropout", {"x"}, {"y", "mask"}), Of("IsNaN", {"x"}, {"nan"}),
       Of("EyeLike", {"x"}, {"eye"}, {Attribute::Int("dtype", 11)}), Of("NonZero", {"x"}, {"at"}),
       Of("Einsum", {"x", "x"}, {"e"}, {Attribute::String("equation", "ij,kj->ik")})});
  const Inference inference(model);
  ASSERT_TRUE(inference.broken().empty()) << inference.broken()[0].error.Text();
  EXPECT_EQ(inference.Find("y")->type, kFloat16);
  EXPECT_EQ(inference.Find("mask")->type, kBool);
  EXPECT_EQ(inference.Find("nan")->type, kBool);
  EXPECT_EQ(inference.Find("eye")->type, kDouble);
  EXPECT_EQ(inference.Find("at")->type, kInt64);
  EXPECT_EQ(DimsIn(inference, "mask"), (Dims{2, 3}));
  EXPECT_EQ(DimsIn(inference, "at"), (Dims{2, kUnknownSize}));
  EXPECT_EQ(DimsIn(inference, "e"), (Dims{2, 2}));
  EXPECT_TRUE(inference.without_shape_rule().empty());
}

struct Undefined {
  std::string clause;
  Model model;
};

ValueInfo Channels(const std::string& name) { return Value(name, kFloat, {2}); }

Model SampledBy(const std::string& mode, ElementType grid) {
  return Stock(20, {Value("x", kFloat, {1, 2, 4, 4}), Value("grid", grid, {1, 3, 3, 2})},
               {Of("GridSample", {"x", "grid"}, {"y"}, {Attribute::String("mode", mode)})});
}

std::vector<Undefined> UndefinedModels() {
  const ValueInfo image = Value("x", kFloat, {1, 2, 4, 4});
  Model cubic =
      Stock(19, {image},
            {Of("Resize", {"x", "", "", "sizes"}, {"y"}, {Attribute::String("mode", "cubic")})});
  cubic.graph.initializers = {Stored("sizes", kInt64, {4}, {1, 2, 8, 8})};
  Model antialias = cubic;
  antialias.graph.nodes[0].attributes = {Attribute::String("mode", "linear"),
                                         Attribute::Int("antialias", 1)};
  Model padded = Stock(
      9, {image}, {Of("Pad", {"x"}, {"y"}, {Attribute::Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1})})});
  const std::vector<std::string> batch = {"x", "gain", "bias", "mean", "variance"};
  return {
      {"resize.C8", cubic},
      {"resize.C8", antialias},
      {"grid_sample.C7", SampledBy("cubic", kFloat)},
      {"grid_sample.C7", SampledBy("linear", ElementType::kDouble)},
      {"space_to_depth.C6",
       Stock(28, {image},
             {Of("SpaceToDepth", {"x"}, {"y"},
                 {Attribute::Int("blocksize", 2), Attribute::String("mode", "CRD")})})},
      {"batch_normalization.C5",
       Stock(15,
             {image, Channels("gain"), Channels("bias"), Channels("mean"), Channels("variance")},
             {Of("BatchNormalization", batch, {"y", "m", "v"},
                 {Attribute::Int("training_mode", 1)})})},
      {"attention.C9",
       Stock(25, {image},
             {Of("Attention", {"x", "x", "x"}, {"y"}, {Attribute::Int("left_window_size", 1)})})},
      {"graph.C5", padded},  // of an opset older than the text
  };
}

TEST(Check, AcceptsWhatOnnxDefinesAndTheTextDoesNotAndCheckFirstDeclinesIt) {
  for (const Undefined& undefined : UndefinedModels()) {
    const auto findings = Check(undefined.model);
    EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
    const auto first = CheckFirst(undefined.model);
    ASSERT_FALSE(first.has_value()) << undefined.clause;
    EXPECT_EQ(first.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(first.error().clause, undefined.clause) << first.error().Text();
    EXPECT_TRUE(first.error().where.starts_with("graph.node[0] ''")) << first.error().where;
  }
}

// A backend checks a node again, unless everything that the clauses look at was known before.
TEST(CheckFirst, TellsWhichNodesItKnewAllOf) {
  const auto knows = [](const Dims& x, std::int64_t indices) {
    Model model = Stock(18, {Value("x", kFloat, x)}, {Of("Gather", {"x", "indices"}, {"y"})});
    model.graph.initializers = {
        Stored("indices", kInt64, {indices}, std::vector<std::int64_t>(std::size_t(indices), 0))};
    model.graph.outputs = {Value("y", kFloat, {indices})};
    const auto checked = CheckFirst(model);
    EXPECT_TRUE(checked.has_value()) << checked.error().Text();
    return checked->inference().KnowsAll(0);
  };
  EXPECT_TRUE(knows({3}, Inference::kMostConstantElements));
  EXPECT_FALSE(knows({3}, Inference::kMostConstantElements + 1));  // they are not decoded

  Model symbolic = Stock(18, {Value("x", kFloat, {3})}, {Of("Relu", {"x"}, {"y"})});
  symbolic.graph.inputs[0].type->shape = Shape{{std::nullopt, "N"}};
  symbolic.graph.outputs = {Value("y", kFloat, {3})};
  EXPECT_FALSE(CheckFirst(symbolic)->inference().KnowsAll(0));
}

// What is not defined does not hide what is broken, nor the shapes that follow.
TEST(Check, RefusesABrokenNodeThatAsksForSomethingUndefined) {
  Model model = UndefinedModels()[0].model;
  model.graph.outputs = {Value("y", kFloat, {1, 2, 8, 9})};
  const auto first = CheckFirst(model);
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(first.error().clause, "resize.C7");
}

// reduce_sum.C3, arg_max.C3, max_pool.C4: ONNX compares with 1, other code with 0.
TEST(Check, RefusesFlagsThatAreNeither) {
  for (const char* op_type : {"ReduceSum", "ArgMax"}) {
    const Model model = Stock(18, {Value("x", kFloat, {2, 3})},
                              {Of(op_type, {"x"}, {"y"}, {Attribute::Int("keepdims", 2)})});
    EXPECT_EQ(Check(model).size(), 1U) << op_type;
  }
  const Model pool =
      Stock(18, {Value("x", kFloat, {1, 1, 4, 4})},
            {Of("MaxPool", {"x"}, {"y"},
                {Attribute::Int("ceil_mode", 2), Attribute::Ints("kernel_shape", {2, 2})})});
  EXPECT_EQ(Check(pool).size(), 1U);
}

}  // namespace
}  // namespace qtx::format
