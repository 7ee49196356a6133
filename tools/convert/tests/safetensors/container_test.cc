// The container: hostile headers, shards, dtypes, and the way back. Expected messages follow the
// format's own rules (docs of safetensors, "Format").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "qtx/convert/convert.h"
#include "tests/files.h"
#include "tests/safetensors/maker.h"

namespace qtx::convert::safetensors_test {
namespace {

using testing::HasSubstr;

std::string ReadBack(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string Whole(const std::vector<format::Piece>& pieces) {
  std::string bytes;
  for (const format::Piece& piece : pieces) {
    if (const auto* text = std::get_if<std::string>(&piece)) {
      bytes += *text;
      continue;
    }
    const auto& range = std::get<format::FileRange>(piece);
    std::string part(static_cast<std::size_t>(range.size), '\0');
    EXPECT_TRUE(format::ReadRange(range, 0, std::as_writable_bytes(std::span(part))).has_value());
    bytes += part;
  }
  return bytes;
}

constexpr const char* kTwo =
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[)";

struct Hostile {
  const char* why;
  std::string bytes;
  const char* message;
};

TEST(Container, RefusesHostileHeaders) {
  const auto file = [](const std::string& header) { return SafetensorsFile(header, "123456"); };
  const auto one = [&](const std::string& rest) {
    return file(R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6])" + rest + "}");
  };
  std::string long_header = file(R"({"a":1})");
  long_header[5] = 1;  // a length of 2^40
  const std::string deep(100, '[');
  const Hostile cases[] = {
      {"a header of a terabyte", long_header, "found a length of 1099511627783"},
      {"a header behind the file's end",
       SafetensorsFile("{}", "").substr(0, 10).replace(0, 1, "\x09"),
       "found a length of 9, expected at most 2"},
      {"no JSON", file(R"({"a":)"), "line 1"},
      {"nested deep", file(R"({"a":)" + deep), "expected at most 32"},
      {"another member", one(R"(,"x":1})"), "'x'"},
      {"a name twice",
       file(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
            R"("a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]}})"),
       "'a': is the name of two tensors"},
      {"another dtype", file(R"({"a":{"dtype":"Q4","shape":[6],"data_offsets":[0,6]}})"),
       "'a': dtype: found 'Q4'"},
      {"a length that is not the shape's",
       file(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,6]}})"),
       "'a': data_offsets: found [0,6], expected a range of 4 bytes"},
      {"a negative dimension", file(R"({"a":{"dtype":"U8","shape":[-6],"data_offsets":[0,6]}})"),
       "'a': shape: expected an array"},
      {"dimensions whose product wraps",
       file(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,6]}})"),
       "'a': shape:"},
      {"half a byte", file(R"({"a":{"dtype":"F4","shape":[11],"data_offsets":[0,6]}})"),
       "expected whole bytes"},
      {"tensors that overlap", file(kTwo + std::string("2,4]}}")),
       "'b': data_offsets: found a begin of 2, expected 4"},
      {"a gap", file(kTwo + std::string("5,7]}}")), "'b': data_offsets: found a begin of 5"},
      {"a range behind the file's end", SafetensorsFile(kTwo + std::string("4,6]}}"), "12345"),
       "'b': data_offsets: found an end of 6, expected at most 5"},
      {"bytes of no tensor", SafetensorsFile(kTwo + std::string("4,6]}}"), "1234567"),
       "found 7 bytes behind the header, expected 6"},
      {"metadata of numbers",
       file(R"({"__metadata__":{"x":1},"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]}})"),
       "__metadata__: x: expected a text"},
  };
  const auto folder = TestFolder();
  for (const Hostile& hostile : cases) {
    const auto read = ReadBytesAs(folder / "m.safetensors", hostile.bytes, "safetensors");
    EXPECT_THAT(ErrorOf(read), HasSubstr(hostile.message)) << hostile.why;
    EXPECT_THAT(ErrorOf(read), HasSubstr("m.safetensors")) << hostile.why;
  }
}

TEST(Container, ComesBackByteForByte) {
  SafetensorsMaker maker;
  maker.Add<float>("a", "F32", "2", {1, -2});
  maker.Add("six", "F6_E2M3", "4", std::string("\x01\x02\x03", 3));
  maker.Add("four", "F4", "2,2", std::string("\x21\x43", 2));
  maker.Add("none", "BF16", "0,5", std::string());
  maker.Add("scalar", "I64", "", std::string(8, '\7'));
  maker.Add("complex", "C64", "1", std::string(8, '\5'));
  const auto folder = TestFolder();
  const auto read = ReadBytesAs(folder / "m.safetensors", maker.File(), "safetensors");
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const format::TensorData* six = read->model.graph.FindInitializer("six");
  ASSERT_NE(six, nullptr);
  EXPECT_EQ(six->data_type, format::ElementType::kUint8);
  const auto back = Write(read->model, *FindKind("safetensors"));
  ASSERT_TRUE(back.has_value()) << ErrorOf(back);
  EXPECT_EQ(Whole(std::get<std::vector<format::Piece>>(back->content)), maker.File());
}

TEST(Container, OfBytesInMemoryComesBack) {
  SafetensorsMaker maker;
  maker.Add<float>("a", "F32", "2", {1, -2});
  const auto read = Read(FromBytes(maker.File(), "fuzz"), *FindKind("safetensors"));
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const auto back = Write(read->model, *FindKind("safetensors"));
  ASSERT_TRUE(back.has_value()) << ErrorOf(back);
  EXPECT_EQ(Whole(std::get<std::vector<format::Piece>>(back->content)), maker.File());
}

class Shards : public testing::Test {
 protected:
  void SetUp() override {
    SafetensorsMaker first, second;
    first.Add<float>("a", "F32", "1", {1});
    second.Add<float>("b", "F32", "1", {2});
    WriteBytes(folder_ / "one.safetensors", first.File());
    WriteBytes(folder_ / "two.safetensors", second.File());
  }
  Result<Conversion> ReadIndex(const std::string& map) {
    WriteBytes(folder_ / "model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
    return ReadFileAs(folder_);
  }
  std::filesystem::path folder_ = TestFolder();
};

TEST_F(Shards, AreOneModelAndComeBack) {
  WriteBytes(folder_ / "config.json", R"({"model_type":"llama"})");
  const auto read = ReadIndex(R"("b":"two.safetensors","a":"one.safetensors")");
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_EQ(read->model.graph.initializers.size(), 2);
  const auto back = Write(read->model, *FindKind("safetensors"));
  ASSERT_TRUE(back.has_value()) << ErrorOf(back);
  for (const OutputFile& file : std::get<std::vector<OutputFile>>(back->content))
    EXPECT_EQ(Whole(file.pieces), ReadBack(folder_ / file.name)) << file.name;
  EXPECT_EQ(std::get<std::vector<OutputFile>>(back->content).size(), 4);
}

TEST_F(Shards, OfAnIndexThatIsWrongAreRefused) {
  EXPECT_THAT(ErrorOf(ReadIndex(R"("a":"two.safetensors")")),
              HasSubstr("weight_map: 'a': found no tensor of that name in 'two.safetensors'"));
  EXPECT_THAT(ErrorOf(ReadIndex(R"("a":"../one.safetensors")")),
              HasSubstr("expected a file of this folder"));
  EXPECT_THAT(ErrorOf(ReadIndex(R"("a":"three.safetensors")")), HasSubstr("found no such file"));
}

}  // namespace
}  // namespace qtx::convert::safetensors_test
