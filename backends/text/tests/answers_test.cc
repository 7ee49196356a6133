// Answers that the text keeps: of the same model, arithmetic and inputs alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/backend.h"

namespace qtx::backend {

// The name that CMake gives it.  NOLINTNEXTLINE(readability-identifier-naming)
Result<std::unique_ptr<Backend>> Make_text(std::string_view options);

namespace {

using format::ElementType;

format::ValueInfo Value(const char* name, ElementType type) {
  format::ValueInfo value;
  value.name = name;
  value.type = format::TensorType{};
  value.type->elem_type = type;
  value.type->shape = format::Shape{{2, ""}};
  return value;
}

// y = op(x), two INT32.
format::Model Unary(const char* op) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}};
  model.graph.name = "graph";
  model.graph.inputs = {Value("x", ElementType::kInt32)};
  model.graph.outputs = {Value("y", ElementType::kInt32)};
  format::Node node;
  node.op_type = op;
  node.inputs = {"x"};
  node.outputs = {"y"};
  model.graph.nodes = {node};
  return model;
}

std::vector<format::Tensor> Integers(std::int32_t a, std::int32_t b) {
  auto tensor = format::MakeTensor(ElementType::kInt32, {2}, std::nullopt);
  EXPECT_TRUE(tensor.has_value());
  tensor->As<std::int32_t>()[0] = a;
  tensor->As<std::int32_t>()[1] = b;
  return {*tensor};
}

TEST(TextAnswers, AreOfTheSameModelAndInputs) {
  const auto text = Make_text("");
  ASSERT_TRUE(text.has_value()) << text.error().Text();
  auto negation = (*text)->Prepare(Unary("Neg"), "exact");
  ASSERT_TRUE(negation.has_value()) << negation.error().Text();
  EXPECT_EQ(*(*negation)->Run(Integers(3, -4)), Integers(-3, 4));
  EXPECT_EQ(*(*negation)->Run(Integers(3, -5)), Integers(-3, 5));
  // Another model of the same inputs, then the first again, of both handles.
  auto magnitude = (*text)->Prepare(Unary("Abs"), "exact");
  ASSERT_TRUE(magnitude.has_value()) << magnitude.error().Text();
  EXPECT_EQ(*(*magnitude)->Run(Integers(3, -4)), Integers(3, 4));
  auto again = (*text)->Prepare(Unary("Neg"), "exact");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*(*again)->Run(Integers(3, -4)), Integers(-3, 4));
  EXPECT_EQ(*(*negation)->Run(Integers(3, -4)), Integers(-3, 4));
  // More inputs than are kept.
  for (std::int32_t i = 0; i < 6; ++i) EXPECT_EQ(*(*again)->Run(Integers(i, 1)), Integers(-i, -1));
  EXPECT_EQ(*(*again)->Run(Integers(3, -4)), Integers(-3, 4));
}

}  // namespace
}  // namespace qtx::backend
