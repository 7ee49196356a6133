#include <gtest/gtest.h>

#include <fstream>

#include "qtx/convert/convert.h"
#include "tests/networks.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::kinds_test {
namespace {

std::string KindOfBytes(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "kinds_test.bin";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto source = Open(path);
  if (!source.has_value()) return source.error().message;
  const auto kind = KindOf(*source);
  return kind.has_value() ? std::string((*kind)->name) : kind.error().message;
}

TEST(KindOf, TellsKindsApartByContent) {
  EXPECT_EQ(KindOfBytes(*ReadNetwork("aww")), "tflite");
  OnnxMaker stock;
  stock.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "onnx");
  stock.Quantize("y", "a", "q");
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "qdq");
  stock.model.graph.inputs = {OnnxMaker::Quantized("x", format::ElementType::kInt8Q, {2})};
  EXPECT_EQ(KindOfBytes(*stock.model.Serialize()), "qtx");
}

TEST(KindOf, SaysWhatItKnowsOfAFileThatIsNone) {
  EXPECT_EQ(KindOfBytes(""), "empty; expected a model");
  for (const std::string& bytes : {std::string("hello"), std::string(100, '\0')})
    EXPECT_TRUE(KindOfBytes(bytes).starts_with("none of the kinds tflite, ")) << KindOfBytes(bytes);
}

TEST(Kinds, AreFoundByTheirNames) {
  for (const Kind& kind : Kinds()) EXPECT_EQ(FindKind(kind.name), &kind);
  EXPECT_EQ(FindKind("tflight"), nullptr);
}

}  // namespace
}  // namespace qtx::convert::kinds_test
