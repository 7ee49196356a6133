// Plain types that LiteRT's kernels refuse, crash on or compute wrongly.
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::plain_types_test {
namespace {

using format::ElementType;

// "" where a file is written.
std::string RefusalOf(const std::string& op_type, ElementType x, ElementType y) {
  OnnxMaker maker(14);
  maker.model.graph.inputs = {OnnxMaker::Value("x", x, {2}), OnnxMaker::Value("y", y, {2})};
  maker.model.graph.outputs = {OnnxMaker::Value("z", x, {2})};
  maker.Node(op_type, {"x", "y"}, {"z"});
  const auto written = ToTflite(maker.model);
  return written.has_value() ? "" : written.error().message;
}

TEST(ToTflite, NamesPlainTypesThatLiteRtLacks) {
  EXPECT_EQ(RefusalOf("Add", ElementType::kInt8, ElementType::kInt8),
            "LiteRT's ADD takes no INT8 without scales");
  EXPECT_EQ(RefusalOf("Mul", ElementType::kUint8, ElementType::kUint8),
            "LiteRT's MUL takes no UINT8 without scales");
  EXPECT_EQ(RefusalOf("Pow", ElementType::kFloat, ElementType::kInt32),
            "LiteRT's POW takes no exponent of type INT32 beside FLOAT32");
  for (const ElementType type : {ElementType::kFloat, ElementType::kInt32, ElementType::kInt64})
    EXPECT_EQ(RefusalOf("Add", type, type), "");
}

}  // namespace
}  // namespace qtx::convert::plain_types_test
