#include "qdq/opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const char* name : {"Abs", "Conv", "Xor", "Where", "Resize", "Softmax"}) {
    EXPECT_EQ(Refusal(Node(name), 13, kNewestOpset), "") << name;
    EXPECT_EQ(Refusal(Node(name), kNewestOpset, 13), "") << name;
  }
}

// axes became an input in 18.
TEST(CheckMove, RefusesToCrossAChange) {
  const format::Node mean = Node("ReduceMean", {format::Attribute::Ints("axes", {1})});
  EXPECT_EQ(Refusal(mean, 13, 17), "");
  EXPECT_EQ(Refusal(mean, 18, 28), "");
  EXPECT_THAT(Refusal(mean, 17, 18), HasSubstr("changed in 18"));
  EXPECT_THAT(Refusal(mean, 21, 13), HasSubstr("changed in 18"));
}

TEST(CheckMove, RefusesAnOperatorThatHadNotCome) {
  EXPECT_EQ(Refusal(Node("Gelu"), 21, 20), "");
  EXPECT_THAT(Refusal(Node("Gelu"), 21, 19), HasSubstr("came with opset 20"));
}

TEST(CheckMove, RefusesAnAttributeOrInputThatHadNotCome) {
  const format::Node pool = Node("AveragePool", {format::Attribute::Ints("dilations", {2})});
  EXPECT_THAT(Refusal(pool, 21, 18), HasSubstr("attribute 'dilations' came with opset 19"));
  EXPECT_EQ(Refusal(pool, 21, 19), "");
  EXPECT_EQ(Refusal(Node("AveragePool"), 21, 18), "");
  const format::Node pad = Node("Pad", {}, {"x", "pads", "", "axes"});
  EXPECT_THAT(Refusal(pad, 18, 17), HasSubstr("input 3 came with opset 18"));
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
