// Operators of quantlib's integer networks as nodes of ai.onnx; the results follow from the text of
// each by hand.
#include <cstring>
#include <optional>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::quantlib_test {
namespace {

using format::Attribute;
using format::ElementType;

constexpr ElementType kFloat = ElementType::kFloat;

Attribute OneFloat(const std::string& name, float value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kTensor;
  attribute.t = format::ToTensorData("", TensorOf<float>(kFloat, {1}, {value}));
  return attribute;
}

struct Operator {
  std::string op_type;
  std::vector<Attribute> attributes;
  std::vector<std::vector<float>> constants;  // inputs behind the first, of one dimension
  std::string domain;
};

OnnxMaker ModelOf(const Operator& op, format::Dims dims, format::Dims result) {
  OnnxMaker maker(13);
  maker.model.graph.inputs = {OnnxMaker::Value("x", kFloat, std::move(dims))};
  maker.model.graph.outputs = {OnnxMaker::Value("y", kFloat, std::move(result))};
  std::vector<std::string> inputs = {"x"};
  for (const std::vector<float>& constant : op.constants) {
    inputs.push_back("c" + std::to_string(inputs.size()));
    maker.Initializer<float>(inputs.back(), kFloat, {std::ssize(constant)}, constant);
  }
  format::Node& node = maker.Node(op.op_type, inputs, {"y"});
  node.attributes = op.attributes;
  node.domain = op.domain;
  return maker;
}

std::vector<float> Results(const Operator& op, format::Dims dims, const std::vector<float>& x,
                           std::optional<format::Dims> result = std::nullopt) {
  const format::Model lifted = Lifted(ModelOf(op, dims, result.value_or(dims)).model);
  const std::vector<std::byte> bytes = RunIn(lifted, "exact", {TensorOf<float>(kFloat, dims, x)});
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

using Floats = std::vector<float>;

TEST(Quantlib, RequantShiftRoundsHalvesUp) {
  Operator op{"RequantShift",
              {OneFloat("div", 8), OneFloat("n_levels_out", 16), OneFloat("signed", 1)},
              {{3}, {4}}};
  const Floats x = {-3, 0, 5, 100};  // -5 4 19 304, in eighths
  EXPECT_EQ(Results(op, {4}, x), (Floats{-1, 1, 2, 7}));
  op.attributes.back() = OneFloat("signed", 0);
  for (const char* domain : {"", "ai.onnx.contrib", "PACTOps"}) {
    op.domain = domain;
    EXPECT_EQ(Results(op, {4}, x), (Floats{0, 1, 2, 15})) << domain;
  }
}

// Of 13 levels: c is 6.5, rounded up, so that they are -7 to 6; and 0 to 12.
TEST(Quantlib, RequantShiftOfAnOddNumberOfLevels) {
  Operator op{"RequantShift",
              {OneFloat("div", 1), OneFloat("n_levels", 13), OneFloat("signed", 1)},
              {{1}, {0}}};
  EXPECT_EQ(Results(op, {4}, {-8, -7, 6, 7}), (Floats{-7, -7, 6, 6}));
  op.attributes.back() = OneFloat("signed", 0);
  EXPECT_EQ(Results(op, {4}, {-1, 0, 12, 13}), (Floats{0, 0, 12, 12}));
}

// (2^23 + 1)^2 = 2^46 + 2^24 + 1 is no binary32.
TEST(Quantlib, ProductsAreExactBeyondBinary32) {
  const Operator op{"RequantShift",
                    {OneFloat("div", 1), OneFloat("n_levels_out", 256), OneFloat("signed", 1)},
                    {{0x1.000002p23F}, {-0x1.000004p46F}}};
  EXPECT_EQ(Results(op, {1}, {0x1.000002p23F}), (Floats{1}));
}

TEST(Quantlib, FactorsOfChannelsMayLieAlongTheFirstAxis) {
  OnnxMaker maker = ModelOf(
      {"RequantShift", {OneFloat("div", 1), OneFloat("n_levels", 256), OneFloat("signed", 1)}, {}},
      {1, 2, 3}, {1, 2, 3});
  maker.Initializer<float>("mul", kFloat, {2, 1, 1}, {1, 2});
  maker.Initializer<float>("add", kFloat, {2, 1, 1}, {0, 5});
  maker.model.graph.nodes[0].inputs = {"x", "mul", "add"};
  const auto x = TensorOf<float>(kFloat, {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = TensorOf<float>(kFloat, {1, 2, 3}, {1, 2, 3, 13, 15, 17});
  EXPECT_EQ(RunIn(Lifted(maker.model), "exact", {x}), y.bytes);
}

TEST(Quantlib, ISoftmax) {
  const Operator op{"iSoftmax",
                    {OneFloat("coeffA", 1), OneFloat("coeffB", 4), OneFloat("coeffC", 2),
                     OneFloat("log2", 3), OneFloat("n_levels", 16)},
                    {}};
  // z 0 1, p 0 -1; 4^2 + 2 = 18, (3^2 + 2) / 2 = 5; of 15 * 18 / 23 and 15 * 5 / 23.
  EXPECT_EQ(Results(op, {1, 2}, {5, 1}), (Floats{11, 3}));
}

TEST(Quantlib, ItaMax) {
  const Operator op{"ITAMax", {OneFloat("n_levels", 16)}, {}};
  // Shifts 0 2 3; 16 + 4 + 2 = 22; floor(240 / 22) = 10, 2.5, 1.25.
  EXPECT_EQ(Results(op, {1, 3}, {8, 0, -2}), (Floats{10, 2, 1}));
}

TEST(Quantlib, IGelu) {
  const Operator op{"iGELU", {Attribute::Int("b", -3), Attribute::Int("one", 12)}, {}};
  // 12 less 1 4 0 9, with the sign of x; half of 23 4 24 12.
  EXPECT_EQ(Results(op, {4}, {2, -1, 10, 0}), (Floats{22, -2, 120, 0}));
}

TEST(Quantlib, ILayerNormTruncatesMeanAndQuotient) {
  const Operator op{
      "iLayerNorm", {OneFloat("D", 4), OneFloat("n_levels", 256)}, {{5, 3, 4}, {0, 1, 7}}};
  // Means 3 and -2; divisors 2 and 2; quotients -5 -1 6 and 2 0 -6.
  EXPECT_EQ(Results(op, {2, 3}, {1, 2, 6, -1, -2, -5}), (Floats{-2, 0, 3, 0, 0, 0}));
}

TEST(Quantlib, OtherNorms) {
  const Operator rms{
      "iRMSNorm", {Attribute::Int("D", 2), Attribute::Int("n_levels", 256)}, {{7, -5}}};
  EXPECT_EQ(Results(rms, {1, 2}, {3, 4}), (Floats{3, -4}));  // 21 and -20 by 3 * 2
  const Operator none{"iNoNorm",
                      {OneFloat("D", 8), OneFloat("mul", 5), OneFloat("n_levels", 256)},
                      {{3, 2}, {1, 1}}};
  EXPECT_EQ(Results(none, {1, 2}, {2, -3}), (Floats{4, -4}));  // 35 and -25 by 8
}

// Of 6 levels: -3 to 2; of 5: -3 to 1, as quantlib's integer division has it.
TEST(Quantlib, NormsAreClipped) {
  const Operator none{
      "iNoNorm", {OneFloat("D", 1), OneFloat("mul", 1), OneFloat("n_levels", 6)}, {{1}, {0}}};
  EXPECT_EQ(Results(none, {1, 4}, {-4, -3, 2, 3}), (Floats{-3, -3, 2, 2}));
  const Operator rms{"iRMSNorm", {Attribute::Int("D", 1), Attribute::Int("n_levels", 5)}, {{1, 9}}};
  // 9 and 16: 12 + 1 has the root 3; 1 and 12, of which 5 levels have 1. With -4, -12.
  EXPECT_EQ(Results(rms, {1, 2}, {3, 4}), (Floats{1, 1}));
  EXPECT_EQ(Results(rms, {1, 2}, {3, -4}), (Floats{1, -3}));
  const Operator layer{
      "iLayerNorm", {OneFloat("D", 1), OneFloat("n_levels", 4)}, {{1, 1}, {5, -5}}};
  // Mean 0, divisor 1: 0 and 0, plus the biases.
  EXPECT_EQ(Results(layer, {1, 2}, {0, 0}), (Floats{1, -2}));
}

TEST(Quantlib, ISoftmaxHasItsFactorAndFloors) {
  const Operator op{"iSoftmax",
                    {OneFloat("coeffA", 3), OneFloat("coeffB", 16), OneFloat("coeffC", 1),
                     OneFloat("log2", 4), OneFloat("n_levels", 1024)},
                    {}};
  // 769 and floor(769 / 2) = 384 of 1153, times 1023: 682.3 and 340.7.
  EXPECT_EQ(Results(op, {1, 2}, {0, -4}), (Floats{682, 340}));
}

TEST(Quantlib, ElementsAndMeans) {
  const Operator hardswish{
      "iHardswish",
      {Attribute::Int("three", 3), Attribute::Int("six", 6), Attribute::Int("one_over_six", 2)},
      {}};
  EXPECT_EQ(Results(hardswish, {4}, {-4, -1, 2, 5}), (Floats{0, -4, 20, 60}));
  const Operator mean{"IntegerMean", {Attribute::Ints("axes", {1}), Attribute::Int("keepdims", 0)}};
  EXPECT_EQ(Results(mean, {3, 2}, {1, 2, 2, 3, -1, -2}, format::Dims{3}), (Floats{2, 3, -1}));
  const Operator division{"TrueIntegerDiv",
                          {Attribute::Int("Delta", 10), Attribute::Int("eps", 1),
                           Attribute::Int("eta", 2), Attribute::Int("y", 3)}};
  EXPECT_EQ(Results(division, {2}, {3, -2}), (Floats{8, -6}));  // 60 and -40 by 7
}

TEST(Quantlib, NodesThatSayTooLittleAreRefused) {
  Operator op{"RequantShift", {OneFloat("div", 0), OneFloat("signed", 1)}, {{3}, {4}}};
  EXPECT_EQ(Refusal(ModelOf(op, {4}, {4}).model),
            "node 'y_node' (RequantShift): it is quantlib's, and its div is not positive");
  op.attributes[0] = OneFloat("div", 8);
  EXPECT_EQ(Refusal(ModelOf(op, {4}, {4}).model),
            "node 'y_node' (RequantShift): it is quantlib's, and its n_levels_out is no number");
  op.attributes.push_back(OneFloat("n_levels", 256));
  op.constants.pop_back();
  EXPECT_EQ(Refusal(ModelOf(op, {4}, {4}).model),
            "node 'y_node' (RequantShift): it is quantlib's, and it has no input 2");
  EXPECT_EQ(Refusal(ModelOf({"IntegerMean", {}, {}}, {4}, {4}).model),
            "node 'y_node' (IntegerMean): it is quantlib's, and it has no axes");
}

}  // namespace
}  // namespace qtx::convert::quantlib_test
