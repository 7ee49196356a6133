// Encodings against the reals that the publishers of the formats compute, and what a hostile one
// gets.
#include "qtx/format/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>

#include "qtx/format/check.h"
#include "qtx/format/file.h"
#include "qtx/format/levels.h"
#include "qtx/format/npy.h"
#include "tests/record_layouts.h"

namespace qtx::format::testing::encoding_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// As any reader meets them: checked, and loaded with their parameters. No scale, product and sum of
// these formats is rounded before the last step.
TEST(Encoding, IsAnOrdinaryInitializerToReaders) {
  for (const NamedLayout& format : GgmlLayouts()) {
    const Tensor golden = ReadGolden(format.name + "_reals");
    Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 21, {}}, {"qtx", 3, {}}};
    model.graph.initializers = {Initializer(ReadGolden(format.name + "_records").bytes)};
    ValueInfo& w = model.graph.values.emplace_back();
    w.name = "w";
    w.type = TypeOf(format, golden.dims);
    const std::vector<Finding> findings = Check(model);
    ASSERT_TRUE(findings.empty()) << format.name << " " << findings[0].message;
    EXPECT_EQ(FormatVersion(model), 3);
    const auto tensor = LoadInitializer(model, "w");
    ASSERT_TRUE(tensor.has_value()) << format.name << " " << tensor.error().Text();
    const Quantization& q = *tensor->quantization;
    EXPECT_FALSE(q.encoding);
    const ParameterMap parameter(q, tensor->dims);
    const std::vector<double> stored = Stored(format, *tensor);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const std::int64_t at = parameter(static_cast<std::int64_t>(i));
      const double real =
          static_cast<double>(ScaleAt(q, at)) * stored[i] + static_cast<double>(BaseAt(q, at));
      ASSERT_EQ(static_cast<float>(real), golden.As<float>()[i]) << format.name << ", value " << i;
    }
    // The bytes of the file stay what they are.
    EXPECT_EQ(*Model::Parse(*model.Serialize()), model);
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
    std::vector<std::byte> written(bytes.size());
    for (const EncodedField& field : format.fields) {
      const FieldLayout& found = *layout->Find(field.role, static_cast<std::size_t>(field.level));
      const Tensor values = *layout->Decode(found, bytes);
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

// One number of an encoding replaced by another, of all sizes.
void Mutate(std::mt19937& random, Encoding& encoding) {
  constexpr std::int64_t kNumbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       4,
                                       7,
                                       8,
                                       16,
                                       31,
                                       32,
                                       33,
                                       64,
                                       255,
                                       4096,
                                       32768,
                                       -1,
                                       -8,
                                       2147483647,
                                       -2147483647 - 1};
  const auto pick = [&](std::size_t count) { return random() % count; };
  const auto number = [&] {
    return static_cast<std::int32_t>(kNumbers[pick(std::size(kNumbers))]);
  };
  EncodedField& field = encoding.fields[pick(encoding.fields.size())];
  BitSpan& span = field.bits[pick(field.bits.size())];
  std::int32_t* const numbers[] = {&encoding.record_bytes, &field.level, &field.bias,
                                   &span.value_bit,        &span.width,  &span.first,
                                   &span.record_bit};
  const std::size_t kind = pick(10);
  if (kind < std::size(numbers)) {
    *numbers[kind] = number();
  } else if (kind == 7) {
    encoding.record_shape[pick(encoding.record_shape.size())] = number();
  } else if (!span.count.empty()) {
    (kind == 8 ? span.count : span.stride)[pick(span.count.size())] = number();
  }
}

// A hostile encoding is refused, with a clause, or reads records and writes the same again.
TEST(Encoding, ReadsNothingBeyondTheRecordsWhateverItSays) {
  std::mt19937 random(20261127);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<NamedLayout> layouts = i % 4 == 0 ? WordLayouts() : GgmlLayouts();
    TensorType type = TypeOf(layouts[random() % layouts.size()], {8, 256});
    for (unsigned k = 0; k <= random() % 2; ++k) Mutate(random, *type.quantization->encoding);
    const auto layout = RecordLayout::Make(type);
    if (!layout.has_value()) {
      ++refused;
      EXPECT_THAT(layout.error().clause, AnyOf(StartsWith("encoding.C"), "quantization.C14"))
          << layout.error().Text();
      continue;
    }
    ASSERT_LE(layout->bytes(), 8 * 256 * 4096);
    std::vector<std::byte> bytes(static_cast<std::size_t>(layout->bytes()));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const FieldLayout& codes = *layout->Find(EncodedRole::kCode);
    const auto read = layout->Decode(codes, Initializer(bytes), "");
    ASSERT_TRUE(read.has_value()) << read.error().Text();
    std::vector<std::byte> written(bytes.size());
    ASSERT_TRUE(layout->Encode(codes, *read, written).has_value());
    const auto again = layout->Decode(codes, Initializer(written), "");
    EXPECT_EQ(again->bytes, read->bytes);
  }
  EXPECT_GT(refused, 2000);
}

// What the bits cannot hold is named, and not cut off.
TEST(Encoding, RefusesToWriteWhatItsBitsCannotHold) {
  const auto layout = RecordLayout::Make(TypeOf(GgmlLayouts()[2], {1, 32}));  // Q5_0
  const FieldLayout& codes = *layout->Find(EncodedRole::kCode);
  Tensor values = *MakeTensor(ElementType::kInt8, {1, 32});
  values.As<std::int8_t>()[3] = 16;
  std::vector<std::byte> records(22);
  const auto written = layout->Encode(codes, values, records);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().where, "element 3");
  EXPECT_THAT(written.error().message,
              HasSubstr("found 16, expected a value of 5 bits, -16 to 15"));
}

// Three codes of 2 bits, from 5 on: 5, 8 and 6 are the bits 00, 11 and 01, the last the highest.
TEST(Encoding, WritesCodesWhoseLeastIsNotZero) {
  const NamedLayout format{"",  ElementType::kUint8Q,
                           {3}, 1,
                           0,   {Codes(ElementType::kUint8, {Span(0, 2, 0, {3}, {2})}, 5)}};
  const auto layout = RecordLayout::Make(TypeOf(format, {3}));
  ASSERT_TRUE(layout.has_value()) << layout.error().Text();
  const FieldLayout& codes = *layout->Find(EncodedRole::kCode);
  const auto write = [&](std::initializer_list<std::int32_t> values) {
    Tensor tensor = *MakeTensor(ElementType::kUint8, {3});
    PackInt32(std::vector<std::int32_t>(values), tensor);
    std::vector<std::byte> records(1);
    const auto written = layout->Encode(codes, tensor, records);
    return written.has_value() ? std::to_string(std::to_integer<int>(records[0]))
                               : written.error().Text();
  };
  EXPECT_EQ(write({5, 8, 6}), "28");
  EXPECT_THAT(write({5, 4, 6}),
              HasSubstr("element 1: found 4, expected a value of 2 bits, 5 to 8"));
  EXPECT_THAT(write({5, 8, 9}), HasSubstr("element 2: found 9"));
}

// Rows of 11 elements of 2 and of 4 bits begin within a byte.
TEST(Encoding, WritesRecordsOfAGridFromPackedRows) {
  for (const ElementType type : {ElementType::kUint2Q, ElementType::kUint4Q}) {
    const std::int32_t width = BitWidth(StorageOf(type));
    NamedLayout format{"", type, {2, 1}, 1, 0, {}};
    format.fields = {Codes(ElementType::kUint8, {Span(0, width, 0, {2}, {4})})};
    const auto layout = RecordLayout::Make(TypeOf(format, {4, 11}));
    ASSERT_TRUE(layout.has_value()) << layout.error().Text();
    const FieldLayout& codes = *layout->Find(EncodedRole::kCode);
    Tensor values = *MakeTensor(StorageOf(type), {4, 11});
    std::vector<std::int32_t> counted(44);
    for (std::size_t i = 0; i < counted.size(); ++i)
      counted[i] = static_cast<std::int32_t>(i * i) % (1 << width);
    PackInt32(counted, values);
    std::vector<std::byte> records(22);
    ASSERT_TRUE(layout->Encode(codes, values, records).has_value());
    for (std::size_t i = 0; i < records.size(); ++i) {
      // Record i has two elements of a column.
      const std::size_t above = i / 11 * 22 + i % 11;
      EXPECT_EQ(std::to_integer<int>(records[i]), counted[above] + counted[above + 11] * 16) << i;
    }
    EXPECT_EQ(layout->Decode(codes, records)->bytes, values.bytes);
  }
}

// The binary16 of ggml's IQ1_M is the highest 4 bits of four words, the lowest first.
TEST(BitField, ReadsAndWritesBitsThatLieApart) {
  std::vector<BitSpan> spans;
  for (std::int32_t i = 0; i < 4; ++i) spans.push_back(Span(4 * i, 4, 12 + 16 * i, {}, {}));
  const BitField half(spans, 8);
  EXPECT_EQ(half.size(), 1U);
  EXPECT_EQ(half.width(), 16);
  std::uint32_t value = 0xFFFFFFFF;
  half.Read(Words({0x2FFF1FFF, 0x4FFF3FFF}), {&value, 1});
  EXPECT_EQ(value, 0x4321U);
  std::vector<std::byte> record(8);
  half.Write({&value, 1}, record);
  EXPECT_EQ(record, Words({0x20001000, 0x40003000}));
}

}  // namespace
}  // namespace qtx::format::testing::encoding_test
