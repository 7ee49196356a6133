// lstm.S1 to lstm.S6 and gru.S1 to gru.S6 against plain loops over numbers of 400 bits, and of
// binary32 for float32.
#include "recurrent_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

format::Node NodeOf(const Network& s) {
  format::Node node;
  node.op_type = s.lstm ? "LSTM" : "GRU";
  node.inputs = {"x", "w", "r", "b", "lengths", "h", "c", "p"};
  node.attributes = {Attribute::String("direction", s.direction),
                     Attribute::Int("hidden_size", s.hidden),
                     Attribute::Int("layout", s.batch_first ? 1 : 0),
                     Attribute::Int(s.lstm ? "input_forget" : "linear_before_reset", s.flag)};
  if (s.clip > 0) node.attributes.push_back(Attribute::Float("clip", static_cast<float>(s.clip)));
  if (!s.activations.empty()) {
    Attribute names;
    names.name = "activations";
    names.type = format::AttributeType::kStrings;
    names.strings = s.activations;
    node.attributes.push_back(names);
  }
  return node;
}

Result<std::vector<Tensor>> RunNode(const Network& s, const std::vector<OutputType>& outputs,
                                    const std::string& arithmetic = "exact") {
  format::Node node = NodeOf(s);
  std::vector<const Tensor*> inputs;
  for (const auto& input : s.inputs) inputs.push_back(input ? &*input : nullptr);
  inputs.resize(s.lstm ? 8 : 6);
  node.inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) node.inputs[i].clear();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool omitted = outputs[i].elem_type == ElementType::kUndefined;
    node.outputs.push_back(omitted ? "" : "out" + std::to_string(i));
  }
  Counters counters;
  const Operator& op = *FindOperator("", node.op_type);
  return RunOperator(op, {.node = node,
                          .arithmetic = **FindArithmetic(arithmetic),
                          .opset = 14,
                          .inputs = inputs,
                          .outputs = outputs,
                          .counters = &counters});
}

// A tensor of random int8 values of reals up to about `reach`.
Tensor Weights(Random& random, const Dims& dims, float reach = 1) {
  const float scale = static_cast<float>(random.In(50, 127)) * reach * 0x1p-14F;
  return random.Tensor8(dims, Q({scale}, {static_cast<std::int32_t>(random.In(-20, 20))}));
}

Network RandomNetwork(Random& random, bool lstm) {
  static const std::vector<std::string> directions = {"forward", "reverse", "bidirectional"};
  Network s;
  s.lstm = lstm;
  s.steps = random.In(1, 4);
  s.batch = random.In(1, 3);
  s.input = random.In(1, 3);
  s.hidden = random.In(1, 3);
  s.direction = directions[static_cast<std::size_t>(random.In(0, 2))];
  s.batch_first = random.In(0, 1) == 1;
  s.flag = random.In(0, 1) == 1;
  s.clip = random.In(0, 2) == 0 ? 0.75 : 0;
  const std::int64_t nd = s.directions(), rows = s.gates() * s.hidden;
  if (random.In(0, 2) == 0) {
    for (std::int64_t k = 0; k < nd * (lstm ? 3 : 2); ++k) {
      static const std::vector<std::string> names = {"Sigmoid", "Tanh", "Relu"};
      s.activations.push_back(names[static_cast<std::size_t>(random.In(0, 2))]);
    }
  }
  const Dims x = s.batch_first ? Dims{s.batch, s.steps, s.input} : Dims{s.steps, s.batch, s.input};
  const Dims state = s.batch_first ? Dims{s.batch, nd, s.hidden} : Dims{nd, s.batch, s.hidden};
  s.inputs[0] = Weights(random, x, 4);
  s.inputs[1] = Weights(random, {nd, rows, s.input});
  const std::int64_t rest = (rows + 1) / 2;
  std::vector<float> scales;
  for (std::int64_t k = 0; k < nd * rest; ++k) scales.push_back(random.Scale() * 0x1p-3F);
  s.inputs[2] = random.Tensor8({nd, rows, s.hidden}, Q(scales, {}, {0, 1}, {1, 2}));
  const auto sometimes = [&random](Tensor tensor) {
    return random.In(0, 1) == 0 ? std::nullopt : std::optional<Tensor>(std::move(tensor));
  };
  s.inputs[3] = sometimes(Weights(random, {nd, 2 * rows}));
  Values lengths;
  for (std::int64_t b = 0; b < s.batch; ++b) lengths.push_back(random.In(0, s.steps));
  s.inputs[4] = sometimes(Stored(ElementType::kInt32, {s.batch}, lengths));
  s.inputs[5] = sometimes(Weights(random, state));
  if (!lstm) return s;
  s.inputs[6] = sometimes(Weights(random, state, 2));
  s.inputs[7] = sometimes(Weights(random, {nd, 3 * s.hidden}));
  return s;
}

// Y as INT8Q of coarse scale, Y_h as INT16Q, Y_c as FLOAT.
void ExpectLoops(const Network& s) {
  std::vector<OutputType> types = {Int8Type(Q({0x1p-5F}, {3})),
                                   Type(ElementType::kInt16Q, Q({0x1.4p-13F}, {-5}))};
  if (s.lstm) types.push_back(FloatType());
  const auto outputs = RunNode(s, types);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().where << ": " << outputs.error().message;
  const Results expected = Loops<Number>(s).Run();
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor& found = (*outputs)[i];
    ASSERT_EQ(format::UnpackIntegers(found), TextbookStored(expected[i], types[i], found.dims));
  }
  if (!s.lstm) return;
  const auto cells = (*outputs)[2].As<float>();
  ASSERT_EQ(cells.size(), expected[2].size());
  for (std::size_t k = 0; k < cells.size(); ++k) {
    ASSERT_EQ(cells[k], TextbookFloat(expected[2][k]));
  }
}

TEST(Lstm, EqualsLoopsOfFourHundredBits) {
  Random random(61);
  for (int i = 0; i < 60; ++i) ExpectLoops(RandomNetwork(random, true));
}

TEST(Gru, EqualsLoopsOfFourHundredBits) {
  Random random(62);
  for (int i = 0; i < 60; ++i) ExpectLoops(RandomNetwork(random, false));
}

TEST(Recurrent, ComputesInBinary32OneOperationAtATime) {
  Random random(63);
  for (int i = 0; i < 60; ++i) {
    const Network s = RandomNetwork(random, i % 2 == 0);
    const auto outputs = RunNode(s, {FloatType(), FloatType()}, "float32");
    ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
    const Results expected = Loops<float>(s).Run();
    for (std::size_t k = 0; k < 2; ++k) {
      const auto found = (*outputs)[k].As<float>();
      ASSERT_EQ(found.size(), expected[k].size());
      for (std::size_t e = 0; e < found.size(); ++e) {
        ASSERT_EQ(found[e], TextbookFloat(expected[k][e])) << i;
      }
    }
  }
}

// One unit, one input, zeros for weights.
Network Small(bool lstm, std::vector<float> x, std::vector<float> w, std::vector<float> r) {
  Network s{.lstm = lstm, .batch = 1, .input = 1, .hidden = 1};
  s.steps = static_cast<std::int64_t>(x.size());
  s.inputs[0] = Float({s.steps, 1, 1}, x);
  s.inputs[1] = Float({1, s.gates(), 1}, w);
  s.inputs[2] = Float({1, s.gates(), 1}, r);
  return s;
}

std::vector<float> FloatsOf(const Result<std::vector<Tensor>>& outputs, std::size_t i) {
  if (!outputs.has_value()) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  const auto values = (*outputs)[i].As<float>();
  return {values.begin(), values.end()};
}

// At 2^127 the gates are 0 and 1 and the state 2^126 exactly; at 2^-149 nothing is lost to an
// underflow: 1/2 * 1/2 * 2^-146 = 2^-148.
TEST(Lstm, HoldsAtExtremeScales) {
  Network s = Small(true, {0x1p-146F, 0x1p127F}, {0, 0, 0, 1}, {0, 0, 0, 0});
  s.activations = {"Sigmoid", "Relu", "Relu"};
  // C: 2^-147, then 2^126 + 2^-148; h: half of that.
  EXPECT_THAT(FloatsOf(RunNode(s, {FloatType(), FloatType(), FloatType()}), 0),
              ElementsAre(0x1p-148F, 0x1p125F));
  ExpectLoops(s);
}

TEST(Gru, KeepsUnlimitedStates) {
  Network s = Small(false, {0x1p127F, 0x1p127F, 0x1p127F}, {0, 0, 0x1p100F}, {0, 0, 0});
  s.activations = {"Sigmoid", "Relu"};  // h is 2^226, beyond binary32, and halves with each step
  s.inputs[0]->As<float>()[1] = 0;
  s.inputs[0]->As<float>()[2] = 0;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(FloatsOf(RunNode(s, {FloatType()}), 0), ElementsAre(infinity, infinity, infinity));
  ExpectLoops(s);
}

// 0 * inf is NaN; without a zero weight all gates are 1 and h = tanh(1).
TEST(Lstm, FollowsIeeeAtInfinitiesAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* arithmetic : {"exact", "float32"}) {
    const auto ones =
        RunNode(Small(true, {infinity}, {1, 1, 1, 1}, {0, 0, 0, 0}), {FloatType()}, arithmetic);
    EXPECT_THAT(FloatsOf(ones, 0), ElementsAre(TextbookFloat(MpfrTanh, 1)));
    const auto nan =
        RunNode(Small(true, {infinity}, {1, 0, 1, 1}, {0, 0, 0, 0}), {FloatType()}, arithmetic);
    EXPECT_TRUE(std::isnan(FloatsOf(nan, 0).at(0)));
  }
}

TEST(Lstm, OmitsOutputsThatNobodyReads) {
  Network s = Small(true, {1}, {0, 0, 0, 4}, {0, 0, 0, 0});
  s.activations = {"Sigmoid", "Relu", "Relu"};
  const auto outputs = RunNode(s, {OutputType{}, OutputType{}, FloatType()});
  EXPECT_THAT(FloatsOf(outputs, 2), ElementsAre(2));
  EXPECT_TRUE((*outputs)[0].bytes.empty());
}

std::string ErrorOf(const Network& s) {
  const auto outputs = RunNode(s, {FloatType(), FloatType()});
  return outputs.has_value() ? "" : outputs.error().Text();
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const Network good = Small(true, {1}, {0, 0, 0, 4}, {0, 0, 0, 0});
  Network s = good;
  s.inputs[1] = Float({1, 3, 1}, {0, 0, 0});
  EXPECT_THAT(ErrorOf(s), HasSubstr("input[1] 'w': found 3 rows"));
  s = good;
  s.hidden = 2;
  EXPECT_THAT(ErrorOf(s), HasSubstr("attribute 'hidden_size': found 2, expected 1"));
  s = good;
  s.inputs[4] = Stored(ElementType::kInt32, {1}, {2});
  EXPECT_THAT(ErrorOf(s), HasSubstr("input[4] 'lengths': found 2, expected 0 to 1"));
  s = good;
  s.activations = {"Sigmoid", "Tanh", "Elu"};
  EXPECT_THAT(ErrorOf(s), HasSubstr("found 'Elu', expected Sigmoid, Tanh or Relu"));
  s = good;
  s.direction = "backward";
  EXPECT_THAT(ErrorOf(s), HasSubstr("attribute 'direction'"));
}

// z = 3, r = 1 and candidate (1 - 2^-23) h: h' = h + 2^-22 h exactly, 24 bits more with each step,
// while an interval grows fivefold: 8192 bits are spent before the last step.
TEST(Gru, RefusesToGuessWhatEightThousandBitsLeaveOpen) {
  Network s = Small(false, std::vector<float>(4096, 0), {0, 0, 0}, {0, 0, 0x1.fffffcp-1F});
  s.activations = {"Relu", "Relu"};
  s.inputs[3] = Float({1, 6}, {3, 1, 0, 0, 0, 0});
  s.inputs[5] = Float({1, 1, 1}, {1});
  EXPECT_THAT(ErrorOf(s), HasSubstr("8192 do not determine the result"));
}

TEST(Recurrent, RefusesAbsurdSizesAtOnce) {
  Network s = Small(true, {1}, {0, 0, 0, 4}, {0, 0, 0, 0});
  s.inputs[0] = Float({std::int64_t{1} << 30, 1, 0}, {});
  s.inputs[1] = Float({1, 4, 0}, {});
  EXPECT_THAT(ErrorOf(s), HasSubstr("is more than 4194304"));
  s.inputs[0] = Float({0, std::int64_t{1} << 30, 0}, {});
  EXPECT_THAT(ErrorOf(s), HasSubstr("is more than 4194304"));
}

}  // namespace
}  // namespace qtx::reference::testing
