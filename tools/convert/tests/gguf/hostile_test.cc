// Damaged and hostile GGUF files: one error each, at a place, before anything large is allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "qtx/convert/convert.h"
#include "tests/gguf/maker.h"

namespace qtx::convert::gguf_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;

Result<Conversion> ReadBytes(const std::string& bytes) {
  return Read(FromBytes(bytes, "f.gguf"), *FindKind("gguf"), {.repack = true});
}

std::string ErrorOf(const std::string& bytes) {
  const auto read = ReadBytes(bytes);
  return read.has_value() ? "read" : read.error().Text();
}

// The metadata is one entry of an array whose header is `array`.
std::string ErrorOfArray(const std::string& array) {
  FileMaker file;
  file.entries = Text("a") + Raw<std::uint32_t>(9) + array;
  return ErrorOf(file.Bytes());
}

TEST(GgufHostile, ReadsTheFileThatTheOthersDifferFrom) {
  EXPECT_EQ(ErrorOf(FileMaker().Bytes()), "read");
}

TEST(GgufHostile, RefusesVersionsAndByteOrdersByName) {
  FileMaker file;
  file.version = 1;
  EXPECT_EQ(ErrorOf(file.Bytes()), "f.gguf: byte 4: found version 1, expected 2 or 3");
  file.version = 0x03000000;
  EXPECT_EQ(ErrorOf(file.Bytes()),
            "f.gguf: byte 4: found a big-endian file, expected a little-endian one");
}

TEST(GgufHostile, RefusesCountsThatTheFileHasNoBytesFor) {
  FileMaker file;
  file.entry_count = kHuge;
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("f.gguf: byte 16: found 1152921504606846976 "
                                               "metadata entries, expected at most"));
  const std::string bytes = FileMaker().Bytes();
  EXPECT_THAT(ErrorOf(bytes.substr(0, 8) + Raw(kHuge) + bytes.substr(16)),
              HasSubstr("byte 8: found 1152921504606846976 tensors, expected at most"));
  EXPECT_THAT(ErrorOfArray(Raw<std::uint32_t>(4) + Raw(kHuge)),
              HasSubstr("key 'a': byte 41: found 1152921504606846976 elements of an array"));
  // 2^62 elements of 4 bytes are 2^64 bytes.
  EXPECT_THAT(ErrorOfArray(Raw<std::uint32_t>(4) + Raw(std::uint64_t{1} << 62)),
              HasSubstr("elements of an array, expected at most"));
}

TEST(GgufHostile, RefusesArraysWithinArraysWithoutEnd) {
  std::string array;
  for (int i = 0; i < 20; ++i) array += Raw<std::uint32_t>(9) + Raw<std::uint64_t>(1);
  EXPECT_THAT(ErrorOfArray(array), HasSubstr("found more than 8 nested arrays"));
}

TEST(GgufHostile, RefusesTypesOfValuesThatThereAreNot) {
  FileMaker file;
  file.entries = Text("a") + Raw<std::uint32_t>(13) + Raw<std::uint32_t>(7);
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("key 'a': byte 33: found type 13 of a value"));
  EXPECT_THAT(ErrorOfArray(Raw<std::uint32_t>(77) + Raw<std::uint64_t>(1)),
              HasSubstr("found elements of type 77, expected 0 to 12"));
}

TEST(GgufHostile, RefusesNamesThatAreEmptyRepeatedOrNoText) {
  FileMaker file;
  file.tensors[0].name = "";
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found tensor name ''"));
  file.tensors[0].name = "a\x1b[2J";
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found tensor name 'a\\x1b[2J', expected a text"));
  file.tensors[0].name = "\xff";
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found tensor name '\\xff'"));
  file.tensors[0].name = "qtx.gguf.header.1";
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("has a name of qtx's own"));
  file.tensors = {{"t", {2}, 0, 0}, {"t", {2}, 0, 0}};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found tensor 't' again"));
  file = FileMaker();
  file.entries += file.entries;
  file.entry_count = 2;
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found key 'a' again"));
}

TEST(GgufHostile, RefusesTensorsUponOneAnotherAndBeyondTheEnd) {
  FileMaker file;
  file.tensors = {{"t", {16}, 0, 0}, {"u", {8}, 0, 32}};
  file.data = std::string(64, '\1');
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("tensor 'u': begins at byte"));
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("where tensor 't' lies"));
  file = FileMaker();
  file.tensors[0].ne = {9};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("tensor 't': the file has 128 bytes, expected 36"));
  file.tensors = {{"t", {2}, 0, 7}};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found offset 7, expected a multiple of 32"));
  file.tensors = {{"t", {2}, 0, kHuge}};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found offset 1152921504606846976"));
}

TEST(GgufHostile, RefusesShapesThatAreNone) {
  FileMaker file;
  file.tensors[0].ne = {0};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("tensor 't': byte"));
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found a dimension of 0, expected 1 to"));
  file.tensors[0].ne = {1 << 20, 1 << 20};
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("tensor 't'"));
  file.tensors[0].ne = std::vector<std::uint64_t>(9, 1);
  EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("found rank 9, expected at most 8"));
  file.tensors[0] = {"t", {33}, 2, 0};
  EXPECT_THAT(ErrorOf(file.Bytes()),
              HasSubstr("found rows of 33 elements, expected a multiple of 32, the block of Q4_0"));
}

TEST(GgufHostile, RefusesAnAlignmentThatIsNone) {
  for (const std::uint32_t alignment : {0U, 24U, 1U << 31U}) {
    FileMaker file;
    file.entries = Text("general.alignment") + Raw<std::uint32_t>(4) + Raw(alignment);
    EXPECT_THAT(ErrorOf(file.Bytes()), HasSubstr("key 'general.alignment': expected a UINT32"));
  }
}

TEST(GgufHostile, EndsCleanlyWhereverTheFileIsCut) {
  const std::string bytes = FileMaker().Bytes();
  for (std::size_t size = 4; size + 24 < bytes.size(); ++size) {
    const auto read = ReadBytes(bytes.substr(0, size));
    ASSERT_FALSE(read.has_value()) << size;
    EXPECT_FALSE(read.error().message.empty()) << size;
  }
}

TEST(GgufHostile, SurvivesAnyByteBeingChanged) {
  const std::string bytes = FileMaker().Bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[i] = value;
      const auto read = ReadBytes(changed);
      if (!read.has_value()) {
        EXPECT_FALSE(read.error().message.empty());
        continue;
      }
      const auto written = Write(read->model, *FindKind("gguf"));
      ASSERT_TRUE(written.has_value()) << i << ": " << written.error().Text();
      EXPECT_EQ(*BytesOf(*written), changed) << i;
    }
  }
}

// Two records of type `type`; the second one's factor is `code`, and all else 0.
FileMaker TwoRecords(std::uint32_t type, std::uint64_t block, std::size_t bytes,
                     const std::string& code) {
  FileMaker maker;
  maker.tensors = {{"w", {2 * block}, type, 0}};
  maker.data = std::string(bytes, '\0') + code + std::string(bytes - code.size(), '\0');
  maker.data.resize((maker.data.size() + 31) / 32 * 32, '\0');
  return maker;
}

// Q8_0 has binary16, MXFP4 E8M0, NVFP4 E4M3 of which ggml reads 127 as a number, and no sign.
TEST(GgufHostile, KeepsATensorWithAFactorThatIsNoneAsBytes) {
  const auto half = [](std::uint16_t code) { return TwoRecords(8, 32, 34, Raw(code)); };
  const auto e8m0 = [](std::uint8_t code) { return TwoRecords(39, 32, 17, Raw(code)); };
  const auto e4m3 = [](std::uint8_t code) { return TwoRecords(40, 64, 36, Raw(code)); };
  const std::pair<FileMaker, bool> files[] = {
      {half(0x7bff), true},  {half(0x7c00), false}, {half(0xfbff), true}, {half(0xfc00), false},
      {half(0x7e01), false}, {half(0x8000), true},  {half(0x0001), true}, {e8m0(254), true},
      {e8m0(255), false},    {e4m3(126), true},     {e4m3(127), false},   {e4m3(128), false}};
  int place = 0;
  for (const auto& [maker, is_factor] : files) {
    ++place;
    const auto read = ReadBytes(maker.Bytes());
    ASSERT_TRUE(read.has_value()) << read.error().Text();
    const format::ValueInfo* value = read->model.graph.FindValue("w");
    const bool typed = value != nullptr && value->type && value->type->quantization;
    EXPECT_EQ(typed, is_factor) << place;
    const bool named = std::ranges::any_of(read->ledger, [](const LedgerEntry& entry) {
      return entry.why.find("no finite number in record 1") != std::string::npos;
    });
    EXPECT_EQ(named, !is_factor) << place;
  }
}

TEST(GgufHostile, KeepsBytesThatNoTensorHas) {
  FileMaker file;
  file.data += "a tail that nobody reads";
  const auto read = ReadBytes(file.Bytes());
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  EXPECT_EQ(*BytesOf(*Write(read->model, *FindKind("gguf"))), file.Bytes());
}

}  // namespace
}  // namespace qtx::convert::gguf_test
