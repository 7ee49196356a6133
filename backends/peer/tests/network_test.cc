// Built once for each adapter: QTX_MAKE is its Make function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "peer/tests/support.h"
#include "qtx/backend/backend.h"

namespace qtx::backend {
Result<std::unique_ptr<Backend>> QTX_MAKE(std::string_view options);

namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;

// Conv and Relu, a sum with the input, to channels last, flat, by a matrix of ones, quantized.
format::Model Network() {
  using namespace peer;
  format::Model model = NewModel();
  AddInput(model, "x", ElementType::kFloat, {1, 2, 2, 2});
  AddConstant(model, "w", Floats({2, 2, 1, 1}, {-1, 0, 1, 1}));
  AddConstant(model, "b", Floats({2}, {0.5F, 0}));
  AddConstant(model, "ones", Floats({8, 1}, std::vector<float>(8, 1)));
  AddNode(model, "Conv", {"x", "w", "b"}, "c");
  AddNode(model, "Relu", {"c"}, "r");
  AddNode(model, "Add", {"r", "x"}, "s");
  AddNode(model, "Transpose", {"s"}, "t", {Attribute::Ints("perm", {0, 2, 3, 1})});
  AddNode(model, "Flatten", {"t"}, "f");
  AddNode(model, "Gemm", {"f", "ones"}, "g");
  AddNode(model, "Identity", {"g"}, "q");
  AddOutput(model, "t", ElementType::kFloat, {1, 2, 2, 2});
  AddOutput(model, "q", ElementType::kInt8Q, {1, 1}, {.scale = {2}, .offset = {1}});
  return model;
}

std::vector<format::Tensor> Compute(const char* options) {
  const auto backend = QTX_MAKE(options);
  EXPECT_TRUE(backend.has_value());
  const auto prepared = (*backend)->Prepare(Network(), "");
  EXPECT_TRUE(prepared.has_value()) << prepared.error().where << prepared.error().message;
  const std::vector inputs = {peer::Floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  const auto seconds = (*prepared)->Measure(inputs, 3);
  EXPECT_TRUE(seconds.has_value());
  EXPECT_EQ(seconds->size(), 3U);
  auto outputs = (*prepared)->Run(inputs);
  EXPECT_TRUE(outputs.has_value());
  return *outputs;
}

// Channel 0 is 0.5 - x, below 0 everywhere; channel 1 the sum of both, 6 8 10 12. With x added
// 1 2 3 4 and 11 14 17 20, of which all is 72: 36 of scale 2, plus 1.
TEST(PeerTest, ComputesANetwork) {
  const auto outputs = Compute("");
  EXPECT_THAT(outputs[0].As<float>(), ElementsAre(1, 11, 2, 14, 3, 17, 4, 20));
  EXPECT_THAT(outputs[1].As<std::int8_t>(), ElementsAre(37));
}

TEST(PeerTest, ComputesTheSameWithTwoThreads) {
  const auto one = Compute(""), two = Compute("threads=2");
  EXPECT_EQ(one, two);
}

TEST(PeerTest, RefusesOptionsItHasNot) {
  for (const char* options : {"threads=0", "cores=2", "threads"}) {
    const auto backend = QTX_MAKE(options);
    ASSERT_FALSE(backend.has_value()) << options;
    EXPECT_EQ(backend.error().code, ErrorCode::kUsage);
  }
}

TEST(PeerTest, NamesTheNodeThatItDeclines) {
  format::Model model = Network();
  model.graph.nodes[5].domain = "org.example";
  model.graph.nodes[5].op_type = "Anything";
  const auto prepared = (*QTX_MAKE(""))->Prepare(model, "");
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(prepared.error().where, "node 'g' (Anything)");
}

TEST(PeerTest, RefusesInputsOfAnotherShape) {
  const auto prepared = (*QTX_MAKE(""))->Prepare(Network(), "");
  ASSERT_TRUE(prepared.has_value());
  const std::vector inputs = {peer::Floats({1, 2, 2, 1}, {1, 2, 3, 4})};
  const auto outputs = (*prepared)->Run(inputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace qtx::backend
