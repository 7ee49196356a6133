// Encodings against the reals that the publishers of the formats compute, and what a hostile one
// gets.
#include "qtx/format/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "qtx/format/file.h"
#include "qtx/format/npy.h"
#include "tests/record_layouts.h"

namespace qtx::format::testing::encoding_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The folder of tests/records/derive.py's files: the committed ones, or more of them by hand.
std::string Goldens() {
  const char* folder = std::getenv("QTX_RECORDS");
  return folder != nullptr ? folder : std::string(QTX_SOURCE_DIR) + "/proto/tests/records";
}

Tensor ReadGolden(const std::string& name) {
  std::string stem = name;
  for (char& c : stem) c = static_cast<char>(std::tolower(c));
  return *ParseNpy(*ReadFile(Goldens() + "/" + stem + ".npy", 1 << 28));
}

TensorData Initializer(std::vector<std::byte> bytes) {
  Tensor tensor;
  tensor.elem_type = ElementType::kUint8;
  tensor.dims = {std::ssize(bytes)};
  tensor.bytes = std::move(bytes);
  return ToTensorData("w", tensor);
}

// The product of the factors of each block of a record's level 0, exact in a double.
std::vector<double> Products(const RecordLayout& layout, const TensorData& data, EncodedRole role,
                             std::size_t count) {
  std::vector<double> products(count, 1);
  for (std::size_t level = 0; layout.Find(role, level) != nullptr; ++level) {
    const std::vector<double> factors =
        StoredValues(*layout.Decode(*layout.Find(role, level), data, ""));
    for (std::size_t i = 0; i < count; ++i) products[i] *= factors[i / (count / factors.size())];
  }
  return products;
}

std::vector<double> Stored(const NamedLayout& format, const Tensor& codes) {
  std::vector<double> stored = StoredValues(codes);
  if (format.code_book.empty()) return stored;
  for (double& value : stored)
    value = static_cast<double>(format.code_book[static_cast<std::size_t>(value)]);
  return stored;
}

// d * scale * code and dmin * min are exact in a double, and so is their sum: one rounding, as in
// the gguf package. A zero has no sign here and may have one there: == takes them as equal.
TEST(Encoding, GivesTheRealsOfGgml) {
  for (const NamedLayout& format : GgmlLayouts()) {
    const Tensor records = ReadGolden(format.name + "_records");
    const Tensor golden = ReadGolden(format.name + "_reals");
    const TensorType type = TypeOf(format, golden.dims);
    const auto layout = RecordLayout::Make(type);
    ASSERT_TRUE(layout.has_value()) << format.name << " " << layout.error().Text();
    const TensorData data = Initializer(records.bytes);
    const auto codes = layout->Decode(*layout->Find(EncodedRole::kCode), data, "");
    ASSERT_TRUE(codes.has_value()) << format.name << " " << codes.error().Text();
    EXPECT_EQ(codes->elem_type, StorageOf(format.elem_type));
    const std::vector<double> stored = Stored(format, *codes);
    const auto block = static_cast<std::size_t>(format.block);
    const auto scale = Products(*layout, data, EncodedRole::kScale, stored.size() / block);
    const auto base = Products(*layout, data, EncodedRole::kBase, stored.size() / block);
    const bool has_base = layout->Find(EncodedRole::kBase) != nullptr;
    const auto reals = golden.As<float>();
    ASSERT_EQ(stored.size(), reals.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const double sign = format.negated_base ? -1 : 1;
      const double real = scale[i / block] * stored[i] + (has_base ? sign * base[i / block] : 0);
      ASSERT_EQ(static_cast<float>(real), reals[i]) << format.name << ", value " << i;
    }
  }
}

// All bits of these records are in use, but for the sign of NVFP4's factors.
TEST(Encoding, WritesBackTheBytesThatItRead) {
  for (const NamedLayout& format : GgmlLayouts()) {
    std::vector<std::byte> bytes = ReadGolden(format.name + "_records").bytes;
    if (format.name == "NVFP4") {
      for (std::size_t at = 0; at < bytes.size(); at += 36)
        for (std::size_t k = 0; k < 4; ++k) bytes[at + k] &= std::byte{0x7F};
    }
    const Tensor golden = ReadGolden(format.name + "_reals");
    const auto layout = RecordLayout::Make(TypeOf(format, golden.dims));
    ASSERT_TRUE(layout.has_value());
    const TensorData data = Initializer(bytes);
    std::vector<std::byte> written(bytes.size());
    for (const EncodedField& field : format.fields) {
      const FieldLayout& found = *layout->Find(field.role, static_cast<std::size_t>(field.level));
      const Tensor values = *layout->Decode(found, data, "");
      const auto encoded = layout->Encode(found, values, written);
      ASSERT_TRUE(encoded.has_value()) << format.name << " " << encoded.error().Text();
    }
    EXPECT_EQ(written, bytes) << format.name;
  }
}

std::vector<std::byte> Words(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t word : words) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<std::byte>(word >> shift));
  }
  return bytes;
}

std::vector<std::int32_t> CodesOf(const NamedLayout& format, const Dims& dims,
                                  std::vector<std::byte> bytes) {
  const auto layout = RecordLayout::Make(TypeOf(format, dims));
  if (!layout.has_value()) {
    ADD_FAILURE() << layout.error().Text();
    return {};
  }
  const TensorData data = Initializer(std::move(bytes));
  return UnpackInt32(*layout->Decode(*layout->Find(EncodedRole::kCode), data, ""));
}

// Two words of GPTQ are two columns of eight rows, the first row in the lowest bits.
TEST(Encoding, ReadsWordsDownTheColumns) {
  EXPECT_THAT(CodesOf(WordLayouts()[0], {8, 2}, Words({0x76543210, 0xFEDCBA98})),
              ElementsAre(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
}

// AWQ's order of columns in the nibbles of a word, from the lowest, is 0 2 4 6 1 3 5 7.
TEST(Encoding, ReadsInterleavedWords) {
  EXPECT_THAT(CodesOf(WordLayouts()[1], {1, 8}, Words({0x75316420})),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Three codes of 3 bits, the first in the highest bits of a big-endian word of 9 of 16.
TEST(Encoding, ReadsBitsFromTheHighestWithNegativeStrides) {
  NamedLayout format{"", ElementType::kUint4Q, {3}, 2, 0, {}};
  // Bit 2 of value i is the bit 3 i from the highest of the first byte on.
  format.fields = {Codes(ElementType::kUint8, {Span(2, 1, 7, {3}, {-3}), Span(1, 1, 6, {2}, {-3}),
                                               Span(0, 1, 5, {2}, {-3}), Span(1, 1, 0, {}, {}, 2),
                                               Span(0, 1, 15, {}, {}, 2)})};
  // 101 110 11 | 1.......
  EXPECT_THAT(CodesOf(format, {3}, {std::byte{0b10111011}, std::byte{0b10000000}}),
              ElementsAre(5, 6, 7));
}

// Rows of odd length, packed to 4 bits, begin within a byte.
TEST(Encoding, PlacesRecordsInAGrid) {
  NamedLayout format{"",     ElementType::kUint4Q,
                     {1, 1}, 1,
                     0,      {Codes(ElementType::kUint8, {Span(0, 4, 4, {}, {})})}};
  std::vector<std::byte> bytes;
  for (unsigned i = 0; i < 15; ++i) bytes.push_back(static_cast<std::byte>(i << 4 | 9));
  std::vector<std::int32_t> counted(15);
  std::iota(counted.begin(), counted.end(), 0);
  EXPECT_EQ(CodesOf(format, {5, 3}, bytes), counted);
  format.record_shape = {2, 2};
  format.record_bytes = 2;
  format.fields = {Codes(ElementType::kUint8, {Span(0, 4, 0, {4}, {4})})};
  std::vector<std::byte> records = Words({0x76543210, 0x0000BA98});
  records.resize(6);
  // Records {0 1 / 2 3}, {4 5 / 6 7} and {8 9 / 10 11}, side by side.
  EXPECT_THAT(CodesOf(format, {2, 6}, records), ElementsAre(0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11));
}

}  // namespace
}  // namespace qtx::format::testing::encoding_test
