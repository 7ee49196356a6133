#include <gtest/gtest.h>

#include "networks.h"
#include "qdq_maker.h"
#include "qtx/convert/convert.h"

namespace qtx::convert {
namespace {

std::string KindOf(const std::string& bytes) { return DetectKind(bytes, "f").value_or("none"); }

TEST(DetectKind, TellsTheFourKindsApart) {
  EXPECT_EQ(KindOf(*ReadNetwork("aww")), "tflite");
  OnnxMaker stock;
  stock.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(KindOf(*stock.model.Serialize()), "onnx");
  stock.Quantize("y", "a", "q");
  EXPECT_EQ(KindOf(*stock.model.Serialize()), "qdq");
  stock.model.graph.inputs = {OnnxMaker::Quantized("x", format::ElementType::kInt8Q, {2})};
  EXPECT_EQ(KindOf(*stock.model.Serialize()), "qtx");
}

TEST(DetectKind, NamesTheFileThatIsNone) {
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string(100, '\0')}) {
    const auto kind = DetectKind(bytes, "f.bin");
    ASSERT_FALSE(kind.has_value());
    EXPECT_EQ(kind.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(kind.error().where.starts_with("f.bin"));
  }
}

}  // namespace
}  // namespace qtx::convert
