#include "qdq/opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/format/attributes.h"

namespace qtx::convert::opset_test {
namespace {

using ::testing::HasSubstr;

format::Node Node(const std::string& op_type, std::vector<format::Attribute> attributes = {},
                  std::vector<std::string> inputs = {"x"}) {
  format::Node node;
  node.op_type = op_type;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = {"y"};
  return node;
}

std::string Refusal(const format::Node& node, std::int64_t from, std::int64_t to) {
  const auto moved = CheckMove(node, from, to);
  return moved.has_value() ? "" : moved.error().message;
}

TEST(CheckMove, LetsAStableOperatorThroughAllOpsets) {
  const std::int64_t newest = format::NewestOpset();
  for (const format::Node& node :
       {Node("Abs"), Node("Conv", {}, {"x", "w"}), Node("Xor", {}, {"a", "b"}),
        Node("Where", {}, {"c", "a", "b"}), Node("Resize"), Node("Softmax"), Node("ReduceMax")}) {
    EXPECT_EQ(Refusal(node, 13, newest), "") << node.op_type;
    EXPECT_EQ(Refusal(node, newest, 13), "") << node.op_type;
  }
}

// axes became an input in 18.
TEST(CheckMove, RefusesToCrossAChange) {
  const format::Node mean = Node("ReduceMean", {format::Attribute::Ints("axes", {1})});
  EXPECT_EQ(Refusal(mean, 13, 17), "");
  EXPECT_THAT(Refusal(mean, 17, 18), HasSubstr("has none of this name in opset 18"));
  const format::Node input = Node("ReduceMean", {}, {"x", "axes"});
  EXPECT_EQ(Refusal(input, 18, 28), "");
  EXPECT_THAT(Refusal(input, 21, 13), HasSubstr("found 2, expected 1"));
}

TEST(CheckMove, RefusesAnOperatorThatHadNotCome) {
  EXPECT_EQ(Refusal(Node("Gelu"), 21, 20), "");
  EXPECT_THAT(Refusal(Node("Gelu"), 21, 19), HasSubstr("no operator Gelu in opset 19"));
}

TEST(CheckMove, RefusesAnAttributeOrInputThatHadNotCome) {
  const auto kernel = format::Attribute::Ints("kernel_shape", {2});
  const format::Node pool =
      Node("AveragePool", {kernel, format::Attribute::Ints("dilations", {2})});
  EXPECT_THAT(Refusal(pool, 21, 18), HasSubstr("has none of this name in opset 18"));
  EXPECT_EQ(Refusal(pool, 21, 19), "");
  EXPECT_EQ(Refusal(Node("AveragePool", {kernel}), 21, 18), "");
  const format::Node pad = Node("Pad", {}, {"x", "pads", "", "axes"});
  EXPECT_THAT(Refusal(pad, 18, 17), HasSubstr("found 4, expected 2 to 3"));
  EXPECT_EQ(Refusal(Node("Pad", {}, {"x", "pads", ""}), 18, 17), "");
}

TEST(CheckMove, RefusesEqualPartsWithoutTheirNumber) {
  EXPECT_THAT(Refusal(Node("Split"), 17, 18), HasSubstr("num_outputs"));
  EXPECT_EQ(Refusal(Node("Split", {}, {"x", "split"}), 17, 18), "");
}

TEST(CheckMove, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Refusal(Node("Loop"), 13, 14), HasSubstr("may differ between opset 13 and 14"));
  EXPECT_THAT(Refusal(Node("Add"), 7, 13), HasSubstr("may differ between opset 7 and 13"));
}

}  // namespace
}  // namespace qtx::convert::opset_test
