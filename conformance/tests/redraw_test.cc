// Fresh questions about a failing model.
#include "redraw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "differential_tester.h"
#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::ElementType;

Datum Values(const std::string& name, ElementType type, const format::Dims& dims,
             const std::vector<std::int64_t>& values, bool constant = false) {
  std::optional<format::Quantization> q;
  if (format::IsQuantized(type)) {
    q.emplace();
    q->scale = {1.0F};
  }
  format::Tensor tensor = *format::MakeTensor(type, dims, q);
  format::PackIntegers(values, tensor);
  return {name, std::move(tensor), constant};
}

TestModel Gather() {
  TestModel test;
  format::Node node;
  node.op_type = "Gather";
  node.inputs = {"x", "i"};
  node.outputs = {"y"};
  test.nodes = {node};
  test.data = {Values("x", ElementType::kInt8Q, {4}, {-128, 7, 7, 127}),
               Values("i", ElementType::kInt64, {2}, {3, 0})};
  return test;
}

TEST(Redraw, PermutesTheValuesInEvenDrawsAndLeavesIndices) {
  const TestModel test = Gather();
  bool differs = false;
  for (std::uint64_t draw = 2; draw <= 10; draw += 2) {
    const TestModel drawn = Redraw(test, draw);
    std::vector<std::int64_t> values = format::UnpackIntegers(drawn.data[0].tensor);
    differs = differs || drawn.data[0].tensor != test.data[0].tensor;
    std::ranges::sort(values);
    EXPECT_THAT(values, testing::ElementsAre(-128, 7, 7, 127));
    EXPECT_EQ(drawn.data[1].tensor, test.data[1].tensor);
  }
  EXPECT_TRUE(differs);
}

TEST(Redraw, IsTheSameForTheSameDraw) {
  for (std::uint64_t draw = 1; draw <= 3; ++draw) {
    EXPECT_EQ(Redraw(Gather(), draw).data[0].tensor, Redraw(Gather(), draw).data[0].tensor);
  }
}

// [1, 2] by [2, 1]: the depth of both follows, and the elements repeat.
TEST(Resize, ChangesWhateverMustHaveTheSameSize) {
  TestModel test;
  format::Node node;
  node.op_type = "MatMul";
  node.inputs = {"a", "b"};
  node.outputs = {"y"};
  test.nodes = {node};
  test.opset_imports = {{"", 17}, {"qtx", 1}};
  test.data = {Values("a", ElementType::kInt8Q, {1, 2}, {1, 2}),
               Values("b", ElementType::kInt8Q, {2, 1}, {3, 4}, true)};
  format::ValueInfo output;
  output.name = "y";
  output.type.emplace();
  output.type->elem_type = ElementType::kInt32Q;
  output.type->quantization.emplace();
  output.type->quantization->scale = {1.0F};
  test.outputs = {output};
  const auto tester = DifferentialTester::Make(ReferenceSource(), "exact");
  ASSERT_TRUE(tester.has_value());
  const auto others = Resize(*tester, test, 0, 1, {1, 3});
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[1].size, 3);
  const TestModel& longer = others[1].test;
  EXPECT_THAT(format::UnpackIntegers(others[0].test.data[0].tensor), testing::ElementsAre(1));
  EXPECT_THAT(format::UnpackIntegers(longer.data[0].tensor), testing::ElementsAre(1, 2, 1));
  EXPECT_THAT(format::UnpackIntegers(longer.data[1].tensor), testing::ElementsAre(3, 4, 3));
}

}  // namespace
}  // namespace qtx::conformance
