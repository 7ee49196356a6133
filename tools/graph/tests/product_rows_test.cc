#include "qtx/graph/product_rows.h"

#include <gtest/gtest.h>

namespace qtx::graph {
namespace {

using format::Attribute;
using format::Node;

Node NodeOf(const char* op, std::vector<Attribute> attributes = {}) {
  return {
      .op_type = op, .inputs = {"x", "w"}, .outputs = {"y"}, .attributes = std::move(attributes)};
}

TEST(RowsOf, NamesThoseOfMatMulAndGemmByTheirValue) {
  EXPECT_EQ(RowsOf(NodeOf("MatMul"), {3, 5})->name, "x");
  EXPECT_EQ(RowsOf(NodeOf("MatMul"), {3, 5})->size, 3);
  EXPECT_EQ(RowsOf(NodeOf("Gemm", {Attribute::Int("transB", 1)}), {3, 5})->size, 5);
  EXPECT_FALSE(RowsOf(NodeOf("Gemm", {Attribute::Int("transA", 1)}), {3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("MatMul"), {2, 3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("ConvTranspose"), {3, 5, 2}).has_value());
}

TEST(RowsOf, NamesPatchesByTheirWindow) {
  const auto rows = RowsOf(NodeOf("Conv", {Attribute::Int("group", 2)}), {4, 3, 5, 1});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->name, "x/patches kernel 5,1 strides 1,1 dilations 1,1 pads 0,0,0,0 group 2");
  EXPECT_EQ(rows->size, 15);
  EXPECT_EQ(rows->groups, 2);
  // Defaults that are spelled out change nothing; what is another window has another name.
  const Node spelled =
      NodeOf("Conv", {Attribute::Int("group", 2), Attribute::Ints("strides", {1, 1}),
                      Attribute::String("auto_pad", "NOTSET")});
  EXPECT_EQ(RowsOf(spelled, {4, 3, 5, 1})->name, rows->name);
  for (const Attribute& other :
       {Attribute::Ints("strides", {1, 2}), Attribute::Ints("dilations", {2, 1}),
        Attribute::Ints("pads", {0, 0, 0, 1}), Attribute::String("auto_pad", "VALID")})
    EXPECT_NE(RowsOf(NodeOf("Conv", {Attribute::Int("group", 2), other}), {4, 3, 5, 1})->name,
              rows->name);
}

TEST(RowsOf, HasNoneForAConvThatBreaksItsRules) {
  EXPECT_FALSE(RowsOf(NodeOf("Conv", {Attribute::Int("group", 3)}), {4, 3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv", {Attribute::Int("group", 0)}), {4, 3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv", {Attribute::Ints("pads", {1})}), {4, 3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv", {Attribute::String("auto_pad", "X")}), {4, 3, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv"), {4, 3}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv"), {4, 0, 5}).has_value());
  EXPECT_FALSE(RowsOf(NodeOf("Conv"), {4, 1LL << 40, 1LL << 40}).has_value());
}

}  // namespace
}  // namespace qtx::graph
