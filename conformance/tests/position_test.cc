// Sets of wrong elements, worked out by hand, and the words for them.
#include "position.h"

#include <gtest/gtest.h>

namespace qtx::conformance {
namespace {

format::Node NodeOf(const std::string& op_type) {
  format::Node node;
  node.op_type = op_type;
  return node;
}

TEST(Position, SaysNothingOfAllElements) {
  EXPECT_EQ(DescribePositions(NodeOf("Add"), {2, 2}, {0, 1, 2, 3}), "");
  EXPECT_EQ(DescribePositions(NodeOf("Add"), {2, 2}, {}), "");
}

// [1, 3, 1, 2]: channel 2 has elements 4 and 5.
TEST(Position, NamesAChannelOfAWindow) {
  EXPECT_EQ(DescribePositions(NodeOf("Conv"), {1, 3, 1, 2}, {4, 5}), "only in channel 2 of 0 to 2");
}

// Four channels in two groups: channels 2 and 3 are group 1.
TEST(Position, NamesAGroup) {
  format::Node node = NodeOf("Conv");
  node.attributes.push_back(format::Attribute::Int("group", 2));
  EXPECT_EQ(DescribePositions(node, {1, 4, 1}, {2, 3}),
            "only in group 1 of 0 to 1, from channel 2 on of 0 to 3");
}

TEST(Position, NamesRowsAndColumnsOfAProduct) {
  EXPECT_EQ(DescribePositions(NodeOf("MatMul"), {2, 3}, {3, 4, 5}), "only in row 1 of 0 to 1");
  EXPECT_EQ(DescribePositions(NodeOf("MatMul"), {2, 4}, {2, 3, 6, 7}),
            "from column 2 on of 0 to 3");
  EXPECT_EQ(DescribePositions(NodeOf("MatMul"), {1, 6}, {1, 3, 5}),
            "only in every odd column of 0 to 5");
}

TEST(Position, NamesTheElementsFromOneOn) {
  EXPECT_EQ(DescribePositions(NodeOf("Relu"), {257}, {256}), "only in element 256 of 0 to 256");
  EXPECT_EQ(DescribePositions(NodeOf("Relu"), {2, 3}, {4, 5}),
            "only in index 1 of axis 0 of 0 to 1 "
            "and from index 1 of axis 1 on of 0 to 2");
}

// A staircase has no short name along one axis.
TEST(Position, SaysNothingOfWhatHasNoShortName) {
  EXPECT_EQ(DescribePositions(NodeOf("Relu"), {8}, {0, 2, 3, 5, 6}), "");
}

}  // namespace
}  // namespace qtx::conformance
