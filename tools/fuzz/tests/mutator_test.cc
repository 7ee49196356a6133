// The mutators: what they make still has the form, and differs.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "flatbuffer_mutator.h"
#include "qtx/convert/convert.h"
#include "qtx/format/file.h"
#include "qtx/format/model.h"
#include "wire_mutator.h"

namespace qtx::fuzz {
namespace {

constexpr int kDraws = 2000;

std::string Corpus(const std::string& path) {
  return format::ReadFile(QTX_SOURCE_DIR "/tools/fuzz/corpus/" + path, 1 << 20).value();
}

std::string Same(std::string bytes, std::size_t) { return bytes; }

// Length-delimited payloads are as long as they say, at any depth: a model whose fields changed is
// still a protobuf message, and libprotobuf refuses only a text that is no UTF-8 or the lack of a
// graph.
TEST(WireMutator, MakesMessagesOfMessages) {
  const std::string model = Corpus("check/seed.onnx");
  std::mt19937 draw(1);
  int parsed = 0;
  std::set<std::string> made;
  for (int i = 0; i < kDraws; ++i) {
    const auto changed = MutateWire(model, false, draw, &Same);
    ASSERT_TRUE(changed);
    made.insert(*changed);
    EXPECT_TRUE(MutateWire(*changed, false, draw, &Same));  // has the form of fields
    parsed += format::Model::Parse(*changed).has_value() ? 1 : 0;
  }
  EXPECT_GT(parsed, kDraws / 2);
  EXPECT_GT(made.size(), std::size_t{kDraws} * 8 / 10);
}

TEST(WireMutator, KeepsFramesApart) {
  const std::string frames = Corpus("responses/seed.bin");
  std::mt19937 draw(1);
  for (int i = 0; i < kDraws; ++i) ASSERT_TRUE(MutateWire(frames, true, draw, &Same));
}

TEST(WireMutator, LeavesAloneWhatHasNoForm) {
  std::mt19937 draw(1);
  EXPECT_FALSE(MutateWire("\xFF", false, draw, &Same));       // a varint cut off
  EXPECT_FALSE(MutateWire("\x0A\x05x", false, draw, &Same));  // five bytes of which one is there
  EXPECT_FALSE(MutateWire("\x0B", false, draw, &Same));       // a group
}

TEST(WireMutator, CrossesTwoMessages) {
  const std::string a = Corpus("check/seed.onnx"), b = Corpus("convert_qdq/seed.onnx");
  std::mt19937 draw(1);
  std::set<std::string> made;
  for (int i = 0; i < kDraws; ++i) made.insert(CrossWire(a, b, false, draw).value());
  EXPECT_GT(made.size(), std::size_t{kDraws} / 4);
}

// A part of what is made is still a TFLite file by flatbuffers' verifier, which the reader asks: of
// bytes changed at random nearly none is.
TEST(FlatbufferMutator, MakesFlatbuffersOfFlatbuffers) {
  const std::string model = Corpus("convert_tflite/seed.tflite");
  std::mt19937 draw(1);
  int verified = 0;
  std::set<std::string> made;
  for (int i = 0; i < kDraws; ++i) {
    const auto changed = MutateFlatbuffer(model, draw, &Same);
    ASSERT_TRUE(changed);
    EXPECT_EQ(changed->size(), model.size());
    made.insert(*changed);
    const auto read = convert::FromTflite(*changed);
    verified +=
        read.has_value() || read.error().message.find("damaged or truncated") == std::string::npos;
  }
  EXPECT_GT(verified, kDraws / 4);
  EXPECT_GT(made.size(), std::size_t{kDraws} / 2);
}

TEST(FlatbufferMutator, LeavesAloneWhatHasNoRoot) {
  std::mt19937 draw(1);
  const std::string before_the_beginning("\4\0\0\0\6\0\0\0\0\0\0\0", 12);  // the vtable, at -2
  for (const std::string& bytes :
       {std::string(), std::string(3, '\0'), std::string(64, '\xFF'), before_the_beginning})
    EXPECT_FALSE(MutateFlatbuffer(bytes, draw, &Same));
}

}  // namespace
}  // namespace qtx::fuzz
