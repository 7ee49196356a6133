#include "gguf/ggml_types.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gguf/bits.h"
#include "qtx/format/levels.h"

namespace qtx::convert::gguf {
namespace {

using format::BitSpan;
using format::ElementType;
using format::EncodedField;
using format::EncodedRole;

using Ints = std::vector<std::int32_t>;

constexpr std::int64_t kSuper = 256;  // elements of a super-block

// E2M1 codes of two blocks' halves, and so on: first the low 4 bits of 16 bytes, then the high
// ones.
const Ints kHalfCounts = {16, 2}, kHalfStrides = {8, 4};

EncodedField Field(EncodedRole role, std::int32_t level, ElementType type,
                   std::vector<BitSpan> bits, std::int32_t bias = 0) {
  return {.role = role, .level = level, .elem_type = type, .bias = bias, .bits = std::move(bits)};
}

EncodedField Codes(std::vector<BitSpan> bits, std::int32_t bias = 0,
                   ElementType type = ElementType::kUint8) {
  return Field(EncodedRole::kCode, 0, type, std::move(bits), bias);
}

EncodedField Scales(std::vector<BitSpan> bits, std::int32_t bias = 0,
                    ElementType type = ElementType::kUint8) {
  return Field(EncodedRole::kScale, 0, type, std::move(bits), bias);
}

// A binary16 that begins at byte `byte`.
EncodedField Half(EncodedRole role, std::int32_t level, std::int32_t byte) {
  return Field(role, level, ElementType::kFloat16, {Bits(0, 16, byte * 8, {1}, {16})});
}
EncodedField ScaleHalf(std::int32_t level, std::int32_t byte) {
  return Half(EncodedRole::kScale, level, byte);
}
EncodedField BaseHalf(std::int32_t level, std::int32_t byte) {
  return Half(EncodedRole::kBase, level, byte);
}

// 4 bits of each of 32 values in 16 bytes.
BitSpan Halves(std::int32_t byte) { return Bits(0, 4, byte * 8, kHalfCounts, kHalfStrides); }
// 2 bits of each of 256 values: in both halves of 128, four times 32.
BitSpan Quarters(std::int32_t byte, std::int32_t value_bit = 0) {
  return Bits(value_bit, 2, byte * 8, {32, 4, 2}, {8, 2, 256});
}
// 4 bits of each of 256 values: in each of four parts of 64, twice 32.
BitSpan Nibbles64(std::int32_t byte) { return Bits(0, 4, byte * 8, {32, 2, 4}, {8, 4, 256}); }

constexpr FactorLevel kHalf32{32, ElementType::kFloat16};
constexpr FactorLevel kHalf256{kSuper, ElementType::kFloat16};
constexpr FactorLevel kMinus{0, ElementType::kUndefined, -1};

// The 6-bit factors of Q4_K and Q5_K: 8 of the scale and 8 of the minimum in the 12 bytes from 4
// on.
std::vector<BitSpan> SixBits(bool minimum) {
  const std::int32_t at = 32 + (minimum ? 32 : 0);
  return {Bits(0, 6, at, {4}, {8}), Bits(0, 4, 96 + (minimum ? 4 : 0), {4}, {8}, 4),
          Bits(4, 2, at + 6, {4}, {8}, 4)};
}

std::vector<EncodedField> KFields(EncodedField codes) {
  return {std::move(codes), Scales(SixBits(false)), ScaleHalf(1, 0),
          Field(EncodedRole::kBase, 0, ElementType::kUint8, SixBits(true)), BaseHalf(1, 2)};
}

GgmlType Plain(std::uint32_t id, std::string_view name, ElementType type) {
  return {.id = id,
          .name = name,
          .bytes = format::BitWidth(type) / 8,
          .form = Form::kPlain,
          .elem_type = type};
}
GgmlType Opaque(std::uint32_t id, std::string_view name, std::int64_t block, std::int64_t bytes) {
  return {.id = id, .name = name, .block = block, .bytes = bytes};
}

std::vector<GgmlType> LegacyTypes() {
  const FactorLevel byte32{32, ElementType::kFloat8E8M0};
  return {
      {2,
       "Q4_0",
       32,
       18,
       Form::kRecords,
       ElementType::kInt4Q,
       {},
       {kHalf32},
       {},
       {},
       {Codes({Halves(2)}, -8), ScaleHalf(0, 0)}},
      {3,
       "Q4_1",
       32,
       20,
       Form::kRecords,
       ElementType::kUint4Q,
       {},
       {kHalf32},
       {kHalf32},
       {},
       {Codes({Halves(4)}), ScaleHalf(0, 0), BaseHalf(0, 2)}},
      {6,
       "Q5_0",
       32,
       22,
       Form::kRecords,
       ElementType::kInt8Q,
       {{-16, 15}},
       {kHalf32},
       {},
       {},
       {Codes({Halves(6), Bits(4, 1, 16, {32}, {1})}, -16), ScaleHalf(0, 0)}},
      {7,
       "Q5_1",
       32,
       24,
       Form::kRecords,
       ElementType::kUint8Q,
       {{0, 31}},
       {kHalf32},
       {kHalf32},
       {},
       {Codes({Halves(8), Bits(4, 1, 32, {32}, {1})}), ScaleHalf(0, 0), BaseHalf(0, 2)}},
      {8,
       "Q8_0",
       32,
       34,
       Form::kRecords,
       ElementType::kInt8Q,
       {},
       {kHalf32},
       {},
       {},
       {Codes({Bits(0, 8, 16, {32}, {8})}, 0, ElementType::kInt8), ScaleHalf(0, 0)}},
      {39,
       "MXFP4",
       32,
       17,
       Form::kRecords,
       ElementType::kFloat4E2M1Q,
       {},
       {byte32},
       {},
       {},
       {Codes({Halves(1)}, 0, ElementType::kFloat4E2M1),
        Scales({Bits(0, 8, 0, {1}, {8})}, 0, ElementType::kFloat8E8M0)}},
      {40,
       "NVFP4",
       64,
       36,
       Form::kRecords,
       ElementType::kFloat4E2M1Q,
       {},
       {{16, ElementType::kFloat8E4M3FN}},
       {},
       {},
       {Codes({Bits(0, 4, 32, {8, 2, 4}, {8, 4, 64})}, 0, ElementType::kFloat4E2M1),
        Scales({Bits(0, 8, 0, {4}, {8})}, 0, ElementType::kFloat8E4M3FN)}},
  };
}

std::vector<GgmlType> KTypes() {
  const FactorLevel u16{16, ElementType::kUint8}, u32{32, ElementType::kUint8};
  const FactorLevel i16{16, ElementType::kInt8};
  return {
      {10,
       "Q2_K",
       kSuper,
       84,
       Form::kRecords,
       ElementType::kUint2Q,
       {},
       {u16, kHalf256},
       {u16, kHalf256, kMinus},
       {},
       {Codes({Quarters(16)}), Scales({Bits(0, 4, 0, {16}, {8})}), ScaleHalf(1, 80),
        Field(EncodedRole::kBase, 0, ElementType::kUint8, {Bits(0, 4, 4, {16}, {8})}),
        BaseHalf(1, 82)}},
      {11,
       "Q3_K",
       kSuper,
       110,
       Form::kRecords,
       ElementType::kInt8Q,
       {{-4, 3}},
       {i16, kHalf256},
       {},
       {},
       {Codes({Quarters(32), Bits(2, 1, 0, {32, 8}, {8, 1})}, -4),
        Scales({Bits(0, 4, 96 * 8, {8, 2}, {8, 4}), Bits(4, 2, 104 * 8, {4, 4}, {8, 2})}, -32),
        ScaleHalf(1, 108)}},
      {12,
       "Q4_K",
       kSuper,
       144,
       Form::kRecords,
       ElementType::kUint4Q,
       {},
       {u32, kHalf256},
       {u32, kHalf256, kMinus},
       {},
       KFields(Codes({Nibbles64(16)}))},
      {13,
       "Q5_K",
       kSuper,
       176,
       Form::kRecords,
       ElementType::kUint8Q,
       {{0, 31}},
       {u32, kHalf256},
       {u32, kHalf256, kMinus},
       {},
       KFields(Codes({Nibbles64(48), Bits(4, 1, 16 * 8, {32, 8}, {8, 1})}))},
      {14,
       "Q6_K",
       kSuper,
       210,
       Form::kRecords,
       ElementType::kInt8Q,
       {{-32, 31}},
       {i16, kHalf256},
       {},
       {},
       {Codes({Bits(0, 4, 0, {32, 2, 2, 2}, {8, 256, 4, 512}), Quarters(128, 4)}, -32),
        Scales({Bits(0, 8, 192 * 8, {16}, {8})}, 0, ElementType::kInt8), ScaleHalf(1, 208)}},
      {35,
       "TQ2_0",
       kSuper,
       66,
       Form::kRecords,
       ElementType::kInt8Q,
       {{-1, 2}},
       {kHalf256},
       {},
       {},
       {Codes({Quarters(0)}, -1), ScaleHalf(0, 64)}},
  };
}

// Codes that choose one of 16 values. Source: kvalues_iq4nl in ggml-common.h.
std::vector<GgmlType> CodeBookTypes() {
  const std::vector<float> book = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
  const FactorLevel i32{32, ElementType::kInt8};
  return {
      {20,
       "IQ4_NL",
       32,
       18,
       Form::kRecords,
       ElementType::kUint4Q,
       {},
       {kHalf32},
       {},
       book,
       {Codes({Halves(2)}), ScaleHalf(0, 0)}},
      {23,
       "IQ4_XS",
       kSuper,
       136,
       Form::kRecords,
       ElementType::kUint4Q,
       {},
       {i32, kHalf256},
       {},
       book,
       {Codes({Bits(0, 4, 64, {16, 2, 8}, {8, 4, 128})}),
        Scales({Bits(0, 4, 32, {8}, {4}), Bits(4, 2, 16, {8}, {2})}, -32), ScaleHalf(1, 0)}},
  };
}

// Vectors of a grid times an odd number of 4 bits or fewer, a binary16 and a power of two.
GgmlType Vectors(std::uint32_t id, std::string_view name, std::int64_t bytes, std::int64_t block,
                 float unit, format::IntegerRange range) {
  return {id,
          name,
          kSuper,
          bytes,
          Form::kVectors,
          ElementType::kInt8Q,
          range,
          {{block, ElementType::kUint8}, kHalf256, {0, ElementType::kUndefined, unit}},
          {},
          {},
          {}};
}

std::vector<GgmlType> VectorTypes() {
  return {
      Vectors(16, "IQ2_XXS", 66, 32, 0.125F, {-43, 43}),
      Vectors(17, "IQ2_XS", 74, 16, 0.125F, {-43, 43}),
      Vectors(18, "IQ3_XXS", 98, 32, 0.25F, {-62, 62}),
      Vectors(19, "IQ1_S", 50, 32, 0.125F, {-9, 9}),
      Vectors(21, "IQ3_S", 110, 32, 1, {-15, 15}),
      Vectors(22, "IQ2_S", 82, 16, 0.125F, {-43, 43}),
      Vectors(29, "IQ1_M", 56, 16, 0.125F, {-9, 9}),
      {34,
       "TQ1_0",
       kSuper,
       54,
       Form::kVectors,
       ElementType::kInt8Q,
       {{-1, 1}},
       {kHalf256},
       {},
       {},
       {}},
  };
}

std::vector<GgmlType> MakeTypes() {
  std::vector<GgmlType> types = {
      Plain(0, "F32", ElementType::kFloat),
      Plain(1, "F16", ElementType::kFloat16),
      Plain(30, "BF16", ElementType::kBfloat16),
      Plain(28, "F64", ElementType::kDouble),
      Plain(24, "I8", ElementType::kInt8),
      Plain(25, "I16", ElementType::kInt16),
      Plain(26, "I32", ElementType::kInt32),
      Plain(27, "I64", ElementType::kInt64),
      Opaque(9, "Q8_1", 32, 0),
      Opaque(15, "Q8_K", kSuper, 292),
      Opaque(41, "Q1_0", 128, 18),
      Opaque(42, "Q2_0", 64, 18),
  };
  for (auto* more : {LegacyTypes, KTypes, CodeBookTypes, VectorTypes}) {
    std::vector<GgmlType> rows = more();
    std::ranges::move(rows, std::back_inserter(types));
  }
  return types;
}

// One block along the last axis, single elements along the others.
format::Dims LastAxis(std::size_t rank, std::int64_t block) {
  format::Dims dims(rank, 1);
  dims.back() = block;
  return dims;
}

std::vector<format::BlockFactors> LevelsOf(const std::vector<FactorLevel>& levels,
                                           const format::Dims& dims) {
  std::vector<format::BlockFactors> factors;
  for (const FactorLevel& level : levels) {
    format::BlockFactors& added = factors.emplace_back();
    if (level.block == 0) {
      added.value = {level.constant};
      added.block_shape = dims;
    } else {
      added.block_shape = LastAxis(dims.size(), level.block);
    }
  }
  return factors;
}

}  // namespace

const std::vector<GgmlType>& GgmlTypes() {
  static const std::vector<GgmlType> types = MakeTypes();
  return types;
}

const GgmlType* FindGgmlType(std::uint32_t id) {
  const auto found = std::ranges::find(GgmlTypes(), id, &GgmlType::id);
  return found == GgmlTypes().end() ? nullptr : &*found;
}

format::TensorType TypeOf(const GgmlType& type, const format::Dims& dims, bool in_place) {
  format::TensorType result{.elem_type = type.elem_type, .shape = format::ToShape(dims)};
  if (type.form == Form::kPlain) return result;
  format::Quantization& q = result.quantization.emplace();
  q.axis.resize(dims.size());
  std::iota(q.axis.begin(), q.axis.end(), 0);
  q.block_shape = LastAxis(dims.size(), type.scale[0].block);
  q.scale_levels = LevelsOf(type.scale, dims);
  q.base_levels = LevelsOf(type.base, dims);
  if (type.range) {
    q.quant_min = type.range->min;
    q.quant_max = type.range->max;
  }
  if (!type.code_book.empty()) format::SetCodeBook(type.code_book, q);
  if (!in_place || type.form != Form::kRecords) return result;
  q.encoding = {.record_bytes = static_cast<std::int32_t>(type.bytes),
                .record_shape = LastAxis(dims.size(), type.block),
                .fields = type.fields};
  return result;
}

}  // namespace qtx::convert::gguf
