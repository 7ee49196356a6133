// Initializers of records in stock ONNX, back again, and in forms that have no records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/check.h"
#include "qtx/format/encoding.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::encodings_test {
namespace {

using format::ElementType;
using format::EncodedRole;
using testing::ElementsAre;
using testing::HasSubstr;

format::BitSpan Span(std::int32_t width, std::int32_t record_bit, std::vector<std::int32_t> count,
                     std::vector<std::int32_t> stride) {
  return {.value_bit = 0,
          .width = width,
          .first = 0,
          .record_bit = record_bit,
          .count = std::move(count),
          .stride = std::move(stride),
          .unknown_fields = {}};
}

format::EncodedField Field(EncodedRole role, ElementType type, format::BitSpan span,
                           std::int32_t bias = 0) {
  return {.role = role,
          .level = 0,
          .elem_type = type,
          .bias = bias,
          .bits = {std::move(span)},
          .unknown_fields = {}};
}

// y = Gemm(x, w'), w INT4Q [2,4]: each row a record, a FLOAT16 factor and the nibbles of two
// halves.
format::Model WithRecords(std::vector<std::uint8_t> bytes = {0x00, 0x38, 0xB9, 0xCA,  //
                                                             0x00, 0x40, 0x70, 0x8F}) {
  OnnxMaker maker(21);
  maker.model.opset_imports.push_back({"qtx", 3});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {1, 4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  const auto size = static_cast<std::int64_t>(bytes.size());
  maker.Initializer<std::uint8_t>("w", ElementType::kUint8, {size}, std::move(bytes));
  format::ValueInfo w = OnnxMaker::Quantized("w", ElementType::kInt4Q, {2, 4}, {});
  format::Quantization& q = *w.type->quantization;
  q.axis = {0, 1};
  q.block_shape = {1, 4};
  q.scale_levels.resize(1);
  q.encoding = format::Encoding{
      .record_bytes = 4,
      .record_shape = {1, 4},
      .fields = {Field(EncodedRole::kScale, ElementType::kFloat16, Span(16, 0, {}, {})),
                 Field(EncodedRole::kCode, ElementType::kUint8, Span(4, 16, {2, 2}, {8, 4}), -8)},
      .unknown_fields = {}};
  maker.model.graph.values = {w};
  maker.Node("Gemm", {"x", "w"}, {"y"}).attributes = {format::Attribute::Int("transB", 1)};
  return maker.model;
}

const LedgerEntry* EntryOf(const std::vector<LedgerEntry>& ledger, const std::string& value,
                           const std::string& field) {
  const auto found = std::ranges::find_if(ledger, [&](const LedgerEntry& entry) {
    return entry.value == value && entry.field == field;
  });
  return found == ledger.end() ? nullptr : &*found;
}

// Nibbles 9 10 11 12 and, of 0x70 0x8F, 0 15 7 8, each less 8.
TEST(ToQdq, ReadsRecordsAndComesBack) {
  const format::Model model = WithRecords();
  EXPECT_TRUE(format::Check(model).empty()) << format::Check(model)[0].message;
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().Text();
  EXPECT_TRUE(format::Check(lowered->model).empty());
  const format::Graph& graph = lowered->model.graph;
  ASSERT_NE(graph.FindInitializer("w/stored"), nullptr);
  EXPECT_THAT(format::UnpackInt32(*format::Decode(*graph.FindInitializer("w/stored"))),
              ElementsAre(1, 2, 3, 4, -8, 7, -1, 0));
  ASSERT_NE(graph.FindInitializer("w/scale_levels/0"), nullptr);
  EXPECT_EQ(graph.FindInitializer("w/scale_levels/0")->data_type, ElementType::kFloat16);
  const LedgerEntry* entry = EntryOf(lowered->ledger, "w", "encoding");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->fate, LedgerEntry::Fate::kChanged);
  const auto lifted = FromOnnx(lowered->model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().Text();
  EXPECT_TRUE(lifted->model == model);
}

// Of a record of five bytes the last means nothing: not 0, it is lost.
TEST(ToQdq, SaysOfWhichRecordsBitsAreLost) {
  format::Model model = WithRecords({0, 0x38, 0xB9, 0xCA, 1, 0, 0x40, 0x70, 0x8F, 0});
  model.graph.values[0].type->quantization->encoding->record_bytes = 5;
  EXPECT_TRUE(format::Check(model).empty());
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().Text();
  const LedgerEntry* entry = EntryOf(lowered->ledger, "w", "encoding");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->fate, LedgerEntry::Fate::kDropped);
  EXPECT_THAT(entry->why, HasSubstr("bits that no field has"));
  const auto lifted = FromOnnx(lowered->model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().Text();
  EXPECT_FALSE(format::HasEncoding(lifted->model));
}

// Another tool changed a stored value to one that the records cannot hold.
TEST(FromOnnx, LeavesOutAnEncodingThatCannotHoldTheValues) {
  format::Model model = WithRecords({0x00, 0x38, 0x31, 0x42, 0x00, 0x40, 0x70, 0x07});
  format::EncodedField& codes = model.graph.values[0].type->quantization->encoding->fields[1];
  codes.bits[0].width = 3;  // -8 to -1
  format::Model lowered = ToQdq(model)->model;
  for (format::TensorData& data : lowered.graph.initializers) {
    if (data.name != "w/stored") continue;
    format::Tensor tensor = *format::Decode(data);
    tensor.bytes[0] = std::byte{0x07};
    data = format::ToTensorData("w/stored", tensor);
  }
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().Text();
  EXPECT_FALSE(format::HasEncoding(lifted->model));
  const LedgerEntry* entry = EntryOf(lifted->ledger, "w", "encoding");
  ASSERT_NE(entry, nullptr);
  EXPECT_THAT(entry->why, HasSubstr("found 7"));
}

// The same reals in records and beside them differ in the encoding, and in the version it asks for.
TEST(Diff, ComparesWhatRecordsSay) {
  const format::Model model = WithRecords();
  format::Model plain = model;
  format::Quantization& q = *plain.graph.values[0].type->quantization;
  q.encoding.reset();
  q.scale_levels.clear();
  q.scale = {0.5F, 2};
  format::Tensor codes = *format::MakeTensor(ElementType::kInt4, {2, 4});
  format::PackInt32(std::vector<std::int32_t>{1, 2, 3, 4, -8, 7, -1, 0}, codes);
  plain.graph.initializers[0] = format::ToTensorData("w", codes);
  const auto same = Diff(model, plain);
  ASSERT_TRUE(same.has_value()) << same.error().Text();
  ASSERT_EQ(same->size(), 1U);
  EXPECT_EQ((*same)[0].field, "encoding");
  EXPECT_THAT((*same)[0].a, HasSubstr("[1,4] in 4 bytes: scale[0] FLOAT16, code UINT8"));
  format::PackInt32(std::vector<std::int32_t>{1, 2, 3, 4, -8, 7, -1, 1}, codes);
  plain.graph.initializers[0] = format::ToTensorData("w", codes);
  const auto other = Diff(model, plain);
  ASSERT_TRUE(other.has_value());
  ASSERT_EQ(other->size(), 2U);
  EXPECT_EQ((*other)[1].field, "data");
}

}  // namespace
}  // namespace qtx::convert::encodings_test
