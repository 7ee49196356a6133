// Whole models: what an observer sees, fusion, fallback, threads, and what is refused.
#include <gmock/gmock.h>

#include <atomic>
#include <new>
#include <thread>

#include "float/workers.h"
#include "support.h"

namespace qtx::backend::float_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Inputs = std::span<const Tensor* const>;

// Two convolutions, each with batch normalization and an activation; the second is used twice.
format::Model Network(Random& random) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {1, 3, 9, 9});
  model.graph.inputs[0].type->shape->at(0) = {std::nullopt, "N"};
  AddConstant(model, "w1", RandomTensor({10, 3, 3, 3}, random));
  AddConstant(model, "w2", RandomTensor({10, 1, 3, 3}, random));
  for (const char* name : {"scale", "shift", "mean", "bias"}) {
    AddConstant(model, name, RandomTensor({10}, random));
  }
  Tensor variance = RandomTensor({10}, random);
  for (float& value : variance.As<float>()) value = std::abs(value);
  AddConstant(model, "variance", variance);
  AddConstant(model, "low", Floats({}, {-0.5F}));
  AddConstant(model, "high", Floats({}, {0.5F}));
  AddNode(model, "Conv", {"x", "w1", "bias"}, "c1");
  AddNode(model, "BatchNormalization", {"c1", "scale", "shift", "mean", "variance"}, "n1");
  AddNode(model, "Relu", {"n1"}, "r1");
  AddNode(model, "Conv", {"r1", "w2"}, "c2",
          {Attribute::Int("group", 10), Attribute::Ints("pads", {1, 1, 1, 1})});
  AddNode(model, "Clip", {"c2", "low", "high"}, "r2");
  AddNode(model, "Add", {"r2", "r2"}, "y");
  model.graph.outputs.push_back({.name = "y"});
  return model;
}

std::unique_ptr<FloatModel> Prepared(const format::Model& model, int threads = 1,
                                     FloatModel::Fallback fallback = {},
                                     const std::string& kernels = "") {
  auto prepared = FloatModel::Prepare(model, threads, std::move(fallback), kernels);
  if (!prepared.has_value()) {
    ADD_FAILURE() << prepared.error().where << ": " << prepared.error().message;
    return nullptr;
  }
  return *std::move(prepared);
}

TEST(FloatModel, ShowsEveryValueInOrder) {
  Random random(1);
  const auto model = Prepared(Network(random));
  std::vector<std::string> names;
  const std::vector inputs = {RandomTensor({1, 3, 9, 9}, random)};
  const auto thread = std::this_thread::get_id();
  ASSERT_TRUE(model
                  ->Run(inputs,
                        [&](const std::string& name, const Tensor& tensor) {
                          names.push_back(name);
                          EXPECT_EQ(tensor.elem_type, ElementType::kFloat);
                          EXPECT_EQ(std::this_thread::get_id(), thread);
                        })
                  .has_value());
  EXPECT_THAT(names, ElementsAre("x", "c1", "n1", "r1", "c2", "r2", "y"));
}

TEST(FloatModel, ComputesTheSameBitsObservedOrNotOnAnyKernelsAndThreads) {
  Random random(2);
  const format::Model network = Network(random);
  for (const std::int64_t batch : {1, 3}) {
    const std::vector inputs = {RandomTensor({batch, 3, 9, 9}, random)};
    const auto expected = Prepared(network)->Run(inputs);
    ASSERT_TRUE(expected.has_value());
    for (const std::string& kernels : FloatKernels()) {
      for (const int threads : {1, 2, 5}) {
        const auto model = Prepared(network, threads, {}, kernels);
        EXPECT_EQ(*model->Run(inputs), *expected) << kernels;
        EXPECT_EQ(*model->Run(inputs, [](const auto&, const auto&) {}), *expected) << kernels;
      }
    }
  }
}

TEST(FloatModel, RunsInSeveralThreadsAtOnce) {
  Random random(3);
  const auto model = Prepared(Network(random), 2);
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<Tensor>> expected;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back({RandomTensor({1 + i, 3, 9, 9}, random)});
    expected.push_back(*model->Run(inputs.back()));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 100; ++run) {
        const auto outputs = std::as_const(*model).Run(inputs[i], {});
        if (!outputs.has_value() || *outputs != expected[i]) ++wrong[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(FloatModel, ThrowsWhatATaskThrowsAndGoesOn) {
  floats::Workers workers(3);
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const auto fail = [](std::int64_t) { throw std::bad_alloc(); };
  EXPECT_THROW(workers.For(100, kLarge, fail), std::bad_alloc);
  std::atomic<int> calls = 0;
  workers.For(100, kLarge, [&calls](std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 100);
}

// Doubles, in place of an operator without kernel.
FloatModel::Fallback Doubling(std::vector<std::string>* calls) {
  return [calls](const format::Node& node, std::int64_t opset,
                 Inputs inputs) -> Result<std::vector<Tensor>> {
    calls->push_back(node.op_type + std::to_string(opset));
    Tensor y = *inputs[0];
    for (float& value : y.As<float>()) value *= 2;
    return std::vector{y};
  };
}

TEST(FloatModel, AsksTheFallbackForWhatHasNoKernel) {
  const Tensor x = Floats({2}, {1, 2});
  format::Model model = OneNode("Erf", {x}, 0);
  std::vector<std::string> calls;
  const auto outputs = Prepared(model, 1, Doubling(&calls))->Run(std::vector{x});
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(outputs->at(0), Floats({2}, {2, 4}));
  EXPECT_THAT(calls, ElementsAre("Erf17"));
  const auto without = FloatModel::Prepare(model, 1);
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(without.error().where, "node 'y' (Erf)");
}

TEST(FloatModel, AsksTheFallbackForTypesThatTheKernelDoesNotTake) {
  const Tensor x = Int64s({1, 2});
  const format::Model model = OneNode("Add", {x, x}, 0);
  const std::vector inputs = {x, x};
  int calls = 0;
  const auto fallback = [&](const format::Node&, std::int64_t,
                            Inputs given) -> Result<std::vector<Tensor>> {
    ++calls;
    return std::vector{*given[0]};
  };
  EXPECT_TRUE(Prepared(model, 1, fallback)->Run(inputs).has_value());
  EXPECT_EQ(calls, 1);
  const auto declined = FloatModel::Prepare(model, 1);
  ASSERT_FALSE(declined.has_value());
  EXPECT_EQ(declined.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(declined.error().where, "node 'y' (Add)");
}

// A fallback computes one node, and has no values of the graph around a body.
TEST(FloatModel, DeclinesANodeWithABodyWhateverTheFallback) {
  format::Model model = OneNode("Abs", {Floats({1}, {1})}, 0);
  Attribute branch;
  branch.name = "then_branch";
  branch.type = format::AttributeType::kGraph;
  branch.graphs.resize(1);
  branch.graphs[0].nodes = {{.op_type = "Identity", .inputs = {"c"}, .outputs = {"t"}}};
  branch.graphs[0].outputs = {{.name = "t"}};
  Attribute other = branch;
  other.name = "else_branch";
  AddInput(model, "c", ElementType::kBool, {});
  model.graph.nodes.push_back(
      {.op_type = "If", .inputs = {"c"}, .outputs = {"i"}, .attributes = {branch, other}});
  const auto any = [](const format::Node&, std::int64_t, Inputs) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>();
  };
  const auto prepared = FloatModel::Prepare(model, 1, any);
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(prepared.error().where, "node 'i' (If)");
}

TEST(FloatModel, RefusesAFallbackThatGivesAnotherNumberOfOutputs) {
  const Tensor x = Floats({1}, {1});
  const auto nothing = [](const format::Node&, std::int64_t,
                          Inputs) -> Result<std::vector<Tensor>> { return std::vector<Tensor>(); };
  EXPECT_FALSE(Prepared(OneNode("Erf", {x}, 0), 1, nothing)->Run(std::vector{x}).has_value());
}

TEST(FloatModel, HasConstantsOfNodes) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {2});
  Attribute value = Attribute::Floats("value_floats", {10, 20});
  AddNode(model, "Constant", {}, "c", {value});
  AddNode(model, "Constant", {}, "one", {Attribute::Float("value_float", 1)});
  AddNode(model, "Add", {"x", "c"}, "s");
  AddNode(model, "Sub", {"s", "one"}, "y");
  model.graph.outputs.push_back({.name = "y"});
  std::vector<std::string> names;
  const auto outputs =
      Prepared(model)->Run(std::vector{Floats({2}, {1, 2})},
                           [&](const std::string& name, const Tensor&) { names.push_back(name); });
  EXPECT_EQ(outputs->at(0), Floats({2}, {10, 21}));
  EXPECT_THAT(names, ElementsAre("x", "c", "one", "s", "y"));
}

// An input, an initializer and one value twice.
TEST(FloatModel, GivesOutputsThatNoNodeProduces) {
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {1});
  AddConstant(model, "c", Floats({1}, {7}));
  AddNode(model, "Relu", {"x"}, "y");
  for (const char* name : {"y", "x", "c", "y"}) {
    model.graph.outputs.push_back({.name = name, .type = model.graph.inputs[0].type});
  }
  const auto prepared = Prepared(model);
  for (int run = 0; run < 2; ++run) {
    const auto outputs = prepared->Run(std::vector{Floats({1}, {3})});
    ASSERT_TRUE(outputs.has_value());
    EXPECT_THAT(*outputs, ElementsAre(Floats({1}, {3}), Floats({1}, {3}), Floats({1}, {7}),
                                      Floats({1}, {3})));
  }
}

// A convolution's result that is an output, or used elsewhere, is not lost in a fusion.
TEST(FloatModel, KeepsWhatOthersUse) {
  for (const bool output : {true, false}) {
    format::Model model = NewModel();
    AddInput(model, "x", ElementType::kFloat, {1, 1, 1});
    AddConstant(model, "w", Floats({1, 1, 1}, {-1}));
    AddNode(model, "Conv", {"x", "w"}, "c");
    AddNode(model, "Relu", {"c"}, "r");
    if (output) {
      model.graph.outputs.push_back({.name = "c"});
    } else {
      AddNode(model, "Sub", {"r", "c"}, "y");
      model.graph.outputs.push_back({.name = "y"});
    }
    const auto outputs = Prepared(model)->Run(std::vector{Floats({1, 1, 1}, {5})});
    ASSERT_TRUE(outputs.has_value());
    EXPECT_EQ(outputs->at(0).As<float>()[0], output ? -5 : 5);
  }
}

std::string RunError(const format::Model& model, const std::vector<Tensor>& inputs) {
  const auto outputs = Prepared(model)->Run(inputs);
  return outputs.has_value() ? "none" : outputs.error().where + ": " + outputs.error().message;
}

TEST(FloatModel, RefusesInputsThatDoNotFit) {
  format::Model model = NewModel();
  AddInput(model, "a", ElementType::kFloat, {1, 2});
  AddInput(model, "b", ElementType::kFloat, {1, 2});
  for (auto& input : model.graph.inputs) input.type->shape->at(0) = {std::nullopt, "N"};
  AddNode(model, "Add", {"a", "b"}, "y");
  model.graph.outputs.push_back({.name = "y"});
  const Tensor one = Floats({1, 2}, {1, 2});
  EXPECT_EQ(RunError(model, {one, one}), "none");
  EXPECT_EQ(RunError(model, {one}), "inputs: found 1, expected 2");
  EXPECT_EQ(RunError(model, {one, Floats({2, 2}, {1, 2, 3, 4})}),
            "input 'b': found [2,2], expected [N,2]");
  EXPECT_EQ(RunError(model, {one, Floats({1, 3}, {1, 2, 3})}),
            "input 'b': found [1,3], expected [N,2]");
  EXPECT_EQ(RunError(model, {one, Int64s({1})}), "input 'b': found INT64, expected FLOAT");
  Tensor cut = one;
  cut.bytes.resize(3);
  EXPECT_THAT(RunError(model, {one, cut}), HasSubstr("input 'b'"));
}

std::string PrepareError(const format::Model& model) {
  const auto prepared = FloatModel::Prepare(model, 1);
  return prepared.has_value() ? "none" : prepared.error().Text();
}

std::string ClauseOf(const format::Model& model) {
  const auto prepared = FloatModel::Prepare(model, 1);
  return prepared.has_value() ? "none" : prepared.error().clause;
}

ErrorCode CodeOf(const format::Model& model, const std::vector<Tensor>& inputs) {
  auto prepared = FloatModel::Prepare(model, 1);
  if (!prepared.has_value()) return prepared.error().code;
  return (*prepared)->Run(inputs).error().code;
}

// Models that ONNX allows: what this backend cannot do is no fault of theirs.
TEST(FloatModel, DeclinesWhatOnlyItCannotDo) {
  const Tensor x = Floats({1, 1, 2}, {1, 2});
  const std::int64_t large = (std::int64_t{1} << 24) + 1;
  const Attribute kernel = Attribute::Ints("kernel_shape", {1});
  const std::vector<std::vector<Attribute>> wide = {
      {kernel, Attribute::Ints("strides", {large})},
      {kernel, Attribute::Ints("dilations", {large})},
      {Attribute::Ints("kernel_shape", {large}), Attribute::Ints("pads", {large - 2, 0})}};
  for (const auto& attributes : wide) {
    EXPECT_EQ(CodeOf(OneNode("MaxPool", {x}, 0, attributes), {x}), ErrorCode::kUnsupported);
  }
  const Tensor volume = Floats({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const format::Model volumes =
      OneNode("MaxPool", {volume}, 0, {Attribute::Ints("kernel_shape", {1, 1, 1})});
  const auto planar = FloatModel::Prepare(volumes, 1);
  ASSERT_FALSE(planar.has_value());
  EXPECT_EQ(planar.error().code, ErrorCode::kUnsupported);
  format::Model indices = OneNode("MaxPool", {x}, 0, {Attribute::Ints("kernel_shape", {1})});
  indices.graph.nodes[0].outputs = {"y", "z"};
  EXPECT_EQ(CodeOf(indices, {x}), ErrorCode::kUnsupported);
}

TEST(FloatModel, RefusesModelsThatDoNotHoldTogether) {
  const Tensor x = Floats({1}, {1});
  format::Model missing = OneNode("Relu", {x}, 0);
  missing.graph.nodes[0].inputs = {"z"};
  EXPECT_EQ(ClauseOf(missing), "graph.C2");
  format::Model twice = OneNode("Relu", {x}, 0);
  twice.graph.nodes.push_back(twice.graph.nodes[0]);
  EXPECT_EQ(ClauseOf(twice), "graph.C1");
  format::Model no_output = OneNode("Relu", {x}, 0);
  no_output.graph.outputs = {{.name = "z"}};
  EXPECT_EQ(ClauseOf(no_output), "graph.C3");
  format::Model two_constants = OneNode("Relu", {x}, 0);
  AddNode(two_constants, "Constant", {}, "c", {Attribute::Float("value_float", 1)});
  two_constants.graph.nodes[1].outputs = {"c", "d"};
  EXPECT_EQ(ClauseOf(two_constants), "graph.C5");
  format::Model quantized = OneNode("Relu", {x}, 0);
  quantized.graph.inputs[0].type->elem_type = ElementType::kInt8Q;
  quantized.graph.inputs[0].type->quantization.emplace().scale = {1};
  quantized.graph.outputs[0].type = quantized.graph.inputs[0].type;
  EXPECT_THAT(PrepareError(quantized), HasSubstr("value 'x0': of type INT8Q"));
}

// What shapes come to is known when it runs, and shapes that were right are remembered.
TEST(FloatModel, HoldsShapesToTheClausesWhenTheyCome) {
  format::Model model = NewModel();
  AddInput(model, "a", ElementType::kFloat, {1, 2});
  AddInput(model, "b", ElementType::kFloat, {2, 1});
  for (format::ValueInfo& input : model.graph.inputs) {
    for (format::Dimension& dimension : *input.type->shape) dimension = {};
  }
  AddNode(model, "MatMul", {"a", "b"}, "y");
  model.graph.outputs.push_back({.name = "y"});
  const auto prepared = Prepared(model);
  const Tensor row = Floats({1, 2}, {1, 2});
  const Tensor column = Floats({2, 1}, {3, 4});
  for (int run = 0; run < 2; ++run) {
    const auto product = prepared->Run(std::vector{row, column});
    ASSERT_TRUE(product.has_value());
    EXPECT_EQ(product->front(), Floats({1, 1}, {11}));
    const auto refused = prepared->Run(std::vector{row, row});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().clause, "mat_mul.C3");
  }
}

// Nodes without the inputs and outputs they need, and without attributes that have no default.
TEST(FloatModel, SurvivesNodesWithoutInputsOrOutputs) {
  for (const char* op :
       {"Conv",       "Gemm",     "MatMul",    "MaxPool",     "AveragePool", "GlobalAveragePool",
        "ReduceMean", "Relu",     "LeakyRelu", "HardSigmoid", "HardSwish",   "Exp",
        "Sigmoid",    "Tanh",     "Sqrt",      "Clip",        "Add",         "BatchNormalization",
        "Softmax",    "Identity", "Dropout",   "Flatten",     "Reshape",     "Squeeze",
        "Unsqueeze",  "Concat",   "Transpose", "Pad",         "Constant"}) {
    for (int form = 0; form < 4; ++form) {
      format::Model model = OneNode(op, {Floats({}, {1})}, 0);
      format::Node& node = model.graph.nodes[0];
      if (form == 0) node.inputs.clear();
      if (form == 1) node.inputs = {""};
      if (form == 3) node.outputs.clear(), model.graph.outputs.clear();
      const auto prepared = FloatModel::Prepare(model, 1);
      if (!prepared.has_value()) continue;
      const auto outputs = (*prepared)->Run(std::vector{Floats({}, {1})});
      EXPECT_TRUE(form >= 2 || !outputs.has_value()) << op;
    }
  }
}

}  // namespace
}  // namespace qtx::backend::float_test
