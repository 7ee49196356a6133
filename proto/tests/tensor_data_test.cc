// Every carrier a TensorProto has for its elements, and external files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "qtx/format/model.h"
#include "qtx/overlay.pb.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

overlay::TensorProto Message(ElementType type, const Dims& dims) {
  overlay::TensorProto message;
  for (const std::int64_t dim : dims) message.add_dims(dim);
  message.set_data_type(static_cast<int>(type));
  return message;
}

Result<Tensor> Decoded(const overlay::TensorProto& message, const std::string& folder = "") {
  const auto data = ParseTensorData(message.SerializeAsString());
  if (!data.has_value()) return data.error();
  return Decode(*data, folder);
}

TEST(ParseTensorData, KeepsTheBytesAndReadsTheHead) {
  overlay::TensorProto message = Message(ElementType::kInt8, {2, 1});
  message.set_name("t");
  message.set_raw_data("ab");
  const std::string bytes = message.SerializeAsString() + "\xA2\x7D\x02hi";
  const auto data = ParseTensorData(bytes);
  ASSERT_TRUE(data.has_value());
  EXPECT_EQ(data->name, "t");
  EXPECT_EQ(data->data_type, ElementType::kInt8);
  EXPECT_THAT(data->dims, ElementsAre(2, 1));
  EXPECT_EQ(data->wire, bytes);
}

// int32_data holds every integer up to 32 bits, and the bits of the 16-bit floats.
TEST(Decode, ReadsInt32Data) {
  struct Row {
    ElementType type;
    std::vector<std::int32_t> carried;
    std::vector<double> expected;
  };
  const Row rows[] = {{ElementType::kInt8, {-128, 127}, {-128, 127}},
                      {ElementType::kUint8, {255, 0}, {255, 0}},
                      {ElementType::kInt16, {-32768, 1}, {-32768, 1}},
                      {ElementType::kUint16, {65535, 1}, {65535, 1}},
                      {ElementType::kInt32, {-2147483647, 5}, {-2147483647, 5}},
                      {ElementType::kFloat16, {0x3C00, 0xC000}, {1, -2}},
                      {ElementType::kBfloat16, {0x3F80, 0xC000}, {1, -2}},
                      {ElementType::kFloat8E4M3FN, {0x38, 0xC0}, {1, -2}}};
  for (const Row& row : rows) {
    overlay::TensorProto message = Message(row.type, {2});
    for (const std::int32_t value : row.carried) message.add_int32_data(value);
    const auto tensor = Decoded(message);
    ASSERT_TRUE(tensor.has_value()) << Name(row.type) << " " << tensor.error().message;
    EXPECT_EQ(StoredValues(*tensor), row.expected) << Name(row.type);
  }
}

TEST(Decode, ReadsPackedBytesOfFourAndTwoBitsFromInt32Data) {
  overlay::TensorProto nibbles = Message(ElementType::kInt4, {3});
  nibbles.add_int32_data(0xE1);
  nibbles.add_int32_data(0x07);
  EXPECT_THAT(UnpackIntegers(*Decoded(nibbles)), ElementsAre(1, -2, 7));
  overlay::TensorProto crumbs = Message(ElementType::kUint2, {4});
  crumbs.add_int32_data(0xE4);
  EXPECT_THAT(UnpackIntegers(*Decoded(crumbs)), ElementsAre(0, 1, 2, 3));
}

TEST(Decode, ReadsTheOtherCarriers) {
  overlay::TensorProto floats = Message(ElementType::kFloat, {1});
  floats.add_float_data(0.1F);
  EXPECT_THAT(Decoded(floats)->As<float>(), ElementsAre(0.1F));
  overlay::TensorProto doubles = Message(ElementType::kDouble, {1});
  doubles.add_double_data(0.1);
  EXPECT_THAT(Decoded(doubles)->As<double>(), ElementsAre(0.1));
  overlay::TensorProto longs = Message(ElementType::kInt64, {1});
  longs.add_int64_data(-5);
  EXPECT_THAT(UnpackIntegers(*Decoded(longs)), ElementsAre(-5));
  overlay::TensorProto words = Message(ElementType::kUint32, {1});
  words.add_uint64_data(4294967295U);
  EXPECT_THAT(UnpackIntegers(*Decoded(words)), ElementsAre(4294967295));
}

TEST(Decode, ClearsTheUnusedBitsOfTheLastByte) {
  overlay::TensorProto message = Message(ElementType::kInt4, {1});
  message.set_raw_data("\xF1");
  EXPECT_THAT(Decoded(message)->bytes, ElementsAre(std::byte{0x01}));
}

TEST(Decode, RefusesCarriersOfAnotherSize) {
  overlay::TensorProto raw = Message(ElementType::kInt16, {2});
  raw.set_raw_data("abc");
  EXPECT_EQ(Decoded(raw).error().message, "found 3 bytes, expected 4");
  overlay::TensorProto floats = Message(ElementType::kFloat, {2});
  floats.add_float_data(1);
  EXPECT_EQ(Decoded(floats).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(Decoded(Message(ElementType::kInt8, {2})).has_value());
}

// Source: shape.S1.
TEST(Decode, RefusesTypesAndSizesBeforeItAllocates) {
  EXPECT_EQ(Decoded(Message(ElementType::kString, {1})).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(Decoded(Message(ElementType::kComplex64, {1})).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(Decoded(Message(static_cast<ElementType>(77), {1})).error().where, "data_type");
  EXPECT_EQ(Decoded(Message(ElementType::kInt8Q, {1})).error().where, "data_type");
  EXPECT_FALSE(Decoded(Message(ElementType::kInt8, {1LL << 32})).has_value());
  EXPECT_FALSE(Decoded(Message(ElementType::kInt8, {1LL << 62, 4})).has_value());
}

class ExternalData : public testing::Test {
 protected:
  ExternalData() : root_(fs::temp_directory_path() / ("qtx_external_" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "model/sub");
    EXPECT_TRUE(WriteFileAtomically((root_ / "model/w.bin").string(), "0123456789").has_value());
    EXPECT_TRUE(WriteFileAtomically((root_ / "model/sub/w.bin").string(), "abcd").has_value());
    EXPECT_TRUE(WriteFileAtomically((root_ / "secret").string(), "secret").has_value());
  }
  ~ExternalData() override { fs::remove_all(root_); }

  Result<Tensor> Read(const std::string& location, const std::string& offset = "",
                      const std::string& length = "", std::int64_t count = 4) const {
    overlay::TensorProto message = Message(ElementType::kUint8, {count});
    message.set_data_location(1);
    const std::pair<const char*, std::string> entries[] = {
        {"location", location}, {"offset", offset}, {"length", length}};
    for (const auto& [key, value] : entries) {
      if (value.empty()) continue;
      auto* entry = message.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return Decoded(message, (root_ / "model").string());
  }

  fs::path root_;
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  EXPECT_THAT(UnpackIntegers(*Read("w.bin", "3", "4")), ElementsAre('3', '4', '5', '6'));
  EXPECT_THAT(UnpackIntegers(*Read("sub/w.bin")), ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_THAT(UnpackIntegers(*Read("sub/../w.bin")), ElementsAre('0', '1', '2', '3'));
}

TEST_F(ExternalData, CannotLeaveTheModelsFolder) {
  fs::create_symlink(root_ / "secret", root_ / "model/link");
  fs::create_directory_symlink(root_, root_ / "model/up");
  fs::create_directories(root_ / "model2");
  EXPECT_TRUE(WriteFileAtomically((root_ / "model2/w.bin").string(), "beside").has_value());
  const std::string locations[] = {"../secret", "sub/../../secret", "link",
                                   "up/secret", "../model2/w.bin",  (root_ / "secret").string(),
                                   "",          "/etc/passwd"};
  for (const std::string& location : locations) {
    const auto tensor = Read(location);
    ASSERT_FALSE(tensor.has_value()) << location;
    EXPECT_THAT(tensor.error().where, HasSubstr("external_data.location")) << location;
  }
}

TEST_F(ExternalData, IsRefusedBeyondTheFile) {
  EXPECT_EQ(Read("w.bin", "7").error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(Read("w.bin", "999999999999999999999").error().where, "external_data.offset");
  EXPECT_EQ(Read("w.bin", "-1").error().where, "external_data.offset");
  EXPECT_EQ(Read("w.bin", "0", "5").error().where, "external_data.length");
  EXPECT_EQ(Read("missing.bin").error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(Read("sub").error().code, ErrorCode::kUnreadable);
  // Four gigabytes claimed, ten bytes there: refused without the memory.
  EXPECT_EQ(Read("w.bin", "", "", 1LL << 32).error().code, ErrorCode::kUnreadable);
}

}  // namespace
}  // namespace qtx::format
