// Expectations by hand, from section 3.2 of arXiv:2306.00978.
#include "awq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "awq_search.h"
#include "divide.h"
#include "floats.h"
#include "qtx/reference/interpreter.h"

namespace qtx::quantize::awq_test {
namespace {

using format::ElementType;
using format::Model;
using format::Node;
using format::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

class Network {
 public:
  Network() {
    model_.ir_version = 10;
    model_.opset_imports = {{.domain = "", .version = 17}};
    model_.graph.name = "g";
  }
  Network& Constant(const char* name, const Tensor& tensor) {
    model_.graph.initializers.push_back(format::ToTensorData(name, tensor));
    return *this;
  }
  Network& Add(const char* op, std::vector<std::string> inputs, const char* output,
               const format::Dims& dims, std::vector<format::Attribute> attributes = {}) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    model_.graph.nodes.push_back(std::move(node));
    model_.graph.values.push_back(Info(output, dims));
    return *this;
  }
  Model Of(const char* input, const format::Dims& dims) {
    model_.graph.inputs = {Info(input, dims)};
    model_.graph.outputs = {model_.graph.values.back()};
    model_.graph.values.pop_back();
    return model_;
  }

 private:
  static format::ValueInfo Info(const char* name, const format::Dims& dims) {
    format::TensorType type{ElementType::kFloat};
    type.shape = format::ToShape(dims);
    return {.name = name, .type = std::move(type)};
  }
  Model model_;
};

ScaledProduct Product(format::Dims dims, const std::vector<float>& values) {
  ScaledProduct product;
  product.weights = Floats(std::move(dims), values);
  product.settings.weights = *ParseWeights("int4");
  product.axes = {.output = 1, .reduced = 0};
  product.gram = {2, {64, 0, 1}};  // x = (8, 1)
  return product;
}

// As they are, (3, 14) has scale 2, and 3 becomes 4; (5, 9) has 9 / 7, and 5 becomes 36 / 7: the
// error is 64 (1 + 1 / 49). With alpha 0.9 the first row is r = 8^0.9 = 6.498 times the second, its
// weights are 7 steps of 3 r / 7 and 5 r / 7, and the others 5 and 2: 5 * 3 r / 7 = 13.924 and 2 *
// 5 r / 7 = 9.283. The other 40 candidates leave more than 0.11 (of Python).
TEST(SearchFactors, TakesTheAlphaOfTheLeastError) {
  const std::vector<ScaledProduct> products = {Product({2, 2}, {3, 5, 14, 9})};
  const auto found = SearchFactors(products);
  ASSERT_TRUE(found.has_value());
  const double r = std::pow(8, 0.9);
  EXPECT_DOUBLE_EQ(found->alpha, 0.9);
  EXPECT_FALSE(found->by_weights);
  EXPECT_NEAR(found->factors[0], std::sqrt(r), 1e-6);
  EXPECT_NEAR(found->factors[1], 1 / std::sqrt(r), 1e-6);
  const double left = std::pow(14 - 15 * r / 7, 2) + std::pow(9 - 10 * r / 7, 2);
  EXPECT_NEAR(found->left, left / (64 * (1 + 1.0 / 49)), 1e-6);
}

// The magnitudes of (3, 5) over (14, 14) are 2 / 7 in the mean: r = 8^0.75 3.5^0.25 = 6.506, with
// which 5 * 3 r / 7 and 3 * 5 r / 7 are 13.94. As they are, 3 and 5 are ties of 2, both off by 1.
TEST(SearchFactors, MayGoByTheWeightsToo) {
  const std::vector<ScaledProduct> products = {Product({2, 2}, {3, 5, 14, 14})};
  const auto found = SearchFactors(products);
  ASSERT_TRUE(found.has_value());
  const double r = std::pow(8, 0.75) * std::pow(3.5, 0.25);
  EXPECT_DOUBLE_EQ(found->alpha, 0.75);
  EXPECT_TRUE(found->by_weights);
  EXPECT_NEAR(found->factors[0] / found->factors[1], r, 1e-5);
  EXPECT_NEAR(found->left, 2 * std::pow(14 - 15 * r / 7, 2) / 128, 1e-6);
}

TEST(SearchFactors, LeavesWhatHasNoError) {
  const std::vector<ScaledProduct> products = {Product({2, 1}, {3, 7})};
  const auto found = SearchFactors(products);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->factors, ElementsAre(1, 1));
}

// [1, 2, 3] along the last axis, and one number repeated along the second of three.
TEST(Changed, DividesOrMultipliesAlongAnAxis) {
  const Tensor row = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Changed(row, {2, 4, 0.5F}, {.from_end = 0}),
            Floats({2, 3}, {0.5F, 0.5F, 6, 2, 1.25F, 12}));
  EXPECT_EQ(Changed(row, {2, 4}, {.from_end = 1, .multiplies = true}),
            Floats({2, 3}, {2, 4, 6, 16, 20, 24}));
  EXPECT_EQ(Changed(Floats({}, {3}), {2, 4}, {.from_end = 1}), Floats({2, 1}, {1.5F, 0.75F}));
}

// x -> LayerNormalization(g, b) -> MatMul(q), MatMul(k): one group of two products.
Model Attention(bool residual) {
  Network network;
  network.Constant("g", Floats({2}, {1, 2})).Constant("b", Floats({2}, {0.5F, -1}));
  network.Constant("q", Floats({2, 1}, {3, 14})).Constant("k", Floats({2, 1}, {14, 7}));
  network.Add("LayerNormalization", {"x", "g", "b"}, "n", {1, 2});
  network.Add("MatMul", {"n", "q"}, "p", {1, 1}).Add("MatMul", {"n", "k"}, "r", {1, 1});
  network.Add("Add", {"p", "r"}, "y", {1, 1});
  if (residual) network.Add("Add", {"y", "n"}, "z", {1, 2});
  return network.Of("x", {1, 2});
}

Options AwqOptions(Awq awq) {
  Options options;
  options.settings = {*ParseActivations("float"), *ParseWeights("int4")};
  options.awq = awq;
  options.grams["n"] = {2, {64, 0, 1}};
  return options;
}

TEST(ScaleInputs, DividesANormalizationThatOnlyProductsRead) {
  const Model before = Attention(false);
  Model after = before;
  Options options = AwqOptions(Awq::kFold);
  Ledger ledger;
  ASSERT_TRUE(ScaleInputs(after, options, ledger).has_value());
  const std::vector<float> q = FloatsOf(after, "q"), k = FloatsOf(after, "k");
  const float s0 = q[0] / 3, s1 = q[1] / 14;
  EXPECT_GT(s0, 1.1F * s1);
  EXPECT_FLOAT_EQ(k[0], 14 * s0);
  EXPECT_FLOAT_EQ(k[1], 7 * s1);
  EXPECT_FLOAT_EQ(FloatsOf(after, "g")[0], 1 / s0);
  EXPECT_FLOAT_EQ(FloatsOf(after, "g")[1], 2 / s1);
  EXPECT_FLOAT_EQ(FloatsOf(after, "b")[0], 0.5F / s0);
  EXPECT_FLOAT_EQ(FloatsOf(after, "b")[1], -1 / s1);
  EXPECT_NEAR(options.grams.at("n").sums[0], 64 / std::pow(s0, 2), 1e-4);
  EXPECT_NEAR(options.grams.at("n").sums[2], 1 / std::pow(s1, 2), 1e-6);
  const auto entries = ledger.Take();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_THAT(entries[0].why, HasSubstr("alpha"));
}

TEST(ScaleInputs, LeavesAValueThatOthersRead) {
  const Model before = Attention(true);
  Model after = before;
  Options options = AwqOptions(Awq::kFold);
  Ledger ledger;
  ASSERT_TRUE(ScaleInputs(after, options, ledger).has_value());
  EXPECT_EQ(after.graph.initializers, before.graph.initializers);
  const auto entries = ledger.Take();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].value, "n");
  EXPECT_THAT(entries[0].why, HasSubstr("not only products read it"));
}

TEST(ScaleInputs, MultipliesAValueThatOthersRead) {
  const Model before = Attention(true);
  Model after = before;
  Options options = AwqOptions(Awq::kMultiply);
  Ledger ledger;
  ASSERT_TRUE(ScaleInputs(after, options, ledger).has_value());
  ASSERT_EQ(after.graph.nodes.size(), before.graph.nodes.size() + 1);
  const Node& mul = after.graph.nodes[1];
  EXPECT_EQ(mul.op_type, "Mul");
  EXPECT_EQ(mul.inputs[0], "n");
  for (const std::size_t product : {2U, 3U})
    EXPECT_EQ(after.graph.nodes[product].inputs[0], mul.outputs[0]);
  EXPECT_EQ(after.graph.nodes[5].inputs[1], "n");
  EXPECT_TRUE(options.grams.contains(mul.outputs[0]));
  const float s0 = FloatsOf(after, "q")[0] / 3;
  EXPECT_FLOAT_EQ(FloatsOf(after, mul.inputs[1])[0], 1 / s0);
}

TEST(ScaleInputs, NamesAValueWithoutSums) {
  Model model = Attention(false);
  Options options = AwqOptions(Awq::kFold);
  options.grams.clear();
  Ledger ledger;
  ASSERT_TRUE(ScaleInputs(model, options, ledger).has_value());
  EXPECT_EQ(ledger.Take()[0].why, "AWQ had no sums of it");
}

TEST(ScaleInputs, RefusesStatisticsThatItCannotMeasure) {
  Model model = Attention(false);
  Options options = AwqOptions(Awq::kFold);
  options.settings.activations = *ParseActivations("int8");
  Ledger ledger;
  const auto done = ScaleInputs(model, options, ledger);
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("expected data to measure them"));
}

// sigmoid(x a) * (x b) -> Add c -> Relu -> MatMul: the gate's other operand is divided,
// and c, which is one number, gets one a channel. The network computes what it did.
TEST(ScaleInputs, GoesThroughWhatKeepsChannels) {
  Network network;
  network.Constant("a", Floats({2, 2}, {1, -2, 0.5F, 1})).Constant("w", Floats({2, 1}, {3, 14}));
  network.Constant("b", Floats({2, 2}, {2, 1, 1, 3})).Constant("c", Floats({}, {0.25F}));
  network.Add("MatMul", {"x", "a"}, "m", {1, 2}).Add("Sigmoid", {"m"}, "s", {1, 2});
  network.Add("MatMul", {"x", "b"}, "u", {1, 2}).Add("Mul", {"u", "s"}, "v", {1, 2});
  network.Add("Add", {"v", "c"}, "t", {1, 2}).Add("Relu", {"t"}, "n", {1, 2});
  network.Add("MatMul", {"n", "w"}, "y", {1, 1});
  const Model before = network.Of("x", {1, 2});
  Model after = before;
  Options options = AwqOptions(Awq::kFold);
  Ledger ledger;
  ASSERT_TRUE(ScaleInputs(after, options, ledger).has_value());
  EXPECT_EQ(FloatsOf(after, "a"), FloatsOf(before, "a"));
  EXPECT_NE(FloatsOf(after, "b"), FloatsOf(before, "b"));
  EXPECT_EQ(FloatsOf(after, "c").size(), 2U);
  auto one = *reference::Interpreter::Prepare(before, "exact");
  auto other = *reference::Interpreter::Prepare(after, "exact");
  for (const float x : {-2.0F, 0.5F, 3.0F}) {
    const Tensor input = Floats({1, 2}, {x, 1});
    const float was = (*one.Run(std::span(&input, 1)))[0].As<float>()[0];
    EXPECT_NEAR((*other.Run(std::span(&input, 1)))[0].As<float>()[0], was, 1e-5);
  }
}

// Each of two groups of a Conv has a channel of two elements, which share a factor.
TEST(ScaleInputs, ScalesTheChannelsOfAConv) {
  Network network;
  network.Constant("v", Floats({2, 1, 1}, {1, 2})).Constant("c", Floats({2}, {1, 1}));
  network.Constant("w", Floats({2, 1, 2}, {3, 14, 3, 14}));
  network.Add("Conv", {"x", "v", "c"}, "n", {1, 2, 3}, {format::Attribute::Int("group", 2)});
  network.Add("Conv", {"n", "w"}, "y", {1, 2, 2}, {format::Attribute::Int("group", 2)});
  Model model = network.Of("x", {1, 2, 3});
  const GraphIndex index(model);
  const auto division = DivisionOf(index, "n", {2, 1});
  ASSERT_TRUE(division.has_value());
  ASSERT_EQ(division->constants.size(), 2U);
  EXPECT_EQ(division->constants[0].from_end, 2);
  EXPECT_EQ(division->constants[1].from_end, 0);
  ScaledProduct product;
  product.weights = Floats({2, 1, 2}, {3, 14, 3, 14});
  product.axes = {.output = 0, .reduced = 1};
  product.gram.size = 2;
  product.groups = 2;
  product.elements = 2;
  EXPECT_EQ(Scaled(product, std::vector<float>{2, 0.5F}), Floats({2, 1, 2}, {6, 28, 1.5F, 7}));
}

}  // namespace
}  // namespace qtx::quantize::awq_test
